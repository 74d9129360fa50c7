"""Reads a log of gigabytes and of 64 interleaved ranks, beside ``grep -c 'Watchdog caught'`` on the same file.

    python benchmarks/logs_large.py [--gigabytes 2] [--keep] [--runs 3] [FILE]

The file is mostly NCCL INFO with some training output; rank 37 is behind and all others time out at the end, one rank raised
and caught an exception in the middle. It is deleted afterwards unless ``--keep`` is given. Memory is the peak of the process.
"""

# ruff: noqa: E501 - log lines are quoted whole

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

RANKS = 64
BEHIND = 37
SEQ = 90_211

_READ = """
import json, resource, sys, time
from pathlib import Path
start = time.perf_counter()
from hangview.logs import LogFile, conclude, leads_of, read_logs
loaded = time.perf_counter()
evidence = read_logs([LogFile(0, Path(sys.argv[1]), "job.log")])
read = time.perf_counter()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
log = evidence.logs[0]
print(json.dumps({"import": loaded - start, "read": read - loaded, "peak_mb": peak / 1024, "lines": log.lines,
  "leads": leads_of(conclude(evidence)), "rows": len(evidence.groups), "places": len(evidence.places), "ends": len(evidence.ends)}))
"""


def info(rng: random.Random, count: int) -> bytes:
    """``count`` lines of NCCL INFO and training output of interleaved ranks."""
    lines = []
    for number in range(count):
        rank = rng.randrange(RANKS)
        node, local = divmod(rank, 8)
        head = f"gpu{node:02}:{4000 + rank}:{5000 + rank} [{local}] NCCL INFO "
        lines.append(
            (
                f"{head}Channel {number % 32:02}/0 : {rank}[{local}] -> {(rank + 1) % RANKS}[{(rank + 1) % 8}] via P2P/CUMEM/read",
                (
                    f"{head}AllReduce: opCount {number:x} sendbuff 0x7f{number:010x} recvbuff 0x7f{number:010x} "
                    f"count {rng.randrange(1 << 24)} datatype 9 op 0 root 0 comm 0x55d{rank:08x} [nranks={RANKS}] stream 0x55e{rank:07x}"
                ),
                f"{head}NET/IB : GPU Direct RDMA Enabled for HCA {local} 'mlx5_{local}'",
                f"{head}Connected all rings",
                f"{rank:2}: step {number} loss {rng.random():.5f} lr 3.0e-04 tokens/s {rng.randrange(20_000)}",
                f"{head}Trees [0] {rank + 1}/-1/-1->{rank}->{rank - 1} [1] {rank + 1}/-1/-1->{rank}->{rank - 1}",
            )[number % 6]
        )
    return ("\n".join(lines) + "\n").encode()


def start_lines() -> Iterator[str]:
    for rank in range(RANKS):
        node, local = divmod(rank, 8)
        head = f"gpu{node:02}:{4000 + rank}:{5000 + rank} [{local}] NCCL INFO "
        if rank == 0:
            yield f"{head[:-10]}NCCL version 2.21.5+cuda12.4"
        yield f"{head}NCCL_SOCKET_IFNAME set by environment to eth0"
        yield f"{head}comm 0x55d{rank:08x} rank {rank} nranks {RANKS} cudaDev {local} nvmlDev {local} busId {local}b000 commId 0x1f2e3d - Init COMPLETE"


def caught_in_the_middle() -> Iterator[str]:
    yield " 5: [rank5]: Traceback (most recent call last):"
    yield ' 5: [rank5]:   File "/srv/job/cache.py", line 12, in get'
    yield " 5: [rank5]:     return self.rows[key]"
    yield " 5: [rank5]: KeyError: 'shard-17'"
    yield " 5: INFO cache refilled, step 40017"


def end_lines() -> Iterator[str]:
    work = f"WorkNCCL(SeqNum={SEQ}, OpType=ALLREDUCE, NumelIn=8650752, NumelOut=8650752, Timeout(ms)=600000) ran for 600{{:03}} milliseconds before timing out."
    for rank in range(RANKS):
        head = f"{rank:2}: [rank{rank}]:[E626 05:14:36.393067540 ProcessGroupNCCL.cpp:"
        bracket = f"[PG ID 0 PG GUID 0(default_pg) Rank {rank}] "
        if rank == BEHIND:
            yield (
                f"{head}1743] {bracket}Received a dump signal due to a collective timeout from  rank 2 and we will try our best to dump the debug info. "
                f"Last enqueued NCCL work: {SEQ - 1}, last completed NCCL work: {SEQ - 1}.This is most likely"
            )
            continue
        yield f"{head}629] [Rank {rank}] Watchdog caught collective operation timeout: {work.format(rank)}"
        yield (
            f"{head}2168] {bracket} failure detected by watchdog at work sequence id: {SEQ} PG status: last enqueued work: {SEQ}, "
            f"last completed work: {SEQ - 1}"
        )


def write(path: Path, size: int) -> None:
    """Writes a log of about ``size`` bytes; the end comes where the job ends, followed by some megabytes of other ranks' lines."""
    rng = random.Random(7)
    bulk = [info(rng, 40_000) for _ in range(4)]

    def text(lines: Iterator[str]) -> bytes:
        return ("\n".join(lines) + "\n").encode()

    with path.open("wb") as file:
        file.write(text(start_lines()))
        written, middle = 0, False
        while written < size:
            written += file.write(bulk[rng.randrange(4)])
            if not middle and written > size // 2:
                file.write(text(caught_in_the_middle()))
                middle = True
        file.write(text(end_lines()))
        file.write(bulk[0])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("file", nargs="?", type=Path, default=Path(tempfile.gettempdir()) / "hangview-large.log")
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    path: Path = options.file
    if not path.exists():
        write(path, int(options.gigabytes * 1e9))
    try:
        size = path.stat().st_size
        for _ in range(options.runs):
            start = time.perf_counter()
            count = subprocess.run(
                ["grep", "-c", "Watchdog caught", str(path)], capture_output=True, text=True, check=False
            ).stdout.strip()
            grep = time.perf_counter() - start
            start = time.perf_counter()
            done = subprocess.run([sys.executable, "-c", _READ, str(path)], capture_output=True, text=True, check=True)
            whole = time.perf_counter() - start
            said = json.loads(done.stdout)
            print(
                f"{size / 1e9:.2f} GB, {said['lines']:,} lines: grep {grep:.2f} s ({count} lines); hangview {said['read']:.2f} s "
                f"(with start-up {whole:.2f} s), {size / said['read'] / 1e9:.2f} GB/s, {grep / said['read']:.2f} × grep's speed, "
                f"peak {said['peak_mb']:.0f} MB; leads {said['leads']}, {said['rows']} positions, {said['places']} places, {said['ends']} ends"
            )
    finally:
        if not options.keep:
            path.unlink(missing_ok=True)
    return 0 if resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 500 * 1024 else 1


if __name__ == "__main__":
    sys.exit(main())
