"""One rank's dump as bytes, in the habits of torch::jit::Pickler: protocol 2, strings memoised at first use, frames shared.

What is the same for all entries of one call site is rendered once per file; what is left are numbers.
"""

from __future__ import annotations

import random
import struct
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING
from zlib import crc32

from benchmarks.large_job import DESCS, PIPE, Call

if TYPE_CHECKING:
    from benchmarks.large_plan import Plan

START_NS = 1_795_965_504_000_000_000
STEP_NS = 900_000_000
CALL_NS = 350_000
Frame = tuple[str, str, int]
_TORCH = "/opt/venv/lib/python3.12/site-packages/torch"
_STATES = ("scheduled", "started", "completed")
_NONE, _TRUE, _FALSE = b"N", b"\x88", b"\x89"


class Memo:
    """The pickler's memory: renders values, and knows what was written before."""

    def __init__(self, frames: Counter[Frame]) -> None:
        self.known: dict[object, bytes] = {}
        self.count = 0
        self.frames = frames  #: how often each is used: torch remembers only what is used again

    def put(self) -> tuple[bytes, bytes]:
        """The opcode that remembers the value just written, and the one that recalls it."""
        number = self.count
        self.count += 1
        if number < 256:
            return b"q" + bytes((number,)), b"h" + bytes((number,))
        packed = struct.pack("<I", number)
        return b"r" + packed, b"j" + packed

    def text(self, value: str) -> bytes:
        if value in self.known:
            return self.known[value]
        raw = value.encode()
        put, self.known[value] = self.put()
        return b"X" + struct.pack("<I", len(raw)) + raw + put

    def frame(self, frame: Frame) -> bytes:
        if frame in self.known:
            return self.known[frame]
        name, file, line = frame
        body = b"}(" + b"".join(
            (self.text("name"), self.text(name), self.text("filename"), self.text(file), self.text("line"), integer(line))
        )
        if self.frames[frame] < 2:
            return body + b"u"
        put, self.known[frame] = self.put()
        return body + b"u" + put

    def texts(self, *values: str) -> bytes:
        return b"](" + b"".join(map(self.text, values)) + b"e"


#: Sequence numbers and sizes come again and again.
_SMALL = [b"K" + bytes((n,)) if n <= 0xFF else b"M" + struct.pack("<H", n) for n in range(0x1_0000)]


def integer(value: int) -> bytes:
    if 0 <= value <= 0xFFFF:
        return _SMALL[value]
    if -0x8000_0000 <= value <= 0x7FFF_FFFF:
        return b"J" + struct.pack("<i", value)
    return b"\x8a\x08" + struct.pack("<q", value)


def stack(call: Call, depth: int) -> list[Frame]:
    """About ``depth`` frames, innermost first, most of them the same for all calls of a pass."""
    site, _, layer = call.site.partition("#")
    shift = 211 * int(layer or 0)
    public = {"_all_gather_base": "all_gather_into_tensor", "_reduce_scatter_base": "reduce_scatter_tensor"}.get(
        call.op, call.op
    )
    frames = [
        (public, f"{_TORCH}/distributed/distributed_c10d.py", 2000 + crc32(public.encode()) % 2500),
        ("wrapper", f"{_TORCH}/distributed/c10d_logger.py", 81),
        (site, "/workspace/trainer/parallel/mappings.py", 40 + crc32(site.encode()) % 400 + shift),
        ("forward", "/workspace/trainer/parallel/layers.py", 410 + shift),
        ("_call_impl", f"{_TORCH}/nn/modules/module.py", 1786),
        ("_wrapped_call_impl", f"{_TORCH}/nn/modules/module.py", 1775),
    ]
    way = "backward_step" if site.startswith("backward") else "forward_step"
    frames += [(f"block_{n}", "/workspace/trainer/model/block.py", 100 + 17 * n) for n in range(max(0, depth - 10))]
    frames += [
        (way, "/workspace/trainer/pipeline/schedules.py", 300 if way == "forward_step" else 390),
        ("train_step", "/workspace/trainer/training.py", 1299),
        ("train", "/workspace/trainer/training.py", 2051),
        ("<module>", "/workspace/pretrain.py", 305),
    ]
    return frames[:depth] if depth < 10 else frames


