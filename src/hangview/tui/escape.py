"""Escape and the key after it, however fast they come.

textual takes a character that comes within a tenth of a second after escape for one typed with alt. Of esc and ``2``, quickly
typed or in one packet of a slow line, it makes "™", as WezTerm's alt-2 does, and puts it into the field that was to be left. No
key of ours needs alt, so escape is always escape here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual._xterm_parser import XTermParser
from textual.drivers import linux_driver
from textual.events import Key

if TYPE_CHECKING:
    from collections.abc import Iterable

ESCAPE = "\x1b"
#: What begins a longer sequence when it comes after escape: of a key, or of a terminal's answer.
OPENING = "[O]P_^X" + ESCAPE


class EscapeParser(XTermParser):
    """Makes two keys of what textual takes for alt and a character."""

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[Key]:
        if alt or (len(sequence) == 2 and sequence[0] == ESCAPE and sequence[1] not in OPENING):
            yield Key("escape", ESCAPE)
            yield from super()._sequence_to_key_events(sequence[-1])
        else:
            yield from super()._sequence_to_key_events(sequence)


def install() -> None:
    """Let textual's driver read keys so from now on; it names its parser in a module and offers no other way."""
    setattr(linux_driver, "XTermParser", EscapeParser)  # noqa: B010 - mypy: it is not the module's to export
