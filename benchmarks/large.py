"""Writes large sets of dumps with the bytes of torch's writer: 1,024 ranks × 2,000 entries in well under a minute.

    python -m benchmarks.large OUT --ranks 1024 --entries 2000 --pp 8
    python -m benchmarks.large OUT --ranks 64 --fault size --rank 5 --wrap

A training job, tensor × pipeline × data parallel (tensor fastest, pipeline slowest), shaped and named like Megatron-LM's. All
steps but the last run to their end on every rank; in the last one the fault strikes, and a rendezvous of all calls decides how
far everybody came. OUT/EXPECT.json says whom the dumps show.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from benchmarks.large_bytes import write_rank
from benchmarks.large_job import FAULTS
from benchmarks.large_plan import Options, Plan, plan


def write(todo: int, job: Plan, out: Path) -> tuple[int, int]:
    """Write one rank's dump; returns its bytes and entries."""
    data, entries = write_rank(job, todo)
    if todo in job.options.cut:
        data = data[: len(data) * 2 // 3]
    (out / f"{job.options.prefix}{todo}").write_bytes(data)
    return len(data), entries


def expectation(job: Plan) -> dict[str, object]:
    """EXPECT.json: the answer that these dumps must give."""
    options, came = job.options, job.progress
    seen = options.rank not in options.missing and options.rank not in options.cut
    kind = {"stuck": "not_requested", "op": "different_op", "size": "different_size", "dtype": "different_dtype"}
    score: dict[str, object] = {"verdict": "no_hang", "exit": 0, "leads": []}
    if options.fault != "none":
        group = job.layout.groups[job.layout.of_rank[options.rank][came.kind]]
        named = seen and (options.fault == "stuck" or len(group.ranks) > 2)
        score = {"verdict": "divergence", "exit": 1, "leads": [options.rank] if named else []}
        if options.rank in options.cut and options.fault == "stuck":
            score = {"verdict": "divergence", "exit": 1, "leads_any": [[], [options.rank]]}  # its counters may tell
        elif named:
            score["kinds"] = [kind[options.fault]]
    return {
        "title": f"{options.ranks} ranks, tp {options.tp} × pp {options.pp}, fault {options.fault} on rank {options.rank}",
        "origin": "written by a simulator with the bytes of NCCL dumps",
        "score": score,
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("out", type=Path)
    add("--ranks", type=int, default=64)
    add("--entries", type=int, default=2000, help="at most, per rank: the size of the ring")
    add("--tp", type=int, help="tensor parallel size (2 up to 8 ranks, else 8)")
    add("--pp", type=int, default=1, help="pipeline stages")
    add("--layers", type=int, default=8)
    add("--micro", type=int, default=4, help="microbatches in a step")
    add("--fault", choices=FAULTS, default="stuck")
    add("--rank", type=int, help="the odd rank (5/8 of the ranks)")
    add("--wrap", action="store_true", help="more steps than the ring holds")
    add("--no-timing", dest="timing", action="store_false")
    add("--no-frames", dest="frames", action="store_false")
    add("--depth", type=int, default=15, help="frames per stack")
    add("--missing", type=int, nargs="*", default=[])
    add("--cut", type=int, nargs="*", default=[])
    add("--prefix", default="nccl_trace_rank_")
    add("--jobs", type=int, default=2, help="processes")
    given = vars(parser.parse_args(arguments))
    out, jobs = given.pop("out"), given.pop("jobs")
    given["tp"] = given["tp"] or (2 if given["ranks"] <= 8 else 8)
    given["rank"] = given["ranks"] * 5 // 8 if given["rank"] is None else given["rank"]
    started = time.monotonic()
    job = plan(Options(**{**given, "missing": frozenset(given["missing"]), "cut": frozenset(given["cut"])}))
    out.mkdir(parents=True, exist_ok=True)
    todo = [rank for rank in range(job.options.ranks) if rank not in job.options.missing]
    with ProcessPoolExecutor(jobs, mp_context=get_context("fork")) as pool:
        sizes = list(pool.map(partial(write, job=job, out=out), todo, chunksize=16))
    (out / "EXPECT.json").write_text(json.dumps(expectation(job), indent=1))
    entries = [count for _, count in sizes]
    summary = {
        "dumps": len(todo),
        "bytes": sum(size for size, _ in sizes),
        "entries": sum(entries),
        "entries_per_rank": [min(entries), max(entries)],
        "groups": len(job.layout.groups),
        "seconds": round(time.monotonic() - started, 1),
    }
    print(json.dumps(summary))
    return 0


if __name__ == "__main__":
    sys.exit(main())
