"""From bytes to lines that can be matched: decoded, without colours and launcher prefixes, one message each.

A line of a job's log carries what its launcher put in front (which is where a rank may be read off), and may hold the message
of another rank in its middle.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hangview.logs.prefilter import Window

#: Longer pieces are cut: progress bars, printed tensors.
LONGEST = 16_384
_READ = 1 << 20
#: How a text begins that has two bytes for each character.
UTF_16 = (b"\xff\xfe", b"\xfe\xff")

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]")
#: Copies of coloured logs lose the escape character: "[36m(" before and ")[0m" after a Ray prefix, "[32m [repeated".
_ANSI_REST = re.compile(r"\[(?:\d{1,3}(?:;\d{1,3})*)m(?=\(| \[repeated)|(?<=[)\]])\[(?:0|39|22)m")

#: Keys of a line in JSON: docker's, those of Loki and Google's cloud, and those of programs' own loggers.
_JSON_SAID = ("log", "line", "textPayload", "message", "msg")
_JSON_TIMES = ("time", "timestamp", "@timestamp", "asctime")
_JSON_LEVELS = ("level", "levelname")
_JSON_LOGGERS = ("logger", "name")
_JSON_RAISED = ("exc_info", "exception", "stack_trace")

#: The head of a c10 line, as torch's own logging writes it (2.4+ with a date) and as glog builds do.
HEAD = re.compile(
    r"(?:\[rank(?P<rank>\d{1,7})\]:)?(?:"
    r"\[(?P<level>[IWEF])(?:(?P<date>\d{3,4}) (?P<time>\d\d:\d\d:\d\d)\.\d{6,9} )?\s?"
    r"(?P<file>[\w.]+\.(?:cpp|hpp|cuh?|h|ts)):(?P<line>\d+)\] "  # torch_npu's is compiler_depend.ts
    r"|(?<![\w\[])(?P<glevel>[IWEF])(?P<gdate>\d{4}) (?P<gtime>\d\d:\d\d:\d\d)\.\d{6} +\d+ "
    r"(?P<gfile>[\w.]+\.(?:cpp|hpp|cuh?|h)):(?P<gline>\d+)\] )"
)
#: The head of a line of torch's Python side: 2.3+ in brackets with the rank, torchelastic without.
PY_HEAD = re.compile(
    r"(?:\[rank(?P<rank>\d{1,7})\]:)?(?P<level>[DIWEVC])(?P<date>\d{4}) (?P<time>\d\d:\d\d:\d\d)\.\d{3,6} +(?P<pid>\d+) +"
    r"(?:site-packages/)?(?P<file>[\w./-]+\.py):\d+\] ?"
)

_CRI = r"(?: (?:stdout|stderr) [FP])?"
_STAMP = re.compile(rf"\[?\d{{4}}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?{_CRI}\]?(?: |$)")
_SYSLOG = re.compile(r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d (?P<host>[\w.-]+) (?=kernel:|\w+\[\d+\]:)")
_SRUN = re.compile(r" {0,5}(?P<task>\d{1,6}): ?(?=\D|$)")
#: OpenMPI's --tag-output, also as SageMaker's launcher has it, with its host.
_MPI = re.compile(r"\[\d+,(?:mpirank:)?(?P<task>\d{1,7})(?:,[\w.-]+)?\]<std(?:out|err)>: ?")
#: Intel MPI's and MPICH's -prepend-rank. More digits may be the line numbers of a viewer.
_PREPENDED = re.compile(r"\[(?P<task>\d)\] ")
_TEE = re.compile(r"\[(?!rank)(?P<role>[A-Za-z_][\w-]*?)(?P<local>\d{1,5})\]:")
_TEMPLATE = re.compile(r"\[(?!rank)[A-Za-z_][\w-]*?\d{1,5}\|\d{1,7}\]: ?")
_RAY = re.compile(r"\((?P<name>[A-Za-z_]\w*)(?:\[rank=(?P<rank>\d{1,7})\])? pid=(?P<pid>\d+)(?:, ip=(?P<ip>[\w.:-]+))?\) ?")
_COMPOSE = re.compile(r"[A-Za-z][\w.-]* {0,20}\| ")
_POD = re.compile(r"\[pod/[\w./-]+\] ")
_VIEWER = re.compile(r"(?:\[\d{2,7}\] |\d\d:\d\d:\d\d\.\d{3} |> )(?=\[|Traceback|  File)")
_TRACE = re.compile(r"\[rank(?P<rank>\d{1,7})\]: ?(?!\[[IWEF])")
#: A front that nobody has told hangview of, of a launcher or a tool that collects logs, before the label that torch writes. It
#: counts before what torch labels, a traceback: of other lines the label may be a part of what they say.
_UNKNOWN = re.compile(
    r"(?!\[rank\d).{0,120}?(?<=[\s:|)\]}])\[rank(?P<rank>\d{1,7})\]: ?"
    r"(?=Traceback \(most|  |During handling of|The above exception|(?:[A-Za-z_]\w*\.)*\w*(?:Error|Exception|Exit|Interrupt)\b"
    r"|(?:[A-Za-z_]\w*\.)+\w+: )"
)
_SAYS = re.compile(r"(?:\[?rank[ =:]?(?P<rank>\d{1,7})\]?)(?=[ ,|]|:(?![\[IWE])|$)")
_HOST = re.compile(r"(?P<host>[A-Za-z][\w.-]*\d[\w.-]*): (?=\[|Traceback|  File|[IWEF]\d{4} )")

#: How a line gives its rank: by the label that torch writes, or by a number that it calls a rank, which may be a node's.
LABEL = "[rankN]: on the line"
SAID = "the line names its rank"


@dataclass(frozen=True, slots=True)
class Who:
    """What the front of a line says about its process; None where it says nothing."""

    rank: int | None = None
    rank_from: str = ""
    local: int | None = None
    task: int | None = None  #: of srun -l or mpirun; the rank only if RANK was taken from it
    host: str | None = None
    pid: int | None = None
    of_node: bool = False  #: the line calls another number a rank, beside torch's label: it is no world rank in this file

    @property
    def named(self) -> bool:
        return self.rank is not None or self.local is not None or self.task is not None or self.pid is not None


NOBODY = Who()


@dataclass(frozen=True, slots=True)
class Piece:
    """One message. ``text`` is what is left behind the prefixes and the head; ``level`` is "" without a c10 head."""

    number: int
    offset: int
    text: str
    who: Who
    level: str = ""
    file: str = ""  #: "ProcessGroupNCCL.cpp"
    file_line: int = 0
    at: str | None = None  #: "11-29 14:02:40", as printed


@dataclass(frozen=True, slots=True)
class RawLine:
    number: int
    offset: int
    data: bytes


def raw_lines(fd: int, windows: Iterable[Window]) -> Iterator[RawLine]:
    """The lines of the windows. A window starts behind its first newline (unless it starts the file), and its last line is
    given in whole only if the window holds it; longer lines than 1 MB come in parts with the same number."""
    for window in windows:
        position, number, rest = window.start, window.number, b""
        start = position
        skipping = position > 0
        while position < window.end:
            data = os.pread(fd, min(_READ, window.end - position), position)
            if not data:
                break
            position += len(data)
            if skipping:
                cut = data.find(b"\n")
                if cut < 0:
                    start = position
                    continue
                data, start, number, skipping = data[cut + 1 :], start + cut + 1, number + 1, False
            parts = (rest + data).split(b"\n")
            rest = parts.pop()
            for part in parts:
                yield RawLine(number, start, part)
                start += len(part) + 1
                number += 1
            if len(rest) >= _READ:
                yield RawLine(number, start, rest)
                start, rest = start + len(rest), b""
        if rest:
            yield RawLine(number, start, rest)


def utf_16_lines(data: bytes) -> list[RawLine]:
    """The lines of a whole text that starts with one of :data:`UTF_16`, as PowerShell's ``>`` writes it."""
    found, offset = [], len(UTF_16[0])
    for number, line in enumerate(data.decode("utf-16", "replace").split("\n"), 1):
        found.append(RawLine(number, offset, line.encode("utf-8", "replace")))
        offset += 2 * len(line) + 2
    return found


