"""Dumps to decode, and what should come out of them, worked out from the values and not by the decoder."""

from __future__ import annotations

import math
import random
from typing import Any

from hangview.dumps.decode.dump import decode
from hangview.dumps.decoded import BOOL_COLUMNS, ID_COLUMNS, INT_COLUMNS, NONE, Decoded
from hangview.schema import Limits, Signature, StackFrame, Thread

LIMITS = Limits()
T0 = 1_795_965_504_000_000_000

CONFIG = {
    "0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"},
    "5": {"name": "5", "desc": "tp", "ranks": "[2, 0]"},
}
STATUS = {
    "0": {"last_enqueued_collective": 300, "last_started_collective": -1, "last_completed_collective": 299},
    "1": {"last_enqueued_collective": 7, "last_started_collective": 7, "last_completed_collective": 70_000},
}
GROUPS = [("0", "default_pg"), ("5", "tp")]
SHAPES = [[], [1], [255], [256, 4096], [70_000], [2, 3, 5, 7], [4968], [1 << 40]]
OPS = ["nccl:all_reduce", "nccl:_all_gather_base", "nccl:send 0->1", "nccl:recv 1<-0", "nccl:coalesced"]


def frames(count: int, rng: random.Random) -> list[dict[str, Any]]:
    names = ("forward", "step", "backward", "<module>", "é", "x" * 300)
    return [
        {"name": rng.choice(names), "filename": f"/job/{rng.randrange(9)}.py", "line": rng.choice((0, 7, 300, 70_000))}
        for _ in range(count)
    ]


def entry(i: int, rng: random.Random, pool: list[dict[str, Any]] | None) -> dict[str, Any]:
    """One record of version 2.10; ``pool`` are the frames to choose from, None for a dump without stacks."""
    done = rng.random() < 0.7
    timed = rng.random() < 0.8
    out = rng.choice(SHAPES)
    result: dict[str, Any] = {}
    if pool is not None:
        result["frames"] = rng.sample(pool, min(len(pool), rng.randrange(5)))
    group = rng.randrange(2)
    result |= {
        "record_id": i,
        "pg_id": group,
        "process_group": GROUPS[group],
        "thread_name": rng.choice(("python", "pt_autograd_0")),
        "thread_id": str(140_000_000_000 + rng.randrange(2)),
        "collective_seq_id": i // 2,
        "p2p_seq_id": rng.randrange(3),
        "op_id": i * 300,
        "profiling_name": rng.choice(OPS),
        "time_created_ns": T0 + i * 1000,
    }
    if done and timed:
        result["duration_ms"] = rng.random() * 50
    result |= {
        "input_sizes": [rng.choice(SHAPES) for _ in range(rng.randrange(3))],
        "input_dtypes": ["Float"] * rng.randrange(2),
        "output_sizes": [out],
        "output_dtypes": [rng.choice(("Float", "BFloat16"))],
        "state": "completed" if done else rng.choice(("scheduled", "started")),
        "time_discovered_started_ns": T0 + i * 1000 + 5 if timed else None,
        "time_discovered_completed_ns": T0 + i * 1000 + 9 if done else None,
        "retired": rng.random() < 0.5,
        "timeout_ms": rng.choice((600_000, 200, 1)),
        "is_p2p": rng.random() < 0.2,
    }
    return result


def dump(count: int = 40, seed: int = 1, *, stacks: bool = True, many_frames: int = 12) -> dict[str, Any]:
    """A dump of version 2.10."""
    rng = random.Random(seed)
    pool = frames(many_frames, rng) if stacks else None
    return {
        "version": "2.10",
        "pg_config": CONFIG,
        "comm_lib_version": "2.27.7",
        "pg_status": STATUS,
        "entries": [entry(i, rng, pool) for i in range(count)],
    }


