"""Lines of one file, in their order, to events: blocks of lines are put together, single lines matched, who speaks is noted."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from typing import TypeAlias

from hangview.logs import headers, launchers, printed, settings, watchdog
from hangview.logs.events import Event, Fatal, LastWords, Left, LogScan, Raised, Said, StackSeen, SummaryEntry, WorkStack
from hangview.logs.evidence import LogLine
from hangview.logs.lastwords import LastWordsReader
from hangview.logs.launchers import Launchers, SummaryBuilder
from hangview.logs.lines import SAID, Piece, RawLine, Who, clean, pieces
from hangview.logs.marks import WORTH, WORTH_BYTES
from hangview.logs.output import Output, shows_life
from hangview.logs.shut import told_to_end
from hangview.logs.times import Timeline, days_apart
from hangview.logs.tracebacks import (
    PY_SPY_PROCESS,
    StackBuilder,
    TracebackBuilder,
    WorkStackBuilder,
    stack_start,
    traceback_start,
)
from hangview.text import count, escape, shorten

#: Lines at the start of a file, and behind an exception, that are looked at whatever they hold.
_ALL_AT_START = 200
_ALL_AFTER = 60
#: Lines that may lie between two lines of one block, in a log of many ranks whose lines bear no rank.
_ALL_INSIDE = 400
_MOST_EVENTS = 100_000
#: Steps that a process may still count that is told to end: the one it is in, and one more.
_LAST_STEPS = 2
#: Exceptions of one type and place, and different ones, that are kept of one file.
_SAME_RAISED = 2
_MOST_RAISED = 2_000
_TEXT = 2_000

_TERMINATE = re.compile(r"terminate called after throwing an instance of '(?P<type>[^']+)'")
_WHAT = re.compile(r"^(?:\s*what\(\):)+\s*(?P<text>.*)")
_WORK_STACK = "Stack trace of the failed collective: "

_Builder: TypeAlias = TracebackBuilder | WorkStackBuilder | StackBuilder | SummaryBuilder
_Key: TypeAlias = tuple[int | None, int | None, int | None, int | None]
_NOBODY: _Key = (None, None, None, None)


class Scanner:
    """Feeds the pieces of one file to the builders that are open and to the matchers."""

    def __init__(self, source: int, *, parts: bool = False) -> None:
        """``parts``: of a file that is not read whole."""
        self._source = source
        self.timeline = Timeline(parts=parts)
        self._events: list[Event] = []
        self._seen: dict[tuple[object, ...], int] = {}  # place in the events
        self._again: dict[int, Event] = {}  # by place of the first, the last one that says the same
        self._open: dict[_Key, tuple[_Builder, Who]] = {}
        self._before = headers.LastLines()
        self._fatal: dict[_Key, Fatal] = {}
        self._abort: dict[_Key, str] = {}
        self._launchers = Launchers()
        self._last_words = LastWordsReader()
        self._pid: int | None = None
        self._all = _ALL_AT_START
        self._output: defaultdict[_Key, Output] = defaultdict(Output)
        self._to_end: list[tuple[int, _Key]] = []  # lines in which a process says that it is told to end, by their number
        self._ordinary: dict[_Key, int] = {}  # number of the last line of a process as none prints that ends
        self._ranks: set[int] = set()
        self._said: set[int] = set()  # which lines call a rank, and that may be nodes
        self._of_nodes = False
        self._locals: set[int] = set()
        self._tasks: set[int] = set()
        self._offsets: set[int] = set()
        self._task_pairs: set[tuple[int, int]] = set()
        self._pids: set[tuple[int, int]] = set()
        self._raised: dict[tuple[object, ...], int] = {}
        self._last_raised: dict[_Key, Raised] = {}
        self._dropped = 0

    @property
    def notes(self) -> tuple[str, ...]:
        return (f"{count(self._dropped, 'further event')} left out",) if self._dropped else ()

    def take(self, raw: RawLine) -> None:
        """Takes a line of a file that is too large for looking at all of them."""
        if self._all > 0 or WORTH_BYTES.search(raw.data) is not None:
            for text in clean(raw.data):
                self.feed_line(raw, text)
        else:
            self.timeline.pass_over(raw)

    def feed_line(self, raw: RawLine, text: str) -> None:
        """Takes one line, already cleaned and unwrapped."""
        self._all -= 1
        self.timeline.see(raw.number, text)
        for piece in pieces(raw, text):
            self._note_who(piece.who)
            self._feed(piece)
            self._before.add(_key(piece.who), piece)

    def _note_who(self, who: Who) -> None:
        if not who.named:
            return
        rank = who.rank
        self._of_nodes = self._of_nodes or who.of_node
        if rank is not None:
            (self._said if who.rank_from == SAID else self._ranks).add(rank)
            if who.local is not None:
                self._offsets.add(rank - who.local)
            if who.task is not None:
                self._task_pairs.add((who.task, rank))
            if who.pid is not None:
                self._pids.add((who.pid, rank))
        if who.local is not None:
            self._locals.add(who.local)
        if who.task is not None:
            self._tasks.add(who.task)

    def _line(self, piece: Piece) -> LogLine:
        return LogLine(self._source, piece.number, shorten(escape(piece.text.rstrip()), _TEXT), piece.offset)

    def _feed(self, piece: Piece) -> None:
        key = _key(piece.who)
        held = self._open.get(key)
        # A c10 line among the lines of a traceback is a message of its own.
        if held is not None and not (piece.level and isinstance(held[0], (TracebackBuilder, StackBuilder))):
            if self._continue(held[0], piece):
                self._all = max(self._all, _ALL_INSIDE)
                return
            del self._open[key]
            self._finish(key, *held)
        if self._start(key, piece):
            return
        if shows_life(piece.text):
            self._output[key].add(piece.number, piece.text)
        if self._raised and not piece.level and headers.is_ordinary(piece.text):
            self._ordinary[key] = piece.number
        if WORTH.search(piece.text) is None:
            return
        if told_to_end(piece.text):
            self._to_end.append((piece.number, key))
        self._launchers.see(piece.text)
        line = self._line(piece)
        for event in watchdog.match(piece, line) or self._launchers.match(piece, line) or settings.match(piece, line):
            self._add(event)
        for matched in (launchers.hidden, printed.match, self._last_words.match):
            for event in matched(piece, line):
                self._add(event)

    def _continue(self, builder: _Builder, piece: Piece) -> bool:
        if isinstance(builder, SummaryBuilder):
            return builder.feed(piece, self._line(piece))
        if isinstance(builder, TracebackBuilder) and builder.ended_by(piece, worth=WORTH.search(piece.text) is not None):
            return False
        if not builder.feed(piece):
            return False
        if isinstance(builder, TracebackBuilder) and builder.links and builder.links[-1][0].endswith("ChildFailedError"):
            self._open[_key(piece.who)] = (SummaryBuilder(), piece.who)
        return True

    def _start(self, key: _Key, piece: Piece) -> bool:
        """Opens a builder when the line starts a block."""
        text, who = piece.text, piece.who
        if "Traceback" in text and (raised := traceback_start(piece, self._before.before(key, piece))) is not None:
            self._open[key] = (raised, who)
            self._all = max(self._all, _ALL_INSIDE)
            return True
        stack = stack_start(piece, self._pid)
        if stack is not None:
            self._open[key] = (stack, who)
            return True
        if (process := PY_SPY_PROCESS.match(text)) is not None:
            self._pid = int(process["pid"])
        elif text.startswith(("Failures:", "Root ")) and ("first observed" in text or text.strip() == "Failures:"):
            self._open[key] = (SummaryBuilder(), who)
            return True
        elif text.startswith(_WORK_STACK.rstrip()) and "not found" not in text:
            # The frames come without the head's rank, behind the launcher's label alone.
            self._open[_key(replace(who, rank=None, rank_from=""))] = (WorkStackBuilder(piece), who)
            return True
        elif text.startswith("Fatal Python error: "):
            self._fatal[key] = Fatal(who, self._line(piece), piece.at, "fatal", text)
            self._all = max(self._all, _ALL_AFTER)
            return True
        elif (terminate := _TERMINATE.search(text)) is not None:
            self._abort[key] = terminate["type"]
            return True
        elif key in self._abort and (what := _WHAT.match(text)) is not None:
            said = f"{self._abort.pop(key)}: {what['text']}"
            if "Watchdog caught" not in said:
                self._add(Fatal(who, self._line(piece), None, "abort", said))
                return True
        return False

    def _finish(self, key: _Key, builder: _Builder, who: Who) -> None:
        """Turns a block that has ended into its event."""
        if isinstance(builder, SummaryBuilder):
            builder.flush()
            for entry in builder.entries:
                self._add(replace(entry, block=builder.entries[0].line.number))
        elif isinstance(builder, WorkStackBuilder):
            if builder.frames:
                self._add(WorkStack(who, self._line(builder.first), builder.first.at, tuple(builder.frames)))
        elif isinstance(builder, StackBuilder):
            fatal = self._fatal.pop(key, None) if builder.current else None
            if fatal is not None:
                self._add(replace(fatal, frames=builder.frames))
            elif builder.frames:
                self._add(
                    StackSeen(who, self._line(builder.first), None, builder.pid, builder.thread, builder.frames, builder.tool)
                )
        elif builder.links:
            kind, message, text, frames, last = builder.links[0]
            later = builder.links[-1][0] if len(builder.links) > 1 else None
            raised = Raised(
                who, self._line(last), last.at, kind, message, frames, builder.worker, later, text,
                of_rank=builder.of_rank, logger=builder.before.logger, said=builder.before.text,
                by_raise=builder.by_raise[0], begun=builder.begun,
            )  # fmt: skip
            if not headers.is_a_rank(frames):
                handled = "" if raised.to_the_end else builder.before.handled
                hint = "" if raised.to_the_end else builder.before.hint or headers.tries(frames)
                raised = replace(raised, no_end=builder.before.no_end or headers.no_main(frames) or handled, hint=hint)
                if any(headers.is_ordinary(line) for line in headers.behind_the_message(kind, text)):
                    self._ordinary[key] = last.number + 1
            self._add_raised(raised)
            self._all = max(self._all, _ALL_AFTER)

    def _add_raised(self, event: Raised) -> None:
        """Of one exception that is logged over and over, with other words each time, the first few; and each rank's last."""
        key = (event.who, event.type, event.frames[:1])
        times = self._raised.get(key, 0)
        self._raised[key] = times + 1
        if times < _SAME_RAISED and len(self._raised) <= _MOST_RAISED:
            self._add(event)
        else:
            self._last_raised[_key(event.who)] = event

    def _add(self, event: Event) -> None:
        parts: tuple[object, ...]
        if isinstance(event, Raised):
            parts = (event.type, event.message, event.frames, event.no_end, event.of_rank)
        elif isinstance(event, Said):
            parts = (event.name, event.value)
        else:
            parts = (getattr(event, "seq", None), getattr(event, "pid", None), getattr(event, "rank", None), event.line.text)
        if (seen := (type(event), event.who, *parts)) in self._seen:
            self._again[self._seen[seen]] = event
            return
        if len(self._events) >= _MOST_EVENTS:
            self._dropped += 1
            return
        self._seen[seen] = len(self._events)
        self._events.append(event)

    def result(self, scan: LogScan) -> LogScan:
        """Ends what is open and returns the file's events in the order of its lines."""
        for key, (builder, who) in self._open.items():
            self._finish(key, builder, who)
        for event in (*self._fatal.values(), *self._last_raised.values()):
            self._add(event)
        if not self._of_nodes:
            self._ranks |= self._said
        if scan.path_rank is None and scan.path_local is None:
            self._ordinary.pop(_NOBODY, None)  # such lines may be of any process
        single = len(self._ranks) <= 1  # by its lines: the number in a name may be that of a node
        events = [one for place in range(len(self._events)) for one in self._told(place, single=single)]
        events.sort(key=lambda event: event.line.number)
        first, last = self.timeline.ends()
        last_ones = [self._dated(event, single=single) for event in self._again.values()]
        last_ones.sort(key=lambda event: event.line.number)
        return replace(
            scan, events=tuple(events), again=tuple(last_ones),
            ranks=tuple(sorted(self._ranks)), locals=tuple(sorted(self._locals)), tasks=tuple(sorted(self._tasks)),
            offsets=tuple(sorted(self._offsets)), task_pairs=tuple(sorted(self._task_pairs)),
            pids=tuple(sorted(self._pids)), first=first, last=last,
        )  # fmt: skip

    def _told(self, place: int, *, single: bool) -> list[Event]:
        """An event with its time, and what came after it. Of several that say the same the first; the last one as well where
        it is of another day, and in its stead where a process went on after the first."""
        first = self._dated(self._events[place], single=single)
        if place not in self._again:
            return [first]
        last = self._dated(self._again[place], single=single)
        if isinstance(first, Raised) and isinstance(last, Raised) and first.lived and not last.lived:
            return [last]
        return [first, last] if days_apart(first.line.printed, last.line.printed) else [first]

    def _dated(self, event: Event, *, single: bool) -> Event:
        number, own = event.line.number, _key(event.who)
        event = replace(event, line=self._at(event.line, single=single))
        if self._of_nodes and event.who.rank_from == SAID:
            event = replace(event, who=replace(event.who, rank=None, rank_from=""))
        if isinstance(event, SummaryEntry) and event.raised is not None:
            return replace(event, raised=replace(event.raised, line=self._at(event.raised.line, single=single)))
        if not isinstance(event, (Raised, Left, LastWords)):
            return event
        if isinstance(event, Raised) and event.line.printed.own is None and event.begun is not None and not event.to_the_end:
            begun = self.timeline.of(event.begun)  # a logger's traceback has its time in front
            event = replace(event, line=replace(event.line, printed=begun)) if begun.own is not None else event
        own_output = [said for key, said in self._output.items() if single or key == own]
        after = [said.after(number) for said in own_output]
        if isinstance(event, (Left, LastWords)):
            return replace(event, went_on=any(lines for lines, _ in after))
        # Who logs an exception may print of anything afterwards; whose whole program it went through has last words alone.
        ending = [said.last_words(number) if event.to_the_end else 0 for said in own_output]
        went_on = any(lines > last for (lines, _), last in zip(after, ending, strict=True))
        lived = next((why for _, why in after if why), "")
        if not lived and event.hint and self._ordinary.get(own, 0) > number:
            lived = f"{event.hint}, and ordinary lines follow"
        if not lived and event.frames and not event.to_the_end:
            lived = next((why for said in self._output.values() if (why := said.far_after(number))), "")
        if not lived and event.logger and not event.to_the_end:
            lived = next((why for said in own_output if (why := said.recovered(number, event.logger, event.said))), "")
        return replace(event, went_on=went_on, lived=lived, told=self._was_told(event, single=single))

    def _was_told(self, event: Raised, *, single: bool) -> bool:
        """Whether the process of an exception had said before that it is told to end, and had not worked on since."""
        own, begun = _key(event.who), event.begun or event.line.number
        told = max((number for number, key in self._to_end if number <= begun and (single or key == own)), default=None)
        outputs = [said for key, said in self._output.items() if single or key == own]
        return told is not None and sum(said.steps_between(told, begun) for said in outputs) <= _LAST_STEPS

    def _at(self, line: LogLine, *, single: bool) -> LogLine:
        """A line with its time. In a log of many processes the next line's time says nothing: the parts may be of one each."""
        printed = self.timeline.of(line.number)
        return replace(line, printed=printed if single or printed.own else replace(printed, after=None))


def _key(who: Who) -> _Key:
    return (who.rank, who.local, who.task, who.pid)
