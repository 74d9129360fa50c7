"""Where to save, and what to do when the file is not ours to replace or cannot be written; where to open from."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.widgets import Input

from hangview.tui.asking import Asking
from hangview.tui.live import live_keys
from hangview.tui.prose import Line, Tone, line
from hangview.tui.typed_line import TypedLine
from hangview.tui.worksheet.bindings import bind, key_line
from hangview.tui.worksheet.dialog import Dialog
from hangview.tui.worksheet.keys import DIALOG_ACTIONS, REPLACE_ACTIONS
from hangview.tui.worksheet.lines import Lines
from hangview.tui.worksheet.screen_words import ENGLISH, ScreenWords
from hangview.worksheet.store import OpenResult, SaveResult, SaveStatus

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.events import Key, Paste

    from hangview.worksheet.session import Session


def short_path(path: Path, cwd: Path) -> str:
    """A path as a person would type it: relative inside the working directory, with ``~`` inside the home directory."""
    for base, prefix in ((cwd, ""), (Path.home(), "~/")):
        if path.is_relative_to(base):
            return f"{prefix}{path.relative_to(base)}"
    return str(path)


def path_input(value: str) -> Input:
    field = TypedLine(value, compact=True, select_on_focus=False)
    field.cursor_blink = False
    return field


def enter_or_back(words: ScreenWords, does: str) -> Line:
    """The keys of a dialog with one field, where letters are text."""
    return line(("enter", Tone.KEY), (f":{words(does)}  ", Tone.DIM), ("esc", Tone.KEY), (f":{words('do.back')}", Tone.DIM))


class SaveDialog(Asking, Dialog[SaveResult]):
    """Asks where to, saves, and stays until it is saved or left: a failure is said at once with another place to take."""

    BINDINGS: ClassVar[list[BindingType]] = bind(REPLACE_ACTIONS)
    AUTO_FOCUS = "Input"

    def __init__(
        self, session: Session, *, ascii_only: bool, words: ScreenWords = ENGLISH, refused: SaveResult | None = None
    ) -> None:
        """``refused``: what came of saving to the same file as before, for which there is this question."""
        super().__init__(ascii_only=ascii_only, words=words)
        self._session = session
        self._refused = refused
        self._input = path_input(short_path(session.default_path, session.store.cwd))
        self._message = Lines(
            (line(words("save.relative", path=session.store.cwd)),), ascii_only=ascii_only, classes="dialog-message"
        )
        self._keys = Lines(ascii_only=ascii_only, classes="dialog-keys")
        self._asked: Path | None = None

    def compose(self) -> ComposeResult:
        yield self.frame(self.words("save.title"), self._input, self._message, self._keys)

    def on_mount(self) -> None:
        self._say_keys()
        if self._refused is not None:
            self.call_after_refresh(self._refuse, self._refused)  # once the field has its focus

    def _say_keys(self) -> None:
        if self._asked is not None:
            self._keys.show(
                (
                    key_line(
                        (*REPLACE_ACTIONS, *DIALOG_ACTIONS), self.app.size.width - 8, live=live_keys(self.app), words=self.words
                    ),
                )
            )
        else:
            self._keys.show((enter_or_back(self.words, "do.save"),))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if event.value.strip():
            self._save(self._session.store.resolve(event.value), replace=False)

    def _save(self, path: Path, *, replace: bool) -> None:
        result = self._session.save(path, replace=replace)
        if result.ok:
            self.dismiss(result)
        else:
            self._refuse(result)

    def _refuse(self, result: SaveResult) -> None:
        """Why it was not saved, and what can be done about it."""
        message = [line((self.words.result(result, 0), Tone.LEAD))]
        if result.status is SaveStatus.FAILED:
            self._asked = None
            if result.elsewhere is not None:
                message.append(self._offer(result.path, result.elsewhere))
        else:
            self._asked = result.path
            message.append(line(self.words("save.stays", name=(result.backup or result.path).name)))
            self.set_focus(None)
            self.ask()
        self._message.show(tuple(message))
        self._say_keys()

    def is_answer(self, event: Key | Paste) -> bool:
        return self._asked is None or super().is_answer(event)

    def drop_ahead(self, typed: str) -> None:
        """The question is there and unanswered: that says enough."""

    def _offer(self, path: Path, elsewhere: Path) -> Line:
        """Another place in the field, the cursor behind it. What was typed stays where it is the folder that is not there: a
        letter is put right faster than all of it is typed again."""
        there = os.path.isdir(path.parent)  # noqa: PTH112 - Path.is_dir raises where it may not look
        if there:
            self._input.value = short_path(elsewhere, self._session.store.cwd)
        self._input.cursor_position = len(self._input.value)
        return line(self.words("save.here" if there else "save.other", path=elsewhere))

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

    def __init__(self, session: Session, *, ascii_only: bool, words: ScreenWords = ENGLISH) -> None:
        super().__init__(ascii_only=ascii_only, words=words)
        self._session = session
        self._input = path_input(short_path(session.default_path, session.store.cwd))
        about = words("open.stays") if session.begun else words("save.relative", path=session.store.cwd)
        self._message = Lines((line(about),), ascii_only=ascii_only, classes="dialog-message")

    def compose(self) -> ComposeResult:
        keys = enter_or_back(self.words, "do.open")
        yield self.frame(
            self.words("open.title"),
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
            self._message.show((line((self.words.tell(result.message), Tone.LEAD)),))
