"""Escape and the key after it, however fast they come; and pasted text, whatever is in it.

textual takes a character that comes within a tenth of a second after escape for one typed with alt. Of esc and ``2``, quickly
typed or in one packet of a slow line, it makes "™", as WezTerm's alt-2 does, and puts it into the field that was to be left. No
key of ours needs alt, so escape is always escape here.

In a paste textual looks for keys behind each escape: coloured log lines become a thousand keys and lose their text. A paste is
one text here, without its colours and control characters.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from textual._xterm_parser import XTermParser
from textual.events import Key, Paste

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.message import Message

ESCAPE = "\x1b"
#: What begins a longer sequence when it comes after escape: of a key, or of a terminal's answer.
OPENING = "[O]P_^X" + ESCAPE
#: What a terminal puts round pasted text (bracketed paste, DEC mode 2004).
PASTE_BEGINS, PASTE_ENDS = "\x1b[200~", "\x1b[201~"

_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]P_^X][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])?")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def cleaned(pasted: str) -> str:
    """Pasted text as it reads: ends of lines as ``\\n``, no sequences of a terminal, no control character but tab."""
    plain = _CONTROL.sub("", _SEQUENCE.sub("", pasted))
    return plain.replace("\r\n", "\n").replace("\r", "\n")


class EscapeParser(XTermParser):
    """Makes two keys of what textual takes for alt and a character, and one text of a paste."""

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._pasted: list[str] | None = None  #: what was pasted so far; None outside of a paste
        self._tail = ""  #: the end of what was read: the sign of a beginning or an end may come in two parts

    def feed(self, data: str) -> Iterable[Message]:
        """The messages of what was read; "" is the end of the input."""
        if not data:
            yield from super().feed(data)
        while data:
            text = self._tail + data
            sign = PASTE_BEGINS if self._pasted is None else PASTE_ENDS
            at = text.find(sign)
            end = at + len(sign) - len(self._tail) if at >= 0 else len(data)  # of what is read now
            if self._pasted is None:
                yield from super().feed(data[:end])  # textual is told of the paste too: it looks for answers of the terminal
                self._pasted = [] if at >= 0 else None
            elif at >= 0:
                whole = cleaned("".join((*self._pasted, text[:at])))
                self._pasted = None
                yield from (event for event in super().feed(PASTE_ENDS) if not isinstance(event, Paste))  # its own is empty
                yield Paste(whole)
            else:
                self._pasted.append(text[: 1 - len(sign)])
            self._tail = "" if at >= 0 else text[1 - len(sign) :]
            data = data[end:]

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[Key]:
        if alt or (len(sequence) == 2 and sequence[0] == ESCAPE and sequence[1] not in OPENING):
            yield Key("escape", ESCAPE)
            yield from super()._sequence_to_key_events(sequence[-1])
        else:
            yield from super()._sequence_to_key_events(sequence)
