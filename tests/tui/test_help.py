"""The help is longer than a screen: its sections are reached by a key, and it says how it is left."""

from __future__ import annotations

import pytest

from hangview.tui.dialogs.help import HelpDialog
from hangview.tui.prose import Tone
from hangview.tui.prose_view import ProseView
from tests.support import incidents
from tests.tui.screens import screen_text, showing


@pytest.mark.parametrize("size", [(40, 12), (80, 24), (160, 48)])
async def test_sections_are_gone_through_and_come_round(size):
    async with showing(incidents.four_ranks(), size) as (app, pilot):
        await pilot.press("question_mark")
        assert isinstance(app.screen, HelpDialog)
        view = app.screen.query_one("#help", ProseView)
        heads = [row.text for row in view.laid() if row.spans and row.spans[0].tone is Tone.HEAD]
        assert heads[0] == "here, in the grid"
        assert {"words", "kinds of finding", "what became of a file"} <= set(heads)
        seen: list[str] = []
        tops: list[int] = []
        while not tops or view.topmost:
            tops.append(view.topmost)
            rows = range(view.topmost, view.topmost + view.size.height)
            texts = [row.text for at, row in enumerate(view.laid()) if at in rows]
            seen += [text for text in texts if text in heads and text not in seen]
            await pilot.press("n")
            assert len(tops) <= len(heads)
        assert seen == heads  # each came into sight, in their order, and then the first one again
        assert tops == sorted(tops)
        await pilot.press("g", "n", "N")
        assert view.topmost == 0
        await pilot.press("N")
        assert heads[-1] in screen_text(app)


async def test_it_says_how_it_is_left_and_gone_through():
    async with showing(incidents.four_ranks()) as (app, pilot):
        await pilot.press("question_mark")
        title = next(row for row in screen_text(app).splitlines() if "help · " in row)
        assert "esc closes" in title
        assert "n N: next section, section before" in title
        await pilot.press("escape")
        assert not isinstance(app.screen, HelpDialog)