class _Kind:
    """The constant parts of the entries of one call site, between their numbers.

    Rendered in the order of the file, as the memo counts: so with what the entry at hand has in between, its state and whether
    it has a duration.
    """

    def __init__(
        self, memo: Memo, job: Plan, call: Call, group: tuple[str, str], pg_id: int, closes: bool, own: int, state: int
    ) -> None:
        text = memo.text
        self.head = b"}("
        if job.options.frames:
            self.head += text("frames") + b"](" + b"".join(map(memo.frame, stack(call, job.options.depth))) + b"e"
        self.head += text("record_id")
        self.after_record = text("pg_id") + integer(pg_id) + text("process_group") + text(group[0]) + text(group[1]) + b"\x86"
        autograd = call.site.startswith("backward")
        self.after_record += text("thread_name") + text("pt_autograd_0" if autograd else "pt_main_thread")
        self.after_record += (
            text("thread_id") + text(str(139_900_000_000_000 + 4096 * autograd + own)) + text("collective_seq_id")
        )
        self.after_seq = text("p2p_seq_id")
        self.after_p2p = text("op_id")
        name = "coalesced" if closes else call.op
        if call.way and not closes:
            stage = job.layout.stage(own)
            name += f" {stage}->{stage + call.way}" if call.op == "send" else f" {stage}<-{stage + call.way}"
        self.after_op = text("profiling_name") + text(f"nccl:{name}") + text("time_created_ns")
        self.duration = text("duration_ms") if state == 2 and job.options.timing else b""
        sizes = b""
        for side, shape in (("input", call.inputs), ("output", call.outputs)):
            one = b"](" + (b"" if closes else b"](" + b"".join(map(integer, shape)) + b"e") + b"e"
            sizes += text(f"{side}_sizes") + one + text(f"{side}_dtypes") + memo.texts(*(() if closes else (call.dtype,)))
        self.sizes = sizes + text("state")
        self.made_for, self.state = state, text(_STATES[state])
        self.after_state = text("time_discovered_started_ns")
        self.after_started = text("time_discovered_completed_ns")
        self.after_completed = text("retired")
        message = bool(call.way) and not closes
        self.tail = text("timeout_ms") + integer(600_000) + text("is_p2p") + (_TRUE if message else _FALSE) + b"u"


def write_rank(job: Plan, rank: int) -> tuple[bytes, int]:
    """The dump of one rank, and its number of entries."""
    layout, options, made = job.layout, job.options, job.progress.made[rank]
    step, mine = job.steps[layout.stage(rank)], layout.of_rank[rank]
    local = {kind: number for number, kind in enumerate(sorted(mine))}
    names = {kind: (layout.groups[mine[kind]].name, DESCS[kind]) for kind in mine}
    records = [
        (number, index, closes)
        for number in range(job.before + 1)
        for index, call in enumerate(step.calls[: made if number == job.before else None])
        for closes in ((False, True) if call.way else (False,))
    ]
    first = max(0, len(records) - options.entries)
    odd = (job.before, job.progress.at) if rank == options.rank and options.fault in ("op", "size", "dtype") else None
    spoilt = _spoilt(step.calls[job.progress.at], options.fault) if odd else None
    uses = Counter(index for number, index, _ in records[first:] if (number, index) != odd)
    frames: Counter[Frame] = Counter()
    for index, count in uses.items():
        for frame in stack(step.calls[index], options.depth):
            frames[frame] += count
    if spoilt and job.progress.at < made:
        frames.update(stack(spoilt, options.depth))
    memo = Memo(frames)
    out = [_header(memo, job, rank, local, names), memo.text("entries"), b"]("]
    numbers = _Numbers(job, rank)
    kinds: dict[tuple[int, bool], _Kind] = {}
    first_like: dict[Call, int] = {}
    like = [first_like.setdefault(call, index) for index, call in enumerate(step.calls)]  # equal calls share a kind
    for record in range(first, len(records)):
        number, index, closes = records[record]
        is_odd = spoilt is not None and (number, index) == odd
        call = spoilt if spoilt and is_odd else step.calls[index]
        key = (-1 if is_odd else like[index], closes)
        kind = kinds.get(key)
        if kind is None:
            state = numbers.state(number, index, call, closes)
            make = partial(_Kind, memo, job, call, names[call.kind], local[call.kind], closes, rank, state)
            numbers.entry(out, make(), memo, record, number, index, call, closes)
            kinds[key] = make()  # now that all of it is known, rendered from memory
        else:
            numbers.entry(out, kind, memo, record, number, index, call, closes)
    put, _ = memo.put()
    out.append(b"eu" + put + b".")
    return b"".join(out), len(records) - first


