"""The application behind ``hangview compare``: one screen, the reader behind it, help."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from hangview.cli_errors import Exit
from hangview.compare import Outcome
from hangview.tui.base_app import BaseApp
from hangview.tui.compare.help import compare_help
from hangview.tui.compare.screen import CompareScreen
from hangview.tui.dialogs.help import HelpDialog

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import PurePath

    from textual.driver import Driver
    from textual.message import Message
    from textual.screen import Screen

    from hangview.tui import UiOptions
    from hangview.tui.compare.reader import Both, Compared, NotRead, Reader, ReadSoFar

#: Exit codes, as the command line says them (docs/json.md).
CODES = {Outcome.SAME: Exit.NO_HANG, Outcome.DIFFERENT: Exit.DIVERGENCE, Outcome.NOTHING: Exit.NOTHING}


class CompareApp(BaseApp, inherit_bindings=True):
    """``reader`` makes the Reader once the app runs; without one, ``both`` is all there is to see."""

    CSS_PATH: ClassVar[list[str | PurePath]] = [
        "../main/main.tcss", "../prose_view.tcss", "../dialogs/dialogs.tcss", "compare.tcss",
    ]  # fmt: skip

    def __init__(
        self,
        paths: tuple[str, str],
        ui: UiOptions,
        *,
        ascii_only: bool = False,
        colours: bool = True,
        reader: Callable[[Callable[[Message], object]], Reader] | None = None,
        both: Both | None = None,
        driver: type[Driver] | None = None,
    ) -> None:
        super().__init__(ui, colours=colours, driver=driver)
        self.paths = paths
        self.main = CompareScreen(paths, ascii_only=ascii_only)
        self._make_reader = reader
        self._reader: Reader | None = None
        self._first = both

    def get_default_screen(self) -> Screen[None]:
        return self.main

    def on_mount(self) -> None:
        if self._first is not None:
            self.call_after_refresh(self.main.take, self._first)
        if self._make_reader is not None:
            self._reader = self._make_reader(self.post_message)
            self._reader.start()

    def on_read_so_far(self, event: ReadSoFar) -> None:
        self.main.reads(event.name, event.done, event.total)

    def on_compared(self, event: Compared) -> None:
        self.main.take(event.both)

    def on_not_read(self, event: NotRead) -> None:
        self.main.fail(event.reason)

    def action_help(self) -> None:
        self.push_screen(HelpDialog(compare_help(self.live), ascii_only=self.main.ascii))

    def say(self, text: str) -> None:
        self.main.say(text)

    def close(self) -> None:
        if self._reader is not None:
            self._reader.stop()

    def code(self) -> int:
        both = self.main.both
        return int(Exit.NOTHING if both is None else CODES[both.comparison.outcome])

    @property
    def last_words(self) -> str:
        if self.main.trouble:
            return self.main.trouble
        return "" if self.main.both is not None else f"{', '.join(self.paths)}: left before the files were read"
