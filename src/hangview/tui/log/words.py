"""What the log's screen says around the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.text import size as size_text
from hangview.tui.log.keys import LOG_ACTIONS
from hangview.tui.prose import BLANK, Line, Prose, Tone, line, pad

if TYPE_CHECKING:
    from hangview.tui.live import LiveKeys
    from hangview.tui.log.paging import Row
    from hangview.tui.log.target import Target


def head_line(target: Target, number: int, total: int, *, only: bool, live: LiveKeys) -> Line:
    """Whose log it is, which of how many, and the chip of the filter."""
    which = f" · log {number + 1} of {total} ({live('log_next_log')}: next)" if total > 1 else ""
    chip = f"  [only rank {target.rank} · {live('log_only_rank')}: all lines]" if only else ""
    return line((f"rank {target.rank}", Tone.STRONG), f" · {target.shown}{which}", (chip, Tone.LEAD))


def why_line(target: Target) -> Line:
    """Which line is marked and why; the other marks."""
    aside = (f"{target.aside} · ", Tone.UNKNOWN)
    if target.line is None:
        nobody = f"no log is known to be rank {target.rank}'s, and no line here was used for it: the end of the file"
        return line(*([aside] if target.aside else []), (target.why if target.alone else nobody, Tone.UNKNOWN))
    where = f"line {target.line.number:,}: {target.why} · "
    rest = [aside] if target.aside else []
    return line(("> ", Tone.LEAD), where, *rest, ("* ", Tone.KEY), "lines that hangview used")


def status_words(row: Row | None, size: int, left: int, *, used: bool, packed: str = "") -> str:
    """Where the cursor is in the file."""
    if row is None:
        return size_text(size)
    where = "line number not known" if row.number is None else f"line {row.number:,}"
    more = " (goes on)" if not row.first else ""
    parts = [where + more, f"at {size_text(row.offset)} of {size_text(size)}{packed}"]
    if left:
        parts.append(f"from column {left + 1}")
    if used:
        parts.append("used by hangview")
    return " · ".join(parts)


def trouble(target: Target, error: OSError) -> str:
    """One line for a log that cannot be read now."""
    if isinstance(error, FileNotFoundError):
        return f"{target.shown}: the file is gone: it was there when hangview read it"
    return f"{target.shown}: cannot be read: {error.strerror or error}"


def log_help(live: LiveKeys) -> Prose:
    """Keys and marks of the log."""
    keys = [line("  ", (pad(live.shown(action), 18), Tone.KEY), action.help, hang=20) for action in LOG_ACTIONS]
    marks = (
        (">", "the line that matters: what the rank raised or how it ended, else its watchdog's time-out, else where it stood"),
        ("*", "a line that hangview used, of whatever rank"),
        ("?", "the line's number is not known: nothing before it was read"),
    )
    return (
        line(("in the log", Tone.HEAD)),
        *keys,
        BLANK,
        line(("signs in the margin", Tone.HEAD)),
        *(line("  ", (pad(sign, 18), Tone.STRONG), what, hang=20) for sign, what in marks),
        BLANK,
        line("colours of the log are taken out and control characters written as \\x1b; each part of a progress bar is a row"),
        line("the filter shows lines whose prefix names the rank: lines that name nobody are left out", hang=2),
    )
