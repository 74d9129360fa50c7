"""Small dumps written by hand, and the way from a folder to records. Nothing here is hangview's own output."""

from __future__ import annotations

import json
import pickle
from typing import TYPE_CHECKING, Any

from hangview.dumps.assemble import assemble
from hangview.dumps.find import find
from hangview.dumps.read import read_file
from hangview.schema import ReadOptions, Source, SourceKind, SourceStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from hangview.incident import Incident
    from hangview.schema import Records

SECOND = 1_000_000_000
HOUR = 3600 * SECOND
START = 1_795_900_000 * SECOND
STACK = [
    {"name": "all_reduce", "filename": "/site-packages/torch/distributed/distributed_c10d.py", "line": 2810},
    {"name": "step", "filename": "/job/train.py", "line": 171},
]


def entry(seq: int, *, at: int = START, state: str = "completed", **changes: Any) -> dict[str, Any]:
    """One record as torch 2.10 writes it for nccl; the call takes 1 ms, one call a second from ``at``."""
    created = at + seq * SECOND
    done = state == "completed"
    return {
        "frames": STACK,
        "record_id": seq - 1,
        "pg_id": 0,
        "process_group": ("0", "default_pg"),
        "collective_seq_id": seq,
        "p2p_seq_id": 0,
        "op_id": seq,
        "profiling_name": "nccl:all_reduce",
        "time_created_ns": created,
        "input_sizes": [[8]],
        "input_dtypes": ["Float"],
        "output_sizes": [[8]],
        "output_dtypes": ["Float"],
        "state": state,
        "time_discovered_started_ns": None,
        "time_discovered_completed_ns": created + SECOND // 1000 if done else None,
        "retired": done,
        "timeout_ms": 600_000,
        "is_p2p": False,
    } | changes


def calls(count: int, *, at: int = START, open_last: bool = False, **changes: Any) -> list[dict[str, Any]]:
    """``count`` calls of the default group from seq 1; the last one unfinished if asked for."""
    states = ["completed"] * count
    if open_last:
        states[-1] = "scheduled"
    return [entry(i + 1, at=at, state=state, **changes) for i, state in enumerate(states)]


def config(**groups: Iterable[int]) -> dict[str, Any]:
    """``config(default_pg=[0, 1], tp=[0, 1])``: groups named "0", "1", ... in order, described by the keyword."""
    return {str(i): {"name": str(i), "desc": desc, "ranks": str(list(ranks))} for i, (desc, ranks) in enumerate(groups.items())}


def status(enqueued: int, started: int = -1, completed: int = -1) -> dict[str, int]:
    return {
        "last_enqueued_collective": enqueued,
        "last_started_collective": started,
        "last_completed_collective": completed,
    }


def dump(
    entries: Sequence[Mapping[str, Any]], groups: Mapping[str, Any], counters: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """A dump's dictionary as torch 2.9 to 2.15 has it."""
    return {
        "version": "2.10",
        "pg_config": groups,
        "comm_lib_version": "2.27.7",
        "pg_status": counters or {},
        "entries": list(entries),
    }


def plain(ranks: int, *, count: int = 4, at: int = START, open_last: bool = True) -> dict[str, Any]:
    """The dump of a rank in a world of ``ranks`` with only the default group."""
    done = count - 1 if open_last else count
    return dump(calls(count, at=at, open_last=open_last), config(default_pg=range(ranks)), {"0": status(count, -1, done)})


def write(path: Path, content: Mapping[str, Any]) -> Path:
    """As JSON for a name that says so, else as a pickle of protocol 2."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if ".json" in path.name:
        path.write_text(json.dumps({key: value for key, value in content.items() if key != "frames"}))
    else:
        path.write_bytes(pickle.dumps(dict(content), protocol=2))
    return path


def records(*paths: Path, **options: Any) -> Records:
    """Everything under some paths, read in this process."""
    chosen = ReadOptions(**options)
    listing = find([str(path) for path in paths], chosen)
    files = [result for found in listing.dumps for result in read_file(found, chosen.limits)]
    logs = [Source(found.shown, SourceKind.LOG, SourceStatus.READ) for found in listing.logs]
    return assemble(files, [*logs, *listing.others], chosen)


def ranks(found: Records) -> dict[str, int | None]:
    """Usable sources and their ranks."""
    return {source.path: source.rank for source in found.sources if source.usable}


def statuses(found: Records | Incident) -> dict[str, str]:
    return {source.path: source.status.value for source in found.sources}


def reason(found: Records, path: str) -> str:
    return next(source.reason or "" for source in found.sources if source.path == path)


def four(folder: Path) -> Path:
    """Four ranks, of which 3 did not come to the last call."""
    for rank in range(4):
        write(folder / f"rank_{rank}", plain(4, count=41 if rank == 3 else 42, open_last=rank != 3))
    return folder
