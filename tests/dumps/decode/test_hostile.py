"""Files that were made to harm: nothing is run, nothing is imported, and it is said quickly what they ask for."""

from __future__ import annotations

import os
import pickle
import re
import resource
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hangview
from hangview.dumps.decode import machine
from hangview.dumps.decoded import Decoded, NotADump, Refused
from tests.dumps.decode.sample import LIMITS, dump, read
from tests.support.torch_pickle import dump_bytes


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value.encode()


HEADER = b"\x80\x02}(" + text("version") + b"q\x00" + text("2.10") + b"q\x01" + text("entries") + b"q\x02"
TOUCH = text("touch marker")

CODE = {
    "global": (b"\x80\x02cposix\nsystem\n" + TOUCH + b"\x85R.", "asks for posix.system"),
    "os": (b"\x80\x02cos\nsystem\n" + TOUCH + b"\x85R.", "asks for os.system"),
    "eval": (b"\x80\x02cbuiltins\neval\n" + TOUCH + b"\x85R.", "asks for builtins.eval"),
    "stack_global": (b"\x80\x04\x8c\x05posix\x8c\x06system\x93" + TOUCH + b"\x85R.", "asks for posix.system"),
    "stack_global_of_nothing": (b"\x80\x04\x93.", "asks for a class"),
    "stack_global_of_numbers": (b"\x80\x04K\x01K\x02\x93.", "asks for a class"),
    "inst": (b"\x80\x02(" + TOUCH + b"iposix\nsystem\n.", "asks for posix.system"),
    "obj": (b"\x80\x02(cposix\nsystem\n" + TOUCH + b"o.", "asks for posix.system"),
    "reduce": (b"\x80\x02" + TOUCH + b"\x85R.", "asks for a call"),
    "build": (b"\x80\x02}}(" + text("__setstate__") + text("a") + b"ub.", "asks for an object's state"),
    "newobj": (b"\x80\x02N)\x81.", "asks for an object"),
    "newobj_ex": (b"\x80\x04N)}\x92.", "asks for an object"),
    "ext1": (b"\x80\x02\x82\x01.", "asks for a registered class"),
    "ext4": (b"\x80\x02\x84\x01\0\0\0.", "asks for a registered class"),
    "persid": (b"\x80\x02Pid\n.", "asks for an external object"),
    "binpersid": (b"\x80\x02" + text("x") + b"Q.", "asks for an external object"),
    "buffer": (b"\x80\x05\x97.", "asks for an external buffer"),
    "torch": (b"\x80\x02ctorch.jit._pickle\nbuild_intlist\n(](K\x01etR.", "asks for torch.jit._pickle.build_intlist"),
    "text_pickle": (b"cos\nsystem\n(S'touch marker'\ntR.", "asks for os.system"),
    "text_inst": (b"(S'touch marker'\nios\nsystem\n.", "asks for os.system"),
    "in_a_dump": (HEADER + b"](}(" + text("record_id") + b"cos\nsystem\n" + TOUCH + b"\x85Rueu.", "asks for os.system"),
    "odd_name": (b"\x80\x02c\x1b[31m\nsystem\nN.", "asks for a class"),
}


