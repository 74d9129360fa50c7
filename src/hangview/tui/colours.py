"""Themes, and the colours of the states in each: Okabe and Ito's set, which colour-blind readers can tell apart.

Contrast is 4.5 or more in every theme, on the surface and on the row that stays marked without the focus, and 7 or more on
the surface of the theme for high contrast. The colours of states stay different where a terminal has 256 colours or 16. Colour
never carries anything alone: every state has a glyph and a word.
"""

from __future__ import annotations

from textual.theme import BUILTIN_THEMES, Theme

DARK = {
    "state-requested": "#56b4e9",
    "state-started": "#2fc79a",
    "state-absent": "#e69f00",
    "state-failed": "#e8743b",
    "state-unknown": "#f0e442",
    "on-state": "#000000",
    "accent-words": "#8ab4f8",
    "past": "#8c8c8c",
    "faint": "#323a45",
    "cursor": "#e0e0e0",
    "cursor-text": "#101010",
    "frame": "#67727f",
    "frame-focus": "#8ab4f8",
}
LIGHT = {
    "state-requested": "#003f9f",
    "state-started": "#005f00",
    "state-absent": "#8a4b00",
    "state-failed": "#900050",
    "state-unknown": "#800080",
    "on-state": "#ffffff",
    "accent-words": "#0b3f94",
    "past": "#686868",
    "faint": "#ccd5e0",
    "cursor": "#202020",
    "cursor-text": "#ffffff",
    "frame": "#70757e",
    "frame-focus": "#0b3f94",
}
CONTRAST = {
    "state-requested": "#7cc8ff",
    "state-started": "#00ff80",
    "state-absent": "#ffd000",
    "state-failed": "#ff8c5a",
    "state-unknown": "#ff9cff",
    "on-state": "#000000",
    "accent-words": "#a8ccff",
    "past": "#a8a8a8",
    "faint": "#3c4858",
    "cursor": "#ffffff",
    "cursor-text": "#000000",
    "frame": "#b0b8c0",
    "frame-focus": "#ffffff",
}


_VARIABLES = {"dark": DARK, "light": LIGHT, "contrast": CONTRAST}


def _theme(name: str, base: str, more: dict[str, str] | None = None, **changed: str) -> Theme:
    told, own = BUILTIN_THEMES[base], _VARIABLES[name]
    bars = {"scrollbar": own["frame"], "scrollbar-hover": own["frame-focus"], "scrollbar-active": own["frame-focus"]}
    bars["scrollbar-background"] = changed.get("background", "#121212")
    values = {"primary": told.primary, "secondary": told.secondary, "accent": told.accent, "warning": told.warning}
    values |= {"error": told.error, "success": told.success, "foreground": told.foreground, "background": told.background}
    values |= {"surface": told.surface, "panel": told.panel}
    return Theme(name=name, dark=told.dark, variables={**told.variables, **bars, **(more or {})}, **{**values, **changed})  # type: ignore[arg-type]


#: By the names of the setting ``theme``, in the order in which its key steps through them.
THEMES = (
    _theme("dark", "textual-dark"),
    _theme(
        "light",
        "textual-light",
        {"text-muted": "#545454"},
        background="#ffffff",
        surface="#f6f6f6",
        panel="#e4e8ee",
        foreground="#1a1a1a",
    ),
    _theme(
        "contrast",
        "textual-dark",
        {"text-muted": "#d8d8d8", "text-disabled": "#a8a8a8"},
        foreground="#ffffff",
        background="#000000",
        surface="#000000",
        panel="#1c1c1c",
        accent="#ffd75f",
    ),
)


def variables(theme: Theme) -> dict[str, str]:
    """The colours of states in a theme; of a theme that is not ours by whether it is dark."""
    return _VARIABLES.get(theme.name, DARK if theme.dark else LIGHT)
