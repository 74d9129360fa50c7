"""Pickles that end early: every whole entry is kept, nothing is made up."""

from __future__ import annotations

import contextlib
import io
import pickle
import pickletools
from typing import Any

import pytest

from hangview.dumps.decode.rescue import rescue
from hangview.dumps.decoded import Decoded, NotADump, Refused
from tests.dumps.decode.sample import check, dump, expected, read, rows
from tests.dumps.decode.test_torch import version_1_4, version_2_2_list
from tests.support.torch_pickle import dump_bytes


def ends_of_entries(top: Any) -> list[int]:
    """Where each entry's bytes are over: writing the dump with one entry fewer ends where the entry starts."""
    entries = top["entries"] if isinstance(top, dict) else top
    position = list(top).index("entries") if isinstance(top, dict) else 0
    ends = []
    full = dump_bytes(top)
    for n in range(1, len(entries) + 1):
        if isinstance(top, dict):
            part = {k: (v if k != "entries" else entries[:n]) for k, v in list(top.items())[: position + 1]}
        else:
            part = entries[:n]
        ends.append(ends_like(full, dump_bytes(part)))
    return ends


def ends_like(full: bytes, part: bytes) -> int:
    """Length of the part's bytes up to its last SETITEMS of an entry, in the full file.

    Frames that occur once in the part and again later are memoised in the full file only, so lengths differ: go by opcodes.
    """
    stop = sum(1 for op, _, _ in pickletools.genops(part) if op.name in ("SETITEMS", "APPENDS", "TUPLE2"))
    closing = 2 if part[2:3] == b"}" else 1  # of the list (and the root) behind the last entry
    seen = 0
    for op, _, pos in pickletools.genops(full):
        if op.name in ("SETITEMS", "APPENDS", "TUPLE2"):
            seen += 1
            if seen == stop - closing:
                return (pos or 0) + 1
    raise AssertionError("no such entry")


@pytest.mark.parametrize(
    "make", [lambda: dump(4), lambda: dump(2, stacks=False), lambda: version_1_4(3), lambda: version_2_2_list(3)]
)
def test_cut_anywhere(make):
    top = make()
    data = dump_bytes(top)
    entries = top["entries"] if isinstance(top, dict) else top
    ends = ends_of_entries(top)
    wanted = [expected(e) for e in entries]
    for cut in range(2, len(data)):
        decoded = read(data[:cut])
        assert not decoded.complete
        assert rows(decoded) == wanted[: sum(end <= cut for end in ends)]
        assert not decoded.notes


def test_cut_anywhere_in_a_large_one():
    """The fast way; every seventh cut of the last entries, and some from everywhere."""
    top = dump(60)
    data = dump_bytes(top)
    ends = ends_of_entries(top)
    wanted = [expected(e) for e in top["entries"]]
    for cut in (*range(200, len(data) - 600, 811), *range(len(data) - 600, len(data), 17)):
        decoded = read(data[:cut])
        assert not decoded.complete
        assert rows(decoded) == wanted[: sum(end <= cut for end in ends)]


def test_header_values_before_the_cut_are_kept():
    data = dump_bytes(dump(3))
    decoded = read(data[: data.index(b"entries")])
    assert (decoded.version, decoded.library, len(decoded.configs), len(decoded.statuses)) == ("2.10", "2.27.7", 2, 2)
    assert not decoded.has_entries_key
    decoded = read(data[: data.index(b"comm_lib")])
    assert (decoded.version, decoded.library, len(decoded.configs)) == ("2.10", None, 2)
    decoded = read(data[: data.index(b"tp")])
    assert [c.name for c in decoded.configs] == ["0"]
    assert read(data[:5]).version is None