def clean(data: bytes) -> list[str]:
    """The text of one physical line, without colours, cut at carriage returns (progress bars). Of a line in JSON, as containers
    and collectors of logs write it, the lines of its message."""
    text = data.decode("utf-8", "replace")
    if text.startswith('{"') and (told := _told(text)) is not None:
        return [part for line in told for part in clean(line.encode("utf-8", "replace"))]
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    if "[36m(" in text or "m [repeated" in text:
        text = _ANSI_REST.sub("", text)
    if "\r" in text:
        return [part[:LONGEST] for part in text.split("\r") if part]
    return [text[:LONGEST]]


def _told(text: str) -> list[str] | None:
    """The lines of the message in a line of JSON, each with the time behind which it stands; None where there is no message."""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return None
    words = {key: value for key, value in fields.items() if isinstance(value, str)}
    said = [words[key] for key in _JSON_SAID if key in words]
    if not said or said[0].startswith('{"'):
        return None
    when = next((words[key] for key in _JSON_TIMES if key in words), "")
    front = f"{when} " if _STAMP.fullmatch(when) is not None else ""
    level = next((words[key].upper() for key in _JSON_LEVELS if key in words), "")
    if level and said[0][:1].isalnum() and not said[0].startswith("Traceback"):
        # As a logger prints it: by the level and the name it is told whether an error was handled.
        said[0] = f"{level} {next((words[key] for key in _JSON_LOGGERS if key in words), 'log')}: {said[0]}"
    said += [words[key] for key in _JSON_RAISED if key in words]
    return [front + line for part in said for line in part.splitlines() if line]


