"""Write the incident that ``hangview demo`` shows: eight dumps and eight logs under src/hangview/demo/data.

    python scripts/make_demo.py            write them
    python scripts/make_demo.py --check    say whether they are what this script writes

No GPU ran. A small model of a training job decides what each rank has asked for and how far its device came, and the result is
written with the keys of torch 2.12's NCCL recorder (schema 2.10) and the lines that its watchdog prints. Numbers that look
random come from a fixed seed.

The job: tensor parallel over the four ranks of a host (tp_0: 0-3, tp_1: 4-7), data parallel across the hosts (dp_i: i, i+4).
In step 11 rank 6 raises while it reads its batch. The hosts of ranks 4, 5 and 7 run ahead and ask for the gradients too, then
wait for the loss; their devices stop at the first call of tp_1. Ranks 0-3 finish tp_0 and stop in the data-parallel groups. So
one rank holds up five groups.
"""

from __future__ import annotations

import argparse
import pickle
import random
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[1] / "src/hangview/demo/data"
HOSTS = ("gpu-a01", "gpu-a02")
BAD_RANK = 6
STEPS = 10  #: that everybody completes
TIMEOUT_MS = 600_000
START_NS = int(datetime(2026, 11, 28, 14, 2, 0, tzinfo=UTC).timestamp()) * 10**9
MS = 10**6
#: The second host's clock is ahead, as clocks are.
CLOCK_NS = (0, 183 * MS)

TORCH = "/opt/venv/lib/python3.12/site-packages/torch"
TRAIN = "/srv/jobs/llm-7b/train.py"
MODEL = "/srv/jobs/llm-7b/model.py"


def frame(name: str, filename: str, line: int) -> dict[str, Any]:
    """One stack frame as a dump holds it."""
    return {"name": name, "filename": filename, "line": line}


WRAPPER = frame("wrapper", f"{TORCH}/distributed/c10d_logger.py", 83)
MAIN = [frame("main", TRAIN, 301), frame("<module>", TRAIN, 318)]
STEP = frame("train_step", TRAIN, 212)
CALLS = {
    "all_gather_into_tensor": frame("all_gather_into_tensor", f"{TORCH}/distributed/distributed_c10d.py", 4108),
    "reduce_scatter_tensor": frame("reduce_scatter_tensor", f"{TORCH}/distributed/distributed_c10d.py", 4591),
    "all_reduce": frame("all_reduce", f"{TORCH}/distributed/distributed_c10d.py", 3024),
    "broadcast": frame("broadcast", f"{TORCH}/distributed/distributed_c10d.py", 2897),
}
FORWARD = [frame("gather_sequence", MODEL, 88), frame("forward", MODEL, 131)]
SCATTER = [frame("scatter_sequence", MODEL, 97), frame("forward", MODEL, 140)]
BACKWARD = [frame("backward", f"{MODEL}", 104), frame("apply", f"{TORCH}/autograd/function.py", 311)]
GRADIENTS = [frame("reduce_gradients", TRAIN, 174), STEP]
NORM = [frame("clip_gradients", TRAIN, 189), STEP]
SYNC = [frame("broadcast_weights", TRAIN, 66), frame("setup", TRAIN, 281)]


@dataclass(frozen=True)
class Call:
    """One call that the program makes in a group: what is recorded of it, and how long it takes on the device."""

    kind: str  #: "tp", "dp" or "all"
    api: str
    op: str  #: as recorded, without the library
    numel_in: int
    numel_out: int
    dtype: str
    site: int  #: index into SITES
    thread: str = "python3"
    device_ms: float = 4.0


SITES = (
    [*FORWARD, STEP],
    [*SCATTER, STEP],
    BACKWARD,
    GRADIENTS,
    NORM,
    SYNC,
)
SEQUENCE, SHARD = 8_388_608, 2_097_152
SETUP = (
    Call("all", "broadcast", "broadcast", 1, 1, "Long", 5, device_ms=0.4),
    Call("tp", "broadcast", "broadcast", 33_554_432, 33_554_432, "BFloat16", 5, device_ms=31.0),
)
PROGRAM = (
    Call("tp", "all_gather_into_tensor", "_all_gather_base", SHARD, SEQUENCE, "BFloat16", 0),
    Call("tp", "reduce_scatter_tensor", "_reduce_scatter_base", SEQUENCE, SHARD, "BFloat16", 1),
    Call("tp", "all_gather_into_tensor", "_all_gather_base", SHARD, SEQUENCE, "BFloat16", 2, "pt_autograd_0"),
    Call("tp", "reduce_scatter_tensor", "_reduce_scatter_base", SEQUENCE, SHARD, "BFloat16", 2, "pt_autograd_0"),
    Call("dp", "all_reduce", "all_reduce", 25_165_824, 25_165_824, "Float", 3, device_ms=38.0),
    Call("dp", "all_reduce", "all_reduce", 8_650_752, 8_650_752, "Float", 3, device_ms=14.0),
    Call("all", "all_reduce", "all_reduce", 1, 1, "Float", 4, device_ms=0.3),
)


