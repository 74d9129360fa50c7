"""A screen of panes: each by its name, the way from one to the next, a status line, and leaving it level by level."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.screen import Screen

from hangview.tui.copying import copied
from hangview.tui.layout import SMALLEST
from hangview.tui.live import live_keys
from hangview.tui.main.panes import Pane
from hangview.tui.painting import SparingCompositor
from hangview.tui.prose import Tone, line, plain
from hangview.tui.prose_view import ProseView
from hangview.tui.saying import Saying
from hangview.tui.text.help import unbound
from hangview.tui.titles import fitting, shorter

if TYPE_CHECKING:
    from textual.widget import Widget

    from hangview.tui.prose import Prose
    from hangview.tui.titles import Title


class PanedScreen(Saying, Screen[None], inherit_bindings=False):
    """Who makes a screen of it says ``stops``, ``go_back`` and ``show_all``."""

    ESCAPE_TO_MINIMIZE = False

    def __init__(self, *, ascii_only: bool) -> None:
        super().__init__()
        self._compositor = SparingCompositor()
        self.ascii = ascii_only
        self._said = False
        self._stays: Title = ""  #: what is said and stays until the next key, whatever is shown anew meanwhile

    def stops(self) -> list[Widget]:
        """Views that tab goes through, in the order in which they are seen."""
        raise AssertionError("no views to go through")

    def go_back(self) -> bool:
        """One level back; False at the top."""
        raise AssertionError("no level to go back to")

    def show_all(self) -> None:
        """Everything anew."""
        raise AssertionError("nothing to show")

    @property
    def cramped(self) -> bool:
        """Whether the terminal is too small for it: it says so, and no key does anything unseen but to leave."""
        return self.size.width < SMALLEST[0] or self.size.height < SMALLEST[1]

    # Pieces

    def prose(self, name: str) -> ProseView:
        return self.query_one(f"#{name}", ProseView)

    def pane(self, name: str) -> Pane:
        return self.query_one(f"#{name}-pane", Pane)

    def say_title(self, name: str, title: Title) -> None:
        self.pane(name).say_title(title, ascii_only=self.ascii)

    def key(self, name: str) -> str:
        """The key of an action as it is on this screen, for sentences."""
        return live_keys(self.app)(name)

    def say(self, text: Title) -> None:
        """A message in the status line, of several forms the fullest that fits; the next key takes it away."""
        self._said, self._stays = True, ""
        said = text if isinstance(text, str) else fitting(text, self.size.width)
        self.prose("status").show((line((said, Tone.KEY)),))

    def say_too(self, text: Title) -> None:
        """Before what this key has said already, as far as there is room for both."""
        status = self.prose("status").prose
        after = f" · {status[0].text}" if self._said and status else ""
        forms = shorter(text)
        self.say((*(each + after for each in forms), *forms) if after else text)

    def tell(self, text: Title) -> None:
        """The same of what came of itself: more that comes of itself leaves it there."""
        self.say(text)
        self._stays = text

    @property
    def tells(self) -> bool:
        """Whether the status line is taken by that; it is said again, as the terminal may be another size."""
        if self._stays:
            self.tell(self._stays)
        return bool(self._stays)

    def unsay(self) -> None:
        """A key was pressed: what was said before is over."""
        if self._said and self.is_mounted:
            self._said, self._stays = False, ""
            self.show_status()

    def unbound(self, key: str) -> str:
        """What to say of a key that nothing is bound to."""
        return unbound(key, live_keys(self.app))

    def show_status(self) -> None:
        """What the status line says by itself."""
        raise AssertionError("nothing to say by itself")

    def set_ascii(self, ascii_only: bool) -> None:
        """Draw with ASCII alone, or not."""
        self.ascii = ascii_only
        self.set_class(ascii_only, "-ascii")
        for view in self.query(ProseView):
            view.set_ascii(ascii_only)

    # Keys

    def action_next_pane(self) -> None:
        self.tab(1)

    def action_previous_pane(self) -> None:
        self.tab(-1)

    def tab(self, step: int) -> None:
        """The focus to another view."""
        stops = self.stops()
        at = stops.index(self.focused) if self.focused in stops else -1
        stops[(at + step) % len(stops)].focus()

    async def action_leave(self) -> None:
        if not self.go_back():
            await self.app.run_action("leave_program")

    def action_ascii(self) -> None:
        self.set_ascii(not self.ascii)
        self.show_all()

    def copy_lines(self, lines: Prose) -> None:
        """Copy them and say where to."""
        self.say(copied(plain(lines), self.app.copy_to_clipboard))
