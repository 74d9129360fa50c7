"""Lines of toned words: wrapping, clipping, ASCII, and that control characters from outside come out escaped."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from hangview.tui.prose import Line, Span, Tone, clip, field, item, line, pad, plain, shorten_to, to_ascii, wrap


def texts(rows: list[Line]) -> list[str]:
    return [row.text for row in rows]


def test_wraps_at_blanks_with_a_hanging_indent():
    assert texts(wrap([item("one two three four")], 10)) == ["· one two", "  three", "  four"]


def test_keeps_tones_over_the_break():
    rows = wrap([line(("LOOK FIRST ", Tone.LEAD), ("rank 3 waits", Tone.STRONG), hang=4)], 16)
    assert texts(rows) == ["LOOK FIRST rank", "    3 waits"]
    assert rows[0].spans == (Span("LOOK FIRST ", Tone.LEAD), Span("rank", Tone.STRONG))
    assert rows[1].spans == (Span("    ", Tone.PLAIN), Span("3 waits", Tone.STRONG))


def test_cuts_a_word_that_is_longer_than_a_row():
    assert texts(wrap([line("abcdefghij")], 4)) == ["abcd", "efgh", "ij"]


def test_wide_characters_count_double():
    assert texts(wrap([line("日本語 日本")], 6)) == ["日本語", "日本"]


def test_hang_that_leaves_no_room_is_dropped():
    assert texts(wrap([field("name", "value")], 8)) == ["name", "value"]


def test_where_it_leaves_no_room_what_follows_still_does_not_look_like_a_line_of_its_own():
    rows = wrap([line("not requested  19  dump is whole, newest entry is 6", hang=39)], 40)
    assert texts(rows) == ["not requested  19  dump is whole, newest", "  entry is 6"]


@given(st.text(max_size=60), st.integers(1, 30), st.integers(0, 12))
def test_no_row_is_wider_than_asked_and_no_word_is_lost(text, width, hang):
    each = line(text, hang=hang)
    rows = wrap([each], width)
    # one cell cannot hold a character that is two wide: it is drawn anyway
    assert all(row.width <= max(width, 2) for row in rows)
    assert "".join("".join(texts(rows)).split()) == "".join(each.text.split())


@given(st.text(max_size=60), st.integers(0, 30))
def test_clip_never_passes_the_width(text, width):
    assert clip(line(text), width).width <= width


def test_clip_says_that_something_is_missing():
    assert clip(line("rank 37 waits"), 8).text == "rank 37…"
    assert clip(line("rank 37"), 7).text == "rank 37"


@given(st.text(max_size=200), st.integers(4, 30), st.integers(1, 3))
def test_shortened_lines_take_no_more_rows_than_asked(text, width, most):
    assert len(wrap((shorten_to(line(text), width, most),), width)) <= most


def test_shortened_lines_fill_their_rows():
    text = "a" * 20 + " " + "b" * 20 + " " + "c" * 20
    assert texts(wrap((shorten_to(line(text), 20, 2),), 20)) == ["a" * 20, "b" * 19 + "…"]
    assert texts(wrap((shorten_to(line(text), 20, 2, "..."),), 20)) == ["a" * 20, "b" * 17 + "..."]


def test_shortened_lines_say_so():
    assert texts(wrap((shorten_to(line("one two three four five"), 9, 2),), 9)) == ["one two", "three fo…"]
    assert shorten_to(line("one two"), 9, 2).text == "one two"


def test_control_characters_come_out_escaped():
    assert line("a\x1b[31mb\u202ec\n").text == "a\\x1b[31mb\\u202ec\\n"


def test_plain_drops_blanks_at_ends():
    assert plain((line("a  "), Line(), line("b"))) == "a\n\nb\n"


def test_pad_always_leaves_a_blank():
    assert pad("ab", 4) == "ab  "
    assert pad("abcd", 4) == "abcd "
    assert cell_len(pad("日", 4)) == 4


def test_ascii_spells_our_own_signs_and_escapes_the_rest():
    assert to_ascii("3 × Float → out · ±0.2 s… 日") == "3 x Float -> out | +-0.2 s... \\u65e5"
    assert to_ascii("plain") == "plain"


def test_a_path_is_broken_at_its_slashes_and_never_inside_the_line_number():
    rows = [row.text for row in wrap((line("megatron/core/optimizer/optimizer.py:198"),), 18)]
    assert rows == ["megatron/core/", "optimizer/", "optimizer.py:198"]
    assert [row.text for row in wrap((line("a/training.py:1299"),), 16)] == ["a/training.py", ":1299"]
    assert [row.text for row in wrap((line("x" * 40),), 16)] == ["x" * 16, "x" * 16, "x" * 8]


def test_in_ascii_an_item_of_a_list_is_told_from_what_stands_between_parts():
    assert to_ascii("rank 7 · TP1 6 · not requested") == "rank 7 | TP1 6 | not requested"
    assert to_ascii(" · ") == " | "
    assert to_ascii("· one item · of two parts") == "- one item | of two parts"
    assert to_ascii("  · deeper") == "  - deeper"
