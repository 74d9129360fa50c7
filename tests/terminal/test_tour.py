"""docs/ten-minutes.md, walked on a terminal: what it says is to be seen after each key is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.terminal.terminal import RUN, Terminal

pytestmark = pytest.mark.terminal

PAGE = Path(__file__).parents[2] / "docs/ten-minutes.md"
KEYS = {"enter": "\r", "esc": "\x1b"}


def steps() -> list[tuple[str, str]]:
    """(key, text on the screen) pairs of its table; "" for no key."""
    rows = re.findall(r"^\| (?:`(\w+)`|\(none\)) \| `(.+?)` \|", PAGE.read_text("utf-8"), re.MULTILINE)
    return [(key, text) for key, text in rows]


def test_the_tour():
    walked = steps()
    assert [key for key, _ in walked] == ["", "", "enter", "esc", "n", "4", "5", "w", "q"]
    with Terminal([*RUN, "demo"], size=(110, 34)) as terminal:
        for key, text in walked:
            if key:
                terminal.press(KEYS.get(key, key))
            terminal.wait_for(text)
        terminal.press("\x11")  # ^Q
        assert terminal.finish() == 0
