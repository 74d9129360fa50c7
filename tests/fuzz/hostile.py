"""Large files made to cost much: what each takes to be turned down.

    python -m tests.fuzz.hostile --megabytes 30

Unlike the mutations these are not broken by chance: every opcode and every pair of opcodes without end, floods of marks,
memo ids, tuples, strings and numbers, deep nests, entries that say little, bundles that unpack to very much. Each is read in a
process of its own; the rule is 5 seconds of CPU, 2 GiB, one clear line, and no file made.
"""

from __future__ import annotations

import argparse
import gzip
import io
import itertools
import os
import pickle
import resource
import struct
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from hangview.dumps.find import Found
from hangview.dumps.read import read_file
from hangview.schema import Limits, SourceKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

MOST_SECONDS = 5.0
MOST_MEMORY = 2 << 30


def text(value: str) -> bytes:
    """A string, as torch writes it, without its memo id."""
    return b"X" + struct.pack("<I", len(value)) + value.encode()


START = b"\x80\x02"
ENTRIES = START + b"}(" + text("version") + b"q\x00" + text("2.10") + b"q\x01" + text("entries") + b"q\x02]("
#: Where a flood may begin: nothing there, in a list, in a dictionary, among a dump's entries, in a field of one.
PLACES: Mapping[str, bytes] = {
    "": START,
    "list": START + b"](",
    "dict": START + b"}(",
    "entries": ENTRIES,
    "field": ENTRIES + b"}(" + text("state") + b"q\x03" + text("input_sizes") + b"](",
}
#: Opcodes with an argument that lets the next one follow.
UNITS: Mapping[str, bytes] = {
    "MARK": b"(",
    "EMPTY_TUPLE": b")",
    "EMPTY_LIST": b"]",
    "EMPTY_DICT": b"}",
    "LIST": b"](",
    "DICT": b"}(",
    "APPENDS": b"e",
    "SETITEMS": b"u",
    "APPEND": b"a",
    "SETITEM": b"s",
    "TUPLE": b"t",
    "TUPLE1": b"\x85",
    "TUPLE2": b"\x86",
    "TUPLE3": b"\x87",
    "NONE": b"N",
    "TRUE": b"\x88",
    "BININT1": b"K\x00",
    "BININT2": b"M\x00\x00",
    "BININT": b"J\0\0\0\x80",
    "BINFLOAT": b"G\x7f\xf8\0\0\0\0\0\0",
    "LONG1": b"\x8a\x01\x01",
    "LONG1_8": b"\x8a\x08\0\0\0\0\0\0\0\x01",
    "LONG1_255": b"\x8a\xff" + b"\x01" * 255,
    "BINUNICODE": b"X\x01\0\0\0\xff",
    "BINUNICODE_0": b"X\0\0\0\0",
    "SHORT_BINUNICODE": b"\x8c\x01a",
    "SHORT_BINUNICODE_0": b"\x8c\x00",
    "SHORT_BINBYTES_0": b"C\x00",
    "BINUNICODE8": b"\x8d\x01\0\0\0\0\0\0\0a",
    "BINGET": b"h\x00",
    "LONG_BINGET": b"j\0\0\0\0",
    "MEMOIZE": b"\x94",
    "FRAME": b"\x95\xff\xff\xff\xff\xff\xff\xff\x7f",
    "STOP": b".",
    "POP": b"0",
    "DUP": b"2",
}


