"""How one rank's process ended: its exceptions, signals, exit codes and kernel lines become one story.

What only follows is marked: an end that another process brought about, as the launcher's SIGTERM, a connection that a peer
closed, the abort after a time-out of one's own. It is shown and never makes a lead.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hangview.logs.events import (
    ChildFailed,
    Closed,
    Expired,
    Fatal,
    Heartbeat,
    KernelKill,
    Raised,
    SummaryEntry,
    TaskEnd,
    is_whole_program,
)
from hangview.logs.evidence import NO_RANK, EndKind, ProcessEnd
from hangview.logs.followers import (
    DEVICE,
    NETWORK,
    OF_THE_LIBRARY,
    OUTSIDE,
    follows,
    gathered,
    in_communication,
    left_behind,
    outside_shown,
    ranks_in,
    tells_of_others,
    waited_until_its_end,
)
from hangview.logs.launchers import SIGNALS
from hangview.text import escape, name_ranks, shorten

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from hangview.logs.events import Event
    from hangview.logs.evidence import LogLine
    from hangview.logs.resolve import Named
    from hangview.schema import StackFrame

_SAID = 300  #: characters of an exception's message that are kept

_IN_COLLECTIVE = re.compile(
    r"torch/distributed/(?:distributed_c10d|c10d_logger|_functional_collectives\w*|nn/functional|rendezvous|device_mesh)\.py$"
)
#: all_gather_object() and its like pack and unpack what a program defines.
_OF_AN_OBJECT = re.compile(r"object|^__(?:getstate|setstate|reduce|reduce_ex|getnewargs|getnewargs_ex)__$")
_NOT_OURS = re.compile(r"/site-packages/|/dist-packages/|/lib/python3|^<frozen|^<string>")


@dataclass(slots=True)
class OfRank:
    """Everything about the end of one rank's process in one attempt."""

    texts: list[tuple[Raised | Fatal | Heartbeat, Named]] = field(default_factory=list)
    codes: list[tuple[int, Event, Named]] = field(default_factory=list)
    kernel: list[KernelKill] = field(default_factory=list)
    timer: Expired | None = None
    late: str = ""  #: a clause: what had failed long before the launcher's summary says that this one ended
    pid: int | None = None
    local: int | None = None
    host: str | None = None
    told_by: set[tuple[int, int | None]] = field(default_factory=set)  #: launchers that tell of it

    def is_process(self, shut: Closed) -> bool:
        """Whether a launcher ended this process. Of another launcher a process may have the same pid: in containers those of
        all nodes do."""
        return shut.pid == self.pid and (not self.told_by or launcher_of(shut) in self.told_by)


def launcher_of(event: Event) -> tuple[int, int | None]:
    """Which launcher's line it is: by its file, and by its task where one file holds those of several."""
    return event.line.source, event.who.task


def gather(about: OfRank, event: Event, named: Named) -> None:
    if isinstance(event, (Raised, Fatal, Heartbeat)):
        about.texts.append((event, named))
        return
    if isinstance(event, Expired):
        about.timer = event
        return
    if isinstance(event, KernelKill):
        about.kernel.append(event)
        about.pid = about.pid or event.pid
        return
    if isinstance(event, SummaryEntry):
        about.host, about.local = event.host or about.host, event.local if event.local is not None else about.local
        if event.raised is not None and not any(isinstance(known, Raised) for known, _ in about.texts):
            about.texts.append((event.raised, named))
    code = getattr(event, "code", None)
    about.pid = getattr(event, "pid", None) or about.pid
    if isinstance(event, (ChildFailed, SummaryEntry)):
        about.told_by.add(launcher_of(event))
    if isinstance(event, ChildFailed):
        about.local = event.local
    if isinstance(event, TaskEnd):
        about.host = event.host or about.host
    if isinstance(code, int):
        about.codes.append((code, event, named))


def after_cancel(event: Event) -> bool:
    return isinstance(event, TaskEnd) and event.after_cancel


