"""What every screen does with its terminal: themes and keys of the configuration, only changed cells sent, keys one after the
other however fast they come, and a clean end whatever ends it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

from textual.app import App
from textual.events import Key, Mount, MouseDown, Paste, Resize
from textual.widgets import Input, TextArea

from hangview.keymap import all_actions
from hangview.text import count
from hangview.tui.actions import Where
from hangview.tui.bindings import bindings_for
from hangview.tui.colours import THEMES, variables
from hangview.tui.ending import Ending
from hangview.tui.live import LiveKeys
from hangview.tui.main.paned import PanedScreen
from hangview.tui.painting import paint_now
from hangview.tui.saying import Saying
from hangview.tui.straight import heard_on_the_way
from hangview.tui.thrift import Shown
from hangview.tui.typeahead import TypeAhead

if TYPE_CHECKING:
    from rich.console import RenderableType
    from textual.binding import BindingType
    from textual.driver import Driver
    from textual.events import Event
    from textual.screen import Screen

    from hangview.tui import UiOptions


#: Seconds in which textual's thread that writes to the terminal gets its turn at once: else it waits for the loop to be idle.
HAND_OVER = 0.0001


#: Characters of a paste that a field of one line takes.
LONGEST = 10_000


def one_line(text: str) -> tuple[str, int]:
    """A pasted text for a field of one line, its lines joined by blanks; and how many characters did not fit."""
    joined = " ".join(filter(None, (each.strip() for each in text.splitlines()))) if len(text.splitlines()) > 1 else text
    return joined[:LONGEST], max(0, len(joined) - LONGEST)


class BaseApp(App[int], inherit_bindings=False):
    """Who makes a screen of it says ``say``, ``code`` and ``last_words``, and what is to be kept and closed."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for(Where.ALWAYS)
    ENABLE_COMMAND_PALETTE = False
    TITLE = "hangview"

    def __init__(self, ui: UiOptions, *, colours: bool = True, driver: type[Driver] | None = None) -> None:
        # The filter that drops colours is chosen in App.__init__, so that has to be known before it.
        super().__init__(driver_class=driver, ansi_color=None if colours else True)
        self.animation_level = "none"
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = ui.theme
        self.live = LiveKeys(dict(ui.keys))
        self.set_keymap(self.live.for_textual)
        self._ending = Ending(lambda number: self.end(128 + number), self.keep)
        self._mouse_on = ui.mouse
        self._ahead = TypeAhead(self, self._hand_on)
        self._ended = False
        self._shown = Shown()

    def say(self, text: str) -> None:
        """A message in the status line."""
        raise AssertionError(f"nowhere to say {text}")

    def code(self) -> int:
        """What the process says when it ends by a key."""
        raise AssertionError("no exit code")

    @property
    def last_words(self) -> str:
        """What is said on stderr once the screen is gone, by what is known then: an exit code alone tells too little."""
        raise AssertionError("no last words")

    def touch(self, event: Key | Paste | MouseDown) -> None:
        """A person did something, and nothing of it was done yet."""

    def keep(self) -> None:
        """Keep what must not be lost; called in another thread where the loop stands still."""

    def close(self) -> None:
        """Stop the threads, wait for nobody."""

    # The terminal

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return variables(self.current_theme)

    def on_mount(self) -> None:
        self._ending.arm()
        self.app_resume_signal.subscribe(self, lambda _: self.action_redraw(), immediate=True)

    def on_unmount(self) -> None:
        self._ending.disarm()

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        super()._display(screen, self._shown.thrifty(renderable))
        time.sleep(HAND_OVER)

    async def on_event(self, event: Event) -> None:
        if isinstance(event, Resize):
            self._shown.forget()
        if isinstance(event, Key | Paste | MouseDown) and not event.is_forwarded:
            if self._ended:
                return  # typed ahead while the screens close: there is nothing left that could answer
            self.touch(event)
            if isinstance(self.screen, Saying) and not self._ahead.holds:
                self.screen.unsay()
            if not isinstance(event, MouseDown):
                await self._ahead.take(event)
                return
        await super().on_event(event)
        await self._ahead.came_back(event)
        if isinstance(event, Mount):
            # textual starts the first screen and goes on without it. What is read and typed meanwhile waits in the app's queue
            # until there are panes to show it in.
            await self.screen._mounted_event.wait()

    async def _hand_on(self, event: Key | Paste) -> None:
        """To what it is bound to, or to who has the focus; the first key after the terminal had lost it brings it back."""
        if isinstance(self.screen, PanedScreen) and self.screen.cramped and not self._is_key_of("quit", event):
            if self._is_key_of("leave", event):
                await self.run_action("leave_program")
            return
        target = self.focused or self.screen
        if isinstance(event, Paste) and isinstance(target, Input):
            event.text, left_out = one_line(event.text)
            if left_out and isinstance(self.screen, Saying):
                self.screen.say(f"pasted as one line; {count(left_out, 'character')} left out: a line holds {LONGEST:,}")
        straight = isinstance(event, Key) and self.app_focus and self.screen.maximized is None
        if not straight or isinstance(event, Paste) or heard_on_the_way(target, event):
            await super().on_event(event)
            return
        if not await self._check_bindings(event.key, priority=True):
            await self._check_bindings(event.key)
        if not self._ahead.more and self._message_queue.empty():  # of keys that come in a row the last one is drawn at once
            paint_now(self.screen)

    def _is_key_of(self, name: str, event: Key | Paste) -> bool:
        return isinstance(event, Key) and event.key in self.live.of(all_actions()[name])

    async def _check_bindings(self, key: str, priority: bool = False) -> bool:
        """Textual's own, which tells alone whether a key is bound to anything: one that is not says so."""
        done = await super()._check_bindings(key, priority)
        screen = self.screen
        if not done and not priority and isinstance(screen, Saying) and not isinstance(self.focused, Input | TextArea):
            screen.say(screen.unbound(key))
        return done

    def action_redraw(self) -> None:
        self._shown.forget()
        self.refresh(layout=True)
        self.screen.refresh(layout=True)

    def action_theme(self) -> None:
        names = [theme.name for theme in THEMES]
        at = names.index(self.theme) if self.theme in names else -1
        self.theme = names[(at + 1) % len(names)]
        without = " (NO_COLOR is set: no colour is drawn)" if self.no_color else ""
        self.say(f"theme: {self.theme}{without} · --theme {self.theme}, or theme in the configuration, keeps it")

    def action_mouse(self) -> None:
        """Mouse reports on or off; the driver has no public way to change it while running."""
        driver = self._driver
        change = getattr(driver, "_disable_mouse_support" if self._mouse_on else "_enable_mouse_support", None)
        if driver is None or change is None:
            self.say("this terminal's driver cannot change the mouse")
            return
        self._mouse_on = not self._mouse_on
        driver._mouse = True  # both ways do nothing for a driver that was started without a mouse
        change()
        driver._mouse = self._mouse_on
        self.say("mouse on" if self._mouse_on else "mouse off: the terminal selects text again")

    # The end

    def action_quit_now(self) -> None:
        self.end(self.code())

    def action_leave_program(self) -> None:
        self.end(self.code())

    def end(self, code: int) -> None:
        """Go; what still reads is left to its daemon thread."""
        self._ended = True
        self._ahead.drop()
        self.close()
        self.exit(code, return_code=code)

    def _fatal_error(self) -> None:
        """A fault of ours: no traceback on the screen; who started the app raises it again, the command line says one line."""
        self._ended = True
        self.close()
        self._close_messages_no_wait()

    def panic(self, *renderables: RenderableType) -> None:
        """textual's word for a fault that it would put on the screen: the same end as any other."""
        self._handle_exception(RuntimeError(" ".join(each for each in renderables if isinstance(each, str))))

    @property
    def fault(self) -> BaseException | None:
        """The exception that ended the app, if one did."""
        return self._exception
