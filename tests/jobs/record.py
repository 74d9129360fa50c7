"""What the recorders write of a run: one tree for each rank, in the layout of the dumps."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any
from zlib import crc32

from tests.jobs.simulate import Made

if TYPE_CHECKING:
    from tests.jobs.evidence import Recording
    from tests.jobs.model import Call, Part
    from tests.jobs.simulate import Outcome

START_NS = 1_795_965_504_000_000_000
TIMEOUT_MS = 600_000
_SITE = "/opt/venv/lib/python3.11/site-packages/torch/distributed"
_GLOO = {"_all_gather_base": "all_gather", "_reduce_scatter_base": "all_reduce", "all_to_all_single": "all_to_all"}

Tree = dict[str, Any]


@dataclass(slots=True)
class _Counters:
    """A group's counters on one rank. The status is kept as the recorder would: -1 is none yet."""

    coll: int = 0
    p2p: int = 0
    ops: int = 0
    enqueued: int = -1
    started: int = -1
    completed: int = -1


@dataclass(slots=True)
class _Rank:
    outcome: Outcome
    rank: int
    how: Recording
    until: float
    counters: dict[int, _Counters] = field(default_factory=dict)
    entries: list[Tree] = field(default_factory=list)
    keep_always: list[bool] = field(default_factory=list)  #: not dropped by only-active
    frames: dict[tuple[str, str, int], Tree] = field(default_factory=dict)
    stacks: dict[tuple[str, str], list[Tree]] = field(default_factory=dict)


def tree(outcome: Outcome, rank: int, how: Recording) -> Tree:
    """The dump of one rank."""
    made = outcome.ranks[rank]
    me = _Rank(outcome, rank, how, how.early.get(rank, float("inf")))
    groups = [g for g, group in enumerate(outcome.job.groups) if rank in group.ranks]
    local = {g: number for number, g in enumerate(groups)}
    for call in made:
        if call.made <= me.until:
            _RECORDERS[how.producer](me, call, local[call.call.group])
    if rank in how.inside:
        _inside_batch(me, outcome.job.programs[rank][len(made)], local)
    entries = me.entries
    if how.only_active:
        entries = [e for e, always in zip(entries, me.keep_always, strict=True) if always or e["state"] != "completed"]
    if how.ring is not None:
        first = len(me.entries) - how.ring
        entries = [e for e in entries if e["record_id"] >= first]
    if how.producer == "nccl" and entries and entries[-1]["retired"] and rank % 3 == 1:
        entries[-1]["retired"] = False  # completed, and the watchdog has not come by yet
    library = "" if how.producer != "nccl" else "2.27.7"
    return {
        "version": how.version,
        "pg_config": _config(outcome, rank, how, groups, me),
        **_library(how.version, library),
        "pg_status": {
            str(local[g]): {
                "last_enqueued_collective": c.enqueued,
                "last_started_collective": c.started,
                "last_completed_collective": c.completed,
            }
            for g, c in me.counters.items()
        },
        "entries": entries,
    }


def _library(version: str, text: str) -> Tree:
    minor = int(version.split(".")[1])
    if minor < 6:
        return {}
    return {"comm_lib_version" if minor >= 10 else "nccl_version": text}


def _config(outcome: Outcome, rank: int, how: Recording, groups: list[int], me: _Rank) -> Tree:
    if how.producer == "gloo":  # one value without a name: the local ranks of the group made last (torch 2.15)
        last = outcome.job.groups[groups[-1]]
        return {"": {"name": "", "desc": "", "ranks": str(list(range(len(last.ranks))))}}
    known = groups if how.configured or how.producer in ("nccl2", "hook") else [g for g in groups if g in me.counters]
    named = [outcome.job.groups[g] for g in known]
    return {g.name: {"name": g.name, "desc": g.desc, "ranks": str(list(g.ranks))} for g in sorted(named, key=lambda g: g.name)}