def group_of(kind: str, rank: int) -> tuple[str, str, tuple[int, ...], int]:
    """Name, description, members and the process's own number of a rank's group."""
    if kind == "all":
        return "0", "default_pg", tuple(range(8)), 0
    if kind == "tp":
        host = rank // 4
        return str(1 + host), f"tp_{host}", tuple(range(4 * host, 4 * host + 4)), 1
    lane = rank % 4
    return str(3 + lane), f"dp_{lane}", (lane, lane + 4), 2


def shape(numel: int) -> list[list[int]]:
    """The sizes of one tensor with so many elements."""
    return [[1]] if numel == 1 else [[numel // 4096, 4096]]


@dataclass
class Rank:
    """What one process has recorded."""

    rank: int
    entries: list[dict[str, Any]] = field(default_factory=list)
    seqs: dict[str, int] = field(default_factory=dict)
    last: dict[str, list[int]] = field(default_factory=dict)  #: pg_id -> enqueued, started, completed

    def record(self, call: Call, created: int, started: int | None, completed: int | None) -> None:
        """Append one entry; times are on the job's clock and become the host's."""
        name, desc, _, pg_id = group_of(call.kind, self.rank)
        seq = self.seqs[call.kind] = self.seqs.get(call.kind, 0) + 1
        skew = CLOCK_NS[self.rank // 4]
        entry: dict[str, Any] = {
            "frames": [CALLS[call.api], WRAPPER, *SITES[call.site], *([] if call.thread != "python3" else MAIN)],
            "record_id": len(self.entries),
            "pg_id": pg_id,
            "process_group": (name, desc),
            "thread_name": call.thread,
            "thread_id": str(139_871_206_000_000 + 4_096 * self.rank + (64 if call.thread != "python3" else 0)),
            "collective_seq_id": seq,
            "p2p_seq_id": 0,
            "op_id": seq,
            "profiling_name": f"nccl:{call.op}",
            "time_created_ns": created + skew,
            "input_sizes": shape(call.numel_in),
            "input_dtypes": [call.dtype],
            "output_sizes": shape(call.numel_out),
            "output_dtypes": [call.dtype],
            "state": "completed" if completed else "started" if started else "scheduled",
            "time_discovered_started_ns": started and started + skew,
            "time_discovered_completed_ns": completed and completed + skew,
            "retired": completed is not None,
            "timeout_ms": TIMEOUT_MS,
            "is_p2p": False,
        }
        if completed and started:
            entry["duration_ms"] = (completed - started) / MS
        self.entries.append(entry)
        counters = self.last.setdefault(str(pg_id), [-1, -1, -1])
        counters[0] = seq
        counters[1] = seq if started else counters[1]
        counters[2] = seq if completed else counters[2]

    def dump(self) -> dict[str, Any]:
        """The whole dump."""
        groups = [group_of(kind, self.rank) for kind in ("all", "tp", "dp")]
        return {
            "version": "2.10",
            "pg_config": {name: {"name": name, "desc": desc, "ranks": str(list(ranks))} for name, desc, ranks, _ in groups},
            "comm_lib_version": "2.27.3",
            "pg_status": {
                pg_id: {
                    "last_enqueued_collective": enqueued,
                    "last_started_collective": started,
                    "last_completed_collective": completed,
                }
                for pg_id, (enqueued, started, completed) in self.last.items()
            },
            "entries": self.entries,
        }


def together(ranks: list[Rank], call: Call, now: int, chance: random.Random) -> int:
    """A call that everybody makes and that completes; returns the time when it is over."""
    begun = [now + chance.randrange(2 * MS) for _ in ranks]
    over = now + 3 * MS + int(call.device_ms * MS)
    for rank, created in zip(ranks, begun, strict=True):
        started = max(created + 90_000, over - int(call.device_ms * MS)) + chance.randrange(200_000)
        rank.record(call, created, started, over + chance.randrange(900_000))
    return over


def job() -> list[Rank]:
    """The dumps' content, rank by rank."""
    chance = random.Random(20261128)
    ranks = [Rank(number) for number in range(8)]
    now = START_NS
    for call in SETUP:
        now = together(ranks, call, now, chance) + 40 * MS
    for _ in range(STEPS):
        now += 700 * MS  # reading a batch, forward, backward, optimiser
        for call in PROGRAM:
            now = together(ranks, call, now, chance) + 25 * MS
    now += 700 * MS
    for rank in ranks:
        if rank.rank != BAD_RANK:
            last_step(rank, now, chance)
    return ranks


def last_step(rank: Rank, now: int, chance: random.Random) -> None:
    """Step 11: the host asks for everything up to the gradients, then waits for the loss; the device goes as far as its groups
    let it."""
    held = False
    for call in PROGRAM[:-1]:
        created = now + chance.randrange(3 * MS)
        if call.kind == "tp" and rank.rank < 4:  # tp_0 is whole
            over = created + 5 * MS + int(call.device_ms * MS)
            rank.record(call, created, over - int(call.device_ms * MS), over)
            now = over
        else:  # the first call that waits is started, what queues behind it on the device is not
            rank.record(call, created, None if held else created + 120_000, None)
            held = True
        now += 6 * MS


def stamp(nanoseconds: int) -> str:
    """A time as the C++ logger prints it: month, day and a clock with nanoseconds."""
    whole, rest = divmod(nanoseconds, 10**9)
    return datetime.fromtimestamp(whole, UTC).strftime("%m%d %H:%M:%S.") + f"{rest:09d}"


def plain_stamp(nanoseconds: int) -> str:
    """A time as the training script logs it."""
    return datetime.fromtimestamp(nanoseconds // 10**9, UTC).strftime("%Y-%m-%d %H:%M:%S,") + f"{nanoseconds // MS % 1000:03d}"


TRACEBACK = """\
Traceback (most recent call last):
  File "/srv/jobs/llm-7b/train.py", line 318, in <module>
    main()
  File "/srv/jobs/llm-7b/train.py", line 301, in main
    batch = next(batches)
            ^^^^^^^^^^^^^
  File "/srv/jobs/llm-7b/data.py", line 77, in __next__
    raise ValueError(f"{shard}: sample {index}: {len(tokens)} tokens, expected {self.length}")
ValueError: shard-00006.tar: sample 1311: 0 tokens, expected 4097
"""


def log(rank: Rank, wall: int) -> str:
    """What a rank's process printed. ``wall`` is when the watchdogs fire, on the job's clock."""
    host = rank.rank // 4
    skew = CLOCK_NS[host]
    device, pid = rank.rank % 4, 41_260 + rank.rank
    start = f"{plain_stamp(START_NS + skew - 2_100 * MS)} rank {rank.rank} INFO"
    nccl = f"{HOSTS[host]}:{pid}:{pid + 90} [{device}] NCCL INFO"
    bus = ("1b000", "43000", "52000", "9d000")[device]
    comm = f"comm 0x55d0a1{rank.rank}f3c0 rank {rank.rank} nranks 8 cudaDev {device} nvmlDev {device} busId {bus}"
    groups = ", ".join(group_of(kind, rank.rank)[1] for kind in ("all", "tp", "dp"))
    lines = [
        f"{start} world size 8, groups {groups}, PyTorch version: 2.12.1+cu128",
        f"{nccl} NCCL version 2.27.3+cuda12.8",
        f"{nccl} cudaDriverVersion 12080",
        f"{nccl} ncclCommInitRankConfig {comm} commId 0x6f2d70c41b8e5a93 - Init COMPLETE",
    ]
    if rank.rank == BAD_RANK:
        raised = rank.entries[-1]["time_discovered_completed_ns"] + 640 * MS
        lines += [f"{plain_stamp(raised)} rank 6 ERROR training loop stopped by an exception", *TRACEBACK.splitlines()]
        lines.append(f"{plain_stamp(raised + 3 * MS)} rank 6 INFO waiting for the checkpoint writer before exit")
        return "\n".join([*lines, *dump_signal(rank, wall + skew + 900 * MS, 4)]) + "\n"
    open_entry = next(entry for entry in rank.entries if entry["state"] != "completed")
    name, desc = open_entry["process_group"]
    members = next(group[2] for kind in ("all", "tp", "dp") if (group := group_of(kind, rank.rank))[0] == name)
    seq = open_entry["collective_seq_id"]
    op = {"_all_gather_base": "_ALLGATHER_BASE", "all_reduce": "ALLREDUCE"}[open_entry["profiling_name"].removeprefix("nccl:")]
    numel_in, numel_out = (shape[0][0] * shape[0][1] for shape in (open_entry["input_sizes"], open_entry["output_sizes"]))
    enqueued, _, completed = rank.last[str(open_entry["pg_id"])]
    now = wall + skew + rank.rank * 11 * MS
    here = f"[rank{rank.rank}]:[E{stamp(now)} ProcessGroupNCCL.cpp"
    bracket = f"[PG ID {open_entry['pg_id']} PG GUID {name}({desc}) Rank {members.index(rank.rank)}]"
    work = f"WorkNCCL(SeqNum={seq}, OpType={op}, NumelIn={numel_in}, NumelOut={numel_out}, Timeout(ms)={TIMEOUT_MS})"
    ran = f"ran for {TIMEOUT_MS + 12 + rank.rank} milliseconds before timing out."
    status = f"PG status: last enqueued work: {enqueued}, last completed work: {completed}"
    lines += [
        f"{here}:733] [Rank {members.index(rank.rank)}] Watchdog caught collective operation timeout: {work} {ran}",
        f"{here}:2301] {bracket}  failure detected by watchdog at work sequence id: {seq} {status}",
        f"{here}:778] Stack trace of the failed collective: ",
        *(f"#{number} {f['name']} from {f['filename']}:{f['line']}" for number, f in enumerate(open_entry["frames"])),
        "",
        f"{here}:2650] {bracket} First PG on this rank to signal dumping. ",
        *dump_signal(rank, now + 800 * MS, rank.rank),
    ]
    return "\n".join(lines) + "\n"


def dump_signal(rank: Rank, now: int, origin: int) -> list[str]:
    """The default group's monitor takes the dump; ``origin`` is the rank that asked for it."""
    here = f"[rank{rank.rank}]:[E{stamp(now)} ProcessGroupNCCL.cpp"
    bracket = f"[PG ID 0 PG GUID 0(default_pg) Rank {rank.rank}]"
    who = "this local rank" if origin == rank.rank else f" rank {origin}"
    enqueued, _, completed = rank.last["0"]
    counters = f"Last enqueued NCCL work: {enqueued}, last completed NCCL work: {completed}."
    seen = f"{here}:1861] {bracket} Observed flight recorder dump signal from another rank via TCPStore."
    reason = f"Received a dump signal due to a collective timeout from {who} and we will try our best to dump the debug info."
    return [
        *([] if origin == rank.rank else [seen]),
        f"{here}:1925] {bracket} {reason} {counters}",
        f"{here}:1640] {bracket} ProcessGroupNCCL preparing to dump debug info. Include stack trace: 1",
    ]


def files() -> dict[str, bytes]:
    """Every file of the incident, by its path under DATA."""
    ranks = job()
    wall = max(entry["time_created_ns"] for entry in ranks[0].entries) + TIMEOUT_MS * MS
    found = {}
    for rank in ranks:
        folder = HOSTS[rank.rank // 4]
        found[f"{folder}/comm_lib_trace_rank_{rank.rank}"] = pickle.dumps(rank.dump(), protocol=2)
        found[f"{folder}/rank_{rank.rank}.log"] = log(rank, wall).encode()
    return found


def main() -> int:
    """Write or check; the exit status of the script."""
    parser = argparse.ArgumentParser(description="Write the incident that hangview demo shows.")
    parser.add_argument("--check", action="store_true", help="write nothing, say whether the files are current")
    check = parser.parse_args().check
    wanted = files()
    if check:
        stale = [path for path, data in wanted.items() if not (DATA / path).is_file() or (DATA / path).read_bytes() != data]
        print(f"not current: {', '.join(stale)}" if stale else "the demo's files are current")
        return 1 if stale else 0
    for path, data in wanted.items():
        target = DATA / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    print(f"{len(wanted)} files, {sum(map(len, wanted.values())):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
