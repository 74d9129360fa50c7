"""How far each rank's records reach in each group, and what a missing record beyond that means.

No verdict from absence without a reason for the absence: a rank "did not request" only where its own records or counters
reach up to that seq and stop below it, and nothing shows that its dump is older than the others' request.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl

from hangview.engine.readings import DONE, OPEN
from hangview.schema import CellState, SourceKind, SourceStatus

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hangview.engine.calls import Calls
    from hangview.engine.groups import Grouping
    from hangview.schema import GroupStatus, Records, Source
    from hangview.terms import Group

#: One number for (seq, row), so that the greatest is the row of the newest call.
_ROWS = 2**32


@dataclass(frozen=True, slots=True)
class Window:
    """One rank in one group's collective lane.

    ``newest`` is the newest seq it requested, by entry or by its own counters; 0 means "none yet, and that was observed";
    None means that nothing tells. ``above``, ``inside`` and ``below`` say what a missing record beyond ``newest``, between
    ``oldest`` and ``newest`` and before ``oldest`` is.
    """

    group: int
    rank: int
    source: int | None
    oldest: int | None
    newest: int | None
    newest_from: str  # "entry", "counter", "nothing"
    newest_record: int | None  #: record_id of the newest entry
    last_done: int | None
    open_seq: int | None  #: first unfinished request
    open_position: int | None  #: its place in the file; None when only the counters tell
    above: CellState
    inside: CellState
    below: CellState
    reason: str  #: why ``above`` is what it is
    launching: bool = False  #: the launch of its newest call has not returned, by its counters (nccl bumps them after it)

    @property
    def covers(self) -> bool:
        """Whether a call beyond ``newest`` was observed not to be requested."""
        return self.above is CellState.NOT_REQUESTED and self.newest is not None

    @property
    def blind(self) -> bool:
        """Whether nothing can tell of calls beyond ``newest``: there is no dump, it ends early, or it is too old."""
        return self.source is None or self.above in (CellState.CUT, CellState.BEFORE_DUMP)


Windows = dict[tuple[int, int], Window]


def windows(records: Records, grouping: Grouping, calls: Calls, entries: pl.DataFrame) -> Windows:
    """Windows of all members of all groups, keyed by (group, rank), as far as a rank's own file and its time tell. What the
    others' records show of a dump's age is :mod:`hangview.engine.older`."""
    sources = {s.rank: i for i, s in enumerate(records.sources) if s.usable and s.rank is not None}
    seen = _from_entries(calls)
    counters, beyond = _from_counters(records, grouping)
    libraries = _libraries(records, entries)
    idle = _idle(records)
    naming = {source for source, _ in grouping.configured}
    out: Windows = {}
    for group in grouping.groups:
        for rank in group.ranks:
            source = sources.get(rank)
            if source is None:
                out[group.id, rank] = _nothing(group.id, rank, None, CellState.NO_DUMP, why_no_dump(records, rank))
                continue
            row = seen.get((group.id, rank))
            counter = counters.get((group.id, rank))
            if row is None and counter is None:
                absent = source in naming and (source, group.id) not in grouping.configured
                out[group.id, rank] = _unrecorded(group.id, rank, source, records.sources[source], libraries, absent=absent)
            else:
                window = _window(group.id, rank, source, records.sources[source], row, counter, idle=source in idle)
                told = beyond.get((group.id, rank))
                out[group.id, rank] = window if told is None else _in_doubt(window, told)
            if source in grouping.behind:
                out[group.id, rank] = _behind(out[group.id, rank], grouping.behind[source])
    return _at_one_moment(out, records)


def _from_entries(calls: Calls) -> dict[tuple[int, int], dict[str, int | None]]:
    reading, seq, row = pl.col("reading"), pl.col("seq"), pl.col("row")
    table = (
        calls.rows.lazy()
        .group_by("group", "rank")
        .agg(
            oldest=seq.min(),
            newest=seq.max(),
            last=(seq.cast(pl.Int64) * _ROWS + row).max(),
            last_done=pl.when(reading.is_in(DONE)).then(seq).max(),
        )
        .collect(engine="streaming")
    )
    last_row = (table["last"] % _ROWS).to_numpy()
    table = table.with_columns(newest_record=calls.entries["record_id"].gather(last_row)).drop("last")
    waiting = calls.rows.lazy().filter(reading.is_in(OPEN)).select("group", "rank", "seq", "row").collect()
    still = waiting.group_by("group", "rank").agg(open_seq=seq.min(), open_row=pl.col("row").get(seq.arg_min()))
    still = still.with_columns(open_position=calls.entries["position"].gather(still["open_row"].to_numpy())).drop("open_row")
    table = table.join(still, on=["group", "rank"], how="left")
    return {(r["group"], r["rank"]): r for r in table.iter_rows(named=True)}


def _from_counters(
    records: Records, grouping: Grouping
) -> tuple[dict[tuple[int, int], GroupStatus], dict[tuple[int, int], GroupStatus]]:
    """Counters that can be compared with sequence numbers, by (group, rank), and those that say more than was recorded."""
    by_name: dict[str, list[tuple[int, frozenset[int]]]] = defaultdict(list)
    for group in grouping.groups:
        if group.id not in grouping.earlier:
            by_name[group.name].append((group.id, frozenset(group.ranks)))
    past = of_earlier(records, grouping)
    out: dict[tuple[int, int], GroupStatus] = {}
    beyond: dict[tuple[int, int], GroupStatus] = {}
    for status in records.statuses:
        rank = records.sources[status.source].rank
        if status.name is None or rank is None or (status.enqueued is None and not status.beyond):
            continue
        if (status.source, status.pg_id) in past:
            continue
        homes = [g for g, members in by_name.get(status.name, ()) if rank in members]
        if len(homes) == 1:
            (beyond if status.beyond else out)[homes[0], rank] = status
    return out, beyond


def of_earlier(records: Records, grouping: Grouping) -> set[tuple[int, int]]:
    """(source, pg_id) of the counters of earlier generations: by their records, and else all but the last of a name."""
    last: dict[tuple[int, str | None], int] = {}
    for status in records.statuses:
        last[status.source, status.name] = max(status.pg_id, last.get((status.source, status.name), status.pg_id))
    if len(last) == len(records.statuses) and not grouping.earlier and not grouping.behind:
        return set()
    homes = grouping.of_label.group_by("source", "pg_id").agg(pl.col("group").is_in(list(grouping.earlier)).all())
    past = {(source, pg_id): over for source, pg_id, over in homes.iter_rows()}
    return {
        (s.source, s.pg_id)
        for s in records.statuses
        if s.name and past.get((s.source, s.pg_id), s.source in grouping.behind or s.pg_id < last[s.source, s.name])
    }


def _idle(records: Records) -> frozenset[int]:
    """Sources whose counters, all of them comparable, say that everything they enqueued was completed.

    Counters stand before the entries, so a cut file still has them; only then does it show that its rank waits for nobody.
    """
    known = {s.source for s in records.statuses}
    busy = {s.source for s in records.statuses if s.enqueued is None or s.enqueued != s.completed}
    return frozenset(known - busy)


def _libraries(records: Records, entries: pl.DataFrame) -> tuple[dict[int, str], dict[int, str]]:
    """The library that recorded a group, and the one that a source holds: a file of the hook holds one backend only."""
    text = [op.library for op in records.ops]
    if len(set(text)) == 1:
        groups, sources = (entries[name].drop_nulls().unique().to_list() for name in ("group", "source"))
        return dict.fromkeys(groups, text[0]), dict.fromkeys(sources, text[0])
    by_group: dict[int, Counter[str]] = defaultdict(Counter)
    by_source: dict[int, Counter[str]] = defaultdict(Counter)
    for group, source, op, n in entries.group_by("group", "source", "op").len().iter_rows():
        by_source[source][text[op]] += n
        if group is not None:
            by_group[group][text[op]] += n
    return (
        {g: min(c, key=lambda k: (-c[k], k)) for g, c in by_group.items()},
        {s: min(c, key=lambda k: (-c[k], k)) for s, c in by_source.items()},
    )


def _window(
    group: int,
    rank: int,
    source: int,
    info: Source,
    row: Mapping[str, int | None] | None,
    counter: GroupStatus | None,
    *,
    idle: bool,
) -> Window:
    row = row or {}
    newest, oldest, done = row.get("newest"), row.get("oldest"), row.get("last_done")
    open_seq, open_position = row.get("open_seq"), row.get("open_position")
    origin, read = "entry", newest
    if counter is not None and counter.enqueued is not None:
        told = max(counter.enqueued, 0)
        completed = max(counter.completed or 0, 0)
        gone = oldest is None or (info.partial and completed >= (newest or 0) and open_seq is None)
        if gone and 0 < completed < told:
            open_seq = completed + 1  # its record is gone, its counters remember it
        if newest is None or told > newest:
            newest, origin = told, "counter"
        done = max(done or 0, completed) or None
    launching = counter is not None and counter.enqueued == counter.raw[0] == (row.get("newest") or 0) - 1
    cut = info.partial and not idle
    below = CellState.OMITTED if info.only_active else CellState.OVERWRITTEN if info.wrapped else CellState.NOT_RECORDED
    inside = CellState.OMITTED if info.only_active else CellState.CUT if cut else CellState.NOT_RECORDED
    if origin == "counter":
        inside = CellState.OMITTED if info.only_active else CellState.OVERWRITTEN if info.wrapped else inside
    if cut:
        above, reason = CellState.CUT, f"its file was read in part; newest entry read is {read}"
    elif newest == 0:
        above, reason = CellState.NOT_REQUESTED, "its counters say that it requested nothing here yet"
    elif origin == "counter":
        above, reason = CellState.NOT_REQUESTED, f"its counters stop at {newest}"
    elif info.partial:
        above, reason = CellState.NOT_REQUESTED, f"its file was read in part, but its counters stop at {newest}"
    else:
        above, reason = CellState.NOT_REQUESTED, f"dump is whole, newest entry is {newest}"
    return Window(
        group, rank, source, oldest, newest, origin, row.get("newest_record"), done, open_seq, open_position,
        above, inside, below, reason, launching,
    )  # fmt: skip


def _at_one_moment(found: Windows, records: Records) -> Windows:
    """Take back the open call of a cut dump that its counters alone tell of, where they do not fit what the others recorded.

    A rank is at most one call ahead of members that it needs; counters that say more are of sends and receives too, or the
    others' dumps are older. So they are where a member's whole dump ends below what was completed.
    """
    by_group: dict[int, list[Window]] = defaultdict(list)
    for window in found.values():
        if window.newest is not None:
            by_group[window.group].append(window)
    out = dict(found)
    for key, window in found.items():
        cut = window.source is not None and records.sources[window.source].partial
        if not cut or window.open_seq is None or window.open_position is not None:
            continue
        others = [w for w in by_group[window.group] if w.rank != window.rank]
        ahead = (window.newest or 0) > max((w.newest or 0 for w in others), default=0) + 1
        if ahead or any(w.covers and (w.newest or 0) < window.open_seq - 1 for w in others):
            out[key] = replace(window, open_seq=None)
    return out


def _in_doubt(window: Window, told: GroupStatus) -> Window:
    """The same where the rank's counters say that it went further: what was requested beyond its records is not known."""
    if window.above is not CellState.NOT_REQUESTED:
        return window
    reason = f"its counters say that it requested {told.raw[0]} here, its newest entry is {window.newest}: one of them is wrong"
    return replace(window, above=CellState.NOT_RECORDED, reason=reason)