def _nccl(me: _Rank, made: Made, local: int) -> None:
    """ProcessGroupNCCL: one number for a batch, whose members have no state; a last entry carries the batch's."""
    call, c = made.call, me.counters.setdefault(made.call.group, _Counters())
    p2p = call.is_p2p and not (me.how.old_batches and call.batch)
    if p2p:
        c.p2p += 1
    else:
        c.coll += 1
    number = c.p2p if p2p else c.coll
    c.enqueued = number
    if made.started is not None and made.started <= me.until and me.how.timing:
        c.started = number
    if _ended(me, made):
        c.completed = number
    members_recorded = call.is_p2p or int(me.how.version.split(".")[1]) >= 7
    for part in call.parts if members_recorded or not call.batch else ():
        c.ops += 1
        entry = _entry(me, made, part, local, c, f"nccl:{_name(me, call, part)}")
        if call.batch:
            entry |= {"state": "scheduled", "retired": False} | _no_times()
            entry.pop("duration_ms", None)
        _add(me, entry, always=call.batch)
    if call.batch:
        c.ops += 1
        closing = _entry(me, made, None, local, c, "nccl:coalesced")
        _add(me, closing)


def _inside_batch(me: _Rank, call: Call, local: dict[int, int]) -> None:
    """A batch that was begun and not launched: no number of its own yet, no closing entry, and no word in the counters."""
    c = me.counters.setdefault(call.group, _Counters())
    last = max((made.made for made in me.outcome.ranks[me.rank]), default=0.0)
    c.p2p += 1
    for part in call.parts:
        c.ops += 1
        entry = _entry(me, Made(call, (), last + 0.0004), part, local[call.group], c, f"nccl:{_name(me, call, part)}")
        entry.pop("duration_ms", None)
        _add(me, entry, always=True)


def _hook(me: _Rank, made: Made, local: int) -> None:
    """torch 2.15's hook: every operation by itself, operations counted from 0, never 'started'."""
    call, c = made.call, me.counters.setdefault(made.call.group, _Counters())
    library = "nccl2" if me.how.producer == "nccl2" else "fake"
    if not call.is_p2p:
        c.coll += 1
    for number, part in enumerate(call.parts):
        if call.batch and not call.is_p2p and number:
            break  # one entry with all tensors
        if call.is_p2p:
            c.p2p += 1
        name = "barrier" if part.op == "all_reduce_barrier" else _name(me, call, part)
        entry = _entry(me, made, part, local, c, f"{library}:{name}")
        entry["op_id"] = c.ops
        if part.op == "all_reduce_barrier":
            entry |= _no_tensors()
        elif part.op == "send":
            entry |= {"output_sizes": [], "output_dtypes": []}
        elif part.op == "recv":
            entry |= {"input_sizes": [], "input_dtypes": []}
        elif call.batch:
            entry["profiling_name"] = f"{library}:allreduce_coalesced"
            _all_tensors(entry, call)
        entry.pop("duration_ms", None)
        if me.how.producer == "hook":
            entry |= {"state": "scheduled", "retired": True} | _no_times()
        else:
            done = entry["time_discovered_completed_ns"]
            entry |= {"state": "completed" if done else "scheduled", "retired": bool(done), "time_discovered_started_ns": done}
        _add(me, entry)
        c.enqueued = c.ops
        if entry["state"] == "completed":
            c.completed = c.ops
        c.ops += 1


