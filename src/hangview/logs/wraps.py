"""Copies that a terminal or a mail program wrapped: which text is one, and its lines put together again.

Lines of equal length are no proof: a training loop prints them, one for each step, and in most logs they are the longest. A
line that was cut goes on in the next one; one that is whole is followed by a line that starts something itself.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hangview.logs.lines import RawLine

#: Widths of copies, and lines of that length from which on a text may be one.
_NARROWEST, _WIDEST, _FEWEST = 60, 260, 3
#: What only starts a message: never the rest of a wrapped one.
_STARTS = re.compile(
    r"\[rank\d|\[[IWEF]\d{0,4}[ \]]|\[\w+\d+\]:|Traceback |terminate called|\s+what\(\)|frame #|Exception raised|\(\w+ pid="
    r"| {0,5}\d+: \[|(?:srun|slurmstepd|salloc): |[DIWEF]\d{4} \d\d:\d\d:\d\d|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d"
    r"|\[?(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)(?:[\]:]|  ? ?\S)| {0,2}\d{1,3}%\|"
    # What Python and a shell print in front of a traceback, in it, and in place of one: all of it is told by how a line starts.
    r"|Exception (?:ignored|in thread) |Process [^\s:]+(?::\d+)*:\s*$|Error in (?:atexit|sys)\.|--- Logging error ---"
    r"|Fatal Python error: |(?:Current t|T)hread 0x|During handling of the |The above exception was "
    r'|\s+File "|\s+[\^~]+\s*$|(?:future|task|handle|protocol|transport|asyncgen): <'
    r"|(?:Segmentation fault|Bus error|Illegal instruction|Aborted|Killed|Terminated)(?: \(core dumped\))?\s*$"
)
#: What follows the lines of code in a traceback, at the start of a line.
_RAISED = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Iteration|Warning)(?::|\s*$)")
_INDENTED = "  "
#: How lines of a box end, which are all as long as the longest.
_BOX_ENDS = ("│", "╮", "╯")
#: Characters by which two lines are alike that one statement printed, whatever their numbers are.
_ALIKE = 16
_NUMBERS = re.compile(r"\d+")
_WORDS_APART = re.compile(r"[^\w]")


def wrap_width(lines: Sequence[str]) -> int | None:
    """The width at which a copy was wrapped, or None. At least three lines must be exactly that long, none longer, and at least
    half of them must go on in the next line."""
    lengths = Counter(map(len, lines))
    longest = max(lengths, default=0)
    if not _NARROWEST <= longest <= _WIDEST or lengths[longest] < _FEWEST:
        return None
    goes_on = [_goes_on(line, after) for line, after in pairwise(lines) if len(line) == longest]
    return longest if 2 * sum(goes_on) >= len(goes_on) else None


def unwrap(lines: Sequence[tuple[RawLine, str]], width: int) -> Iterator[tuple[RawLine, str]]:
    """Joins a line of exactly ``width`` characters with the next one, unless that starts something itself."""
    held: tuple[RawLine, str] | None = None
    last = ""
    for raw, text in lines:
        if held is not None and len(last) == width and _goes_on(last, text):
            held = (held[0], held[1] + text)
        else:
            if held is not None:
                yield held
            held = (raw, text)
        last = text
    if held is not None:
        yield held


def _goes_on(line: str, after: str) -> bool:
    """Whether ``after`` may be the rest of ``line``."""
    if not after or line.endswith(_BOX_ENDS) or _STARTS.match(after) is not None:
        return False
    if line.startswith(_INDENTED) and _RAISED.match(after) is not None:
        return False
    return not _alike(line, after)


def _alike(line: str, after: str) -> bool:
    """Whether two lines start with the same words, as those of one loop do. A long row of one character has no words."""
    head = _NUMBERS.sub("#", line)[:_ALIKE]
    return _WORDS_APART.search(head) is not None and _NUMBERS.sub("#", after[: 4 * _ALIKE])[:_ALIKE] == head
