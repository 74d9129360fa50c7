"""What the dialogs of the worksheet share: a frame with a title in the middle of the screen, escape closes."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, TypeVar

from textual.containers import Vertical
from textual.content import Content

from hangview.tui.closing import ClosingOnce
from hangview.tui.prose import to_ascii
from hangview.tui.worksheet.bindings import bind
from hangview.tui.worksheet.keys import DIALOG_ACTIONS
from hangview.tui.worksheet.screen_words import ENGLISH, ScreenWords

if TYPE_CHECKING:
    from pathlib import PurePath

    from textual.binding import BindingType
    from textual.widget import Widget

Answer = TypeVar("Answer")


class Dialog(ClosingOnce[Answer | None]):
    """Answers None when it is left."""

    CSS_PATH: ClassVar[str | PurePath | list[str | PurePath] | None] = "worksheet.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bind(DIALOG_ACTIONS)

    def __init__(self, *, ascii_only: bool, words: ScreenWords = ENGLISH) -> None:
        super().__init__()
        self.words = words
        self.ascii_only = ascii_only
        self.set_class(ascii_only, "-ascii")

    def frame(self, title: str, *children: Widget, classes: str = "") -> Vertical:
        """The children in a frame; the title is plain text, no markup, as file names stand in it."""
        framed = Vertical(*children, classes=f"dialog {classes}")
        framed.border_title = Content(self.spell(title))
        return framed

    def spell(self, text: str) -> str:
        return to_ascii(text) if self.ascii_only else text

    def action_cancel(self) -> None:
        self.dismiss(None)
