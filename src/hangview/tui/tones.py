"""How tones look, by the theme's colours.

Not by component classes of each view: textual styles every one of them for every view and again at each change of focus, which
was a third of what opening the screen cost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.style import Style
from textual.color import Color

from hangview.tui.prose import Tone

if TYPE_CHECKING:
    from textual.widget import Widget

#: Tone to a colour of ``hangview.tui.colours``, and whether it is bold; without colours bold is left.
LOOKS = {
    Tone.STRONG: ("", True),
    Tone.HEAD: ("accent-words", True),
    Tone.LEAD: ("state-absent", True),
    Tone.WAITING: ("state-requested", False),
    Tone.UNKNOWN: ("state-unknown", False),
    Tone.REQUESTED: ("state-requested", False),
    Tone.STARTED: ("state-started", False),
    Tone.FAILED: ("state-failed", True),
    Tone.PAST: ("past", False),
    Tone.GOOD: ("state-started", True),
    Tone.KEY: ("accent-words", True),
}

#: How far dim words stand out from their ground, by theme: readable on the marked row of a list too.
_DIM = {"light": 0.67, "contrast": 0.85}


def tone_style(widget: Widget, tone: Tone, under: Style | None = None) -> Style:
    """The style of a tone on the background of ``under``, by default on the widget's own."""
    plain = widget.rich_style if under is None else under
    if tone is Tone.DIM:
        ground = widget.background_colors[1]
        strength = _DIM.get(widget.app.theme, 0.6)
        return plain + Style(color=(ground + ground.get_contrast_text(strength)).rich_color)
    name, bold = LOOKS.get(tone, ("", False))
    value = widget.app.theme_variables.get(name, "")
    style = Style(color=Color.parse(value).rich_color if value else None, bold=bold or None)
    if tone is Tone.UNKNOWN and widget.app.no_color:
        style += Style(italic=True)
    return plain + style
