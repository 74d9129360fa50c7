"""Unfinished calls: who requested them, who did not, whom nothing tells of, and whether the requests agree."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from hangview.engine import compare, older
from hangview.engine.readings import DONE
from hangview.schema import FULL, CellState
from hangview.terms import COLLECTIVE, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from hangview.engine.calls import Calls
    from hangview.engine.windows import Windows
    from hangview.schema import Records
    from hangview.terms import Group, SignatureSide


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Members of one call asked for different things. ``minority`` is empty where nobody may be named."""

    kind: Kind
    sides: tuple[SignatureSide, ...]
    minority: tuple[int, ...]
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Stall:
    """One collective call that somebody requested and has not finished.

    ``waiting``: members whose request is open; ``done``: members that finished it; ``missing``: observed not to have
    requested it; ``absent``: those of them whose dump does not know the group; ``unobserved``: nothing tells.
    """

    group: int
    seq: int
    family: str
    waiting: tuple[int, ...]
    done: tuple[int, ...]
    missing: tuple[int, ...]
    absent: tuple[int, ...]
    unobserved: tuple[int, ...]
    older: tuple[int, ...]  #: of the unobserved, those whose dump is older than the others' request
    positions: Mapping[int, int]  #: rank -> place of its record in its file
    mismatch: Mismatch | None = None
    passed: bool = False  #: some member completed this call or a later one, or those who wait in it wrote older dumps than that
    rows: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)
    untold: tuple[
        int, ...
    ] = ()  #: members that requested it by their counters, or by a record in doubt: not told what they asked for
    lane: str = COLLECTIVE
    equal: bool = False  #: all that recorded it asked for the same, by arguments that are judged or alike to the letter


def stalls(
    records: Records, groups: tuple[Group, ...], calls: Calls, windows: Windows, families: tuple[str, ...]
) -> dict[tuple[int, int], Stall]:
    """Stalls by (group, seq): for each member of a group, the first call that it has not finished."""
    wanted = _open_seqs(groups, calls, windows, families)
    rows = rows_at(calls, {(g, s) for g, by_rank in wanted.items() for s in by_rank.values()})
    proved = _proved(calls, windows, groups)
    out = {}
    for group in groups:
        by_seq: dict[int, list[int]] = defaultdict(list)
        for rank, seq in wanted.get(group.id, {}).items():
            by_seq[seq].append(rank)
        for seq, waiting in sorted(by_seq.items()):
            out[group.id, seq] = _stall(
                records, group, seq, sorted(waiting), rows[group.id, seq], windows, calls, families, proved
            )
    return out


def _open_seqs(
    groups: tuple[Group, ...], calls: Calls, windows: Windows, families: tuple[str, ...]
) -> dict[int, dict[int, int]]:
    """group -> rank -> seq of its first unfinished request.

    Where a recorder only says that a work is over, not how (gloo, hooks), the request of a call that another member was
    observed not to have made counts as unfinished: it cannot have ended well. Not so where one rank only gives or takes: the
    root of a broadcast may be done before the others come.
    """
    out: dict[int, dict[int, int]] = {}
    beyond: set[tuple[int, int]] = set()
    for group in groups:
        if group.id in calls.unjudged:
            continue
        mine = [windows[group.id, r] for r in group.ranks]
        found = {w.rank: w.open_seq for w in mine if w.open_seq is not None}
        short = [w.newest for w in mine if w.covers and w.newest is not None]
        front = max((w.newest for w in mine if w.newest is not None), default=0)
        if short and min(short) < front:
            beyond.add((group.id, min(short) + 1))
        out[group.id] = found
    ended_at = {(group_id, seq) for (group_id, _), seq in calls.next_seqs(beyond).items()}
    for (group_id, seq), found_rows in rows_at(calls, ended_at).items():
        for row in found_rows:
            needs_all = families[row["family"]] in FULL
            if needs_all and row["reading"] == CellState.ENDED and seq < out[group_id].get(row["rank"], seq + 1):
                out[group_id][row["rank"]] = seq
    return {g: found for g, found in out.items() if found}


def rows_at(calls: Calls, places: set[tuple[int, int]]) -> dict[tuple[int, int], list[dict[str, Any]]]:
    """The rows of several calls with their details, ascending by rank; one pass over all rows."""
    out: dict[tuple[int, int], list[dict[str, Any]]] = {place: [] for place in places}
    if not places:
        return out
    for row in calls.at_all(places).iter_rows(named=True):
        out[row["group"], row["seq"]].append(row)
    return out


def _proved(calls: Calls, windows: Windows, groups: tuple[Group, ...]) -> dict[int, dict[int, int]]:
    """group -> rank -> newest seq that the rank's records or counters say it completed; of ended ones those that ended well."""
    completed = calls.rows.lazy().filter(pl.col("reading") == int(CellState.COMPLETED))  # lazy: copies what it needs only
    done = completed.group_by("group", "rank").agg(pl.col("seq").max()).collect(engine="streaming")
    out: dict[int, dict[int, int]] = defaultdict(dict)
    well = older.ended_well_with_all(calls, windows, {group.id: len(group.ranks) for group in groups})
    for group, rank, seq in (*done.iter_rows(), *well.iter_rows()):
        out[group][rank] = max(seq, out[group].get(rank, 0))
    ended = set(calls.by_seq.filter(pl.col("n_ended") > 0)["group"].unique().to_list())
    for group in groups:
        for rank in group.ranks:
            window = windows[group.id, rank]
            if group.id not in ended and window.last_done is not None:
                out[group.id][rank] = max(out[group.id].get(rank, 0), window.last_done)
    return out


