"""Colours of the states stay apart, and readable, in every theme and at every depth of colour."""

from __future__ import annotations

from itertools import combinations

import pytest
from rich.color import Color as RichColor
from rich.color import ColorSystem
from textual.color import Color

from hangview.schema import CellState
from hangview.settings import THEMES as NAMES
from hangview.tui.colours import THEMES, variables
from hangview.tui.glyphs import GLYPHS
from hangview.tui.text.common import state_tone
from hangview.tui.tones import tone_style
from tests.support import incidents
from tests.tui.screens import showing

STATES = ("requested", "started", "absent", "failed", "unknown")


def contrast(one, other):
    """WCAG's contrast of two colours, 1 to 21."""

    def luminance(colour):
        parts = (part / 255 for part in colour.rgb)
        r, g, b = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def surface(theme):
    return Color.parse(theme.surface or "#1e1e1e")


def test_the_setting_knows_the_themes():
    assert tuple(theme.name for theme in THEMES) == NAMES


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
@pytest.mark.parametrize("depth", [ColorSystem.EIGHT_BIT, ColorSystem.STANDARD])
def test_states_stay_apart_where_colours_are_few(theme, depth):
    told = variables(theme)
    seen = {name: RichColor.parse(told[f"state-{name}"]).downgrade(depth).number for name in STATES}
    ground = RichColor.parse(surface(theme).hex).downgrade(depth).number
    assert len({*seen.values(), ground}) == len(STATES) + 1, seen


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_states_are_readable(theme):
    told = variables(theme)
    least = 7.0 if theme.name == "contrast" else 4.5
    for name in (*(f"state-{state}" for state in STATES), "accent-words", "cursor"):
        assert contrast(Color.parse(told[name]), surface(theme)) >= least, name
    for name in ("state-absent", "state-failed"):  # drawn as a background
        assert contrast(Color.parse(told[name]), Color.parse(told["on-state"])) >= 4.5
    assert contrast(Color.parse(told["cursor"]), Color.parse(told["cursor-text"])) >= 7
    assert contrast(Color.parse(told["past"]), surface(theme)) >= 4.5
    for name in ("state-absent", "state-requested", "state-unknown", "accent-words"):  # on the row marked without the focus
        assert contrast(Color.parse(told[name]), Color.parse(told["faint"])) >= 4.5, name
    for name in ("frame", "frame-focus"):  # no text: WCAG asks for 3
        assert contrast(Color.parse(told[name]), surface(theme)) >= 3, name
    bar, under = (Color.parse(theme.variables[name]) for name in ("scrollbar", "scrollbar-background"))
    assert contrast(bar, under) >= 3


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
async def test_every_word_on_the_screen_is_readable(theme):
    """Whatever is drawn over whatever: the panes, the worksheet, the help; what lies dimmed behind a dialog is left out."""
    seen = {}
    async with showing(incidents.four_ranks(), (120, 40), theme=theme.name) as (app, pilot):
        for keys in ("", "4", "5", "enter", "1", "slash", "escape w", "tab enter", "escape q question_mark", "escape colon"):
            await pilot.press(*keys.split())
            await pilot.pause()
            left, top, right, bottom = (
                app.screen.query(".pane").first().region.corners if app.screen.is_modal else (0, 0, *app.size)
            )
            for strip in app.screen._compositor.render_strips()[top:bottom]:
                for text, style, _ in strip.crop(left, right):
                    if (words := text.strip(" ─│╭╮╰╯▁▂▃▄▅▆▇█")) and style is not None:
                        pair = (style.bgcolor, style.color) if style.reverse else (style.color, style.bgcolor)
                        seen[pair] = f"{words} ({keys or 'at the start'})"
    assert len(seen) > 10
    for (ink, ground), words in seen.items():
        assert contrast(Color.from_rich_color(ink), Color.from_rich_color(ground)) >= 4.5, words


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_states_do_not_look_alike_without_red_and_green(theme):
    """Protan and deutan eyes keep lightness and blue against yellow: of any two colours one of them must differ enough."""
    told = variables(theme)
    for one, other in combinations(STATES, 2):
        a, b = Color.parse(told[f"state-{one}"]), Color.parse(told[f"state-{other}"])
        lightness = abs(a.brightness - b.brightness) * 255
        yellow = abs((a.r + a.g) / 2 - a.b - (b.r + b.g) / 2 + b.b)
        assert lightness + yellow > 20, (one, other)


@pytest.mark.parametrize("theme", [theme.name for theme in THEMES])
async def test_the_theme_of_the_configuration_is_drawn(theme):
    async with showing(incidents.four_ranks(), theme=theme) as (app, _):
        assert app.theme == theme
        assert app.theme_variables["state-absent"] == variables(app.current_theme)["state-absent"]


async def test_a_key_goes_through_the_themes():
    async with showing(incidents.four_ranks()) as (app, pilot):
        seen = [app.theme]
        for _ in THEMES:
            await pilot.press("f3")
            seen.append(app.theme)
        assert seen == ["dark", "light", "contrast", "dark"]


@pytest.mark.parametrize("keys", ["slash", "f", "colon", "w s"])
async def test_without_colours_the_place_for_typing_has_a_cursor(keys, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    async with showing(incidents.four_ranks(), colours=False) as (app, pilot):
        await pilot.press(*keys.split())
        await pilot.pause()
        assert app.focused is not None
        region = app.focused.region
        (strip,) = app.screen._compositor.render_strips()[region.y : region.bottom]
        assert any(style is not None and style.reverse for _, style, _ in strip.crop(region.x, region.right))


@pytest.mark.parametrize("theme", [theme.name for theme in THEMES])
async def test_a_state_has_one_colour_in_grid_map_and_words(theme):
    """``started`` was green in the grid and blue in the call pane."""
    async with showing(incidents.four_ranks(), theme=theme) as (app, _):
        pane, hues = app.main.prose("details"), 0
        for state in CellState:
            style = GLYPHS[state].style
            if style == "done":
                continue  # what is over has no colour of its own
            drawn = app.main.grid.get_component_rich_style(f"grid--{style}")
            small = app.main.map.get_component_rich_style(f"map--{style}")
            word = tone_style(pane, state_tone(state))
            filled = style == "absent"  # drawn as a background
            assert word.color == (drawn.bgcolor if filled else drawn.color), state
            assert word.color == (small.bgcolor if filled else small.color), state
            hues += 1
        assert hues == len(CellState) - 2
        differs = tone_style(pane, state_tone(CellState.STARTED, differs=True))
        assert differs.color == app.main.grid.get_component_rich_style("grid--differs").bgcolor
