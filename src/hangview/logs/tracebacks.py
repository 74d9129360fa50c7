"""Blocks of several lines, put together from one process's lines: Python tracebacks and stacks taken from outside.

A builder is fed the lines of one stream (one rank, one launcher label, or the unlabelled lines of a file) and says after
each whether it belongs to the block. What it has not understood after a few lines, it gives up.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from hangview.logs.headers import Before
from hangview.logs.output import goes_on
from hangview.schema import StackFrame

if TYPE_CHECKING:
    from hangview.logs.lines import Piece

TRACEBACK = "Traceback (most recent call last):"
_OF_RANK = re.compile(r"Traceback \(most recent call last\): \(RANK (?P<rank>\d{1,7})\)")
_FILE = re.compile(r'\s*(?:\(Python\) )?File "(?P<file>[^"]*)", line (?P<line>\d+)(?:, in (?P<name>.*)| in (?P<fault>.*))?')
#: The last line of a traceback. The last part of the type starts with a capital, as classes do, or is one of the few others.
_RAISED = re.compile(r"(?P<type>(?:[A-Za-z_]\w*\.)*(?:_?[A-Z]\w*|error|timeout|gaierror|herror))(?:: ?(?P<message>.*))?$")
#: The same of a class without a capital, behind a raise statement: a logger's line may look like it.
_RAISED_BY_NAME = re.compile(r"(?P<type>(?:[A-Za-z_]\w*\.)+[a-z_]\w*): (?P<message>.*)$")
_WORKER = re.compile(r"Caught \S+ in (?P<worker>(?:DataLoader|pin memory)[\w ]*?(?: process \d+| thread for device \d+)?)\.")
_CHAIN = ("During handling of the above exception", "The above exception was the direct")
#: How Python 3.11 and newer print a group of exceptions: a front on each line, and a rule above each exception of the group.
_GROUP = "Exception Group Traceback"
_GROUP_RULE = re.compile(r"\s*\+(?:-\+)?-{4,}(?: (?P<number>\d+) -+)?$")
_GROUP_FRONT = re.compile(r"^\s*\| ?")
#: rich: "╭──── Traceback (most recent call last) ────╮", "│ /job/train.py:212 in <module>   │", "│ ❱ 212 main()   │".
_BOX = re.compile(r"╭─+ Traceback \(most recent call last\) ─+")
_BOX_FRAME = re.compile(r"│ (?P<file>\S.*):(?P<line>\d+) in (?P<name>\S+)\s*│?\s*$")
_BOX_RAISING = re.compile(r"│ ❱ *\d+ (?:│\s*)?(?P<code>\S.*)")
#: Lines of the message behind the last line that are kept for telling what kind of error it is.
_MESSAGE_LINES = 8
_FRAMES = 120


class TracebackBuilder:
    """One traceback with its chain: the first exception of the chain is the one that began it."""

    def __init__(self, first: Piece, before: Before = Before()) -> None:  # noqa: B008 - immutable
        self.first = first
        self.last = first
        self.before = before
        quoted = _OF_RANK.search(first.text)
        self.of_rank = None if quoted is None else int(quoted["rank"])
        self.begun = first.number if before.begun is None else before.begun
        self.frames: list[StackFrame] = []
        self.links: list[tuple[str, str, str, tuple[StackFrame, ...], Piece]] = []
        self.by_raise: list[bool] = []  # of each link, whether the line that raised it is a raise statement
        self._raises = False
        self.worker: str | None = None
        self.message: list[str] = []
        self._state = "frames"
        self._blank = 0
        self._strange = 0
        self._group = _GROUP in first.text
        self.closed = False

    def ended_by(self, piece: Piece, *, worth: bool) -> bool:
        """Whether a line that means something by itself (``worth``) ends the message instead of going on with it."""
        return worth and self._state != "frames" and TRACEBACK not in piece.text

    def feed(self, piece: Piece) -> bool:
        """Whether the line belongs to the traceback. After False the builder is done."""
        text = piece.text
        if self._group:
            if (rule := _GROUP_RULE.match(text)) is not None:
                # Of the exceptions in a group the first one stands for all, behind the frames of the group's own.
                return rule["number"] == "1" and self._begin_again()
            text = _GROUP_FRONT.sub("", text)
            piece = replace(piece, text=text)
        if self._state == "frames":
            return self._feed_frame(piece, text)
        if not text.strip():
            self._state, self._blank = "next" if self._state == "next" else "chain", self._blank + 1
            return self._blank < 4
        if text.startswith(TRACEBACK) and self._state == "next":
            self._state, self.frames, self.message = "frames", [], []
            return True
        if text.startswith("Original " + TRACEBACK):
            self._state, self.frames = "frames", []
            self.links.pop()
            self.by_raise.pop()
            return True
        if text.startswith(_CHAIN):
            self._state = "next"
            return True
        if self._state in ("chain", "next") or piece.level or len(self.message) >= _MESSAGE_LINES or goes_on(text):
            self.closed = True
            return False
        if text.startswith(("Traceback ", "terminate called", "  what():", "Exception raised from", "frame #")):
            self.closed = True
            return False
        self.message.append(text)
        if self.links:
            kind, said, _, frames, last = self.links[-1]
            self.links[-1] = (kind, said, "\n".join(self.message), frames, last)
        return True

    def _begin_again(self) -> bool:
        self._state, self.message = "frames", []
        self.links.clear()
        self.by_raise.clear()
        return True

    def _feed_frame(self, piece: Piece, text: str) -> bool:
        found = _FILE.match(text)
        if found is not None:
            self._raises = False
            if len(self.frames) < _FRAMES:
                self.frames.append(
                    StackFrame((found["name"] or found["fault"] or "").strip(), found["file"], int(found["line"]))
                )
            return True
        if not text.strip() or text[0] in " \t":
            self._raises = self._raises or text.lstrip().startswith("raise ")
            self._strange = 0 if text.strip() else self._strange + 1
            return self._strange < 3
        raised = None if piece.level else _RAISED.match(text) or (_RAISED_BY_NAME.match(text) if self._raises else None)
        if raised is None or not (self.frames or raised["type"]):
            self._strange += 1
            self.closed = self._strange >= 3 or bool(piece.level)
            return not self.closed
        said = raised["message"] or ""
        worker = _WORKER.search(said)
        if worker is not None:
            self.worker = worker["worker"]
        self.last = piece
        self.message = [text]
        self.links.append((raised["type"], said, text, tuple(reversed(self.frames)), piece))
        self.by_raise.append(self._raises)
        self._state = "message"
        return True


class BoxBuilder(TracebackBuilder):
    """A traceback as the library ``rich`` prints it: frames in a box, the exception behind it."""

    def __init__(self, first: Piece, before: Before = Before()) -> None:  # noqa: B008 - immutable
        super().__init__(first, before)
        self._boxed = True

    def feed(self, piece: Piece) -> bool:
        if not self._boxed:
            return super().feed(piece)
        text = piece.text
        if text.startswith("╰"):
            self._boxed = False
        elif (found := _BOX_FRAME.match(text)) is not None:
            self._raises = False
            self.frames.append(StackFrame(found["name"], found["file"], int(found["line"])))
        elif (code := _BOX_RAISING.match(text)) is not None:
            self._raises = code["code"].startswith("raise ")
        return text[:1] in "│╰"


class WorkStackBuilder:
    """``#0 fn from file:line`` lines behind "Stack trace of the failed collective"."""

    _LINE = re.compile(r"#\d+ (?P<name>.+) from (?P<file>.*):(?P<line>\d+)$")

    def __init__(self, first: Piece) -> None:
        self.first = first
        self.frames: list[StackFrame] = []

    def feed(self, piece: Piece) -> bool:
        found = self._LINE.match(piece.text)
        if found is None or piece.level:
            return False
        if len(self.frames) < _FRAMES:
            self.frames.append(StackFrame(found["name"], found["file"], int(found["line"])))
        return True


