"""Looker: reads the files in a thread of its own and tells the screen; one more look whenever the watcher or the user asks.

The thread is a daemon and no textual worker: quitting must not wait for a look at a dead file server.
"""

from __future__ import annotations

import threading
import traceback
from typing import TYPE_CHECKING

from textual.message import Message

from hangview.tui.copying import state_folder
from hangview.tui.place import opening_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hangview.dumps.early import Early
    from hangview.dumps.heads import Heads
    from hangview.incident import Incident
    from hangview.schema import ReadOptions
    from hangview.session import Session
    from hangview.tui import UiOptions
    from hangview.watch import Change, Watcher


class Progress(Message):
    """So many sources were read of so many found."""

    def __init__(self, done: int, total: int) -> None:
        super().__init__()
        self.done, self.total = done, total

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, Progress)


class Begun(Message):
    """The headers of a large set were read, the records are still to come."""

    def __init__(self, heads: Heads) -> None:
        super().__init__()
        self.heads = heads


class Looked(Message):
    """An incident; ``final`` False while more files of this look are still to come."""

    def __init__(self, incident: Incident, *, final: bool) -> None:
        super().__init__()
        self.incident, self.final = incident, final

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, Looked) and not message.final


class Failed(Message):
    """A look ended without an incident; ``reason`` is one line."""

    def __init__(self, reason: str) -> None:
        super().__init__()
        self.reason = reason


class Changed(Message):
    """The watcher saw so many files change."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count


class Looker:
    """``post`` is called from other threads with the messages above. ``early`` was asked for the headers already."""

    def __init__(
        self,
        paths: Sequence[str],
        options: ReadOptions,
        ui: UiOptions,
        post: Callable[[Message], object],
        early: Early | None = None,
    ) -> None:
        self._paths = tuple(paths)
        self._options = options
        self._ui = ui
        self._post = post
        self._early = early
        self._ask = threading.Event()
        self._end = threading.Event()
        self._looked = threading.Event()
        self._session: Session | None = None
        self._watcher: Watcher | None = None
        self.paused = False

    @property
    def mode(self) -> str:
        """What the banner says about watching."""
        return self._watcher.mode if self._watcher is not None else "not watching"

    @property
    def notes(self) -> tuple[str, ...]:
        return self._watcher.notes if self._watcher is not None else ()

    @property
    def watches(self) -> bool:
        return self._watcher is not None

    def checked_ago(self) -> float | None:
        """Seconds since the last look at the folder; None before the first, or when nothing watches."""
        return self._watcher.checked_ago() if self._watcher is not None else None

    def start(self) -> None:
        """First look, then watching if that was asked for. Returns at once."""
        if self._ui.watch:
            from hangview.watch import Watcher

            self._watcher = Watcher(self._paths, poll=self._ui.poll)
        self._ask.set()
        threading.Thread(target=self._run, name="hangview-look", daemon=True).start()
        if self._watcher is not None:
            self._watcher.start(self._on_change)

    def look_again(self) -> None:
        if self._watcher is not None:
            self._watcher.look_now()
        self._ask.set()

    def toggle_pause(self) -> bool:
        """Pause or go on; True when it is paused now."""
        self.paused = not self.paused
        if self._watcher is not None:
            if self.paused:
                self._watcher.pause()
            else:
                self._watcher.resume()
                self._ask.set()
        return self.paused

    def stop(self) -> None:
        """Let the threads end; waits for nobody."""
        self._end.set()
        self._ask.set()
        if self._watcher is not None:
            self._watcher.stop()

    def _on_change(self, changes: Sequence[Change]) -> None:
        if self._end.is_set() or self.paused:
            return
        if self._looked.is_set():  # the watcher's own first look finds what ours is reading
            self._post(Changed(len({change.path for change in changes})))
        self._ask.set()

    def _run(self) -> None:
        while True:
            self._ask.wait()
            self._ask.clear()
            if self._end.is_set():
                return
            self._look()
            if not self._looked.is_set():
                import hangview.tui.worksheet.screen  # noqa: F401 - a sixth of a second that w then does not take
            self._looked.set()

    def _look(self) -> None:
        from hangview.dumps.calling_off import Cancelled
        from hangview.session import Session

        try:
            if self._session is None:
                self._session = Session(self._paths, self._options, early=self._early)
            incident = self._session.look(
                on_progress=lambda done, total: self._tell(Progress(done, total)),
                on_partial=lambda partial: self._tell(_made_ready(Looked(partial, final=False))),
                cancelled=self._end.is_set,
                settled=self._watcher.settled if self._watcher is not None else None,
                on_heads=lambda heads: self._tell(Begun(heads)),
            )
        except Cancelled:
            return  # the screen is closing
        except OSError as error:
            self._tell(Failed(f"{error.filename or ', '.join(self._paths)}: {error.strerror or error}"))
        except Exception as error:
            # A fault of ours in one look must not end the screen with the worksheet on it: say it in a line, keep the trace.
            self._tell(Failed(f"internal error while reading: {type(error).__name__}: {error}{_keep_trace()}"))
        else:
            self._tell(_made_ready(Looked(incident, final=True)))

    def _tell(self, message: Message) -> None:
        if not self._end.is_set():
            self._post(message)


def _made_ready(message: Looked) -> Looked:
    """What the first cell needs is computed here, where no key waits for it: a third of a second for two million entries."""
    incident = message.incident
    if incident.lanes:
        place = opening_of(incident, incident.lanes[0])
        incident.view.call(place.group, place.lane, place.seq)
    return message


def _keep_trace() -> str:
    path = state_folder() / "last-error.txt"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(traceback.format_exc(), encoding="utf-8")
    except OSError:
        return ""
    return f" (where: {path})"