def pieces(raw: RawLine, text: str) -> Iterator[Piece]:
    """The messages of one line, cut at every c10 head in it."""
    if ".cpp:" not in text and ".hpp:" not in text and ".ts:" not in text:
        yield _peel(raw, text)
        return
    start = 0
    for found in HEAD.finditer(text):
        # A launcher's prefix belongs to the head behind it; anything else is the end of another message.
        if found.start() > start and _strip(text[start:])[0] != text[found.start() :]:
            yield _peel(raw, text[start : found.start()])
            start = found.start()
    yield _peel(raw, text[start:])


def _peel(raw: RawLine, text: str) -> Piece:
    if text.startswith("  ") and not text.lstrip(" ")[:1].isdigit():
        return Piece(raw.number, raw.offset, text, NOBODY)  # indented: code, frames, fields; no launcher writes such a front
    text, who = _strip(text)
    if who.rank is None and "[rank" in text and HEAD.match(text) is None and (label := _UNKNOWN.match(text)) is not None:
        who = _labelled(who, int(label["rank"]))
        text = text[label.end() :]
    head = HEAD.match(text)
    if head is not None:
        if head["rank"] is not None:
            who = _labelled(who, int(head["rank"]))
        date, clock = head["date"] or head["gdate"], head["time"] or head["gtime"]
        return Piece(
            raw.number, raw.offset, text[head.end() :], who, head["level"] or head["glevel"], head["file"] or head["gfile"],
            int(head["line"] or head["gline"]), at=f"{int(date[:-2]):02}-{date[-2:]} {clock}" if date else None,
        )  # fmt: skip
    py = PY_HEAD.match(text)
    if py is not None:
        if py["rank"] is not None:
            who = _labelled(who, int(py["rank"]))
        who = replace(who, pid=who.pid if who.pid is not None else int(py["pid"]))
        at = f"{py['date'][:2]}-{py['date'][2:]} {py['time']}"
        return Piece(raw.number, raw.offset, text[py.end() :], who, py["level"], py["file"], at=at)
    return Piece(raw.number, raw.offset, text, who)


def _labelled(who: Who, rank: int) -> Who:
    return replace(who, rank=rank, rank_from=LABEL, of_node=who.of_node or (who.rank_from == SAID and who.rank != rank))


def _strip(text: str) -> tuple[str, Who]:
    """Takes up to five prefixes off the front; what they say of the line's process."""
    said: dict[str, Any] = {}
    for _ in range(5):
        found = _prefix(text, said)
        if found is None:
            break
        text = found
    return text, Who(**said) if said else NOBODY


def _prefix(text: str, said: dict[str, Any]) -> str | None:
    """The text behind one prefix, or None where there is none; ``said`` gets what the prefix says."""
    first = text[:1]
    if first == "[":
        return _bracket(text, said)
    if first == "(":
        if (found := _RAY.match(text)) is None:
            return None
        said["pid"] = int(found["pid"])
        if found["ip"] is not None:
            said["host"] = found["ip"]
        if found["rank"] is not None:
            said.update(rank=int(found["rank"]), rank_from="the name in Ray's prefix")
        return text[found.end() :]
    if first.isdigit() or first == " ":
        found = _STAMP.match(text) or _VIEWER.match(text)
        if found is None:
            found = None if "task" in said else _SRUN.match(text)
            if found is None:
                return None
            said["task"] = int(found["task"])
        return text[found.end() :]
    if first == "r" and (found := _SAYS.match(text)) is not None:
        said.update(rank=int(found["rank"]), rank_from=SAID)
        return text[found.end() :].lstrip(" :,|")
    front = text[:80]
    found = None
    if ": " in front or "kernel" in front or "]: " in front:
        found = _SYSLOG.match(text) or _HOST.match(text)
        if found is not None:
            said["host"] = found["host"]
    if found is None and "| " in front:
        found = _COMPOSE.match(text)
    if found is None and first == ">":
        found = _VIEWER.match(text)
    return None if found is None else text[found.end() :]


def _bracket(text: str, said: dict[str, Any]) -> str | None:
    """A prefix in brackets: torchrun's, MPI's, the rank of a traceback, a time, a pod."""
    if (found := _TRACE.match(text)) is not None:
        said["of_node"] = said.get("rank_from") == SAID and said.get("rank") != int(found["rank"])
        said.update(rank=int(found["rank"]), rank_from=LABEL)
    elif (found := _TEE.match(text)) is not None:
        said["local"] = int(found["local"])
    elif (found := _MPI.match(text)) is not None:
        said["task"] = int(found["task"])
    else:
        found = _TEMPLATE.match(text) or _STAMP.match(text) or _POD.match(text) or _VIEWER.match(text)
        if found is None and (found := _SAYS.match(text)) is not None:
            said.update(rank=int(found["rank"]), rank_from=SAID)
            return text[found.end() :].removeprefix(" ")
        if found is None and not said and (found := _PREPENDED.match(text)) is not None:
            said["task"] = int(found["task"])
        if found is None:
            return None
    return text[found.end() :]
