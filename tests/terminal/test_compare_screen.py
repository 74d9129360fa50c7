"""``hangview compare`` in a real terminal: the screen, how it ends, and the report where that is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.terminal.terminal import RUN, Terminal

pytestmark = pytest.mark.terminal

FIXTURES = Path(__file__).parents[2] / "fixtures"
A, B = str(FIXTURES / "healthy"), str(FIXTURES / "seed-a")


@pytest.mark.parametrize(("sets", "word", "code"), [((A, B), "DIFFERS FIRST", 1), ((A, A), "NO DIFFERENCE", 0)])
def test_quits_with_the_answer_and_restores_the_terminal(sets, word, code):
    with Terminal([*RUN, "compare", *sets]) as terminal:
        terminal.wait_for(word)
        terminal.press("\rn?")
        terminal.wait_for("the next difference, the most telling first")
        terminal.press("\x11")  # ^Q
        assert terminal.finish() == code
        assert terminal.restored()
        assert b"Traceback" not in terminal.raw


def test_text_is_the_report():
    with Terminal([*RUN, "compare", A, B, "--text"]) as terminal:
        assert terminal.finish() == 1
        assert b"DIFFERS FIRST" in terminal.raw
        assert b"\x1b[?1049h" not in terminal.raw  # no screen of its own