def as_json(top: dict[str, Any]) -> dict[str, Any]:
    """The same dump as torch's JSON writer gives it: keys sorted, no stacks, 0 for unknown times, counters as text."""
    result = {k: v for k, v in top.items() if k not in ("entries", "pg_status")}
    result["nccl_comm_state"] = {}
    result["pg_status"] = {k: {name: str(n) for name, n in v.items()} for k, v in top["pg_status"].items()}
    entries = []
    for e in top["entries"]:
        e = {k: v for k, v in e.items() if k != "frames"} | {"process_group": list(e["process_group"])}
        for key in ("time_discovered_started_ns", "time_discovered_completed_ns"):
            e[key] = e[key] or 0
        entries.append(dict(sorted(e.items())))
    if entries:
        result["entries"] = entries
    return dict(sorted(result.items()))


def read(data: bytes, limits: Limits = LIMITS) -> Decoded:
    return decode(data, limits)


def expected(e: dict[str, Any]) -> dict[str, Any]:
    """The columns of one entry. The rules are those of hangview.dumps.decoded and FORMAT: 0 is no time, None is absent."""

    def first(*names: str) -> Any:
        return next((e[n] for n in names if e.get(n) is not None), None)

    def number(*names: str) -> int | None:
        value = first(*names)
        return None if value is None else int(value)

    def sizes(name: str) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(int(n) for n in shape) for shape in e.get(name) or ())

    def dtypes(name: str) -> tuple[str, ...] | None:
        return None if e.get(name) is None else tuple(e[name])

    duration = e.get("duration_ms")
    created = number("time_created_ns") or 1000 * (number("time_created_us") or 0)
    return {
        "record_id": number("record_id"),
        "pg_id": number("pg_id"),
        "seq": number("collective_seq_id", "seq_id"),
        "p2p_seq": number("p2p_seq_id"),
        "op_id": number("op_id"),
        "created_ns": created or None,
        "started_ns": number("time_discovered_started_ns") or None,
        "completed_ns": number("time_discovered_completed_ns") or None,
        "timeout_ms": number("timeout_ms"),
        "retired": bool(e.get("retired")),
        "is_p2p": bool(e.get("is_p2p")),
        "op": e.get("profiling_name") or "",
        "label": tuple(e["process_group"]) if e.get("process_group") else (str(e["pg_id"]), "") if "pg_id" in e else ("", ""),
        "signature": Signature(sizes("input_sizes"), dtypes("input_dtypes"), sizes("output_sizes"), dtypes("output_dtypes")),
        "stack": tuple(StackFrame(f["name"], f["filename"], f["line"]) for f in e.get("frames") or ()),
        "thread": Thread(str(e.get("thread_id") or ""), e.get("thread_name") or ""),
        "state": {"scheduled": 0, "started": 1, "completed": 2}.get(str(e.get("state")), 3),
        "duration_ms": duration if duration is not None and math.isfinite(duration) else None,
    }


def rows(decoded: Decoded) -> list[dict[str, Any]]:
    """The entries of a decoded dump, every id looked up."""
    tables = dict(
        zip(ID_COLUMNS, (decoded.ops, decoded.labels, decoded.signatures, decoded.stacks, decoded.threads), strict=True)
    )
    columns = {name: column.tolist() for name, column in decoded.columns.items()}
    assert set(columns) == {*INT_COLUMNS, *BOOL_COLUMNS, *ID_COLUMNS, "state", "duration_ms"}
    assert {len(column) for column in columns.values()} == {decoded.count}
    result = []
    for i in range(decoded.count):
        row: dict[str, Any] = {name: columns[name][i] for name in (*BOOL_COLUMNS, "state")}
        row |= {name: None if columns[name][i] == NONE else columns[name][i] for name in INT_COLUMNS}
        row |= {name: tables[name][columns[name][i]] for name in ID_COLUMNS}
        duration = columns["duration_ms"][i]
        row["duration_ms"] = None if duration != duration else duration
        result.append(row)
    assert decoded.stacks[0] == ()
    return result


def check(decoded: Decoded, entries: list[dict[str, Any]]) -> None:
    """Whether a decoded dump holds exactly these entries."""
    got = rows(decoded)
    assert len(got) == len(entries)
    for row, e in zip(got, entries, strict=True):
        assert row == expected(e)
