"""How a cell looks: one glyph for each state, in Unicode and in ASCII, with its word; never colour alone.

The Unicode set keeps to characters that are one cell wide everywhere (East Asian width "neutral"); "·", "○" and most block
shades are two wide in some locales, and tmux decides by a table of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from hangview.schema import BY_LOG, DIFFERS, CellState

#: Drawn codes: 0 no call, 1-13 the states, 14 "differs"; + 16 where the rank's log says so; 32-35 the sides of a tie.
DIFFERS_CODE = 14
BY_LOG_CODE = 16
SIDE_CODES = range(32, 36)
CODES = 36

_MASK = 0x1F


@dataclass(frozen=True, slots=True)
class Glyph:
    """One drawn code. ``style`` is the name of the component class that colours it."""

    unicode: str
    ascii: str
    word: str
    style: str


GLYPHS: dict[int, Glyph] = {
    0: Glyph(" ", " ", "no call", "none"),
    CellState.COMPLETED: Glyph("⋅", ".", CellState.COMPLETED.word, "done"),
    CellState.ENDED: Glyph(",", ",", CellState.ENDED.word, "done"),
    CellState.STARTED: Glyph("▸", ">", CellState.STARTED.word, "started"),
    CellState.REQUESTED: Glyph("o", "o", CellState.REQUESTED.word, "requested"),
    CellState.FAILED: Glyph("✕", "x", CellState.FAILED.word, "failed"),
    CellState.NOT_REQUESTED: Glyph("-", "-", CellState.NOT_REQUESTED.word, "absent"),
    CellState.OVERWRITTEN: Glyph("~", "~", CellState.OVERWRITTEN.word, "past"),
    CellState.OMITTED: Glyph("_", "_", CellState.OMITTED.word, "past"),
    CellState.CUT: Glyph("/", "/", CellState.CUT.word, "unknown"),
    CellState.NO_DUMP: Glyph("?", "?", CellState.NO_DUMP.word, "unknown"),
    CellState.GROUP_ABSENT: Glyph("%", "%", CellState.GROUP_ABSENT.word, "unknown"),
    CellState.BEFORE_DUMP: Glyph("<", "<", CellState.BEFORE_DUMP.word, "unknown"),
    CellState.NOT_RECORDED: Glyph(":", ":", CellState.NOT_RECORDED.word, "unknown"),
    DIFFERS_CODE: Glyph("#", "#", "differs from the majority", "differs"),
    **{code: Glyph(sign, sign, f"side {sign} of a tie", "differs") for code, sign in zip(SIDE_CODES, "ABCD", strict=True)},
}

STYLES = tuple(dict.fromkeys(glyph.style for glyph in GLYPHS.values()))


def drawn(code: int) -> int:
    """The drawn code of a cell code of GridRows. A code that no state has is drawn as not recorded, never as a blank."""
    base = DIFFERS_CODE if code & DIFFERS else code & _MASK
    if base not in GLYPHS:
        base = CellState.NOT_RECORDED
    return base | (BY_LOG_CODE if code & BY_LOG else 0)


#: For ``bytes.translate``: cell codes to drawn codes.
TO_DRAWN = bytes(drawn(code) for code in range(256))


def words_of(code: int, side: str = "") -> str:
    """A cell code in words: ``"requested, differs from the majority"``, ``"not requested, by its log"``.

    ``side`` names the side of a tie that it is on: ``"requested, side A of a tie"``.
    """
    base = code & _MASK
    parts = [GLYPHS[base].word if base in GLYPHS and base != DIFFERS_CODE else CellState.NOT_RECORDED.word]
    if side:
        parts.append(f"side {side} of a tie")
    elif code & DIFFERS:
        parts.append("differs from the majority")
    if code & BY_LOG:
        parts.append("by its log")
    return ", ".join(parts)


#: Worst first, also inside a class: a block of cells is drawn as its worst one when the grid is zoomed out, and in the map.
SEVERITY: tuple[tuple[int, ...], ...] = (
    (DIFFERS_CODE, *SIDE_CODES),
    (CellState.NOT_REQUESTED,),
    (CellState.FAILED,),
    (CellState.STARTED, CellState.REQUESTED),
    (CellState.NO_DUMP, CellState.CUT, CellState.GROUP_ABSENT, CellState.BEFORE_DUMP, CellState.NOT_RECORDED),
    (CellState.OVERWRITTEN, CellState.OMITTED),
    (CellState.COMPLETED, CellState.ENDED),
    (0,),
)


def legend(codes: set[int], ascii_only: bool) -> tuple[tuple[str, Glyph], ...]:
    """(glyph, what it is) for the drawn codes in sight, worst first."""
    seen = {code & ~BY_LOG_CODE for code in codes} - {0}
    ordered = [GLYPHS[code] for group in SEVERITY for code in group if code in seen]
    return tuple((glyph.ascii if ascii_only else glyph.unicode, glyph) for glyph in ordered)
