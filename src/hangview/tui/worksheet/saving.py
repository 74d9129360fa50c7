"""Where to save, and what to do when the file is not ours to replace or cannot be written; where to open from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.widgets import Input

from hangview.tui.live import live_keys
from hangview.tui.prose import Tone, line
from hangview.tui.worksheet.bindings import bind, key_line
from hangview.tui.worksheet.dialog import Dialog
from hangview.tui.worksheet.keys import DIALOG_ACTIONS, REPLACE_ACTIONS
from hangview.tui.worksheet.lines import Lines
from hangview.worksheet.store import OpenResult, SaveResult, SaveStatus

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from hangview.worksheet.session import Session


def short_path(path: Path, cwd: Path) -> str:
    """A path as a person would type it: relative inside the working directory, with ``~`` inside the home directory."""
    for base, prefix in ((cwd, ""), (Path.home(), "~/")):
        if path.is_relative_to(base):
            return f"{prefix}{path.relative_to(base)}"
    return str(path)


def path_input(value: str) -> Input:
    field = Input(value, compact=True, select_on_focus=False)
    field.cursor_blink = False
    return field


class SaveDialog(Dialog[SaveResult]):
    """Asks where to, saves, and stays until it is saved or left: a failure is said at once with another place to take."""

    BINDINGS: ClassVar[list[BindingType]] = bind(REPLACE_ACTIONS)
    AUTO_FOCUS = "Input"

    def __init__(self, session: Session, *, ascii_only: bool) -> None:
        super().__init__(ascii_only=ascii_only)
        self._session = session
        self._input = path_input(short_path(session.default_path, session.store.cwd))
        self._message = Lines((line(f"relative to {session.store.cwd}"),), ascii_only=ascii_only, classes="dialog-message")
        self._keys = Lines(ascii_only=ascii_only, classes="dialog-keys")
        self._asked: Path | None = None

    def compose(self) -> ComposeResult:
        yield self.frame("save the worksheet as markdown", self._input, self._message, self._keys)

    def on_mount(self) -> None:
        self._say_keys()

    def _say_keys(self) -> None:
        if self._asked is not None:
            self._keys.show((key_line((*REPLACE_ACTIONS, *DIALOG_ACTIONS), self.app.size.width - 8, live=live_keys(self.app)),))
        else:
            self._keys.show((line(("enter", Tone.KEY), (":save  ", Tone.DIM), ("esc", Tone.KEY), (":back", Tone.DIM)),))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if event.value.strip():
            self._save(self._session.store.resolve(event.value), replace=False)

    def _save(self, path: Path, *, replace: bool) -> None:
        result = self._session.save(path, replace=replace)
        if result.ok:
            self.dismiss(result)
            return
        message = [line((result.message, Tone.LEAD))]
        if result.status is SaveStatus.FAILED:
            self._asked = None
            if result.elsewhere is not None:
                self._input.value = short_path(result.elsewhere, self._session.store.cwd)
                message.append(line("enter saves it here instead"))
        else:
            self._asked = path
            message.append(line(f"replaced, it stays beside the new one as {path.name}~"))
            self.set_focus(None)
        self._message.show(tuple(message))
        self._say_keys()

    def action_replace(self) -> None:
        if self._asked is not None:
            self._save(self._asked, replace=True)

    def action_other_name(self) -> None:
        self._asked = None
        self._input.focus()
        self._say_keys()


class OpenDialog(Dialog[OpenResult]):
    """Asks for a saved worksheet, and says why when it cannot be opened."""

    AUTO_FOCUS = "Input"

    def __init__(self, session: Session, *, ascii_only: bool) -> None:
        super().__init__(ascii_only=ascii_only)
        self._session = session
        self._input = path_input(short_path(session.default_path, session.store.cwd))
        words = "what was typed until now stays as a draft" if session.begun else f"relative to {session.store.cwd}"
        self._message = Lines((line(words),), ascii_only=ascii_only, classes="dialog-message")

    def compose(self) -> ComposeResult:
        keys = line(("enter", Tone.KEY), (":open  ", Tone.DIM), ("esc", Tone.KEY), (":back", Tone.DIM))
        yield self.frame(
            "open a saved worksheet",
            self._input,
            self._message,
            Lines((keys,), ascii_only=self.ascii_only, classes="dialog-keys"),
        )

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if not event.value.strip():
            return
        result = self._session.open(event.value)
        if result.sheet is not None:
            self.dismiss(result)
        else:
            self._message.show((line((result.message, Tone.LEAD)),))
