"""Changes to a set of dumps that must not change whom it names. A set is a tree for each world rank."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING, Any

from tests.jobs.record import TIMEOUT_MS, Tree
from tests.jobs.write import json_bytes

if TYPE_CHECKING:
    import random
    from pathlib import Path

Dumps = dict[int, Tree]
_TIMES = ("time_created_ns", "time_discovered_started_ns", "time_discovered_completed_ns")


def read(folder: Path, names: dict[int, str]) -> Dumps:
    """The trees of a fixture's pickles, which we made ourselves; ``names`` gives each rank's file."""
    return {rank: pickle.loads((folder / name).read_bytes()) for rank, name in names.items()}


def save(dumps: Dumps, folder: Path, pattern: str = "trace_rank_{}") -> list[str]:
    """Write a set as JSON and return the paths, by rank."""
    paths = []
    for rank, dump in sorted(dumps.items()):
        path = folder / pattern.format(rank)
        path.write_bytes(json_bytes(dump))
        paths.append(str(path))
    return paths


def relabelled(dumps: Dumps, new: dict[int, int]) -> Dumps:
    """The same job with other world ranks: file names and members of groups; positions inside a group stay."""
    changed = copy.deepcopy(dumps)
    for dump in changed.values():
        for config in dump["pg_config"].values():
            if config["name"]:  # gloo's nameless one holds local ranks
                config["ranks"] = str([new[int(rank)] for rank in config["ranks"].strip("[]").split(",") if rank.strip()])
    return {new[rank]: dump for rank, dump in changed.items()}


def with_other_names(dumps: Dumps) -> Dumps:
    """Groups named as if other groups had been made before and between them."""

    def other(name: str) -> str:
        return str(3 * int(name) + 11) if name.isdigit() else f"{name}x" if name else name

    changed = copy.deepcopy(dumps)
    for dump in changed.values():
        dump["pg_config"] = {other(key): {**config, "name": other(config["name"])} for key, config in dump["pg_config"].items()}
        for entry in dump["entries"]:
            name, desc = entry["process_group"]
            entry["process_group"] = (other(name), desc)
    return changed


def with_healthy_group(dumps: Dumps, calls: int = 12) -> Dumps:
    """One more group of all ranks, on which everything was over before the rest began."""
    changed = copy.deepcopy(dumps)
    for dump in changed.values():
        first = min((e["time_created_ns"] for e in dump["entries"]), default=1_795_965_504_000_000_000)
        library = _library(changed)
        pg_id = 1 + max((e["pg_id"] for d in changed.values() for e in d["entries"]), default=0)
        if "" not in dump["pg_config"]:
            dump["pg_config"]["977"] = {"name": "977", "desc": "unrelated", "ranks": str(sorted(dumps))}
        dump["pg_status"][str(pg_id)] = _counters(library, calls)
        extra = [
            _over(library, ("977", "unrelated"), pg_id, seq, first - (calls - seq + 1) * 1_000_000) for seq in _numbers(calls)
        ]
        _put_in_front(dump, extra)
    return changed


def with_history(dumps: Dumps, calls: int = 9) -> Dumps:
    """Every group of collectives has had more calls before, all over on all members."""
    changed = copy.deepcopy(dumps)
    library = _library(changed)
    mixed = {tuple(e["process_group"]) for d in changed.values() for e in d["entries"] if e["is_p2p"] or e["p2p_seq_id"]}
    for dump in changed.values():
        first = min((e["time_created_ns"] for e in dump["entries"]), default=0)
        groups = {tuple(e["process_group"]): e["pg_id"] for e in dump["entries"]}
        extra = []
        for number, (group, pg_id) in enumerate(groups.items()):
            if group in mixed:
                continue
            for entry in dump["entries"]:
                if tuple(entry["process_group"]) == group:
                    entry["collective_seq_id"] += calls
                    entry["op_id"] += calls
            status = dump["pg_status"].get(str(pg_id), {})
            for key, value in status.items():
                status[key] = value + calls if value >= 0 else value
            start = first - (number + 1) * 1_000_000_000
            extra += [_over(library, group, pg_id, seq, start + seq * 1_000_000) for seq in _numbers(calls)]
        _put_in_front(dump, sorted(extra, key=lambda e: int(e["time_created_ns"])))
    return changed


def with_clock_errors(dumps: Dumps, rng: random.Random, per_host: int = 2) -> Dumps:
    """Each host's clock is wrong by up to an hour."""
    changed = copy.deepcopy(dumps)
    errors: dict[int, int] = {}
    for rank, dump in changed.items():
        error = errors.setdefault(rank // per_host, rng.randrange(-3_600_000_000_000, 3_600_000_000_000))
        for entry in dump["entries"]:
            for key in _TIMES:
                if entry[key]:
                    entry[key] += error
    return changed


def _numbers(calls: int) -> range:
    return range(1, calls + 1)


def _library(dumps: Dumps) -> str:
    """The producer's prefix, by any entry."""
    return next((str(e["profiling_name"].split(":")[0]) for dump in dumps.values() for e in dump["entries"]), "nccl")


def _counters(library: str, calls: int) -> dict[str, int]:
    last = calls - 1 if library == "nccl2" else calls
    started = calls if library == "nccl" else -1
    return {"last_enqueued_collective": last, "last_started_collective": started, "last_completed_collective": last}


def _over(library: str, group: Any, pg_id: int, seq: int, when: int) -> Tree:
    """A call that is over, as the producer writes it."""
    entry: Tree = {
        "record_id": 0,
        "pg_id": pg_id,
        "process_group": group,
        "collective_seq_id": seq,
        "p2p_seq_id": 0,
        "op_id": seq - 1 if library == "nccl2" else seq,
        "profiling_name": f"{library}:all_reduce",
        "time_created_ns": when,
        "input_sizes": [[64]],
        "input_dtypes": ["Float"],
        "output_sizes": [[64]],
        "output_dtypes": ["Float"],
        "state": "scheduled" if library == "gloo" else "completed",
        "time_discovered_started_ns": None if library == "gloo" else when + 100_000,
        "time_discovered_completed_ns": None if library == "gloo" else when + 200_000,
        "retired": True,
        "timeout_ms": TIMEOUT_MS,
        "is_p2p": False,
    }
    return entry


def _put_in_front(dump: Tree, extra: list[Tree]) -> None:
    dump["entries"] = [*extra, *dump["entries"]]
    for number, entry in enumerate(dump["entries"]):
        entry["record_id"] = number