FAULT_THREAD = re.compile(
    r"(?P<current>Current thread|Thread) (?P<id>0x[0-9a-f]+)(?: \[(?P<name>[^\]]*)\])? \(most recent call first\):"
)
PY_SPY_PROCESS = re.compile(r"Process (?P<pid>\d+): ")
PY_SPY_THREAD = re.compile(r"Thread (?:0x[0-9A-Fa-f]+|(?P<id>\d+)) \((?:active|idle)[^)]*\)(?:: \"(?P<name>[^\"]*)\")?")
_PY_SPY_FRAME = re.compile(r"    (?P<name>\S.*?) \((?P<file>[^():]*):(?P<line>\d+)\)$")
PYSTACK_THREAD = re.compile(r"Traceback for thread (?P<id>\d+)(?: \((?P<name>[^)]*)\))?.*\(most recent call last\):")


class StackBuilder:
    """One thread's stack as py-spy, pystack or faulthandler print it."""

    def __init__(self, first: Piece, tool: str, thread: str, pid: int | None, *, current: bool = False) -> None:
        self.first = first
        self.tool = tool
        self.thread = thread
        self.pid = pid
        self.current = current
        self._found: list[StackFrame] = []

    @property
    def frames(self) -> tuple[StackFrame, ...]:
        """Innermost first."""
        return tuple(reversed(self._found)) if self.tool == "pystack" else tuple(self._found)

    def feed(self, piece: Piece) -> bool:
        text = piece.text
        if piece.level or not text[:1].isspace():
            return False
        found = _PY_SPY_FRAME.match(text) if self.tool == "py-spy" else _FILE.match(text)
        if found is not None and len(self._found) < _FRAMES:
            parts = found.groupdict()
            name = parts.get("name") or parts.get("fault") or ""
            self._found.append(StackFrame(name.strip(), found["file"], int(found["line"])))
        return True


def traceback_start(piece: Piece, before: Before) -> TracebackBuilder | None:
    """A builder when the line starts a traceback."""
    if TRACEBACK in piece.text:
        return TracebackBuilder(piece, before)
    return BoxBuilder(piece, before) if _BOX.match(piece.text) is not None else None


def stack_start(piece: Piece, pid: int | None) -> StackBuilder | None:
    """A builder when the line starts a stack taken from outside."""
    text = piece.text
    if (found := FAULT_THREAD.match(text)) is not None:
        return StackBuilder(piece, "faulthandler", found["name"] or found["id"], pid, current=found["current"] != "Thread")
    if (found := PY_SPY_THREAD.match(text)) is not None:
        return StackBuilder(piece, "py-spy", found["name"] or found["id"] or "", pid)
    if (found := PYSTACK_THREAD.match(text)) is not None:
        return StackBuilder(piece, "pystack", found["name"] or found["id"], pid)
    return None
