"""Keys one after the other, however many arrive in one write.

textual sends a key to what has the focus when it is read, and runs the action that it is bound to later, after the key has gone
through the queues of all parents. Of ``8``, tab and some text that arrive together, by paste into tmux or over a slow line, the
text would be sent to the screen as well, as commands, for tab has not moved the focus yet. So a key is sent only once the one
before it has done what it does: its action ran, what that set into motion came to rest, a screen that it opened has its focus.
Characters that wait for a field to type in go into it as one text: each alone would cost a drawing of the screen.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from textual.events import Key, Paste
from textual.widgets import Input, TextArea

from hangview.tui.asking import Asking

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from textual.app import App
    from textual.widget import Widget

#: Seconds until the next key is sent even though the one before was never heard of again: its widget may be gone.
PATIENCE = 5.0
#: Rounds through the queues of the screen and the app after an action: what it posts may post something again.
ROUNDS = 4
#: Keys that end the waiting for a screen.
ENDING = ("escape", "ctrl+c", "ctrl+q")
#: Keys that end the program, whatever is on top.
LEAVING = ("ctrl+q",)


class TypeAhead:
    """``send`` hands a key to textual as if it had just been read."""

    def __init__(self, app: App[int], send: Callable[[Key | Paste], Awaitable[None]]) -> None:
        self._app = app
        self._send = send
        self._waiting: deque[Key | Paste] = deque()
        self._in_hand: Key | Paste | None = None
        self._cancelled: Callable[[], object] | None = None  #: while keys are held: told when escape ends that

    def hold(self, cancelled: Callable[[], object]) -> None:
        """Keep what is typed from now on for a screen that is still to come, until ``release``.

        Escape forgets it and tells ``cancelled``; so do the keys that end the program, which then do what they do.
        """
        self._cancelled = cancelled

    @property
    def holds(self) -> bool:
        return self._cancelled is not None

    @property
    def more(self) -> bool:
        """Whether another key waits for its turn."""
        return bool(self._waiting)

    @property
    def holds_text(self) -> bool:
        """Whether what is kept begins with more than one character in a row: a text, and no key."""
        return self.holds and len("".join(map(written, list(self._waiting)[:2]))) > 1

    def begin_with(self, keys: tuple[str, ...]) -> None:
        """Before what is kept, the first of these keys."""
        self._waiting.extendleft(Key(key, None) for key in keys[:1])

    def release(self) -> None:
        """The screen is on its way: what was typed goes to it, or to whatever is on top by then."""
        if self._cancelled is not None:
            self._cancelled = None
            self._in_hand = Key("no_key", None)  # stands for the opening of the screen: what comes after it waits for that
            self._settle(self._in_hand, ROUNDS)

    async def take(self, event: Key | Paste) -> None:
        """A key was read."""
        if self._cancelled is not None:
            if not isinstance(event, Key) or event.key not in ENDING:
                self._waiting.append(event)
                return
            cancelled, self._cancelled = self._cancelled, None
            self.drop()
            cancelled()
            if event.key == "escape":
                return
        if self._in_hand is None:
            if not self._too_early(event):
                await self._hand_on(event)
            return
        self._waiting.append(event)
        if len(self._waiting) == 1:
            self._watch(self._in_hand)

    def _watch(self, event: object) -> None:
        """While others wait for it."""
        self._app.set_timer(PATIENCE, lambda: self._next(event))

    async def came_back(self, event: object) -> None:
        """An event has gone all its way up to the app, and what it is bound to has been done."""
        if event is self._in_hand:
            self._settle(event, ROUNDS)

    def drop(self) -> None:
        """Forget what was typed ahead."""
        self._waiting.clear()

    def _too_early(self, event: Key | Paste) -> bool:
        """Whether it was on its way before the question on top could be seen: that is said there, and nothing answered."""
        question = self._app.screen
        if not isinstance(question, Asking) or question.is_answer(event) or key_of(event) in LEAVING:
            return False
        question.drop_ahead(written(event))
        return True

    async def _hand_on(self, event: Key | Paste) -> None:
        self._in_hand = event
        if self._waiting:
            self._watch(event)
        target = self._app.focused or self._app.screen
        await self._send(event)
        if not event.is_forwarded:  # a key of the app itself: done
            self._settle(event, ROUNDS)
        elif not target.call_later(self._heard, event):
            self._settle(event, 1)

    def _heard(self, event: Key | Paste) -> None:
        """Its widget has had it; unless it was used up there, it is on its way up and comes back."""
        if event._stop_propagation:
            self._settle(event, 1)

    def _settle(self, event: object, rounds: int) -> None:
        """Once through the queue of what is on top by now, once through the app's, some times."""
        if rounds == 0:
            self._app.call_later(self._next, event)
            return
        again = self._app.screen.call_later(lambda: self._app.call_later(self._settle, event, rounds - 1))
        if not again:
            self._app.call_later(self._next, event)

    async def _next(self, event: object) -> None:
        if event is not self._in_hand:
            return
        self._in_hand = None
        while self._waiting and not self.holds and self._too_early(self._waiting[0]):
            self._waiting.popleft()
        if self._waiting and not self.holds:
            await self._hand_on(self._gathered(self._app.focused))

    def _gathered(self, focused: Widget | None) -> Key | Paste:
        """The next key, or as much as waits for a field as one text."""
        first = self._waiting.popleft()
        text = typed(first, focused)
        while text and self._waiting and (more := typed(self._waiting[0], focused)):
            self._waiting.popleft()
            text += more
        return Paste(text) if len(text) > 1 else first


def typed(event: Key | Paste, field: Widget | None) -> str:
    """What a key writes into a field, as a paste of it would too; "" for any that may do something else there."""
    if not isinstance(event, Key) or not isinstance(field, Input | TextArea):
        return ""
    if event.is_printable:
        return event.character or ""
    return "\n" if event.key == "enter" and isinstance(field, TextArea) else ""


def key_of(event: Key | Paste) -> str:
    return event.key if isinstance(event, Key) else ""


def written(event: Key | Paste) -> str:
    """What was typed, as far as it is text."""
    if isinstance(event, Paste):
        return event.text
    return (event.character or "") if event.is_printable else ""
