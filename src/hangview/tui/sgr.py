"""Select graphic rendition: the shortest sequence from one style of the terminal to the next.

textual says each style whole. Neighbouring words mostly differ in one colour, and over ssh that is half of what a step of the
cursor sends.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple


class Codes(NamedTuple):
    """The parameters of a style (ECMA-48, and those of xterm for more colours), apart. "" is the terminal's own colour."""

    attributes: frozenset[str]
    foreground: str
    background: str


@lru_cache(maxsize=4096)
def codes_of(text: str) -> Codes:
    """Parameters as rich writes them: ``"1;38;5;233;48;5;253"``."""
    attributes = set()
    colours = {"3": "", "4": ""}
    parts = iter(text.split(";") if text else ())
    for part in parts:
        if part in ("38", "48"):
            kind = next(parts, "")
            rest = [next(parts, "") for _ in range(3 if kind == "2" else 1)]
            colours[part[0]] = ";".join((part, kind, *rest))
        elif len(part) == 2 and part[0] in "34":
            colours[part[0]] = part
        elif len(part) == 2 and part[0] == "9":
            colours["3"] = part
        elif len(part) == 3 and part[:2] == "10":
            colours["4"] = part
        else:
            attributes.add(part)
    return Codes(frozenset(attributes), colours["3"], colours["4"])


@lru_cache(maxsize=4096)
def between(now: str, then: str) -> str:
    """What to send for ``then`` to be drawn with, where ``now`` is what the terminal draws with."""
    old, new = codes_of(now), codes_of(then)
    taken_back = (old.foreground and not new.foreground) or (old.background and not new.background)
    if taken_back or not old.attributes <= new.attributes:
        return f"\x1b[0;{then}m" if then else "\x1b[0m"
    changed = sorted(new.attributes - old.attributes)
    changed += [new.foreground] if new.foreground != old.foreground else []
    changed += [new.background] if new.background != old.background else []
    return f"\x1b[{';'.join(changed)}m"