def _behind(window: Window, why: str) -> Window:
    """The same where the dump is not known to tell of the group's newest generation, nor so of what came with it."""
    if not window.covers and window.above is not CellState.GROUP_ABSENT:
        return window
    newest = window.newest or None  # that there is no record is no sign that it requested nothing
    return replace(window, newest=newest, above=CellState.BEFORE_DUMP, reason=f"{why}; newest here is {window.newest or 0}")


def _nothing(group: int, rank: int, source: int | None, state: CellState, reason: str) -> Window:
    return Window(group, rank, source, None, None, "nothing", None, None, None, None, state, state, state, reason)


def _unrecorded(
    group: int, rank: int, source: int, info: Source, libraries: tuple[dict[int, str], dict[int, str]], *, absent: bool
) -> Window:
    """A usable dump without any record or counter of the group: evidence only if nothing can have been lost."""
    of_group, of_source = libraries
    if source in of_source and group in of_group and of_source[source] != of_group[group]:
        reason = f"its dump holds {of_source[source]} records only, this group was recorded by {of_group[group]}"
        return _nothing(group, rank, source, CellState.NOT_RECORDED, reason)
    if info.partial:
        return _nothing(group, rank, source, CellState.CUT, "the part of its file that was read has no record of this group")
    if info.wrapped:
        return _nothing(group, rank, source, CellState.OVERWRITTEN, "its ring buffer holds no record of this group any more")
    if info.only_active:
        return _nothing(
            group, rank, source, CellState.OMITTED, "its dump leaves completed entries out and has no counter for this group"
        )
    if not info.configured and not info.entries:
        return _nothing(group, rank, source, CellState.NOT_RECORDED, "its recorder was off: no entries, no groups, no counters")
    whole = replace(
        _nothing(group, rank, source, CellState.NOT_REQUESTED, "dump is whole and holds no request in this group"), newest=0
    )
    if not absent:
        return whole
    return replace(whole, above=CellState.GROUP_ABSENT, reason="dump is whole and does not know this group")


