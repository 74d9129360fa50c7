"""Trees to files: pickles with the bytes of torch's writer, or its JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.jobs.record import tree

if TYPE_CHECKING:
    from pathlib import Path

    from tests.jobs.evidence import Recording
    from tests.jobs.record import Tree
    from tests.jobs.simulate import Outcome


def write(outcome: Outcome, how: Recording, folder: Path) -> None:
    """One file for each rank that left one."""
    for rank in range(outcome.job.world):
        if rank in how.missing:
            continue
        data = encode(tree(outcome, rank, how), as_json=how.as_json)
        if rank in how.cut:
            data = data[: int(len(data) * how.cut[rank])]
        (folder / f"{how.prefix}{rank}").write_bytes(data)


def encode(dump: Tree, *, as_json: bool) -> bytes:
    if as_json:
        return json_bytes(dump)
    from tests.support.torch_pickle import dump_bytes

    return dump_bytes(dump)


def json_bytes(dump: Tree) -> bytes:
    """As torch's JSON dumps are: keys sorted, no spaces, no frames, unknown times 0, counters as strings, no empty list."""

    def plain(entry: Tree) -> Tree:
        new: dict[str, Any] = {key: value for key, value in entry.items() if key != "frames"}
        for key in ("time_discovered_started_ns", "time_discovered_completed_ns"):
            new[key] = new[key] or 0
        return new

    top = {**dump, "pg_status": {k: {n: str(v) for n, v in s.items()} for k, s in dump["pg_status"].items()}}
    top["entries"] = [plain(entry) for entry in dump["entries"]]
    if not top["entries"]:
        del top["entries"]
    return json.dumps(top, sort_keys=True, separators=(",", ":")).encode()
