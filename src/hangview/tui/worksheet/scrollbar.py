"""Scrollbars of whole cells: textual draws their ends with block characters, which are no ASCII."""

from __future__ import annotations

from typing import ClassVar

from textual.scrollbar import ScrollBarRender


class PlainBar(ScrollBarRender):
    """The bar is a background colour, or reversed where there are no colours, and ends where a cell ends."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "] * 8
    HORIZONTAL_BARS: ClassVar[list[str]] = [" "] * 8
