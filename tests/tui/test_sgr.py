"""From one style to the next: a terminal that is told only what changes draws the same."""

from __future__ import annotations

import random

import pyte
import pytest
from rich.color import ColorSystem
from rich.style import Style

from hangview.tui.sgr import between, codes_of

COLOURS = [None, "default", "red", "bright_blue", "color(178)", "#102030"]


@pytest.mark.parametrize(
    ("text", "attributes", "foreground", "background"),
    [
        ("", set(), "", ""),
        ("1;38;5;233;48;5;253", {"1"}, "38;5;233", "48;5;253"),
        ("4;7;38;2;1;2;3", {"4", "7"}, "38;2;1;2;3", ""),
        ("31;107", set(), "31", "107"),
        ("97;49", set(), "97", "49"),
    ],
)
def test_parameters_apart(text, attributes, foreground, background):
    assert codes_of(text) == (attributes, foreground, background)


def test_only_what_changes_is_sent():
    assert between("38;5;253;48;5;234", "38;5;178;48;5;234") == "\x1b[38;5;178m"
    assert between("38;5;253;48;5;234", "1;38;5;253;48;5;234") == "\x1b[1m"
    assert between("", "31") == "\x1b[31m"


def test_what_is_taken_back_begins_anew():
    """There is no way to take bold back that all terminals know."""
    assert between("1;31", "31") == "\x1b[0;31m"
    assert between("31;42", "31") == "\x1b[0;31m"
    assert between("31", "") == "\x1b[0m"


@pytest.mark.parametrize("system", [ColorSystem.STANDARD, ColorSystem.EIGHT_BIT, ColorSystem.TRUECOLOR])
def test_the_same_on_a_terminal(system):
    chance = random.Random(1)
    ours, whole = pyte.Screen(200, 1), pyte.Screen(200, 1)
    now = ""
    for _ in range(200):
        style = Style(
            color=chance.choice(COLOURS), bgcolor=chance.choice(COLOURS), bold=chance.random() < 0.5,
            underline=chance.random() < 0.3, reverse=chance.random() < 0.3,
        )  # fmt: skip
        codes = style._make_ansi_codes(system)
        pyte.Stream(ours).feed((between(now, codes) if codes != now else "") + "x")
        pyte.Stream(whole).feed(f"\x1b[0;{codes}mx" if codes else "\x1b[0mx")
        now = codes
    assert [ours.buffer[0][x] for x in range(200)] == [whole.buffer[0][x] for x in range(200)]
