"""Colours of the states, for dark and for light themes: Okabe and Ito's set, which colour-blind readers can tell apart.

Contrast on the dark surface is 7 or more for sky blue, orange and yellow; on a light one darker relatives are needed. Colour
never carries anything alone: every state has a glyph and a word.
"""

from __future__ import annotations

DARK = {
    "state-requested": "#56b4e9",
    "state-started": "#2fc79a",
    "state-absent": "#e69f00",
    "state-failed": "#e8743b",
    "state-unknown": "#f0e442",
    "on-state": "#000000",
    "accent-words": "#8ab4f8",
    "faint": "#323a45",
    "cursor": "#e0e0e0",
    "cursor-text": "#101010",
    "frame": "#5a6470",
    "frame-focus": "#8ab4f8",
}
LIGHT = {
    "state-requested": "#005f99",
    "state-started": "#00694c",
    "state-absent": "#a65f00",
    "state-failed": "#b84300",
    "state-unknown": "#7a4a8c",
    "on-state": "#ffffff",
    "accent-words": "#0b5394",
    "faint": "#cdd5df",
    "cursor": "#202020",
    "cursor-text": "#ffffff",
    "frame": "#8a8f98",
    "frame-focus": "#0b5394",
}