def blank(records: Records, groups: tuple[Group, ...]) -> Windows:
    """Windows of groups that no dump tells of."""
    return {(g.id, r): _nothing(g.id, r, None, CellState.NO_DUMP, why_no_dump(records, r)) for g in groups for r in g.ranks}


def why_no_dump(records: Records, rank: int) -> str:
    """Why nothing was recovered for a rank, with the file that it should have come from."""
    mine = [s for s in records.sources if s.rank == rank and s.kind is SourceKind.DUMP]
    for source in mine:
        if source.status is not SourceStatus.OTHER_ATTEMPT:
            return f"{source.path}: {source.reason or source.status}"
    if mine:
        return f"only files of another attempt ({mine[0].path}{' and others' if len(mine) > 1 else ''})"
    unread = [s.path for s in records.sources if s.kind is SourceKind.OTHER and s.status is SourceStatus.UNREADABLE]
    where = f"; {unread[0]}{' and others' if len(unread) > 1 else ''} could not be read" if unread else ""
    return f"no dump file of this rank was found{where}"


def maybe_open(calls: Calls, found: Windows) -> frozenset[int]:
    """Ranks whose newest record says only that it was issued, and which no other member went beyond."""
    if not calls.rows["issued"].any():
        return frozenset()
    newest = calls.rows.sort("rank", "row").unique("rank", keep="last", maintain_order=True)
    out = set()
    for rank, group, seq in newest.filter(pl.col("issued")).select("rank", "group", "seq").iter_rows():
        others = [w.newest or 0 for (g, r), w in found.items() if g == group and r != rank]
        if max(others, default=0) <= seq:
            out.add(rank)
    return frozenset(out)


