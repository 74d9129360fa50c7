"""What stands around a traceback and shows that no process ended there: the line before it, and its outermost frame.

Python says so itself (``threading.excepthook``, ``sys.unraisablehook``, ``multiprocessing.process``, asyncio's and logging's
handlers of last resort): a side thread, a helper process, a destructor. Such an error may be why a rank stands, and may be of
no consequence at all; it shows neither that its process is over nor that its main thread met it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from hangview.logs.lines import Piece
    from hangview.schema import StackFrame

#: Lines before a traceback, with what they say of it; ``{}`` is the name that the line gives.
_BEFORE: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\bException ignored (?:in|while|on)\b()"), "Python ignored it, by the line before it"),
    (
        re.compile(r"\bException in thread (?!MainThread\b)(.+?):?\s*$"),
        "it is of the side thread {}, by the line before it: that ends no process",
    ),
    (
        re.compile(r"(?:^|[\]|>)] ?)Process ([^\s:]+(?::\d+)*):\s*$"),
        "it is of the process {} that another one started, by the line before it: no rank's process is known to have ended",
    ),
    (
        re.compile(r"(?:^|[\]|>:)] ?)(?:future|task|handle|protocol|transport|asyncgen): <()"),
        "asyncio reported it and went on, by the line before it",
    ),
    (re.compile(r"--- Logging error ---()"), "logging reported it and went on, by the line before it"),
    (
        re.compile(r"\bError in sys\.excepthook:()"),
        "the hook that shows what nobody caught raised it itself, by the line before it: what ended the program comes after it",
    ),
    (re.compile(r"\bError in atexit\._run_exitfuncs()"), "an exit handler raised it, when the process was ending already"),
)
#: Outermost frames, by file and function, of what is no main thread of a process; the header above it may be lost.
_OUTERMOST: tuple[tuple[re.Pattern[str], re.Pattern[str], str], ...] = (
    (re.compile(r"/threading\.py$"), re.compile(r"^_bootstrap"), "it is of a side thread, by its first frame"),
    (
        re.compile(r"/multiprocessing/process\.py$"),
        re.compile(r"^_bootstrap$"),
        "it is of a process that another one started, by its first frame",
    ),
    (
        re.compile(r"torch/utils/data/_utils/pin_memory\.py$"),
        re.compile(r"^(?:do_one_step|_pin_memory_loop)$"),
        "it is of the thread that pins memory, by its first frame",
    ),
)
#: Files of torch in which only a rank's own program is: a process that stands in one is the rank, also where another one
#: started it (``multiprocessing.Process`` for each, as in torch's tutorial). Checkpoints are written by helpers too.
_OF_A_RANK = re.compile(r"torch/(?:distributed/(?!elastic/|run\.py|launch|checkpoint/)|nn/parallel/)")
_PROCESS = re.compile(r"/multiprocessing/process\.py$")
#: A logger's line that a traceback belongs to, in front of it. Other lines may be hours older than an uncaught exception: what
#: most ranks print at all are warnings at their start.
_LOGGED = re.compile(
    r"\b(?:ERROR|CRITICAL|FATAL|EXCEPTION)\b"
    r"|\bWARN(?:ING)?\b.*\b(?i:fail(?:ed|ure|s)?|error|exception|raised|caught|retry(?:ing)?|attempt|could not|cannot|unable)\b"
)
#: A logger's line says by its level that a logger wrote it, and by these words that its program goes on from what it logs.
_LEVEL = r"(?:DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|EXCEPTION)"
_HAS_LEVEL = re.compile(rf"\b{_LEVEL}\b|\b[A-Z]\w*Warning: ")
_GOES_ON = re.compile(
    r"\bretry(?:ing)?\b|\bwill (?:be )?retr(?:y|ied)\b|\b(?:trying|try) again\b|\bskipp(?:ing|ed)\b|\bcontinuing\b"
    r"|\bignor(?:ing|ed)\b|\bfalling back\b|\battempt \d{1,4}(?:/| of )\d{1,4}\b"
    r"|\bstarting from scratch\b|\busing (?:the |a )?[\w.-]+ (?:one|instead)\b",
    re.IGNORECASE,
)
_COUNTED = re.compile(r"\b(?:attempt|retry|try) #?(?P<number>\d{1,4})(?:/| of )(?P<most>\d{1,4})\b", re.IGNORECASE)
#: What a program leaves out that ends: its last checkpoint, its cleanup.
_LEFT_OUT = re.compile(
    r"\b(?:skipp(?:ing|ed)|ignor(?:ing|ed))\b(?:(?!\b(?:corrupt\w*|broken|bad|unreadable|invalid)\b).){0,60}?\b(?:final|last|clean-?up"
    r"|tear-?down|sav(?:e|ing)|checkpoint\w*|ckpt|shut-?down|finali[sz]\w*|rest|remaining)\b",
    re.IGNORECASE,
)
#: Below a warning these verbs may be of ordinary work: what is skipped need not have failed.
_ORDINARY = re.compile(r"\b(?:skipp(?:ing|ed)|continuing|ignor(?:ing|ed))\b", re.IGNORECASE)
_LOW = re.compile(r"\b(?:DEBUG|INFO)\b")
_TROUBLE = re.compile(
    r"\bfail|\berror\b|\bexception\b|\bcould not\b|\bcannot\b|\bunable\b|\bcorrupt|\bunreadable\b", re.IGNORECASE
)
#: Words that take it back, and those of a program that ends.
_ENDS = re.compile(
    r"\b(?:giving|gave|give) up\b|\bno (?:more |further )?(?:retry|retries|attempts)\b"
    r"|\bmax(?:imum)?\b.*\b(?:retries|attempts)\b"
    r"|\b(?:retries|attempts)\b.*\b(?:exhausted|exceeded)\b|\b(?:exhausted|exceeded)\b.*\b(?:retries|attempts)\b"
    r"|\b(?:after|all) \d+ (?:retries|attempts)\b|\b(?:last|final) (?:retry|attempt)\b"
    r"|(?:\bnot|n't|\bcannot|\bunable to|\bwithout|\binstead of) (?:be )?(?:retry|retried|continu|skip|ignor)"
    r"|\buncaught\b|\bunhandled\b"
    r"|\babort(?:ing|s)?\b|\bexiting\b|\bshutting down\b|\bstopping\b|\bterminating\b|\bfatal\b|\bCRITICAL\b",
    re.IGNORECASE,
)
_SUCCEEDED = re.compile(
    r"\bsucce(?:ss(?:ful(?:ly)?)?|eded|eds)\b|\brecovered\b"
    r"|\bon (?:attempt|retry|try) #?\d+\b|\bafter \d+ (?:retry|retries|attempts?)\b",
    re.IGNORECASE,
)
#: What a program does that ends, and what it may do well whatever failed: it counts where the failing line is of it, too.
_OF_ANOTHER = re.compile(
    r"sav(?:e[ds]?|ing)\b|checkpoint|ckpt|upload|report|clos(?:e[ds]?|ing)\b|wandb|flush|clean", re.IGNORECASE
)
_AGAIN = re.compile(r"\brecovered\b|\bretr(?:y|ies|ied)\b|\battempts?\b|\btry #?\d", re.IGNORECASE)
_WORD = re.compile(r"[a-z][\w.-]{3,}", re.IGNORECASE)
_COMMON = frozenset(
    "info error warning critical exception debug failed with from rank train training trainer".split()  # noqa: SIM905
)
_FAILED = re.compile(r"\bfail|\berror\b|\bnot\b|\b(?:giving|gave) up\b|\bun(?:able|successful)", re.IGNORECASE)
#: Who wrote a line: "INFO reader: …", "INFO:reader:…", "[reader][INFO] - …", "reader - INFO - …".
_LOGGERS = (
    re.compile(rf"\b{_LEVEL}\b[\]\s:|-]{{1,4}}\[?(?P<name>[A-Za-z_][\w.]*)\]?\s*(?::|-|\|)"),
    re.compile(rf"(?P<name>[A-Za-z_][\w.]*)\]?[\s:|\[-]{{1,4}}{_LEVEL}\b"),
)
#: Functions that say by their names that what they do may fail.
_TRIES = re.compile(r"_?(?:try|maybe)_")
_ONE_LINE = re.compile(r"^(?:(?:Import|ModuleNotFound|FileNotFound|Permission|OS|Key|Attribute)Error)$")
#: Last words of a program that has printed an exception and ends: no output of one that went on.
_LAST_WORDS = re.compile(
    r"error|exception|fail|abort|exit|terminat|kill|signal|shut|clean|clos|finish|done|stop|sav(?:e|ing)|wandb|dump|report|log"
    r"|elapsed|total|traceback|^\W*$|^\s",
    re.IGNORECASE,
)
#: Lines that may lie between a header and its traceback, of others or empty.
_BETWEEN = 2
_BETWEEN_LABELLED = 50
#: Characters of a line that are kept for what may follow it.
_KEPT = 300


@dataclass(frozen=True, slots=True)
class Before:
    """The line in front of a traceback: why the traceback is no end, the line's own number if a logger wrote it because of it,
    what says that its program goes on if the traceback did not go through all of it, the logger's name, and what it wrote.
    ``hint``: words as of one that goes on, which anything may have printed."""

    no_end: str = ""
    begun: int | None = None
    handled: str = ""
    logger: str = ""
    text: str = ""
    hint: str = ""


class LastLines:
    """The last line of each process of one file that is not empty."""

    def __init__(self) -> None:
        self._lines: dict[Hashable, tuple[int, str]] = {}

    def add(self, process: Hashable, piece: Piece) -> None:
        if piece.text.strip():
            self._lines[process] = (piece.number, piece.text[:_KEPT])

    def before(self, process: Hashable, first: Piece) -> Before:
        """What the line in front of a traceback says of it."""
        number, text = self._lines.get(process, (0, ""))
        if first.number - number > 1 + (_BETWEEN_LABELLED if first.who.named else _BETWEEN):
            return Before()
        begun = number if _LOGGED.search(text) is not None else None
        goes_on = _words_of_one_that_goes_on(text)
        by_level = goes_on if goes_on and _HAS_LEVEL.search(text) is not None else ""
        return Before(no_end(text), begun, by_level, logger(text), text, goes_on)


def no_end(before: str) -> str:
    """Why a traceback behind this line is no end of a rank's process, in a clause; "" where the line does not say so."""
    for pattern, why in _BEFORE:
        if (found := pattern.search(before)) is not None:
            return why.format(found[1])
    return ""