@pytest.mark.parametrize("name", CODE)
def test_code_is_refused_and_named(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data, words = CODE[name]
    for wrapped in (data, pickle.dumps(data)):
        with pytest.raises(Refused) as error:
            read(wrapped)
        assert words in str(error.value)
        assert str(error.value).isprintable()
    assert not list(tmp_path.iterdir())


class Hostile:
    def __reduce__(self):
        return os.system, ("touch marker",)


@pytest.mark.parametrize("protocol", range(6))
def test_a_real_one_in_every_protocol(protocol, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Refused, match=r"asks for (posix|os)\.system"):
        read(pickle.dumps(Hostile(), protocol))
    top = dump(50)
    top["entries"][25]["extra"] = Hostile()
    if protocol >= 2:
        with pytest.raises(Refused, match=r"asks for (posix|os)\.system"):
            read(pickle.dumps(top, protocol))
    assert not list(tmp_path.iterdir())


def test_code_in_the_middle_of_a_dump_of_torchs_layout(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = dump_bytes(dump(200))
    rows = [m.start() for m in re.finditer(rb"u\}\(h", data)]
    for at in (rows[3], rows[100], rows[-1]):
        for evil in (b"cos\nsystem\n" + TOUCH + b"\x85R", b"\x8c\x02os\x8c\x06system\x93"):
            with pytest.raises(Refused, match=r"asks for os\.system"):
                read(data[: at + 1] + evil + data[at + 1 :])
    assert not list(tmp_path.iterdir())


def test_nothing_in_the_product_knows_pickle():
    """Neither by import nor by what importing the decoder brings in (numpy imports pickle by itself)."""
    root = Path(hangview.__file__).parent
    for path in root.rglob("*.py"):
        assert not re.search(r"^\s*(import|from) +(_?pickle|marshal|shelve|dill|cloudpickle)\b", path.read_text(), re.M), path


CLAIMS = {
    "bytes_4GB": b"\x80\x03B\xff\xff\xff\xff.",
    "bytes8_1TB": b"\x80\x04\x8e" + struct.pack("<Q", 1 << 40) + b".",
    "bytearray8_3GB": b"\x80\x05\x96" + struct.pack("<Q", 3 << 30) + b".",
    "text_4GB": b"\x80\x02X\xff\xff\xff\xff.",
    "text8_1EB": b"\x80\x04\x8d" + struct.pack("<Q", 1 << 60) + b"a.",
    "long4_2GB": b"\x80\x02\x8b\xff\xff\xff\x7f.",
    "frame_3GB": b"\x80\x04\x95" + struct.pack("<Q", 3 << 30) + b"N.",
    "memo_100M": b"\x80\x02Nr" + struct.pack("<I", 100_000_000) + b".",
    "memo_2G": b"\x80\x02Nr" + struct.pack("<I", 2_000_000_000) + b".",
    "memo_text": b"\x80\x02Np1000000000\n.",
    "nested_lists": b"\x80\x02" + b"]" * 200_000 + b"a" * 199_999 + b".",
    "nested_marks": b"\x80\x02" + b"(" * 200_000,
    "nested_containers": b"\x80\x02" + b"](" * 200_000,
    "nested_tuples": b"\x80\x02N" + b"\x85" * 200_000 + b".",
    "nested_tuple_as_a_key": b"\x80\x02}N" + b"\x85" * 200_000 + b"Ns.",
    "nested_tuple_as_a_shape": HEADER + b"](}(" + text("input_sizes") + b"N" + b"\x85" * 200_000 + b"ueu.",
    "laughing_lists": b"\x80\x02](NNeq\x00" + b"".join(b"](h%ch%ceq%c" % (i, i, i + 1) for i in range(60)) + b".",
    "colliding_keys": b"\x80\x02}("
    + b"".join(b"\x8a\x10" + (k * (2**61 - 1)).to_bytes(16, "little", signed=True) + b"N" for k in range(1, 20_001))
    + b"u.",
    "decimal": b"\x80\x02L" + b"9" * 300_000 + b"L\n.",
    "duplicates": b"\x80\x02]" + b"2" * 300_000 + b".",
    "unhashable_key": b"\x80\x02}]Ns.",
    "items_to_none": b"\x80\x02N(NNe.",
    "nothing_to_close": b"\x80\x02eeee" * 50,
    "nothing_on_the_stack": b"\x80\x02q\x00.",
    "pops": b"\x80\x02ssssss" + b"." * 20,
    "bad_utf8": b"\x80\x02X\x02\0\0\0\xff\xfe.",
    "protocol_9": b"\x80\x09}.",
    "zip": b"PK\x03\x04" + b"\0" * 100,
    "text": b"hello world",
    "nothing": b"",
}


@pytest.mark.parametrize("name", CLAIMS)
def test_big_claims_are_turned_down(name):
    with pytest.raises((NotADump, Refused)) as error:
        read(CLAIMS[name])
    assert str(error.value).isprintable()


@pytest.mark.parametrize("tail", [b"X\xff\xff\xff\xff.", b"](h\xffeu." + b"." * 20, b"](" + b"\x8a\xff" + b"\1" * 20])
def test_big_claims_in_a_dump_end_it(tail):
    decoded = read(HEADER + tail)
    assert (decoded.count, decoded.complete) == (0, False)


def entry_with(fields: bytes) -> bytes:
    return HEADER + b"](}(" + text("record_id") + b"K\x01" + fields + b"ueu."


def shared_shapes(dimensions: int, tensors: int) -> bytes:
    """One shape of many dimensions, referred to many times."""
    return entry_with(text("input_sizes") + b"](](" + b"K\x01" * dimensions + b"eq\x03" + b"h\x03" * tensors + b"e")


def shared_entry(keys: int, times: int) -> bytes:
    items = b"".join(text(f"k{i}") + b"N" for i in range(keys))
    return HEADER + b"](}(" + items + text("record_id") + b"K\x01uq\x03" + b"h\x03" * times + b"eu."


def test_shapes_that_repeat_far_beyond_the_file_are_refused():
    with pytest.raises(Refused, match="repeats the same lists"):
        read(shared_shapes(20_000, 200_000))
    assert read(shared_shapes(4, 1000)).count == 1


def test_an_entry_that_is_repeated_costs_no_more_than_its_references():
    decoded = read(shared_entry(20_000, 20_000))
    assert decoded.count == 20_001


def test_shared_stacks_and_dtypes():
    fields = text("frames") + b"](}(" + text("name") + b"q\x03" + text("f") + b"q\x04uq\x05" + b"h\x05" * 5000 + b"e"
    decoded = read(entry_with(fields))
    assert len(decoded.stacks[1]) == 5001
    dtypes = text("input_dtypes") + b"](" + text("Float") + b"q\x03" + b"h\x03" * 5000 + b"e"
    assert len(read(entry_with(dtypes)).signatures[0].input_dtypes or ()) == 5001


def test_what_is_shared_is_looked_at_once(monkeypatch):
    """Ranks of many groups, long names of many entries: by reference they cost a few bytes each."""
    from hangview.dumps.decode import columns, header

    looks: list[Any] = []

    def parse_ranks(value: Any) -> tuple[int, ...]:
        looks.append(value)
        return (0,)

    def clean_text(value: str, key: str, longest: int) -> str:
        looks.append(value)
        return value

    monkeypatch.setattr(header, "parse_ranks", parse_ranks)
    monkeypatch.setattr(columns, "clean_text", clean_text)
    ranks, name = list(range(100)), "é" * 1000
    groups = {str(i): {"name": str(i), "desc": "", "ranks": ranks} for i in range(1000)}
    entries = [{"record_id": i, "profiling_name": name} for i in range(1000)]
    decoded = read(pickle.dumps({"version": "2.10", "pg_config": groups, "entries": entries}))
    assert (len(decoded.configs), decoded.count) == (1000, 1000)
    assert looks.count(ranks) == 1
    assert looks.count(name) == 1


def test_one_list_as_two_things():
    """The same empty list as sizes and as dtypes, as frames and as sizes."""
    fields = text("input_sizes") + b"]q\x03" + text("input_dtypes") + b"h\x03" + text("frames") + b"h\x03"
    signature = read(entry_with(fields + text("output_sizes") + b"](](K\x05ee")).signatures[0]
    assert (signature.input_sizes, signature.input_dtypes, signature.output_sizes) == ((), (), ((5,),))


# Limits -------------------------------------------------------------------------------------------------------------


def test_a_file_beyond_its_limit():
    data = dump_bytes(dump(10))
    with pytest.raises(Refused, match="--max-file-size"):
        read(data, replace(LIMITS, file_bytes=len(data) - 1))
    assert read(data, replace(LIMITS, file_bytes=len(data))).count == 10


@pytest.mark.parametrize("count", [10, 100])
def test_entries_beyond_their_limit(count):
    top = dump(count, stacks=False)
    for data in (dump_bytes(top), pickle.dumps(top)):
        with pytest.raises(Refused, match="--max-entries"):
            read(data, replace(LIMITS, entries=count - 1))
        assert read(data, replace(LIMITS, entries=count)).count == count


@pytest.mark.parametrize("count", [10, 100])
def test_strings_beyond_their_limit(count):
    top = dump(count)
    top["entries"][5]["profiling_name"] = "x" * 5000
    for data in (dump_bytes(top), pickle.dumps(top)):
        with pytest.raises(Refused, match=r"5,?000"):
            read(data, replace(LIMITS, string_bytes=4999))
        assert read(data, replace(LIMITS, string_bytes=5000)).count == count


def test_depth_beyond_its_limit():
    data = dump_bytes(dump(10))
    with pytest.raises(Refused, match="deeper than 4"):
        read(data, replace(LIMITS, depth=4))
    assert read(data, replace(LIMITS, depth=5)).count == 10


@pytest.mark.parametrize("many", [b"](e", b"}(u", text("ab"), b"N\x85", b"](K\1e"])
def test_too_many_containers(many, monkeypatch):
    monkeypatch.setattr(machine, "container_limit", lambda limits: 1000)
    with pytest.raises(Refused, match="--max-entries"):
        read(HEADER + b"](" + many * 1100 + b"eu.")


def test_the_limit_of_containers_grows_with_that_of_entries():
    assert machine.container_limit(replace(LIMITS, entries=10)) > 1_000_000
    assert machine.container_limit(replace(LIMITS, entries=10**8)) > 10**8


SCRIPT = """
import resource, sys
from hangview.dumps.decode.dump import decode
from hangview.dumps.decoded import NotADump, Refused
from hangview.schema import Limits
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for name in sys.argv[1:]:
    try:
        decode(open(name, "rb").read(), Limits())
    except (NotADump, Refused):
        pass
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_AS"), reason="no address space limit here")
def test_memory_stays_near_the_size_of_the_file(tmp_path):
    """A fresh process with 1 GiB of address space reads all of them; it grows by less than 100 MB."""
    names = []
    for name, data in CLAIMS.items():
        path = tmp_path / name
        path.write_bytes(data)
        names.append(str(path))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *names],
        capture_output=True,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 100_000


def test_collection_is_left_as_it_was():
    import gc

    assert gc.isenabled()
    read(dump_bytes(dump(3)))
    assert gc.isenabled()
    with pytest.raises(NotADump):
        read(b"x")
    assert gc.isenabled()
    gc.disable()
    try:
        assert isinstance(read(dump_bytes(dump(3))), Decoded)
        assert not gc.isenabled()
    finally:
        gc.enable()