class _Numbers:
    """What differs between the entries of one call site: sequence numbers, times, states."""

    def __init__(self, job: Plan, rank: int) -> None:
        self.job, self.made, self.over = job, job.progress.made[rank], job.progress.over[rank]
        step = job.steps[job.layout.stage(rank)]
        self.per_group = step.per_group
        seen: dict[int, int] = {}
        self.place = []  # calls of the same group up to this one, in a step
        for call in step.calls:
            seen[call.kind] = seen.get(call.kind, 0) + 1
            self.place.append(seen[call.kind])
        self.rng = random.Random(rank)
        self.start = START_NS + self.rng.randrange(2_000_000)

    def state(self, number: int, index: int, call: Call, closes: bool) -> int:
        """Index into the states. Members of a batch have none: its last entry carries it."""
        if call.way and not closes:
            return 0
        if number < self.job.before or index < self.over:
            return 2
        return 1 if self.job.options.timing and index == self.over else 0

    def entry(
        self, out: list[bytes], kind: _Kind, memo: Memo, record: int, number: int, index: int, call: Call, closes: bool
    ) -> None:
        timing, getrandbits = self.job.options.timing, self.rng.getrandbits
        count = number * self.per_group[call.kind] + self.place[index]
        created = self.start + number * STEP_NS + index * CALL_NS + getrandbits(16)
        state = self.state(number, index, call, closes)
        began = created + 90_000 if state and timing else 0
        ended = created + 110_000 + getrandbits(17) if state == 2 else 0
        out += (kind.head, integer(record), kind.after_record, integer(0 if call.kind == PIPE else count), kind.after_seq)
        out += (integer(count if call.kind == PIPE else 0), kind.after_p2p, integer(count), kind.after_op, integer(created))
        if ended and timing:
            out += (kind.duration or memo.text("duration_ms"), b"G", struct.pack(">d", (ended - began) / 1e6))
        word = kind.state if state == kind.made_for else memo.text(_STATES[state])
        out += (kind.sizes, word, kind.after_state, integer(began) if began else _NONE)
        out += (kind.after_started, integer(ended) if ended else _NONE)
        out += (kind.after_completed, _TRUE if ended else _FALSE, kind.tail)


def _spoilt(call: Call, fault: str) -> Call:
    """What the odd rank calls in place of ``call``."""
    if fault == "size":
        grown = (call.inputs[0] + 8, *call.inputs[1:]), (call.outputs[0] + 8, *call.outputs[1:])
        return Call(call.kind, call.op, call.site, *grown, call.dtype)
    if fault == "dtype":
        return Call(call.kind, call.op, call.site, call.inputs, call.outputs, "Half")
    return Call(call.kind, "all_reduce", call.site, call.inputs, call.inputs, call.dtype)


def _header(memo: Memo, job: Plan, rank: int, local: dict[int, int], names: dict[int, tuple[str, str]]) -> bytes:
    text, layout = memo.text, job.layout
    out = [b"\x80\x02}(", text("version"), text("2.10"), text("pg_config"), b"}("]
    for kind, (name, desc) in sorted(names.items(), key=lambda item: item[1]):
        ranks = "[" + ", ".join(map(str, layout.groups[layout.of_rank[rank][kind]].ranks)) + "]"
        out += [text(name), b"}(", text("name"), text(name), text("desc"), text(desc), text("ranks"), text(ranks), b"u"]
    out += [b"u", text("comm_lib_version"), text("2.27.7"), text("pg_status"), b"}("]
    step = job.steps[layout.stage(rank)]
    made, over = job.progress.made[rank], job.progress.over[rank]
    for kind, number in local.items():
        before = job.before * step.per_group.get(kind, 0)
        asked, begun, ended = (before + sum(c.kind == kind for c in step.calls[:n]) for n in (made, min(made, over + 1), over))
        counters = (asked, begun if job.options.timing else 0, ended)
        keys = ("last_enqueued_collective", "last_started_collective", "last_completed_collective")
        out += [text(str(number)), b"}("]
        for key, value in zip(keys, counters, strict=True):
            out += [text(key), integer(value or -1)]
        out.append(b"u")
    out.append(b"u")
    return b"".join(out)
