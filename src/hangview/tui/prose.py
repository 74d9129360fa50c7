"""Lines of toned words: what the panes say, before anyone knows how wide they are or which colours there are.

Pure values, no textual: the modules under ``hangview.tui.text`` turn an Incident into these, ``ProseView`` draws them, tests
and the clipboard read them with :func:`plain`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len, set_cell_size

from hangview.text import escape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


class Tone(StrEnum):
    """What a span means; the style sheet gives it a look, and without colours bold is left."""

    PLAIN = "plain"
    DIM = "dim"
    STRONG = "strong"
    HEAD = "head"  #: a heading inside a pane
    LEAD = "lead"  #: look here first
    WAITING = "waiting"
    UNKNOWN = "unknown"  #: not observed, not recorded, not judged
    REQUESTED = "requested"  #: states of cells, in the grid's colours
    STARTED = "started"
    FAILED = "failed"
    PAST = "past"  #: no record any more, or left out of the dump
    GOOD = "good"
    KEY = "key"


class Span(NamedTuple):
    text: str
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True)
class Line:
    """One line before wrapping. ``hang`` is the indent of what does not fit on the first row."""

    spans: tuple[Span, ...] = ()
    hang: int = 0

    @property
    def text(self) -> str:
        return "".join(span.text for span in self.spans)

    @property
    def width(self) -> int:
        return sum(cell_len(span.text) for span in self.spans)


Prose = tuple[Line, ...]
#: Words and the blanks between them.
_WORDS = re.compile(" +|[^ ]+")
BLANK = Line()


def line(*parts: str | Span | tuple[str, Tone], hang: int = 0) -> Line:
    """A line of plain strings and (text, tone) pairs. Control characters in any of them come out escaped."""
    spans = []
    for part in parts:
        text, tone = (part, Tone.PLAIN) if isinstance(part, str) else part
        if text:
            spans.append(Span(escape(text), tone))
    return Line(tuple(spans), hang)


def item(text: str, tone: Tone = Tone.PLAIN, mark: str = "· ", indent: int = 0) -> Line:
    """A list item with a hanging indent."""
    return line(" " * indent + mark, (text, tone), hang=indent + cell_len(mark))


def field(name: str, *parts: str | Span | tuple[str, Tone], width: int = 11) -> Line:
    """``name`` and its value in columns; a name that is too long is not cut, only the columns slip."""
    return line((pad(name, width), Tone.DIM), *parts, hang=width)


def pad(text: str, width: int) -> str:
    """``text`` in at least ``width`` cells, with at least one blank behind it."""
    return text + " " * max(1, width - cell_len(text))


def plain(prose: Iterable[Line]) -> str:
    """The words alone, one line each, for files and the clipboard."""
    return "\n".join(each.text.rstrip() for each in prose) + "\n"


def wrap(prose: Iterable[Line], width: int) -> list[Line]:
    """Rows of at most ``width`` cells, broken at blanks where there are some; words longer than a row are cut in pieces."""
    rows: list[Line] = []
    for each in prose:
        rows.extend([each] if each.width <= width else _wrap_one(each, max(width, 1)))
    return rows


def shorten_to(each: Line, width: int, most: int, sign: str = "…") -> Line:
    """``each``, cut with ``sign`` so that it wraps into at most ``most`` rows of ``width`` cells."""
    rows = wrap((each,), width)
    if len(rows) <= most:
        return each
    length = each.width
    while length > 0 and len(rows) > most:
        length -= max(1, length // 20)
        rows = wrap((clip(each, length, sign),), width)
    while len(wrap((clip(each, length + 1, sign),), width)) <= most:  # to the last cell
        length += 1
    return clip(each, length, sign)


def clip(each: Line, width: int, sign: str = "…") -> Line:
    """One row of at most ``width`` cells, ``sign`` where something was left out."""
    if each.width <= width:
        return each
    spans: list[Span] = []
    sign = sign[:width]
    left = max(width - len(sign), 0)
    for span in each.spans:
        length = cell_len(span.text)
        if length > left:
            spans.append(Span(set_cell_size(span.text, left).rstrip() if left else "", span.tone))
            break
        spans.append(span)
        left -= length
    if sign:
        spans.append(Span(sign, Tone.DIM))
    return Line(tuple(spans), each.hang)


def _wrap_one(each: Line, width: int) -> list[Line]:
    hang = each.hang if each.hang < width * 2 // 3 else min(2, width // 10)  # still no line of its own
    rows: list[Line] = []
    row = _Row()
    used = 0

    def flush() -> None:
        nonlocal row, used
        rows.append(Line(tuple(_stripped(row.spans()))))
        row, used = _Row(), hang
        if hang:
            row.put(" " * hang, Tone.PLAIN)

    for word, tone, length_of in _words(each.spans):
        rest = word
        while rest:
            length = length_of(rest)
            if used + length <= width:
                row.put(rest, tone)
                used += length
                break
            if rest.isspace():
                flush()
                break
            if used > hang and length <= width - hang:
                flush()
                continue
            head = _piece(rest, width - used)
            if head:
                row.put(head, tone)
                rest = rest[len(head) :]
            elif used <= hang:  # not even one character fits: never loop on it
                row.put(rest[0], tone)
                rest = rest[1:]
            flush()
    spans = row.spans()
    if any(span.text.strip() for span in spans) or not rows:
        rows.append(Line(tuple(_stripped(spans))))
    return rows


class _Row:
    """A row that is being put together: words of one tone, one after the other, become one span."""

    def __init__(self) -> None:
        self._parts: list[tuple[list[str], Tone]] = []
        self._tone: Tone | None = None

    def put(self, text: str, tone: Tone) -> None:
        if tone is self._tone:
            self._parts[-1][0].append(text)
        else:
            self._parts.append(([text], tone))
            self._tone = tone

    def spans(self) -> list[Span]:
        return [Span("".join(texts), tone) for texts, tone in self._parts]


def _piece(word: str, room: int) -> str:
    """As much of a word that is longer than a row as fits: up to a slash, or before the line number, where a path has one."""
    head = set_cell_size(word, room).rstrip() if room > 0 else ""
    at = max(head.rfind("/") + 1, head.rfind(":"))
    return head[:at] if at > len(head) // 2 else head


def _words(spans: Sequence[Span]) -> Iterable[tuple[str, Tone, Callable[[str], int]]]:
    """Words and the blanks between them, in order, each with what tells how many cells a part of it takes."""
    for span in spans:
        length_of = len if span.text.isascii() else cell_len
        for word in _WORDS.findall(span.text):
            yield word, span.tone, length_of


def _stripped(spans: list[Span]) -> list[Span]:
    while spans and not spans[-1].text.strip():
        spans = spans[:-1]
    if spans:
        spans = [*spans[:-1], Span(spans[-1].text.rstrip(), spans[-1].tone)]
    return spans


_ASCII = str.maketrans(
    {
        "·": "-", "×": "x", "→": "->", "←": "<-", "…": "...", "›": ">", "≥": ">=", "≤": "<=", "±": "+-", "–": "-", "—": "-",
        "’": "'", "“": '"', "”": '"', "│": "|", "├": "|", "└": "`", "─": "-", "↑": "^", "↓": "v", "µ": "u", "⏎": "enter",
    }
)  # fmt: skip


#: The dot between two parts of a line, other than the one before an item of a list.
_BETWEEN = re.compile(r"(?:(?<=\S)|^) · (?=\S|$)")


def to_ascii(text: str) -> str:
    """``text`` in ASCII: our own signs spelled out, anything else as an escape (``\\u4e2d``). What stands between parts of a
    line is another sign than what stands before the items of a list."""
    if text.isascii():
        return text
    spelled = _BETWEEN.sub(" | ", text).translate(_ASCII)
    return spelled if spelled.isascii() else spelled.encode("ascii", "backslashreplace").decode("ascii")


def drawn(each: Line, *, ascii_only: bool) -> Line:
    """The line as it is drawn: some signs take more cells in ASCII."""
    if not ascii_only:
        return each
    return Line(tuple(span._replace(text=to_ascii(span.text)) for span in each.spans), each.hang)