def flood(place: bytes, unit: bytes, size: int) -> bytes:
    return place + unit * ((size - len(place)) // len(unit))


def singles(size: int) -> Iterator[tuple[str, bytes]]:
    """Each byte without end, and each opcode with its argument, wherever it may stand."""
    for byte in range(256):
        yield f"byte {byte:#04x}", flood(START, bytes([byte]), size)
    for place, begin in PLACES.items():
        for name, unit in UNITS.items():
            yield f"{name} in {place or 'nothing'}", flood(begin, unit, size)


def pairs(size: int) -> Iterator[tuple[str, bytes]]:
    """Each two opcodes by turns, wherever they may stand."""
    for (place, begin), (one, other) in itertools.product(PLACES.items(), itertools.permutations(UNITS, 2)):
        yield f"{one} {other} in {place or 'nothing'}", flood(begin, UNITS[one] + UNITS[other], size)


def _memo(size: int, unit: Callable[[int], bytes]) -> bytes:
    number = (size - 8) // len(unit(1))
    return START + b"](" + b"".join(map(unit, range(number)))


def _entry(number: int, fields: int) -> bytes:
    """An entry of the memo's keys from 16 on, each with a number."""
    return b"}(" + b"".join(b"h%cK%c" % (16 + i, (number + i) & 255) for i in range(fields)) + b"u"


KEYS = (
    *("record_id", "pg_id", "collective_seq_id", "p2p_seq_id", "op_id", "time_created_ns", "retired", "is_p2p", "timeout_ms"),
    *("time_discovered_started_ns", "time_discovered_completed_ns", "duration_ms", "thread_id", "thread_name", "state"),
    *("profiling_name", "x1", "x2", "x3", "x4"),
)


def _entries(size: int, fields: int) -> bytes:
    begin = START + b"}(" + b"".join(text(f"m{i}") + b"q%cN" % i for i in range(16))
    begin += (
        b"".join(text(key) + b"q%cN" % (16 + i) for i, key in enumerate(KEYS)) + text("entries") + b"q%c](" % (16 + len(KEYS))
    )
    one = [_entry(n, fields) for n in range(200)]
    return begin + b"".join(itertools.islice(itertools.cycle(one), (size - len(begin)) // len(one[0]))) + b"eu."


def pickles(size: int) -> Iterator[tuple[str, bytes]]:
    """Shapes of which a single opcode says nothing."""
    yield "marks and memo", flood(START + b"](", b"](h\x00", size)
    yield "BINPUT in order", _memo(size, lambda n: b"Nq%c" % (n & 255))
    yield "LONG_BINPUT in order", _memo(size, lambda n: b"Nr" + struct.pack("<I", n))
    yield "LONG_BINPUT far away", flood(START + b"](", b"Nr\xff\xff\xff\x7f", size)
    yield "strings with LONG_BINPUT", _memo(size, lambda n: b"X\x01\0\0\0ar" + struct.pack("<I", n))
    yield "long strings", flood(START + b"](", b"X" + struct.pack("<I", 1 << 20) + b"\xff" * (1 << 20), size)
    yield "one string", START + b"X" + struct.pack("<I", size) + b"\xff" * size + b"."
    yield "one string in a list", START + b"](X" + struct.pack("<I", size) + b"a" * size + b"e."
    yield "bytes in bytes", START + b"B" + struct.pack("<I", size) + flood(START + b"](", b"](e", size) + b"."
    yield "LONG4", START + b"\x8b" + struct.pack("<I", size) + b"\x01" * size + b"."
    yield "LONG", START + b"L" + b"9" * size + b"L\n."
    yield "INT", START + b"I" + b"9" * size + b"\n."
    yield (
        "colliding keys",
        START + b"}(" + b"".join(b"\x8a\x08" + (k << 40).to_bytes(8, "little") + b"N" for k in range(size // 11)) + b"u.",
    )
    yield "nested lists", START + b"]" * size + b"a" * size
    yield "nested tuples", START + b"N" + b"\x85" * size + b"."
    yield "an entry again and again", ENTRIES + b"}(" + text("state") + b"q\x03" + b"Nuq\x04" + b"h\x04" * (size // 2) + b"eu."
    for fields in (1, 3, len(KEYS)):
        yield f"entries of {fields} fields", _entries(size, fields)
    yield "rows that look like torch's", ENTRIES + b"}(" + text("state") + b"q\x03" + b"Nu}(h\x03" * (size // 6) + b"Nueu."
    row = b"}(h\x03" + b"](e" * 8
    yield "rows of lists", ENTRIES + b"}(" + text("state") + b"q\x03" + (b"Nu" + row) * (size // 30) + b"Nueu."
    yield "a row of lists", ENTRIES + b"}(" + text("state") + b"q\x03" + b"Nu}(h\x03N" * 64 + b"](e" * (size // 3)
    yield "one shape", ENTRIES + b"}(" + text("input_sizes") + b"q\x03]](" + b"K\x01" * (size // 2) + b"eaueu."
    yield (
        "one stack",
        ENTRIES
        + b"}("
        + text("frames")
        + b"q\x03]("
        + (b"}(" + text("name") + b"N" + text("line") + b"K\x01u") * (size // 28)
        + b"eueu.",
    )
    yield (
        "groups",
        START
        + b"}("
        + text("pg_config")
        + b"}("
        + b"".join(b"J" + struct.pack("<i", n) + b"](K\x00e" for n in range(size // 10))
        + b"uu.",
    )
    yield "zeros", START + b"\0" * size
    yield "text pickle", b"(" * size + b"cos\nsystem\n."


def jsons(size: int) -> Iterator[tuple[str, bytes]]:
    head = b'{"version":"2.10","entries":['
    yield "lists", b"[" * size
    yield "lists and no end", b"[" + b"[]," * (size // 3)
    yield "objects", b'{"a":' * (size // 5)
    yield "numbers", b"[" + b"1," * (size // 2) + b"1]"
    yield "one number", b"[" + b"9" * size + b"]"
    yield "one fraction", b'{"entries":[{"state":1.' + b"9" * size + b"}]}"
    yield "one exponent", b'{"entries":[{"state":1e' + b"9" * size + b"}]}"
    yield "one string", b'{"entries":[{"state":"' + b"a" * size + b'"}]}'
    yield "one string of escapes", b'{"entries":[{"state":"' + b"\\u00e9" * (size // 6) + b'"}]}'
    yield "strings", b"[" + b'"",' * (size // 3) + b'""]'
    yield "keys", b"{" + b",".join(b'"%d":0' % n for n in range(size // 11)) + b"}"
    yield "spaces", b"{" + b" " * size + b"}"
    yield "entries of nothing", head + b"{}," * (size // 3) + b"{}]}"
    yield "entries of nothing, cut", head + b"{}," * (size // 3)
    yield "entries of one field", head + b'{"state":0},' * (size // 12) + b'{"state":0}]}'
    yield "entries of one field, cut", head + b'{"state":0},' * (size // 12)
    yield "entries of one long field", head + b",".join(b'{"state":"%080d"}' % n for n in range(size // 93)) + b"]}"
    yield "one shape", head + b'{"input_sizes":[[' + b"1," * (size // 2) + b"1]]}]}"
    yield "shapes", head + b'{"input_sizes":[' + b"[1]," * (size // 4) + b"[1]]}]}"
    yield "groups", b'{"pg_config":{' + b",".join(b'"%d":[0]' % n for n in range(size // 13)) + b"}}"
    yield "ranks", b'{"pg_config":{"0":{"ranks":"[' + b"1," * (size // 2) + b'1]"}}}'
    yield "counters", b'{"pg_status":{' + b",".join(b'"%d":{}' % n for n in range(size // 12)) + b"}}"
    yield "minus", b"[" + b"-" * size
    yield "commas", b"[" + b"," * size
    yield "quotes", b"[" + b'"' * size
    yield "backslashes", b'["' + b"\\" * size
    yield "lines", b"[\n" + b"\n" * size
    yield "text in text", b'"' + b"\\\\" * (size // 2) + b'"'


def _zip(members: Iterator[tuple[str, bytes]]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as bundle:
        for name, data in members:
            bundle.writestr(name, data)
    return out.getvalue()


def _tar(members: Iterator[tuple[str, bytes, bytes]], mode: str = "w") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as bundle:  # type: ignore[call-overload]  # the modes are literals below
        for name, kind, data in members:
            info = tarfile.TarInfo(name)
            info.type, info.size, info.linkname = kind, len(data), "/etc/passwd" if kind in (b"1", b"2") else ""
            bundle.addfile(info, io.BytesIO(data))
    return out.getvalue()


def packed(size: int) -> Iterator[tuple[str, bytes]]:
    """Bundles. ``size`` is of the file where it does not shrink, else of what a member unpacks to."""
    zeros = gzip.compress(START + b"](" + b"\0" * size, 1)
    yield "gzip of zeros", zeros * max(1, size // len(zeros))
    marks = gzip.compress(flood(START, b"](e", size), 1)
    yield "gzip of marks", marks
    yield "gzip in gzip", gzip.compress(zeros * max(1, size // len(zeros)), 1)
    yield "gzip of nothing", gzip.compress(b"") * (size // 20)
    yield "gzip, damaged", marks[: len(marks) // 2] + b"\0" * size
    try:
        import zstandard
    except ImportError:
        pass
    else:
        yield "zstd of zeros", zstandard.compress(START + b"\0" * size) * 35
        yield "zstd of marks", zstandard.compress(flood(START, b"](e", size))
        yield "zstd of nothing", zstandard.compress(b"") * (size // 9)
    bomb = flood(START, b"](e", size)
    yield "zip of bombs", _zip((f"rank_{n}", bomb) for n in range(12))
    cheap = flood(START + b"](", b"K\x00", size // 8)
    yield "zip of many bombs", _zip((f"rank_{n}", cheap) for n in range(96))
    yield "zip of many members", _zip((f"a/../../rank_{n}", START + b"}.") for n in range(min(19_000, size // 1000)))
    yield "zip of too many", _zip((f"rank_{n}", b"") for n in range(min(30_000, size // 1000)))
    yield "zip of absolute names", _zip((f"/etc/rank_{n}", START + b"}.") for n in range(100))
    inner = _zip(iter((("rank_0", bomb),)))
    yield "zip of zips", _zip((f"rank_{n}", inner) for n in range(50))
    yield "zip, damaged", _zip((f"rank_{n}", bomb) for n in range(3))[:-30] + b"\0" * size
    yield "tar of links", _tar((f"/etc/rank_{n}", b"12"[n & 1 :][:1], b"") for n in range(min(19_000, size // 512)))
    yield "tar of many members", _tar((f"../rank_{n}", b"0", START + b"}.") for n in range(min(19_000, size // 1024)))
    yield "tar of bombs", _tar(((f"rank_{n}", b"0", bomb) for n in range(12)), "w:gz")
    yield "tar of devices", _tar((f"rank_{n}", b"3", b"") for n in range(min(19_000, size // 512)))
    yield "tar of long names", _tar((f"{'a/' * 5000}rank_{n}", b"0", b"") for n in range(min(2_000, size // 11_000)))
    yield "tar of zeros", _tar(iter(())) + b"\0" * size
    yield "tar, damaged", _tar(iter((("rank_0", b"0", bomb),)))[: size // 2]


KINDS: Mapping[str, tuple[Callable[[int], Iterator[tuple[str, bytes]]], str]] = {
    "single": (singles, "rank_0"),
    "pair": (pairs, "rank_0"),
    "pickle": (pickles, "rank_0"),
    "JSON": (jsons, "rank_0.json"),
    "packed": (packed, "rank_0"),
}


def measure(path: Path) -> tuple[float, int, str]:
    """CPU seconds, bytes of memory beyond this process's, and what came of reading a file in a process of its own."""
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (int(4 * MOST_SECONDS),) * 2)  # one that has no end ends the others else
            info = path.stat()
            found = Found(str(path), path.name, SourceKind.DUMP, info.st_size, info.st_mtime_ns, info.st_ino)
            results = read_file(found, Limits())
            told = f"{len(results):,} × " * (len(results) != 1) + f"{results[-1].status}: {results[-1].reason}"
            os.write(there, pickle.dumps(told[:400]))
        finally:
            os._exit(0)
    os.close(there)
    with os.fdopen(here, "rb") as pipe:
        sent = pipe.read()
    _, code, used = os.wait4(child, 0)
    words = pickle.loads(sent) if sent else f"it died ({code})"
    return used.ru_utime + used.ru_stime, used.ru_maxrss << 10, words


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=30)
    parser.add_argument("--kind", action="append", choices=KINDS)
    parser.add_argument("--only", help="names that hold this")
    parser.add_argument("--least", type=float, default=0.0, help="print those that take so many seconds")
    args = parser.parse_args()
    size = int(args.megabytes * 1e6)
    broken = 0
    with tempfile.TemporaryDirectory() as folder:
        for kind in args.kind or KINDS:
            make, name = KINDS[kind]
            for what, data in make(size):
                if args.only and args.only not in what:
                    continue
                path = Path(folder) / name
                path.write_bytes(data)
                number = len(data)
                del data
                seconds, memory, words = measure(path)
                bad = seconds > MOST_SECONDS or memory > MOST_MEMORY or "died" in words or "please report" in words
                broken += bad
                if bad or seconds >= args.least:
                    mark = "!" if bad else " "
                    print(
                        f"{mark} {kind:7} {what:32} {number / 1e6:6.1f} MB {seconds:6.2f} s {memory >> 20:6,} MiB  {words}",
                        flush=True,
                    )
                path.unlink()
                if any(Path(folder).iterdir()):
                    print("a file was made")
                    return 1
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
