"""Work in a thread for one screen, one job at a time, of which only the newest is waited for."""

from __future__ import annotations

from contextlib import suppress
from threading import Event
from typing import TYPE_CHECKING, Any

from textual.message import Message

from hangview.tui.patience import beside

if TYPE_CHECKING:
    from collections.abc import Callable


class Done(Message):
    """A job has ended, with a result or an ``OSError``."""

    def __init__(self, jobs: Jobs, result: Any) -> None:
        super().__init__()
        self.jobs, self.result = jobs, result


class Told(Message):
    """How far a job has come."""

    def __init__(self, jobs: Jobs, word: str) -> None:
        super().__init__()
        self.jobs, self.word = jobs, word


class Jobs:
    """``start`` never waits. A job that is started while another runs stops that one and comes after it; one that is replaced
    before it ran never runs. A disk that does not answer holds one thread and nothing else."""

    def __init__(self, post: Callable[[Message], object]) -> None:
        self._post = post
        self._stop = Event()
        self._then: Callable[[Any], None] | None = None
        self._next: tuple[Callable[[Event], Any], Callable[[Any], None]] | None = None
        self.busy = False
        self.stopped = False  #: the job that ended last did so because it was told to

    def start(self, work: Callable[[Event], Any], then: Callable[[Any], None]) -> None:
        """``work`` gets an event that tells it to stop; ``then`` gets what it gives, or the ``OSError`` that it raised."""
        if self.busy:
            self._stop.set()
            self._next = work, then
            return
        self.busy, self._then, self._stop = True, then, Event()
        stop = self._stop

        def run() -> None:
            try:
                result = work(stop)
            except OSError as error:
                result = error
            self.tell(Done(self, result))

        beside(run)

    def tell(self, message: Message) -> None:
        with suppress(RuntimeError):  # the program ends while a thread still reads: there is no loop any more
            self._post(message)

    def stop(self) -> bool:
        """Let the job end with what it has; False when there is none, or it was told already and does not listen."""
        listens = self.busy and not self._stop.is_set()
        self._stop.set()
        return listens

    def forget(self) -> None:
        """The same, and nobody wants to know."""
        self.stop()
        self._next, self._then = None, None

    def done(self, result: Any) -> None:
        """For the screen, when :class:`Done` arrives."""
        self.busy, self.stopped = False, self._stop.is_set()
        then, following = self._then, self._next
        self._then = self._next = None
        if following is not None:
            self.start(*following)
        elif then is not None:
            then(result)