def story(
    rank: int,
    attempt: int,
    about: OfRank,
    closed: Collection[Closed],
    ending: Collection[int],
    waited: str | None = None,
) -> list[ProcessEnd]:
    """The ends of one rank, what it raised itself first. ``closed``: what the attempt's launchers say that they ended,
    ``ending``: attempts whose processes somebody ended."""
    codes = _of_the_last_start(sorted(about.codes, key=lambda one: one[1].line.number))
    extra = tuple(dict.fromkeys(event.line for _, event, _ in codes))
    texts = _of_one_program([_from_text(rank, *text) for text in about.texts])
    ends = [replace(end, lines=end.lines + extra) for end in _distinct(texts)]
    if about.kernel:
        kill = about.kernel[-1]
        lines = tuple(dict.fromkeys([*(event.line for event in about.kernel[:-1]), *extra]))
        what = f"killed by the kernel, out of memory: pid {kill.pid}" + (f" ({escape(kill.process)})" if kill.process else "")
        ends.append(
            ProcessEnd(rank, what, False, False, kill.line, EndKind.OOM_KILLER, lines=lines, rank_from=f"pid {kill.pid}")
        )
    elif codes and all(end.beside for end in ends):
        ends.append(_from_code(rank, codes[0], extra))
    ends = [_in_order(end, about) for end in ends]
    shut = next((event.line for event in closed if about.is_process(event)), None)
    if shut is None and any(code > 0 and not after_cancel(event) for code, event, _ in codes):
        ends = _failed(ends)
    if shut is not None:
        ends = [_shut_down(end, shut) for end in ends]
    if attempt in ending and not any(code > 0 and not after_cancel(event) for code, event, _ in codes):
        ends = [_following(end, why) if (why := left_behind(end.type or "", end.what, end.frames)) else end for end in ends]
    if any(after_cancel(event) for _, event, _ in codes):
        ends = [_following(end, "the job was being cancelled") if end.kind is EndKind.SIGNAL else end for end in ends]
    if waited is not None:
        why = f"it waited itself, {waited}"
        # What the device met is not known to follow, and who waited is named for nothing.
        ends = [end if _of_device(end) else _following(end, why, again=end.kind is EndKind.SIGNAL) for end in ends]
    code = codes[0][0] if codes else None
    return [replace(end, code=code, pid=about.pid, local_rank=about.local, host=about.host, attempt=attempt) for end in ends]


def _of_the_last_start(codes: list[tuple[int, Event, Named]]) -> list[tuple[int, Event, Named]]:
    """Without the ends of a job that was cancelled, where the same file tells of ends after that: it was started again."""
    tasks = [event for _, event, _ in codes if isinstance(event, TaskEnd)]
    began = {event.line.source: event.line.number for event in tasks if not event.after_cancel}
    return [
        one
        for one in codes
        if not (isinstance(one[1], TaskEnd) and one[1].after_cancel and one[1].line.number < began.get(one[1].line.source, 0))
    ]


def _of_one_program(ends: list[ProcessEnd]) -> list[ProcessEnd]:
    """The ends, those marked that are of another program which the rank's own one started: of each the traceback goes through a
    whole program, and the rank's ended later, in a call in which it waited."""
    waited = [end for end in ends if end.follower and end.inside and is_whole_program(end.frames)]
    return [
        replace(end, no_end="it is of another program, by its first frame, than the one that ended later in a call")
        if is_whole_program(end.frames) and not end.follower and any(_is_another(end, last) for last in waited)
        else end
        for end in ends
    ]


def _is_another(end: ProcessEnd, last: ProcessEnd) -> bool:
    later = end.line.source == last.line.source and end.line.number < last.line.number
    return later and end.frames[-1].filename != last.frames[-1].filename


