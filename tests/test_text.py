import pytest

from hangview import text


@pytest.mark.parametrize(
    ("ranks", "folded"),
    [
        ([0, 1, 2, 8], "0-2,8"),
        ([8, 2, 1, 0], "0-2,8"),
        ([3, 3, 3], "3"),
        ([0, 1], "0-1"),
        ([], ""),
        (range(1024), "0-1023"),
        ([0, 2, 4], "0,2,4"),
    ],
)
def test_ranks_are_folded_whatever_their_order(ranks, folded):
    assert text.fold_ranks(ranks) == folded


def test_a_limit_keeps_a_scattered_list_short_and_says_how_many_there_are():
    assert text.fold_ranks(range(0, 1024, 2), limit=3) == "0,2,4,… (512 ranks)"
    assert text.fold_ranks([0, 1, 2, 8], limit=2) == "0-2,8"


def test_naming_ranks():
    assert text.name_ranks([3]) == "rank 3"
    assert text.name_ranks([2, 0, 1]) == "ranks 0-2"
    assert text.name_ranks([]) == "no rank"


def test_parsing_undoes_folding():
    ranks = (0, 1, 2, 8, 10, 11)
    assert text.parse_ranks(text.fold_ranks(ranks)) == ranks
    assert text.parse_ranks(" 4 - 6 , 1 ") == (1, 4, 5, 6)
    assert text.parse_ranks("") == ()


@pytest.mark.parametrize("bad", ["x", "3-1", "1-", "-1", "1..4", "0-99999999", "²"])
def test_parsing_refuses_what_is_no_rank_list(bad):
    with pytest.raises(ValueError, match="rank"):
        text.parse_ranks(bad)


@pytest.mark.parametrize(
    ("raw", "safe"),
    [
        ("all_reduce", "all_reduce"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\x9b2J", "\\x9b2J"),
        ("abc\u202ecba", "abc\\u202ecba"),
        ("\udcff.txt", "\\udcff.txt"),
        ("\u2028", "\\u2028"),
        ("\U000e0041", "\\U000e0041"),
        ("größe → 5×", "größe → 5×"),
    ],
)
def test_control_characters_are_escaped_and_nothing_else(raw, safe):
    assert text.escape(raw) == safe
    text.escape(raw).encode()


def test_shortening():
    assert text.shorten("abcdef", 6) == "abcdef"
    assert text.shorten("abcdef", 4) == "abc…"
    assert text.shorten("abcdef", 0) == ""


def test_counts_and_sizes():
    assert text.count(1, "file") == "1 file"
    assert text.count(1024, "file") == "1,024 files"
    assert text.count(2, "entry", "entries") == "2 entries"
    assert text.size(0) == "0 bytes"
    assert text.size(1) == "1 byte"
    assert text.size(999) == "999 bytes"
    assert text.size(1_234_567) == "1.2 MB"
    assert text.size(999_960) == "1.0 MB"
    assert text.size(347_000_000) == "347 MB"


def test_the_natural_order_takes_numbers_as_numbers_and_is_total():
    assert sorted(["rank_10", "rank_9", "rank_9b", "rank_012", "rank_11"], key=text.natural) == [
        "rank_9",
        "rank_9b",
        "rank_10",
        "rank_11",
        "rank_012",
    ]
    names = ["a10", "a2", "a", "", "10", "9", "a02", "a2b", "0", "00", "٣"]
    assert len({text.natural(name) for name in names}) == len(names)
    assert sorted(["٣", "a", "1"], key=text.natural)[0] == "1"  # digits of other scripts do no harm
    assert text.natural("9" * 10_000) < text.natural("1" + "0" * 10_000)
