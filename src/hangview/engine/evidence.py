"""Evidence lines: what was seen, in which file, at which record."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from hangview.engine.frames import file_name, is_torch
from hangview.engine.readings import OPEN
from hangview.engine.words import request
from hangview.schema import CellState
from hangview.terms import COLLECTIVE, Evidence
from hangview.text import count, escape, fold_ranks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from hangview.engine.callsites import Shift
    from hangview.engine.p2p import Traffic
    from hangview.engine.stalls import Stall
    from hangview.engine.turns import Turn
    from hangview.engine.waits import Place
    from hangview.engine.windows import Window, Windows
    from hangview.schema import Records, StackFrame
    from hangview.terms import Group, SignatureSide


def user_frame(stack: Sequence[StackFrame]) -> str:
    """The innermost frame outside torch: "sync_gradients (training.py:152)"; "an unrecorded place" without stacks."""
    return next(_told(stack), _UNRECORDED)


def user_frames(one: Sequence[StackFrame], other: Sequence[StackFrame]) -> tuple[str, str]:
    """The innermost frames outside torch in which two stacks differ: both may come through one helper function."""
    pairs = zip_longest(_told(one), _told(other), fillvalue=_UNRECORDED)
    return next(((mine, theirs) for mine, theirs in pairs if mine != theirs), (user_frame(one), user_frame(other)))


def _told(stack: Sequence[StackFrame]) -> Iterator[str]:
    for frame in stack:
        if frame.line > 0 and not is_torch(frame) and file_name(frame) != "runpy.py":
            yield f"{escape(frame.name)} ({escape(file_name(frame))}:{frame.line})"


_UNRECORDED = "an unrecorded place"

#: So many ranks get a line each; more are folded into one that names an example.
_EACH = 8
#: So many files are named in one line.
_FILES = 4


@dataclass(frozen=True, slots=True)
class Telling:
    """Puts places, ranks and records into words."""

    records: Records
    groups: tuple[Group, ...]
    windows: Windows
    traffic: Traffic
    ops: Mapping[tuple[int, int], str]  #: family of the calls that are spoken of

    def op_of(self, group: int, seq: int) -> str | None:
        return self.ops.get((group, seq))

    def ranks(self, ranks: Iterable[int]) -> str:
        """ "rank 3", "ranks 0-2", "no rank"."""
        ordered = sorted(ranks)
        if not ordered:
            return "no rank"
        return f"rank {ordered[0]}" if len(ordered) == 1 else f"ranks {fold_ranks(ordered, 12)}"

    def op_at(self, stalls: Mapping[tuple[int, int], Stall], place: Place) -> str:
        if place[1] == COLLECTIVE:
            return stalls[place[0], place[2]].family
        return "send/recv"

    def call(self, stalls: Mapping[tuple[int, int], Stall], place: Place) -> str:
        label = self.groups[place[0]].label
        if place[1] == COLLECTIVE:
            return f"{self.op_at(stalls, place)} {place[2]} of {label}"
        return f"{place[1]} of {label} (number {place[2]})"

    def file(self, source: int | None, record: int | None) -> str:
        if source is None:
            return ""
        path = self.records.sources[source].path
        return f" ({path}, record {record})" if record is not None else f" ({path})"

    def window(self, place: Place, rank: int) -> Window | None:
        return self.windows.get((place[0], rank))

    def absent(self, place: Place, ranks: Sequence[int]) -> tuple[Evidence, ...]:
        """Why these ranks count as not having requested."""
        lines = []
        for rank in ranks[:_EACH]:
            window = self.window(place, rank)
            if window is None:
                continue
            if place[1] != COLLECTIVE:
                lines.append(self._lane_end(place, rank, window))
                continue
            text = f"rank {rank}: {window.reason}{self.file(window.source, window.newest_record)}"
            lines.append(Evidence(text, window.source, window.newest_record))
        return (*lines, *self._more(ranks))

    def _lane_end(self, place: Place, rank: int, window: Window) -> Evidence:
        source, target = (int(x) for x in place[1].removeprefix("p2p ").split("->"))
        lane = self.traffic.lanes[place[0], source, target]
        end = lane.end(rank)
        requests = count(end.count, "send" if rank == source else "receive")
        open_ = f"{len(end.open):,} of them open" if end.open else "none of them open"
        text = f"rank {rank}: {requests} on {place[1]} in its records, {open_}"
        if not lane.counted and end.newest_p2p is not None:  # what shows that the pair of the open one is not among them
            text += f", its newest p2p_seq is {end.newest_p2p}"
        return Evidence(f"{text}{self.file(window.source, None)}", window.source)

    def requests(self, stalls: Mapping[tuple[int, int], Stall], place: Place, ranks: Sequence[int]) -> tuple[Evidence, ...]:
        """The records of the open requests."""
        lines = []
        if place[1] != COLLECTIVE:
            source, target = (int(x) for x in place[1].removeprefix("p2p ").split("->"))
            lane = self.traffic.lanes[place[0], source, target]
            for rank in ranks[:_EACH]:
                for request in lane.end(rank).open[:1]:
                    name = self.records.ops[request.op].text
                    if not lane.counted and request.p2p_seq is not None:
                        name += f", p2p_seq {request.p2p_seq}"
                    text = f"rank {rank}: {name}, requested and not over{self.file(request.source, request.record_id)}"
                    lines.append(Evidence(text, request.source, request.record_id))
            return (*lines, *self._more(ranks))
        stall = stalls[place[0], place[2]]
        rows = {row["rank"]: row for row in stall.rows}
        by_kind: dict[tuple[int, int] | None, list[int]] = {}  # (op, reading); None: no record of it was read
        for rank in ranks:
            by_kind.setdefault((rows[rank]["op"], rows[rank]["reading"]) if rank in rows else None, []).append(rank)
        for kind, alike in by_kind.items():
            each = _EACH if len(by_kind) == 1 else _EACH // 2
            for rank in alike[:each]:
                if kind is None:
                    window = self.window(place, rank)
                    text = f"rank {rank}: its counters show {stall.seq} requested and not completed"
                    lines.append(Evidence(text, window.source if window else None))
                    continue
                row, name = rows[rank], self.records.ops[kind[0]].name
                reading = _READING.get(kind[1], "requested")
                text = f"rank {rank}: {name} {stall.seq} {_JUST_ISSUED if row['issued'] else reading}"
                text += self._behind(place, rank, kind[1]) + self.file(row["source"], row["record_id"])
                lines.append(Evidence(text, row["source"], row["record_id"]))
            lines += self._more(alike, each)
        return tuple(lines)

    def _behind(self, place: Place, rank: int, reading: int) -> str:
        """``"; 6-12 queued behind it"``: what the rank requested after a call that is not over, in a clause."""
        window = self.window(place, rank)
        newest = window.newest if window is not None else None
        if newest is None or newest <= place[2] or reading not in OPEN:
            return ""
        return f"; {place[2] + 1}{f'-{newest}' if newest > place[2] + 1 else ''} queued behind it"

    def over(self, stalls: Mapping[tuple[int, int], Stall], place: Place, ranks: Sequence[int]) -> str:
        """``"it is over there, well or badly is not recorded"``: what recorders that only say "over" tell of the requests of
        all ``ranks``, who miss one that did not come; "" where the request of one of them is open."""
        ended = self._ended(stalls, place, ranks)
        if not ranks or len(ended) < len(ranks):
            return ""
        return _ISSUED if any(ended.values()) else _OVER

    def how_far(self, stalls: Mapping[tuple[int, int], Stall], place: Place, ranks: Sequence[int]) -> str:
        """The same where it may be over on some of them: ``"it is not over on rank 0; on rank 1 it is over, …"``."""
        ended = self._ended(stalls, place, ranks)
        rest = [rank for rank in ranks if rank not in ended]
        if not ended or not rest:
            return self.over(stalls, place, ranks) or "the request is not over"
        told = _ISSUED.replace("there ", "") if any(ended.values()) else "it is over, well or badly is not recorded"
        return f"it is not over on {self.ranks(rest)}; on {self.ranks(ended)} {told}"

    def _ended(self, stalls: Mapping[tuple[int, int], Stall], place: Place, ranks: Sequence[int]) -> dict[int, bool]:
        """Those whose record says that the request is over, and whether it says so of every request as it is made."""
        stall = stalls.get((place[0], place[2])) if place[1] == COLLECTIVE else None
        rows = stall.rows if stall is not None else ()
        return {row["rank"]: bool(row["issued"]) for row in rows if row["rank"] in ranks and row["reading"] == CellState.ENDED}

    def untold(self, stall: Stall) -> tuple[Evidence, ...]:
        """Members of a call that requested it and of which it is not known what they asked for."""
        lines = []
        recorded = {row["rank"] for row in stall.rows}
        for rank in stall.untold[:_EACH]:
            window = self.windows[stall.group, rank]
            if rank in recorded:
                known, why = "its newest record shows", "more of the call may have been cut off"
            else:
                known, why = "its counters show", window.inside.word
            text = f"rank {rank}: {known} {stall.seq} requested, not what it asked for: {why}"
            lines.append(Evidence(f"{text}{self.file(window.source, None)}", window.source))
        return (*lines, *self._more(stall.untold))

    def waited_ns(self, stalls: Mapping[tuple[int, int], Stall], place: Place, ranks: Sequence[int]) -> int | None:
        """How long the one of these ranks that asked first had waited when its file was written, as far as records tell; None
        where none does.

        A file's time is later where it was copied without it, which only makes a request look older.
        """
        if place[1] == COLLECTIVE:
            rows = {row["rank"]: row for row in stalls[place[0], place[2]].rows}
            asked = [(rows[rank]["source"], rows[rank]["created_ns"]) for rank in ranks if rank in rows]
        else:
            source, target = (int(x) for x in place[1].removeprefix("p2p ").split("->"))
            lane = self.traffic.lanes[place[0], source, target]
            asked = [(request.source, request.created_ns) for rank in ranks for request in lane.end(rank).open[:1]]
        return max((self.records.sources[at].mtime_ns - created for at, created in asked if created is not None), default=None)

    def sides(self, place: Place, sides: Sequence[SignatureSide]) -> tuple[Evidence, ...]:
        """One line a side, with the record of its first rank."""
        lines = []
        for side in sides:
            window = self.window(place, side.ranks[0])
            source = window.source if window else None
            what = request(side.op, side.text)
            share = f" ({len(side.ranks)} of {len(self.groups[place[0]].ranks)})"
            lines.append(Evidence(f"{self.ranks(side.ranks)}{share}: {what}{self.file(source, None)}", source))
        return tuple(lines)

    def unseen(self, place: Place, ranks: Sequence[int]) -> tuple[Evidence, ...]:
        lines = []
        for rank in ranks[:_EACH]:
            window = self.window(place, rank)
            if window is not None:
                state = _beyond(place, window)
                reason = window.reason if state is window.above else _LOST
                lines.append(Evidence(f"rank {rank}: {state.word}: {reason}", window.source))
        return (*lines, *self._more(ranks))

    def reasons(self, place: Place, ranks: Sequence[int]) -> str:
        """Why nothing tells, folded: "no dump (rank 3)"."""
        by_word: dict[str, list[int]] = {}
        for rank in ranks:
            window = self.window(place, rank)
            by_word.setdefault(_beyond(place, window).word if window else "not recorded", []).append(rank)
        if len(by_word) == 1:
            return next(iter(by_word))
        return ", ".join(f"{word} ({self.ranks(rs)})" for word, rs in sorted(by_word.items()))

    def lag(self, ranks: Sequence[int], place: Place) -> Evidence:
        """A call that is not over on these ranks although others completed it, with the files of all of them."""
        window = self.window(place, ranks[0])
        done = window.last_done if window else None
        where = self.groups[place[0]].label
        text = f"{self.ranks(ranks)}: {place[2]} of {where} is not over here although others completed it"
        if done is not None and done < place[2]:
            text += f" (last completed {done})"
        told = [found.source for rank in ranks if (found := self.window(place, rank)) is not None and found.source is not None]
        files = [self.records.sources[source].path for source in told]
        if len(files) > 1:
            more = f" and {count(len(files) - _FILES, 'more file')}" if len(files) > _FILES else ""
            text += f" ({', '.join(files[:_FILES])}{more})"
        return Evidence(text, window.source if window else None)

    def order(self, ranks: Sequence[int], places: Iterable[Place]) -> tuple[Evidence, ...]:
        """The order in which each rank issued its open calls."""
        lines = []
        groups = sorted({p[0] for p in places})
        for rank in ranks[:_EACH]:
            mine = sorted(
                (w.open_position, self.groups[g].label, w.open_seq, w.source)
                for g in groups
                if (w := self.windows.get((g, rank))) is not None and w.open_position is not None
            )
            if mine:
                calls = ", then ".join(f"{label} {seq}" for _, label, seq, _ in mine)
                lines.append(Evidence(f"rank {rank}: open in the order {calls}{self.file(mine[0][3], None)}", mine[0][3]))
        return (*lines, *self._more(ranks))

    def turn(self, turn: Turn) -> Evidence:
        """By which way a rank of a circle came to its open call."""
        window = self.windows.get((turn.to[0], turn.rank))
        source = window.source if window else None
        (before, seq), (now, at) = turn.after, turn.to
        way = f"rank {turn.rank}: after {self.groups[before].label} {seq} it requested {self.groups[now].label} {at}"
        usual = f"; the {turn.times:,} times before, {self.groups[turn.usual].label} came next"
        told = usual if turn.another else f", as the {turn.times:,} times before"
        return Evidence(f"{way}{told}{self.file(source, None)}", source)

    def call_site(self, shift: Shift) -> Evidence:
        """Where a rank made a call more, and where the others were at that number."""
        window = self.windows.get((shift.group, shift.rank))
        source = window.source if window else None
        mine, theirs = user_frames(*(self.records.stacks[s] for s in (shift.stack, shift.majority_stack)))
        called = f"rank {shift.rank} requested {self.groups[shift.group].label} {shift.seq} from {mine}"
        return Evidence(f"{called}, where no other rank ever was; the others from {theirs}{self.file(source, None)}", source)

    def _more(self, ranks: Sequence[int], each: int = _EACH) -> tuple[Evidence, ...]:
        rest = ranks[each:]
        return (Evidence(f"and {len(rest)} more of the same kind: {self.ranks(rest)}"),) if rest else ()


#: What is known of a request where the recorder only says that it is over, or says so as soon as it is made.
_OVER = "it is over there, well or badly is not recorded"
_ISSUED = "whether it is over there is not recorded"
#: Why nothing tells of a send or receive although the dump is whole.
_LOST = "its records do not go back to its first sends and receives, and its answer may be older than those that are left"


def _beyond(place: Place, window: Window) -> CellState:
    """What a request without a record is, where nothing tells of it: of sends and receives the older ones may be gone."""
    return window.above if place[1] == COLLECTIVE or window.blind else window.below


_JUST_ISSUED = "requested (whether it is over is not recorded)"
_READING = {
    2: "requested, ended (well or badly is not recorded)",
    3: "started, not completed",
    4: "requested, not completed",
    5: "requested, failed or timed out",
}