def _failed(ends: list[ProcessEnd]) -> list[ProcessEnd]:
    """The ends of a rank that failed, as its exit code says, while nobody ended it: the last thing that it raised was not
    handled, whatever was printed after it."""
    own = [end for end in ends if not end.beside and end.kind is not EndKind.EXIT_CODE]
    last = max(own, key=lambda end: (end.line.source, end.line.number), default=None)
    return sorted((replace(end, went_on=False) if end is last else end for end in ends), key=_follows_and_when)


def _follows_and_when(end: ProcessEnd) -> tuple[bool, bool, int, int]:
    return end.follower, end.went_on, end.line.source, end.line.number


def _in_order(end: ProcessEnd, about: OfRank) -> ProcessEnd:
    """A signal or an exit code, marked where something of the rank's own or of its launcher shows that it follows."""
    if about.late and end.kind is EndKind.SIGNAL:
        return _following(end, about.late)
    if about.timer is not None and end.kind is EndKind.EXIT_CODE and end.code == 1:
        why = f"its own timer (faulthandler) met its limit of {about.timer.after}, for it stood still, and may end it"
        return replace(_following(end, why), lines=(*end.lines, about.timer.line))
    return end


def _distinct(ends: list[ProcessEnd]) -> list[ProcessEnd]:
    """One end per what was said, in the order of the lines, those that do not follow first."""
    kept: dict[str, ProcessEnd] = {}
    for end in ends:
        if end.what not in kept or (kept[end.what].beside and not end.beside):
            kept[end.what] = end
    return sorted(kept.values(), key=_follows_and_when)


def _from_text(rank: int, event: Raised | Fatal | Heartbeat, named: Named) -> ProcessEnd:
    if isinstance(event, Raised):
        return _from_exception(rank, event, named)
    if isinstance(event, Heartbeat):
        seconds = "" if event.stuck_s is None else f" for {event.stuck_s} s"
        return ProcessEnd(
            rank, f"ended by the heartbeat monitor: the watchdog thread made no progress{seconds}", False, True, event.line,
            EndKind.HEARTBEAT, "what blocked the watchdog thread (a CUDA or NCCL call, or the GIL) is not in the log",
            rank_from=named.how,
        )  # fmt: skip
    text = shorten(escape(event.text.strip()), _SAID)
    if event.kind == "fatal":
        name = text.removeprefix("Fatal Python error: ")
        return ProcessEnd(
            rank, text, not _inside(event.frames), False, event.line, EndKind.FATAL, type=name, where=where(event.frames),
            frames=event.frames, rank_from=named.how, inside=_inside(event.frames),
        )  # fmt: skip
    why = follows("", event.text)
    if event.kind == "device" or (why is None and DEVICE.search(event.text)):
        by = "by the kernel's log" if text.startswith("NVRM") else ""
        return ProcessEnd(rank, text, False, False, event.line, EndKind.DEVICE, message=text, rank_from=named.how, by=by)
    if why is None and event.kind == "nccl":
        why = OF_THE_LIBRARY
    return ProcessEnd(
        rank, text, False, why is not None, event.line, EndKind.ABORT, why or "", message=text, rank_from=named.how,
        of_others=tells_of_others("", text),
    )  # fmt: skip