def handled(before: str) -> str:
    """Why a program that logged a traceback behind this line went on, in a clause; "" where the line does not say so."""
    return "" if _HAS_LEVEL.search(before) is None else _words_of_one_that_goes_on(before)


def tries(frames: Sequence[StackFrame]) -> str:
    """The same of a traceback that ends in a function which tries something, by its name; ``frames`` are innermost first."""
    if not frames or _TRIES.match(frames[-1].name) is None:
        return ""
    return f"{frames[-1].name}, its first frame, tries what may fail"


def behind_the_message(type_: str, text: str) -> list[str]:
    """Lines of the text of an error that are no part of its message: those of these types have one line."""
    return text.splitlines()[1:] if _ONE_LINE.search(type_) is not None else []


def is_ordinary(text: str) -> bool:
    """Whether a line behind a traceback is none that a program prints which ends."""
    return _LAST_WORDS.search(text) is None


def _words_of_one_that_goes_on(before: str) -> str:
    counted = _COUNTED.search(before)
    last = counted is not None and int(counted["number"]) >= int(counted["most"])
    if last or _ENDS.search(before) is not None:
        return ""
    ordinary = _LOW.search(before) is not None and _TROUBLE.search(before) is None
    left_out = [found.start() for found in _LEFT_OUT.finditer(before)]
    for found in _GOES_ON.finditer(before):
        if found.start() not in left_out and not (ordinary and _ORDINARY.search(found[0])):
            return f'it was handled, by the line before it ("{found[0].strip()}")'
    return ""


