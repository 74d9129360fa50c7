"""Words and numbers on their way to a person: escaped control characters, folded rank lists, counts and sizes."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

#: What may move the cursor, colour or reorder a line, or cannot be written as UTF-8: C0, DEL, C1, zero-width and
#: bidirectional controls, line and paragraph separators, byte order mark, lone surrogates, interlinear marks, tags.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def escape(text: str) -> str:
    """``text`` on one line and harmless to a terminal: every control character as ``\\n``, ``\\x1b`` or ``\\u202e``.

    For everything that comes from outside: file names, group descriptions, stack frames, log lines. The backslash itself
    stays as it is, so the result is for reading and not for undoing.
    """
    return _UNSAFE.sub(_escape_one, text)


def _escape_one(match: re.Match[str]) -> str:
    char = match[0]
    if char in _SHORT:
        return _SHORT[char]
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """A sort key that takes numbers as numbers: ``rank_2`` before ``rank_10``. Total, so that no order is left to chance."""
    return tuple(_natural_part(part) for part in re.findall(r"[0-9]+|[^0-9]+", text))


def _natural_part(part: str) -> tuple[int, int, str]:
    """Compared by length first: Python refuses to turn digits by the thousand into a number."""
    if part[0] not in "0123456789":
        return 1, 0, part
    digits = part.lstrip("0")
    return 0, len(digits), f"{digits} {part}"


def shorten(text: str, width: int) -> str:
    """At most ``width`` characters of ``text``, the end replaced by "…" where it is longer."""
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"[:width]


def fold_ranks(ranks: Iterable[int], limit: int | None = None) -> str:
    """A rank list, ascending and folded: ``fold_ranks([8, 0, 1, 2]) == "0-2,8"``; an empty list is ``""``.

    With ``limit`` at most so many parts are written, and then how many ranks there are in all: ``"0,2,4,… (512 ranks)"``.
    """
    ordered = sorted(set(ranks))
    parts: list[tuple[int, int]] = []
    for rank in ordered:
        if parts and rank == parts[-1][1] + 1:
            parts[-1] = (parts[-1][0], rank)
        else:
            parts.append((rank, rank))
    shown = parts if limit is None else parts[:limit]
    text = ",".join(str(first) if first == last else f"{first}-{last}" for first, last in shown)
    return text if len(shown) == len(parts) else f"{text},… ({len(ordered):,} ranks)"


def name_ranks(ranks: Iterable[int], limit: int | None = None) -> str:
    """``"rank 3"``, ``"ranks 0-2,8"``; ``"no rank"`` for an empty list."""
    ordered = sorted(set(ranks))
    if not ordered:
        return "no rank"
    return f"rank {ordered[0]}" if len(ordered) == 1 else f"ranks {fold_ranks(ordered, limit)}"


def parse_ranks(text: str) -> tuple[int, ...]:
    """The inverse of :func:`fold_ranks`: ``parse_ranks("0-2, 8") == (0, 1, 2, 8)``.

    Raises ``ValueError`` for anything else, with a message that quotes the part that is wrong; so it does for more than
    a million ranks, which is a slip of the finger and no job.
    """
    ranks: set[int] = set()
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        found = re.fullmatch(r"(\d{1,9})(?:\s*-\s*(\d{1,9}))?", part, re.ASCII)
        if found is None or (found[2] and int(found[2]) < int(found[1])):
            raise ValueError(f"{escape(part)!r} is no rank and no range of ranks like 0-6")
        first = int(found[1])
        last = int(found[2] or first)
        if last - first >= 1_000_000:
            raise ValueError(f"{escape(part)!r} is more than a million ranks")
        ranks.update(range(first, last + 1))
    return tuple(sorted(ranks))


def count(number: int, noun: str, plural: str | None = None) -> str:
    """``"1 file"``, ``"1,024 files"``; ``plural`` where adding an s is wrong."""
    return f"{number:,} {noun if number == 1 else (plural or noun + 's')}"


def size(number: int) -> str:
    """A number of bytes for reading: ``"0 bytes"``, ``"512 bytes"``, ``"1.2 MB"`` (powers of 1,000, as ``ls -h --si``)."""
    if number < 1000:
        return count(number, "byte")
    value = float(number)
    for unit in ("kB", "MB", "GB", "TB"):
        value /= 1000
        if value < 999.95 or unit == "TB":
            break
    return f"{value:,.1f} {unit}" if value < 99.95 else f"{value:,.0f} {unit}"


def moment(nanoseconds: int) -> str:
    """``"2026-11-29 14:02:11 UTC"``, of nanoseconds since 1970."""
    return f"{datetime.fromtimestamp(nanoseconds // 1_000_000_000, UTC):%Y-%m-%d %H:%M:%S} UTC"


def lasted(seconds: float) -> str:
    """A time that has passed, for reading: ``"4 s"``, ``"12 min"``, ``"3 h"``; never more than it was."""
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{int(seconds / length):,} {unit}"
    return f"{int(seconds)} s"


def group_label(name: str, desc: str | None) -> str:
    """What to call a group: its description when it says something (``"undefined"``: torch's own default), else its name."""
    return desc if desc and desc != "undefined" else (name or "(unnamed group)")