def _from_exception(rank: int, event: Raised, named: Named) -> ProcessEnd:
    message = shorten(escape(event.message.strip()), _SAID)
    why = follows(event.type, event.text, event.frames)
    inside = _inside(event.frames) or in_communication(event.type, event.text)
    if why is None and inside and NETWORK.search(event.text):
        why = OF_THE_LIBRARY
    if why is None and event.told:
        why = f"{OUTSIDE}: it says itself that it had got a signal before"
    if why is None and event.logger and waited_until_its_end(event.said):
        why = "the line before it says that it had waited until its own time-out"
    others = not event.worker and tells_of_others(event.type, event.text, event.frames)
    told = ranks_in(event.text) if rank != NO_RANK and not gathered(event.text) else frozenset()
    compares = len(told) > 1 and rank in told  # it may be either: what others do tells
    if why is None and told and rank not in told:
        why = f"its message tells of {name_ranks(sorted(told), 8)}"
    if why is None and _stood_in_a_call(event, others=others):
        why = "it was raised inside a call, in which the rank stood until then"
    device = DEVICE.search(event.text) is not None
    # What the device met is told by some later call: when it was, against the others' call, no frame says.
    outside = not device and (bool(event.worker) or outside_shown(event.type, event.frames, by_raise=event.by_raise))
    place = where(event.frames)
    return ProcessEnd(
        rank, f"{event.type}: {message}" if message else event.type, why is None and not inside and outside, why is not None,
        event.line, EndKind.DEVICE if device else EndKind.EXCEPTION, why or "", event.type, message or None,
        f"{event.worker}, {place}" if event.worker and place else event.worker or place, event.frames,
        went_on=event.went_on, rank_from=named.how, lived=event.lived, by=named.by, inside=inside, no_end=event.no_end,
        of_others=others or compares, compares=compares, gathered=gathered(event.text),
    )  # fmt: skip


def _stood_in_a_call(event: Raised, *, others: bool) -> bool:
    """Whether an error shows that its rank stood in a collective: the library raised it there with words of ``others``, or an
    alarm of the program did, whose handler is the only code of one's own that can raise below such a frame, but for objects
    that are packed to be sent."""
    if event.no_end or not _inside(event.frames) or any(_OF_AN_OBJECT.search(frame.name) for frame in event.frames):
        return False
    return not _NOT_OURS.search(event.frames[0].filename) if event.by_raise else others


def _from_code(rank: int, first: tuple[int, Event, Named], lines: tuple[LogLine, ...]) -> ProcessEnd:
    code, event, named = first
    rest = tuple(line for line in lines if line != event.line)
    end = ProcessEnd(rank, "", False, False, event.line, EndKind.EXIT_CODE, lines=rest, code=code, rank_from=named.how)
    if code in (134, 135, 137, 139, 143):  # shells and Kubernetes add 128 to the signal
        code = 128 - code
    if code >= 0:
        return replace(end, what=f"exit code {code}; what it raised is not in these logs")
    name = SIGNALS.get(-code)
    end = replace(end, what=f"signal {-code}" + (f" ({name})" if name else ""), kind=EndKind.SIGNAL)
    if isinstance(event, TaskEnd) and event.what.startswith("Out Of Memory"):
        return replace(end, what="killed by Slurm: out of memory", kind=EndKind.OOM_KILLER)
    if code == -15:
        return _following(end, "SIGTERM is how a launcher or a scheduler ends a healthy process")
    if code == -6:
        return _following(end, "SIGABRT is how the watchdog ends its process after a time-out; its own log says nothing else")
    return end


def _shut_down(end: ProcessEnd, line: LogLine) -> ProcessEnd:
    """The launcher sent this process SIGTERM: a signal follows from it, what it raised by itself does not."""
    if end.kind in (EndKind.SIGNAL, EndKind.EXIT_CODE):
        return replace(_following(end, "the launcher ended it"), lines=(*end.lines, line))
    return end


def _following(end: ProcessEnd, why: str, *, again: bool = False) -> ProcessEnd:
    return end if end.follower and not again else replace(end, follower=True, why_follower=why, before_communication=False)


def _of_device(end: ProcessEnd) -> bool:
    return end.kind is EndKind.DEVICE and not end.follower


def _inside(frames: Sequence[StackFrame]) -> bool:
    return any(_IN_COLLECTIVE.search(frame.filename) for frame in frames)


def where(frames: Sequence[StackFrame]) -> str | None:
    """The innermost frame of the user's own code: ``"load_batch (/srv/job/reader.py:88)"``."""
    own = next((frame for frame in frames if not _NOT_OURS.search(frame.filename)), frames[0] if frames else None)
    if own is None:
        return None
    return escape(f"{own.name} ({own.filename}:{own.line})" if own.name else f"{own.filename}:{own.line}")
