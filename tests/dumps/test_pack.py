"""The format: what goes in comes out, damage is one line, and nothing that somebody made up does harm."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import subprocess
import sys
import zlib
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hangview.dumps import pack
from hangview.dumps.assemble import assemble
from hangview.dumps.bundles import Unusable
from hangview.dumps.decoded import BOOL_COLUMNS, ID_COLUMNS, INT_COLUMNS, NONE, Decoded, RawConfig, RawStatus
from hangview.dumps.facts import facts_of
from hangview.dumps.find import Found, find
from hangview.dumps.pack import Row
from hangview.dumps.read import read_file
from hangview.dumps.result import FileRead
from hangview.schema import Limits, ReadOptions, Signature, SourceKind, SourceStatus, StackFrame, Thread
from tests.dumps.job import plain, write
from tests.dumps.test_bundles import tar

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OPTIONS = ReadOptions(cache=False)
LIMITS = OPTIONS.limits
TABLES = {"op": "ops", "label": "labels", "signature": "signatures", "stack": "stacks", "thread": "threads"}
HEAD = [field.name for field in fields(Decoded) if field.name not in {"columns", *TABLES.values()}]


def rows_in(folder: Path) -> list[Row]:
    return [
        Row(file, "ab" * 32, found.size) for found in find([str(folder)], OPTIONS).dumps for file in read_file(found, LIMITS)
    ]


@pytest.fixture
def rows(tmp_path):
    """Two dumps and a file that is refused."""
    for rank in range(2):
        write(tmp_path / "job" / f"rank_{rank}", plain(2, count=5 + rank))
    (tmp_path / "job" / "rank_2").write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    return rows_in(tmp_path / "job")


def values(decoded: Decoded) -> dict[str, list[Any]]:
    """The columns with what their ids stand for."""
    out: dict[str, list[Any]] = {}
    for name in (*INT_COLUMNS, *BOOL_COLUMNS, "state"):
        out[name] = decoded.columns[name].tolist()
    out["duration_ms"] = [None if value != value else value for value in decoded.columns["duration_ms"].tolist()]
    for name in ID_COLUMNS:
        table = getattr(decoded, TABLES[name])
        out[name] = [table[i] for i in decoded.columns[name].tolist()]
    return out


def same(one: FileRead, other: FileRead) -> bool:
    if (one.decoded is None) != (other.decoded is None) or replace(one, decoded=None) != replace(other, decoded=None):
        return False
    if one.decoded is None or other.decoded is None:
        return True
    heads = [[getattr(decoded, name) for name in HEAD] for decoded in (one.decoded, other.decoded)]
    return heads[0] == heads[1] and values(one.decoded) == values(other.decoded)


def test_what_comes_out_is_what_went_in(rows):
    got = pack.read(pack.write(rows, LIMITS), LIMITS)
    assert len(got.rows) == len(rows) == 3
    assert all(same(a.file, b.file) for a, b in zip(rows, got.rows, strict=True))
    assert [(row.sha256, row.whole) for row in got.rows] == [(row.sha256, row.whole) for row in rows]
    assert got.rows[2].file.status is SourceStatus.REFUSED


def test_the_same_sources_give_the_same_bytes(rows):
    assert pack.write(rows, LIMITS) == pack.write(rows, LIMITS)


def test_a_pack_of_nothing():
    assert pack.read(pack.write([], LIMITS), LIMITS).rows == ()


# --- any decoded dump

INT64 = st.integers(NONE, 2**63 - 1)
TEXT = st.text(st.characters(), max_size=8)  # surrogates too: a dump in JSON may hold them


@st.composite
def dumps(draw: st.DrawFn) -> Decoded:
    number = draw(st.integers(0, 6))
    frame = st.builds(StackFrame, TEXT, TEXT, st.integers(-1, 99_999))
    sizes = st.lists(st.lists(st.integers(0, 2**40), max_size=3).map(tuple), max_size=2).map(tuple)
    dtypes = st.none() | st.lists(TEXT, max_size=2).map(tuple)
    tables: dict[str, st.SearchStrategy[list[Any]]] = {
        "ops": st.lists(TEXT, min_size=1, max_size=3),
        "labels": st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=3),
        "signatures": st.lists(st.builds(Signature, sizes, dtypes, sizes, dtypes), min_size=1, max_size=3),
        "stacks": st.lists(st.lists(frame, max_size=3).map(tuple), max_size=2).map(lambda stacks: [(), *stacks]),
        "threads": st.lists(st.builds(Thread, TEXT, TEXT), min_size=1, max_size=2),
    }
    made: dict[str, Any] = {name: tuple(draw(table)) for name, table in tables.items()}

    def column(of: st.SearchStrategy[Any], kind: str) -> Any:
        return np.array(draw(st.lists(of, min_size=number, max_size=number)), kind)

    columns = {name: column(INT64, "<i8") for name in INT_COLUMNS}
    columns |= {name: column(st.booleans(), "|b1") for name in BOOL_COLUMNS}
    columns |= {name: column(st.integers(0, len(made[TABLES[name]]) - 1), "<u4") for name in ID_COLUMNS}
    columns |= {"state": column(st.integers(0, 3), "|u1")}
    columns |= {"duration_ms": column(st.just(float("nan")) | st.floats(allow_nan=False), "<f8")}
    count = st.none() | INT64
    ranks = st.lists(st.integers(0, 2**31 - 1), max_size=4).map(tuple)
    return Decoded(
        complete=draw(st.booleans()),
        encoding=draw(TEXT),
        version=draw(st.none() | TEXT),
        library=draw(st.none() | TEXT),
        configs=tuple(draw(st.lists(st.builds(RawConfig, TEXT, TEXT, TEXT, ranks), max_size=3))),
        statuses=tuple(draw(st.lists(st.builds(RawStatus, INT64, count, count, count), max_size=2))),
        count=number,
        columns=columns,
        has_entries_key=draw(st.booleans()),
        unknown_keys=tuple(draw(st.lists(TEXT, max_size=2))),
        notes=tuple(draw(st.lists(TEXT, max_size=2))),
        **made,
    )


def row_of(decoded: Decoded, i: int) -> Row:
    found = Found(f"/tmp/rank_{i}", f"rank_{i}", SourceKind.DUMP, 10, 20, 30)
    status = SourceStatus.READ if decoded.complete else SourceStatus.CUT
    return Row(FileRead(found, SourceKind.DUMP, status, None, decoded, facts_of(decoded)), None, 10)


@settings(max_examples=60, deadline=None)
@given(st.lists(dumps(), max_size=3))
def test_any_dump_comes_out_as_it_went_in(several):
    rows = [row_of(decoded, i) for i, decoded in enumerate(several)]
    got = pack.read(pack.write(rows, LIMITS), LIMITS).rows
    assert len(got) == len(rows)
    assert all(same(a.file, b.file) for a, b in zip(rows, got, strict=True))


# --- damage


def test_every_flipped_byte_is_noticed(rows):
    data = pack.write(rows, LIMITS)
    for at in range(0, len(data), max(1, len(data) // 200)):
        damaged = bytearray(data)
        damaged[at] ^= 0x10
        with pytest.raises(Unusable, match=r"damaged|no pack"):
            pack.read(bytes(damaged), LIMITS)


def opened(path: Path, limits: Limits = LIMITS) -> FileRead:
    """The only line that a file gives."""
    (found,) = find([str(path)], OPTIONS).dumps
    (file,) = read_file(found, limits)
    return file


@pytest.mark.parametrize("keep", [1, 4, 200, -1, -9])
def test_a_pack_that_ends_early_is_one_line(rows, tmp_path, keep):
    path = tmp_path / "a.hvpack"
    path.write_bytes(pack.write(rows, LIMITS)[:keep])
    file = opened(path)
    assert (file.kind, file.status, file.reason) == (SourceKind.OTHER, SourceStatus.UNREADABLE, "a damaged pack: it ends early")


def test_an_empty_one_is_an_empty_file(tmp_path):
    (tmp_path / "a.hvpack").write_bytes(b"")
    assert opened(tmp_path / "a.hvpack").status is SourceStatus.EMPTY


def test_a_parquet_file_of_somebody_else_is_left_alone(tmp_path):
    for name, words in (
        ("table", "not a flight-recorder dump; a pack by its name ends in .hvpack"),
        ("table.hvpack", "a parquet file, but no pack of hangview"),
    ):
        pl.DataFrame({"a": [1]}).write_parquet(tmp_path / name)
        file = opened(tmp_path / name)
        assert (file.status, file.reason) == (SourceStatus.IGNORED, words)


def test_a_pack_inside_a_bundle_is_not_opened(rows, tmp_path):
    (tmp_path / "all.tar").write_bytes(tar({"a.hvpack": pack.write(rows, LIMITS)}))
    file = opened(tmp_path / "all.tar")
    assert (file.status, file.reason) == (SourceStatus.UNREADABLE, "a pack inside a bundle: unpack it to have it read")


# --- limits


def test_a_file_past_the_limit_is_refused(rows, tmp_path):
    path = tmp_path / "a.hvpack"
    path.write_bytes(pack.write(rows, LIMITS))
    file = opened(path, replace(LIMITS, unpacked_bytes=1000))
    assert file.status is SourceStatus.REFUSED
    assert "more than the limit of 1.0 kB; --max-file-size raises it" in (file.reason or "")


def test_entries_past_the_limit_are_refused_before_they_are_unpacked(tmp_path):
    write(tmp_path / "job" / "rank_0", plain(1, count=400))
    data = pack.write(rows_in(tmp_path / "job"), LIMITS)
    limit = 400 * pack.ENTRY - 1
    assert len(data) < limit
    with pytest.raises(Unusable, match=r"^400 entries, .* unpacked, more than the limit of .*; --max-file-size raises it$"):
        pack.read(data, replace(LIMITS, unpacked_bytes=limit))
    assert len(pack.read(data, replace(LIMITS, unpacked_bytes=limit + 1)).rows) == 1


def test_a_source_with_too_many_entries_is_refused_alone(rows):
    got = pack.read(pack.write(rows, LIMITS), replace(LIMITS, entries=5)).rows
    assert [row.file.status for row in got] == [SourceStatus.READ, SourceStatus.REFUSED, SourceStatus.REFUSED]
    assert got[1].file.reason == "has 6 entries, more than the limit of 5; --max-entries raises it"
    assert got[1].file.decoded is None


def test_a_ledger_that_unpacks_to_more_than_the_limit_is_refused(rows):
    data = forged(rows, lambda ledger: ledger | {"padding": "x" * 100_000})
    with pytest.raises(Unusable, match="its ledger is more than the limit"):
        pack.read(data, replace(LIMITS, file_bytes=50_000))


# --- packs that somebody made up


def sealed(frame: pl.DataFrame, told: str) -> bytes:
    """A pack by the description of the format, with the right checksum."""
    out = io.BytesIO()
    frame.write_parquet(out, metadata={"hangview.checksum": "hangview blake2b " + "0" * 32, "hangview.ledger": told})
    data = out.getvalue()
    return data.replace(b"blake2b " + b"0" * 32, b"blake2b " + hashlib.blake2b(data, digest_size=16).hexdigest().encode())


def ledger_of(data: bytes) -> dict[str, Any]:
    told = pl.read_parquet_metadata(io.BytesIO(data))["hangview.ledger"]
    ledger: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(told)))
    return ledger


def coded(ledger: Any) -> str:
    return base64.b64encode(zlib.compress(json.dumps(ledger).encode())).decode()


def forged(
    rows: list[Row], change: Callable[[Any], Any] = lambda x: x, columns: Callable[[pl.DataFrame], pl.DataFrame] = lambda x: x
) -> bytes:
    data = pack.write(rows, LIMITS)
    return sealed(columns(pl.read_parquet(io.BytesIO(data))), coded(change(ledger_of(data))))


def test_the_format_is_as_described(rows):
    assert len(pack.read(forged(rows), LIMITS).rows) == 3


def put(value: Any, *path: Any) -> Callable[[Any], Any]:
    def change(ledger: Any) -> Any:
        at = ledger
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = value
        return ledger

    return change


@pytest.mark.parametrize(
    "change",
    [
        put("log", "sources", 2, "kind"),  # would be read by its path
        put("read", "sources", 2, "status"),
        put("superseded", "sources", 2, "status"),
        put(True, "sources", 0, "listed"),
        put(10**30, "sources", 0, "size"),
        put(4, "sources", 0, "dump", "entries"),
        put(-5, "sources", 0, "dump", "entries"),
        put([["0", "0", "default_pg", -1]], "sources", 0, "dump", "configs"),
        put([[10**40, 1, 1, 1]], "sources", 0, "dump", "statuses"),
        put([[1, 2]], "sources", 0, "dump", "statuses"),
        put([-1], "tables", "stacks", 1),
        put([0], "tables", "stacks", 0),
        put([], "tables", "ops"),
        put([5], "tables", "ops"),
        put(None, "tables"),
        put([[2**40]], "members"),
        put("x", "limits"),
        lambda ledger: [ledger],
        lambda ledger: {key: value for key, value in ledger.items() if key != "sources"},
    ],
)
def test_a_ledger_that_was_made_up_is_one_line(rows, change):
    with pytest.raises(Unusable, match=r"^no pack that hangview has written \(\w+\)$"):
        pack.read(forged(rows, change), LIMITS)


@pytest.mark.parametrize(
    "columns",
    [
        lambda frame: frame.drop("op"),
        lambda frame: frame.head(3),
        lambda frame: frame.with_columns(pl.col("op") + 1),
        lambda frame: frame.with_columns(pl.col("stack") + 2**31),
        lambda frame: frame.with_columns(op=pl.lit(None, pl.UInt32)),
        lambda frame: frame.with_columns(seq=pl.lit("x")),
        lambda frame: frame.with_columns(state=pl.lit(1, pl.Int64)),
        lambda frame: frame.with_columns(retired=pl.lit(None, pl.Boolean)),
    ],
)
def test_columns_that_were_made_up_are_one_line(rows, columns):
    with pytest.raises(Unusable, match=r"^no pack that hangview has written"):
        pack.read(forged(rows, columns=columns), LIMITS)


def test_bytes_that_are_no_parquet_with_the_right_checksum():
    blank = b"PAR1" + b"hangview blake2b " + b"0" * 32 + b"\x00" * 40 + b"\x20\0\0\0PAR1"
    data = blank.replace(b"0" * 32, hashlib.blake2b(blank, digest_size=16).hexdigest().encode())
    with pytest.raises(Unusable, match=r"^no pack that hangview has written"):
        pack.read(data, LIMITS)


def test_a_later_format_says_what_to_do(rows):
    with pytest.raises(Unusable, match=r"written by hangview 9\.9: update this one"):
        pack.read(forged(rows, lambda ledger: ledger | {"format": 2, "hangview": "9.9"}), LIMITS)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4), lambda x: st.lists(x, max_size=3)
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, one in inner for place in places(one, (*path, key)))]


#: Of a pack with the right checksum; read in a process of its own, because polars writes a backtrace or ends its program.
FUZZ = """
import sys, random, hashlib, pathlib, collections
from hangview.dumps import pack
from hangview.dumps.bundles import Unusable
from hangview.schema import Limits
good = pathlib.Path(sys.argv[1]).read_bytes()
mark, foot = b"hangview blake2b ", len(good) - 8 - int.from_bytes(good[-8:-4], "little")
outcomes = collections.Counter()
for number in range(200):
    dice, data = random.Random(number), bytearray(good)
    at = dice.randrange(4, foot) if number % 2 else dice.randrange(foot, foot + 1500)
    data[at : at + 1 + number % 5] = dice.randbytes(1 + number % 5)
    place = data.rfind(mark) + len(mark)
    data[place : place + 32] = b"0" * 32
    data[place : place + 32] = hashlib.blake2b(data, digest_size=16).hexdigest().encode()
    try:
        outcomes["read"] += bool(pack.read(bytes(data), Limits()))
    except Unusable as error:
        outcomes[str(error).partition(" (")[0]] += 1
print(sorted(outcomes))
"""


def test_damage_with_the_right_checksum_is_one_line(rows, tmp_path):
    (tmp_path / "x.hvpack").write_bytes(pack.write(rows, LIMITS))
    done = subprocess.run([sys.executable, "-c", FUZZ, str(tmp_path / "x.hvpack")], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "['no pack that hangview has written', 'read']\n"), done.stderr[-2000:]


@pytest.fixture(scope="module")
def seed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("job")
    for rank in range(2):
        write(folder / f"rank_{rank}", plain(2, count=3))
    data = pack.write(rows_in(folder), LIMITS)
    return pl.read_parquet(io.BytesIO(data)), json.dumps(ledger_of(data)), places(ledger_of(data))[1:]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_whatever_a_ledger_says_it_is_refused_or_assembled(seed, data):
    frame, text, where = seed
    ledger = put(data.draw(JSON), *data.draw(st.sampled_from(where)))(json.loads(text))
    try:
        rows = pack.read(sealed(frame, coded(ledger)), LIMITS).rows
    except Unusable:
        return
    found = assemble([replace(row.file, pack="a.hvpack") for row in rows], [], OPTIONS)
    assert found.entries.height <= 6
