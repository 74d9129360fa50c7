"""Only what has changed is sent to the terminal, cell by cell.

textual sends a changed line from the left edge of its view on, a changed pane whole, and a style anew for every word. Over ssh
that is kilobytes for each step of the cursor. Here what the terminal shows is remembered, and an update is cut down to the runs
of cells that look different, of each style only what is new. textual has no public place for this; its version is pinned, and
``tests/tui/test_thrift.py`` compares what arrives with what textual would have sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.color import ColorSystem
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate

from hangview.tui.sgr import between

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.style import Style
    from textual.geometry import Size
    from textual.strip import Strip

#: A character (two-cell ones are followed by an empty string) and the codes of its style.
Cell = tuple[str, str]

#: Cells that look the same are sent again where moving over them would cost more.
_GAP = 5

#: Longer texts are taken apart anew each time: they are few, and their cells would fill the memory.
_SHORT = 32


class Shown:
    """What the terminal shows, as far as it is known: rows of cells, None for a cell that may hold anything."""

    def __init__(self) -> None:
        self._rows: dict[int, list[Cell | None]] = {}
        self._size: Size | None = None
        self._made: dict[tuple[str, int, ColorSystem], tuple[Style | None, list[Cell]]] = {}

    def forget(self) -> None:
        """Something else may have written on the terminal, or it has another size: send everything anew."""
        self._rows.clear()

    def thrifty(self, renderable: RenderableType | None) -> RenderableType | None:
        """The same update, cut down when it is written; what is no update of the screen comes back as it is.

        One of another size than before is sent whole: what was drawn for the other size may have come to a terminal that had
        this one already, which puts what is beyond its edge into its last column.
        """
        if isinstance(renderable, LayoutUpdate) and renderable.region.size != self._size:
            self._size = renderable.region.size
            self.forget()
        return Thrifty(self, renderable) if isinstance(renderable, LayoutUpdate | ChopsUpdate) else renderable

    def changes(self, y: int, x: int, strips: Iterable[Strip], system: ColorSystem) -> Iterator[tuple[int, list[Cell]]]:
        """(x, cells) for each run of cells of a row, from ``x`` on, that the terminal does not show yet; remembers them."""
        cells: list[Cell] = []
        for strip in strips:
            for text, style, control in strip:
                if not control:
                    known = self._made.get((text, id(style), system))
                    cells += known[1] if known is not None else self._make(text, style, system)
        row = self._rows.setdefault(y, [])
        end = x + len(cells)
        row += [None] * (end - len(row))
        if row[x:end] == cells:
            return
        start = stop = -1
        for at, cell in enumerate(cells, x):
            if row[at] == cell:
                continue
            if start >= 0 and at - stop > _GAP:
                yield self._run(cells, start - x, stop - x, x)
                start = -1
            start, stop = (at if start < 0 else start), at + 1
        if start >= 0:
            yield self._run(cells, start - x, stop - x, x)
        row[x:end] = cells

    def _run(self, cells: list[Cell], low: int, high: int, x: int) -> tuple[int, list[Cell]]:
        """A run that begins and ends at whole characters."""
        while low > 0 and not cells[low][0]:
            low -= 1
        while high < len(cells) and not cells[high][0]:
            high += 1
        return x + low, cells[low:high]

    def _make(self, text: str, style: Style | None, system: ColorSystem) -> list[Cell]:
        """The cells of a segment. Kept with its style, whose id is not given to another one as long as it is held."""
        if len(self._made) > 4096:
            self._made.clear()
        cells = _cells(text, style._make_ansi_codes(system) if style is not None else "")
        if len(text) <= _SHORT:
            self._made[text, id(style), system] = style, cells
        return cells


def _cells(text: str, codes: str) -> list[Cell]:
    if text.isascii() or cell_len(text) == len(text):
        return [(char, codes) for char in text]
    cells: list[Cell] = []
    for char in text:
        width = cell_len(char)
        if not width and cells:  # a mark on the character before
            at = -2 if not cells[-1][0] and len(cells) > 1 else -1
            cells[at] = (cells[at][0] + char, codes)
        else:
            cells += [(char, codes), ("", codes)][: width or 1]
    return cells


class Thrifty(CompositorUpdate):
    """An update of textual's that writes only what the terminal does not show yet."""

    def __init__(self, shown: Shown, update: LayoutUpdate | ChopsUpdate) -> None:
        self._shown = shown
        self._update = update

    def __rich_console__(self, _console: Console, _options: ConsoleOptions) -> RenderResult:
        yield self._update

    def render_segments(self, console: Console) -> str:
        system = console._color_system or ColorSystem.TRUECOLOR
        out: list[str] = []
        now = ""
        for y, x, strips in self._lines():
            for start, cells in self._shown.changes(y, x, strips, system):
                out.append(f"\x1b[{y + 1};{start + 1}H")
                for char, codes in cells:
                    if codes != now:
                        out.append(between(now, codes))
                        now = codes
                    out.append(char)
        if now:
            out.append("\x1b[0m")
        return "".join(out)

    def _lines(self) -> Iterator[tuple[int, int, Iterable[Strip]]]:
        """(y, x, strips that follow each other from there)."""
        update = self._update
        if isinstance(update, LayoutUpdate):
            for y, line in enumerate(update.strips, update.region.y):
                yield y, update.region.x, line
            return
        for y, low, high in update.spans:
            for end, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
                if strip is not None and x < high and end > low:
                    yield y, x, (strip,)