@dataclass(frozen=True, slots=True)
class Without:
    """Members without a record of one call; the fields are those of :class:`Stall`. Whose record is gone is in none of them."""

    missing: tuple[int, ...]
    absent: tuple[int, ...]
    unobserved: tuple[int, ...]
    older: tuple[int, ...]


def without_record(group: Group, seq: int, requested: set[int], windows: Windows) -> Without:
    """What the missing records of the other members mean."""
    missing, absent, unobserved, older = [], [], [], []
    for rank in sorted(set(group.ranks) - requested):
        window = windows[group.id, rank]
        if window.newest is not None and window.newest >= seq:
            skipped = window.oldest is not None and window.oldest < seq and window.inside is CellState.NOT_RECORDED
            if skipped and window.newest_from == "entry":
                unobserved.append(rank)  # later calls are recorded and this one is not: no telling why
        elif window.covers:
            missing.append(rank)
        elif window.above is CellState.GROUP_ABSENT:
            missing.append(rank)
            absent.append(rank)
        else:
            unobserved.append(rank)
            if window.above is CellState.BEFORE_DUMP:
                older.append(rank)
    return Without(tuple(missing), tuple(absent), tuple(unobserved), tuple(older))


def _stall(
    records: Records,
    group: Group,
    seq: int,
    waiting: list[int],
    rows: list[dict[str, Any]],
    windows: Windows,
    calls: Calls,
    families: tuple[str, ...],
    proved: dict[int, dict[int, int]],
) -> Stall:
    without = without_record(group, seq, {row["rank"] for row in rows}, windows)
    family = _family(rows, families)
    done = sorted(row["rank"] for row in rows if row["reading"] in DONE and row["rank"] not in waiting)
    ahead = [r for r, newest in proved.get(group.id, {}).items() if newest >= seq and r not in waiting]
    stale = all(windows[group.id, r].above is CellState.BEFORE_DUMP for r in waiting)
    told = {row["rank"] for row in rows if row["key"] is not None}
    untold = tuple(r for r in group.ranks if r not in told and r not in without.missing and r not in without.unobserved)
    passed = (bool(ahead) or stale) and family in FULL
    return Stall(
        group.id, seq, family, tuple(waiting), tuple(sorted({*done, *ahead})), without.missing, without.absent,
        without.unobserved, without.older, {row["rank"]: row["position"] for row in rows},
        mismatch(records, group, rows, calls, len(without.unobserved) + len(untold)), passed, tuple(rows), untold,
        equal=_equal(rows, calls),
    )  # fmt: skip


def _equal(rows: Sequence[Mapping[str, Any]], calls: Calls) -> bool:
    """Whether the arguments of all records are alike: of operations that nobody knows they are not judged."""
    keys = {row["key"] for row in rows}
    if None in keys or len(keys) != 1:
        return False
    key = calls.keys[keys.pop()]
    return key.sizes is not None or len({(row["op"], row["signature"]) for row in rows}) == 1


def _family(rows: list[dict[str, Any]], families: tuple[str, ...]) -> str:
    counts: dict[str, int] = defaultdict(int)
    for row in rows:
        counts[families[row["family"]]] += 1
    return min(counts, key=lambda name: (-counts[name], name)) if counts else "call"


def mismatch(
    records: Records, group: Group, rows: Iterable[Mapping[str, Any]], calls: Calls, unobserved: int
) -> Mismatch | None:
    """What the members' requests of one call disagree on: first the operation, then sizes, then dtypes."""
    named = (row for row in rows if records.ops[row["op"]].text)  # what a record without a name asked for is not known
    judged = [(row, calls.keys[row["key"]]) for row in named if row["key"] is not None]
    if len(judged) < 2:
        return None
    for kind, part in ((Kind.DIFFERENT_OP, "op"), (Kind.DIFFERENT_SIZE, "sizes"), (Kind.DIFFERENT_DTYPE, "dtypes")):
        said = {row["rank"]: (row, getattr(key, part)) for row, key in judged if getattr(key, part) is not None}
        if len({value for _, value in said.values()}) > 1:
            members = {rank: (_op_name(records, row), value, _text(records, calls, row)) for rank, (row, value) in said.items()}
            found = compare.sides(members, unobserved)
            minority = [r for side in found[1:] for r in side.ranks] if found[0].reference else []
            return Mismatch(kind, found, tuple(sorted(minority)))
    if all(key.op == "all_to_all" for _, key in judged) and len(judged) == len(group.ranks):
        moved = [compare.key_of(records.ops[row["op"]], records.signatures[row["signature"]]) for row, _ in judged]
        sent, received = sum(key.sent for key in moved), sum(key.received for key in moved)
        if sent != received:
            found = compare.sides({row["rank"]: (_op_name(records, row), 0, "") for row, _ in judged}, 1)
            detail = (
                f"all inputs sum to {sent:,} elements, all outputs to {received:,}; the split between pairs is not recorded"
            )
            return Mismatch(Kind.DIFFERENT_SIZE, found, (), detail)
    return None


def _op_name(records: Records, row: Mapping[str, Any]) -> str:
    op: int = row["op"]
    return records.ops[op].name


def _text(records: Records, calls: Calls, row: Mapping[str, Any]) -> str:
    if row["signature"] < len(records.signatures):
        return compare.describe(records.signatures[row["signature"]], records.ops[row["op"]].family)
    key = calls.keys[row["key"]]
    return f"{key.parts} records, in {key.sent:,} → out {key.received:,}"
