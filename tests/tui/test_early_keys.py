"""Keys and files that come before the first screen is there, and what a terminal sends that is no key."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from textual.app import App
from textual.events import Key

from hangview.tui import UiOptions
from hangview.tui.actions import Where, actions_in
from hangview.tui.app import HangviewApp
from hangview.tui.compare.app import CompareApp
from hangview.tui.compare.screen import CompareScreen
from hangview.tui.driver import SteadyDriver, lenient_decoder
from hangview.tui.looker import Looked
from hangview.tui.main.screen import MainScreen
from hangview.tui.start import run_app
from tests.support.incidents import four_ranks
from tests.tui.test_typeahead import at_rest

if TYPE_CHECKING:
    from textual.screen import Screen

#: What ends the program or gives the terminal away: the others only show something.
_ENDS = ("leave", "quit", "suspend", "redraw")


@pytest.fixture
def slow(monkeypatch):
    """Screens that take their time until they have their panes, as on a busy machine."""
    for kind in (MainScreen, CompareScreen):
        compose = kind._pre_process

        async def later(screen: Screen[None], compose=compose) -> bool:
            await asyncio.sleep(0.05)
            return bool(await compose(screen))

        monkeypatch.setattr(kind, "_pre_process", later)


class _Reads(SimpleNamespace):
    """A looker that says what it is given, at once."""

    mode, watches = "not watching", False

    def start(self) -> None:
        for each in self.messages:
            self.post(each)

    def stop(self) -> None:
        pass

    def look_again(self) -> None:
        pass

    def checked_ago(self) -> None:
        return None


def reading(*messages):
    return lambda post: _Reads(post=post, messages=messages)


def pressed(where: Where) -> list[Key]:
    keys = [action.keys[0] for action in actions_in(where) if action.keys and action.id not in _ENDS]
    return [Key(key, key if len(key) == 1 else None) for key in keys]


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("first", ["1", "4", "tab", "y", "L"])
async def test_every_key_before_the_first_screen(first):
    keys = (Key(first, None), *pressed(Where.EVERYWHERE), *pressed(Where.GRID), *pressed(Where.LIST))
    app = HangviewApp(("run",), UiOptions(), looker=reading(*keys), rest=0)
    async with app.run_test() as pilot:
        await at_rest(app, pilot)
    assert app.fault is None


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("first", ["1", "tab", "y", "enter"])
async def test_every_key_before_the_first_screen_of_a_comparison(first):
    app = CompareApp(("a", "b"), UiOptions(), reader=reading(Key(first, None), *pressed(Where.COMPARE)))
    async with app.run_test() as pilot:
        await at_rest(app, pilot)
    assert app.fault is None


@pytest.mark.usefixtures("slow")
async def test_what_is_pressed_early_is_done_once_there_is_a_screen():
    app = HangviewApp(("run",), UiOptions(), looker=reading(Key("4", "4"), Looked(four_ranks(), final=True)), rest=0)
    async with app.run_test() as pilot:
        await at_rest(app, pilot)
        assert app.main.center == "findings"
        assert app.main.incident is not None


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("key", ["q", "ctrl+c", "ctrl+q"])
async def test_who_leaves_before_the_first_screen_leaves(key):
    app = HangviewApp(("run",), UiOptions(), looker=reading(Key(key, None)), rest=0)
    async with app.run_test() as pilot:
        for _ in range(50):
            await pilot.pause(0.01)
            if app._ended:
                break
    assert app.fault is None
    assert app.return_value == 3  # nothing was read yet
    assert "left before the files were read" in app.last_words


@pytest.mark.usefixtures("slow")
async def test_an_early_key_is_no_step_of_the_tour():
    app = HangviewApp(("run",), UiOptions(tour=True), looker=reading(Key("enter", "\r")), rest=0)
    async with app.run_test() as pilot:
        await at_rest(app, pilot)
        assert not app.main.prose("tour").prose
        app.post_message(Looked(four_ranks(), final=True))
        await pilot.pause()
        assert app.main.prose("tour").prose[0].text.startswith("TOUR 1/")


# What the terminal sends


def decoded(*parts: bytes) -> str:
    decoder = lenient_decoder("utf-8")()
    return "".join(decoder.decode(part) for part in parts)


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ((b"\xfc",), ""),
        ((b"\xfcq",), "q"),
        ((b"\xe4", b"n"), "n"),  # it could begin a character of three bytes, and the next byte tells that it does not
        ((b"\xff\xfe\x80[A",), "[A"),
        ((b"\xc3", b"\xbc"), "ü"),
        (("한".encode()[:1], "한".encode()[1:]), "한"),
    ],
)
def test_bytes_that_are_no_text_are_passed_over(parts, text):
    assert decoded(*parts) == text


class _Thread:
    """What the driver's own thread does in these tests."""

    def __init__(self, error: BaseException) -> None:
        self.error = error
        self.app = HangviewApp(("run",), UiOptions(), incident=four_ranks(), rest=0)

    def read(self) -> None:
        raise self.error

    def fail(self) -> None:
        driver = SteadyDriver.__new__(SteadyDriver)
        driver._app = self.app
        driver.run_input_thread = self.read  # type: ignore[method-assign]
        driver._run_input_thread()


async def ended(app: HangviewApp, pilot) -> None:
    for _ in range(100):
        await pilot.pause(0.01)
        if app._ended:
            return
    raise AssertionError("it goes on")


async def test_a_fault_while_keys_are_read_is_a_fault_of_the_program():
    broken = _Thread(ValueError("no key"))

    async def run() -> None:
        async with broken.app.run_test() as pilot:
            await asyncio.to_thread(broken.fail)
            await ended(broken.app, pilot)

    with pytest.raises(ValueError, match="no key"):  # textual's pilot raises what ended an app, as run_app does
        await run()
    assert broken.app.fault is broken.error


async def test_a_terminal_that_is_gone_ends_it_as_a_dropped_line_does():
    broken = _Thread(OSError(5, "Input/output error"))
    async with broken.app.run_test() as pilot:
        await asyncio.to_thread(broken.fail)
        await ended(broken.app, pilot)
    assert broken.app.fault is None
    assert broken.app.return_value == 129


async def test_panic_is_a_fault_too():
    app = HangviewApp(("run",), UiOptions(), incident=four_ranks(), rest=0)

    async def run() -> None:
        async with app.run_test() as pilot:
            app.panic("something is wrong")
            await ended(app, pilot)

    with pytest.raises(RuntimeError, match="something is wrong"):
        await run()
    assert app.fault is not None


def test_an_end_that_nobody_gave_a_code_is_no_success(monkeypatch):
    monkeypatch.setattr(App, "run", lambda self, **_: None)
    with pytest.raises(RuntimeError, match="nothing had ended it"):
        run_app(HangviewApp(("run",), UiOptions()), UiOptions())