def logger(line: str) -> str:
    """The name of the logger that wrote a line; "" where that is not known."""
    return next((found["name"] for shape in _LOGGERS if (found := shape.search(line)) is not None), "")


def succeeded(line: str, failed: str) -> bool:
    """Whether a line of the same logger says that what had ``failed``, in the words of that line, went well in the end. A
    checkpoint that was saved for the emergency, or a report, is another thing."""
    if _SUCCEEDED.search(line) is None or _FAILED.search(line) is not None:
        return False
    if any(found[0].lower()[:3] not in failed.lower() for found in _OF_ANOTHER.finditer(line)):
        return False
    return _AGAIN.search(line) is not None or bool(_words(line) & _words(failed))


def _words(line: str) -> set[str]:
    """What a line speaks of: its words without the level and the logger's name."""
    return {word.lower() for word in _WORD.findall(line)} - _COMMON - {logger(line).lower()}


def is_a_rank(frames: Sequence[StackFrame]) -> bool:
    """Whether these are the frames of a process that another one started and that is a rank."""
    started = bool(frames) and _PROCESS.search(frames[-1].filename) is not None
    return started and any(_OF_A_RANK.search(frame.filename) for frame in frames)


def no_main(frames: Sequence[StackFrame]) -> str:
    """The same by the outermost of the frames, which are innermost first."""
    if not frames:
        return ""
    for file, name, why in _OUTERMOST:
        if file.search(frames[-1].filename) and name.search(frames[-1].name):
            return why
    return ""