def _gloo(me: _Rank, made: Made, local: int) -> None:
    """gloo: always scheduled, retired when over; sends and receives are counted and not recorded."""
    call, c = made.call, me.counters.setdefault(made.call.group, _Counters())
    c.ops += len(call.parts) if call.is_p2p else 1
    c.enqueued = c.ops
    if _ended(me, made):
        c.completed = c.ops
    if call.is_p2p:
        return
    c.coll += 1
    part = call.parts[0]
    name = "barrier" if part.op == "all_reduce_barrier" else _GLOO.get(part.op, part.op)
    entry = _entry(me, made, part, local, c, f"gloo:{name}")
    if name == "barrier":
        entry |= _no_tensors()
    elif part.op == "_reduce_scatter_base":
        entry["output_sizes"] = entry["input_sizes"]
    elif part.op == "_all_gather_base":
        size = len(me.outcome.job.groups[call.group].ranks)
        entry["output_sizes"] = [[size, prod(part.outputs[0]) // size]]
    if call.batch:
        _all_tensors(entry, call)
    entry.pop("duration_ms", None)
    entry |= {"state": "scheduled", "retired": _ended(me, made)} | _no_times()
    _add(me, entry)


_RECORDERS = {"nccl": _nccl, "nccl2": _hook, "hook": _hook, "gloo": _gloo}


def _ended(me: _Rank, made: Made) -> bool:
    return made.ended is not None and made.ended <= me.until


def _no_times() -> Tree:
    return {"time_discovered_started_ns": None, "time_discovered_completed_ns": None}


def _no_tensors() -> Tree:
    return {"input_sizes": [], "input_dtypes": [], "output_sizes": [], "output_dtypes": []}


def _name(me: _Rank, call: Call, part: Part) -> str:
    if part.peer is None:
        return part.op
    own = me.outcome.job.groups[call.group].ranks.index(me.rank)
    return f"send {own}->{part.peer}" if part.op == "send" else f"recv {own}<-{part.peer}"


def _all_tensors(entry: Tree, call: Call) -> None:
    for side in ("input", "output"):
        shapes = [shape for part in call.parts for shape in (part.inputs if side == "input" else part.outputs)]
        entry[f"{side}_sizes"] = [list(shape) for shape in shapes]
        entry[f"{side}_dtypes"] = [call.parts[0].dtype] * len(shapes)


def _add(me: _Rank, entry: Tree, *, always: bool = False) -> None:
    me.entries.append(entry)
    me.keep_always.append(always)


def _entry(me: _Rank, made: Made, part: Part | None, local: int, c: _Counters, name: str) -> Tree:
    """An entry in NCCL's reading; ``part`` is None for the one that closes a batch."""
    call, how = made.call, me.how
    group = me.outcome.job.groups[call.group]
    zero = START_NS + how.offset_ns(me.rank)

    def at(seconds: float) -> int:
        return zero + int(seconds * 1e9)

    started = made.started is not None and made.started <= me.until
    completed = at(made.ended) if made.ended is not None and _ended(me, made) else None
    if completed is None and started and me.rank in how.aborted:
        completed = at(made.made) + TIMEOUT_MS * 1_000_000 + 73_000_000_000
    begun = at(made.started) if started and how.timing and made.started is not None else None
    entry: Tree = {}
    if how.frames and not how.as_json:
        entry["frames"] = _stack(me, call.site, part.op if part else "coalesced")
    entry |= {"record_id": len(me.entries), "pg_id": local, "process_group": (group.name, group.desc)}
    minor = int(how.version.split(".")[1])
    if minor >= 9:
        entry |= {"thread_name": "pt_main_thread", "thread_id": str(140_000_000_000_000 + me.rank)}
    entry |= {"collective_seq_id": c.coll, "p2p_seq_id": c.p2p, "op_id": c.ops, "profiling_name": name}
    entry["time_created_ns"] = at(made.made)
    if completed and begun:
        entry["duration_ms"] = (completed - begun) / 1e6
    for side in ("input", "output"):
        shapes = () if part is None else part.inputs if side == "input" else part.outputs
        entry[f"{side}_sizes"] = [list(shape) for shape in shapes]
        entry[f"{side}_dtypes"] = [part.dtype] * len(shapes) if part else []
    entry["state"] = "completed" if completed else "started" if begun else "scheduled"
    entry |= {"time_discovered_started_ns": begun, "time_discovered_completed_ns": completed, "retired": completed is not None}
    if minor >= 3:
        entry["timeout_ms"] = TIMEOUT_MS
    entry["is_p2p"] = part is not None and part.peer is not None
    return entry


def _stack(me: _Rank, site: str, op: str) -> list[Tree]:
    """Frames, innermost first; the same frame is the same object, as in a real dump."""
    stack = me.stacks.get((site, op))
    if stack is None:
        name, _, variant = site.partition("#")
        line = 20 + crc32(name.encode()) % 900
        frames = [
            (op, f"{_SITE}/distributed_c10d.py", 2000 + crc32(op.encode()) % 900),
            ("wrapper", f"{_SITE}/c10d_logger.py", 81),
            (name, "/home/ada/job/model.py", line + 7 * int(variant or 0)),
            ("train_step", "/home/ada/job/train.py", 100 + crc32(site.encode()) % 50),
            ("main", "/home/ada/job/train.py", 64),
        ]
        stack = [me.frames.setdefault(f, {"name": f[0], "filename": f[1], "line": f[2]}) for f in frames]
        me.stacks[site, op] = stack
    return stack