def maybe_failed(calls: Calls, found: Windows) -> dict[int, tuple[int, int, tuple[int, ...]]]:
    """rank -> (group, seq, members of whom nothing tells) of ranks whose newest record is of a call that needs all members and
    that is over, well or badly is not recorded (gloo), and from which no other member went on, in whatever group: where one is
    not observed, or not even known, it may have failed for want of it."""
    ended = (pl.col("reading") == int(CellState.ENDED)) & ~pl.col("issued")
    over = calls.rows.lazy().filter(ended).select("rank", "group", "seq", "row").collect()
    if over.is_empty():
        return {}
    newest = calls.rows.lazy().group_by("rank").agg(pl.col("row").max()).collect(engine="streaming")
    over = over.join(newest, on=["rank", "row"], how="semi").sort("rank")
    whole = calls.by_seq.filter(pl.col("full")).select("group", "seq")
    same = calls.rows.lazy().select("rank", "group", "seq", "row").join(over.lazy().select("group", "seq"), on=["group", "seq"])
    others = same.join(newest.lazy().rename({"row": "newest"}), on="rank").filter(pl.col("row") < pl.col("newest"))
    went_on = set(others.select("group", "seq").unique().collect().iter_rows())
    members: dict[int, list[Window]] = defaultdict(list)
    for window in found.values():
        members[window.group].append(window)
    out = {}
    for rank, group, seq in over.join(whole, on=["group", "seq"], how="semi").select("rank", "group", "seq").iter_rows():
        rest = [window for window in members[group] if window.rank != rank]
        untold = tuple(sorted(w.rank for w in rest if w.blind and (w.newest or 0) < seq))
        if (group, seq) not in went_on and max((w.newest or 0 for w in rest), default=0) <= seq:
            out[rank] = (group, seq, untold)
    return out
