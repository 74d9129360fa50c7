"""Keys that go straight to what they are bound to: the same screens as by textual's way, and no listener misses a key."""

from __future__ import annotations

import pytest
from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.events import Key
from textual.widget import Widget
from textual.widgets import Input

from hangview.tui import base_app
from hangview.tui.straight import heard_on_the_way
from tests.support.incidents import eight_in_five_groups
from tests.tui.screens import screen_text, showing


class Deaf(Widget, can_focus=True):
    pass


class Listening(Vertical):
    def on_key(self, event: Key) -> None:
        event.stop()


class WithOneKey(Deaf):
    def key_tab(self) -> None:
        pass


class WithOtherName(Deaf):
    def key_ctrl_i(self) -> None:
        """Tab, on a terminal."""


class Focusing(App[None]):
    def __init__(self, widget: Widget) -> None:
        super().__init__()
        self.widget = widget

    def compose(self) -> ComposeResult:
        yield self.widget


@pytest.mark.parametrize(
    ("widget", "key", "heard"),
    [
        (Deaf(), "x", False),
        (Deaf(), "escape", True),  # a screen of textual's drops a selection of text then
        (Input(), "x", True),
        (Listening(Deaf(), id="outer"), "x", True),
        (WithOneKey(), "x", False),
        (WithOneKey(), "tab", True),
        (WithOtherName(), "tab", True),
    ],
)
async def test_who_hears_a_key(widget, key, heard):
    async with Focusing(widget).run_test() as pilot:
        inner: Widget = next((each for each in widget.walk_children() if isinstance(each, Deaf)), widget)
        inner.focus()
        await pilot.pause()
        assert inner.has_focus
        assert heard_on_the_way(inner, Key(key, None)) is heard


#: The grid, all panes, lists, the help, a search with text, the worksheet (no text: it would leave a draft), and unbound keys.
KEYS = (
    *("l", "l", "j", "h", "G", "g", "n", "tab", "down", "enter", "tab", "j", "shift+tab", "5", "2", "j", "enter", "escape"),
    *("question_mark", "j", "escape", "slash", *"rank 5", "enter", "escape", "z", "Z", "u", "p", "ctrl+l", "Q", "f7"),
    *("w", "1", "tab", "escape", "2", "j", "escape"),
)


async def test_both_ways_lead_to_the_same_screens(monkeypatch):
    seen: dict[str, list[str]] = {"straight": [], "round": []}
    for way, screens in seen.items():
        if way == "round":
            monkeypatch.setattr(base_app, "heard_on_the_way", lambda *_: True)
        async with showing(eight_in_five_groups()) as (app, pilot):
            for key in KEYS:
                await pilot.press("space" if key == " " else key)
                await pilot.pause()
                screens.append(f"{type(app.screen).__name__}\n{screen_text(app)}")
    for key, straight, textual in zip(KEYS, seen["straight"], seen["round"], strict=True):
        assert straight == textual, key
    assert len(set(seen["straight"])) > 15


async def test_a_step_of_the_cursor_does_not_go_through_the_queues(monkeypatch):
    async with showing(eight_in_five_groups()) as (app, pilot):
        forwarded: list[object] = []
        monkeypatch.setattr(type(app.focused), "_forward_event", lambda self, event: forwarded.append(event))
        before = app.main.place
        await pilot.press("h")
        assert app.main.place != before
        assert forwarded == []


async def test_a_step_of_the_cursor_is_drawn_before_the_next_event(monkeypatch):
    """Grid and status line at once; of keys that wait in a row only the last one's."""
    async with showing(eight_in_five_groups()) as (app, pilot):
        drawn: list[set[Widget]] = []
        monkeypatch.setattr(type(app.screen), "_compositor_refresh", lambda self: drawn.append(set(self._dirty_widgets)))
        await app.on_event(Key("h", "h"))
        assert len(drawn) == 1
        assert {app.main.grid, app.main.prose("status")} <= drawn[0]
        monkeypatch.setattr(type(app._ahead), "more", True)
        await app.on_event(Key("h", "h"))
        assert len(drawn) == 1
        monkeypatch.undo()
        await pilot.pause()


async def test_the_first_key_after_the_terminal_lost_the_focus_brings_it_back():
    """Where no report of the focus' return came."""
    async with showing(eight_in_five_groups()) as (app, pilot):
        before, focused = app.main.place, app.focused
        app.app_focus = False
        await pilot.pause()
        assert app.focused is None
        await pilot.press("h")
        assert app.app_focus
        assert app.focused is focused
        await pilot.press("h")
        assert app.main.place != before