def test_one_byte_is_no_dump():
    with pytest.raises(NotADump):
        read(b"\x80")


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("count", [1, 3, 1001])
def test_python_pickles_cut_anywhere(protocol, count):
    """What is kept must be a beginning of what was there; an entry is kept as soon as its last item is set."""
    top = dump(count, stacks=count < 10)
    buffer = io.BytesIO()
    pickle._Pickler(buffer, protocol).dump(top)  # no framing games of the C writer
    data = buffer.getvalue()
    wanted = [expected(e) for e in top["entries"]]
    kept = -1
    for cut in range(40, len(data), 1 if count == 1 else 5 if count < 10 else len(data) // 6):
        try:
            decoded = read(data[:cut])
        except NotADump:
            assert kept < 0  # only before the first header value
            continue
        assert not decoded.complete
        assert decoded.count >= kept
        kept = decoded.count
        assert rows(decoded) == wanted[:kept]
    assert read(data[:-2]).count == count


def test_pickled_bytes_cut_anywhere():
    top = dump(4)
    inner = dump_bytes(top)
    data = pickle.dumps(inner, 4)
    begin = data.index(inner)
    for cut in range(begin + 2, len(data), 3):
        decoded = read(data[:cut])
        assert not decoded.complete
        n = min(cut - begin, len(inner))
        assert rows(decoded) == rows(read(inner[:n]))


@pytest.mark.parametrize("zeros", [16, 4096])
def test_a_tail_that_was_never_written(zeros):
    top = dump(60)
    data = dump_bytes(top)
    for cut in (len(data) // 2, len(data) - 1, len(data) - 50):
        decoded = read(data[:cut] + b"\0" * zeros)
        assert not decoded.complete
        assert any("zeros" in note for note in decoded.notes)
        assert rows(decoded) == rows(read(data[:cut].rstrip(b"\0")))
    with pytest.raises(NotADump):
        read(b"\0" * zeros)


@pytest.mark.parametrize("count", [5, 80])
def test_damage_keeps_what_came_before_and_says_so(count):
    top = dump(count)
    data = dump_bytes(top)
    end = ends_of_entries(top)[count // 2]
    decoded = read(data[:end] + b"\xff" + data[end + 1 :])
    assert not decoded.complete
    assert len(decoded.notes) == 1
    assert "damaged" in decoded.notes[0]
    check(decoded, top["entries"][: count // 2 + 1])


@pytest.mark.parametrize("count", [4, 60])
def test_flipped_bytes_never_do_anything_else(count):
    """Whatever happens to a byte: a dump or one of the two errors; and if it is whole, then what Python reads."""
    data = dump_bytes(dump(count))
    step = 5 if count < 10 else 111
    for at in range(0, len(data), step):
        for value in (data[at] ^ 1, data[at] ^ 0x80, 0x63, 0x2E, 0xFF):
            flipped = data[:at] + bytes((value,)) + data[at + 1 :]
            try:
                decoded = read(flipped)
            except (NotADump, Refused):
                continue
            assert isinstance(decoded, Decoded)
            if decoded.complete:
                check_like_python(decoded, flipped)


def check_like_python(decoded: Decoded, data: bytes) -> None:
    try:
        top = pickle.loads(data)
    except Exception:  # a memo id or bad UTF-8 that we read and Python does not
        return
    entries = top if isinstance(top, list) else top.get("entries", [])
    for e in entries:
        if isinstance(e.get("state"), (dict, list)) or not isinstance(e.get("process_group", ()), tuple):
            return  # a reference to another object: we read it as "other"
    with contextlib.suppress(KeyError, TypeError, AttributeError, ValueError):  # our own reading of a value of another kind
        check(decoded, entries)


@pytest.mark.parametrize(
    "value", [[], [1, 2], {}, {"a": 1}, 5, None, "text", b"bytes", ("entries",), {"entries": [1]}, {"entries": 4}]
)
@pytest.mark.parametrize("protocol", [2, 4])
def test_pickles_of_something_else(value, protocol):
    if type(value) is bytes and protocol == 2:
        pytest.skip("protocol 2 has no bytes")
    with pytest.raises(NotADump):
        read(pickle.dumps(value, protocol))


class _NoCopies(list[Any]):
    """A stack of which no part may be copied at every step: of millions of items that would take hours."""

    def __getitem__(self, at: Any) -> Any:
        assert not isinstance(at, slice)
        return super().__getitem__(at)


def test_what_is_left_of_a_header_without_end_is_looked_at_once():
    pending = _NoCopies(range(10))
    assert rescue([[{}], pending]) == {0: 1, 2: 3, 4: 5, 6: 7, 8: 9}
