"""What a terminal sends becomes the keys that were pressed."""

from __future__ import annotations

import pytest
from textual.events import Key, Paste

from hangview.tui.escape import EscapeParser, cleaned


def keys_of(sent: str) -> list[str]:
    """The names of the keys that come out, with the end of the input standing for a pause."""
    parser = EscapeParser()
    return [event.key for part in (sent, "") for event in parser.feed(part) if isinstance(event, Key)]


@pytest.mark.parametrize("char", [*"0123456789-=", *"abfnqswEN", "/", "?", ":", " "])
def test_a_character_right_after_escape_is_a_key_of_its_own(char):
    alone = keys_of(char)
    assert keys_of(f"\x1b{char}") == ["escape", *alone]


def test_a_field_is_left_and_a_long_text_typed_in_one_write():
    text = "a note that is longer than any sequence that a terminal sends"
    assert keys_of(f"\x1b2\t{text}\x1b\x1bq") == ["escape", "2", "tab", *keys_of(text), "escape", "escape", "q"]
    assert keys_of(f"\x1b\t{text}") == ["escape", "tab", *keys_of(text)]
    assert keys_of(f"\x1b{text}") == ["escape", *keys_of(text)]


@pytest.mark.parametrize(
    ("sent", "key"),
    [
        ("\x1b[A", "up"), ("\x1bOB", "down"), ("\x1b[5~", "pageup"), ("\x1bOP", "f1"), ("\x1b[15~", "f5"),
        ("\x1b[Z", "shift+tab"), ("\x1b[1;5D", "ctrl+left"), ("\t", "tab"), ("\r", "enter"),
    ],
)  # fmt: skip
def test_keys_that_are_sent_as_sequences_stay_what_they_are(sent, key):
    assert keys_of(sent) == [key]


COLOURED = "\r".join(
    f"\x1b[1;31mERROR\x1b[0m rank {number}: \x1b]8;;http://x\x07link\x1b]8;;\x07 \x1b[K" for number in range(300)
)
PLAIN = "\n".join(f"ERROR rank {number}: link " for number in range(300))


@pytest.mark.parametrize("piece", [1, 3, 7, 64, 4096, 1_000_000])
def test_a_paste_of_coloured_lines_is_one_text_without_colours(piece):
    sent = f"a\x1b[200~{COLOURED}\x1b[201~b\x1b[200~c\x1b[201~\x1b[A"
    parser = EscapeParser()
    events = [event for at in range(0, len(sent), piece) for event in parser.feed(sent[at : at + piece])]
    events += parser.feed("")
    told = [event.text if isinstance(event, Paste) else event.key for event in events if isinstance(event, Paste | Key)]
    assert told == ["a", PLAIN, "b", "c", "up"]


@pytest.mark.parametrize(
    ("pasted", "reads"),
    [
        ("two\r\nlines\n", "two\nlines\n"),
        ("a\tb", "a\tb"),
        ("nul\x00bel\x07", "nulbel"),
        ("é→\x9b", "é→"),
        ("end \x1b", "end "),
    ],
)
def test_what_was_pasted_reads_as_it_did(pasted, reads):
    assert cleaned(pasted) == reads
