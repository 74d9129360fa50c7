"""Damages real dumps in many ways and decodes what comes out.

    python -m tests.fuzz.mutate --count 100000 --seed 1 fixtures

The rule: a dump, or one of the decoder's two errors; quickly, in little memory, and nothing is ever run. Every mutation is
made from the seed and its number alone, so ``--only N`` repeats one.
"""

from __future__ import annotations

import argparse
import random
import resource
import struct
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from hangview.dumps.decode.dump import decode
from hangview.dumps.decoded import NotADump, Refused
from hangview.schema import Limits

#: What a payload would leave in the current folder if it ever ran.
MARKER = "hangview-fuzz-marker"
_TOUCH = f"touch {MARKER}".encode()
_ARGUMENT = b"X" + struct.pack("<I", len(_TOUCH)) + _TOUCH + b"\x85R"

#: Opcodes with their arguments, calls of code, sizes that are lies, and words of the two formats.
TOKENS = (
    b"cposix\nsystem\n" + _ARGUMENT,
    b"\x8c\x05posix\x8c\x06system\x93" + _ARGUMENT,
    b"(" + _ARGUMENT[:-2] + b"iposix\nsystem\n",
    b"R",
    b"b",
    b"\x81",
    b"\x82\x01",
    b"Q",
    b"X\xff\xff\xff\xff",
    b"X\xff\xff\xff\x7f",
    b"\x8a\xff",
    b"\x8a\x08",
    b"r\xff\xff\xff\xff",
    b"r\x00\xe1\xf5\x05",
    b"j\xff\xff\xff\x7f",
    b"h\x00",
    b"h\xff",
    b"](",
    b"}(",
    b"](e",
    b"}(u",
    b"e",
    b"u",
    b"eu.",
    b"(",
    b"t",
    b"\x85",
    b"\x86",
    b"a",
    b"s",
    b"N",
    b"\x88",
    b"G\x7f\xf8\0\0\0\0\0\0",
    b"G\x7f\xf0\0\0\0\0\0\0",
    b"J\0\0\0\x80",
    b"K\x00",
    b"\x94",
    b"\x95\xff\xff\xff\xff\xff\xff\xff\x7f",
    b".",
    b"\0" * 32,
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b'"',
    b'\\u0000"',
    b"1e999",
    b"-",
    b"9" * 40,
    b"null",
    b"NaN",
    b"[" * 2000,
    b"](" * 2000,
    b"\xff\xfe",
    b"\xed\xa0\x80",
)


def mutate(seeds: list[bytes], seed: int, number: int) -> bytes:
    """Mutation ``number`` of the run with this seed."""
    rng = random.Random(f"{seed}:{number}")
    data = bytearray(rng.choice(seeds))
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        _change(data, rng, seeds)
    return bytes(data)


def _change(data: bytearray, rng: random.Random, seeds: list[bytes]) -> None:
    at = rng.randrange(len(data) + 1)
    span = min(len(data) - at, rng.choice((1, 2, 5, 30, 400, 5000)))
    kind = rng.randrange(9)
    if kind == 0 and at < len(data):
        data[at] ^= 1 << rng.randrange(8)
    elif kind == 1 and at < len(data):
        data[at] = rng.randrange(256)
    elif kind == 2:
        del data[at:]
    elif kind == 3:
        del data[at : at + span]
    elif kind == 4:
        data[at:at] = data[at : at + span] * rng.choice((1, 1, 2, 50))
    elif kind == 5:
        data[at : at + span] = rng.randbytes(span)
    elif kind == 6:
        token = rng.choice(TOKENS)
        data[at : at + rng.choice((0, 0, len(token)))] = token
    elif kind == 7:
        other = rng.choice(seeds)
        begin = rng.randrange(len(other) + 1)
        data[at : at + span] = other[begin : begin + span]
    else:
        data[at : at + span] = data[at : at + span][::-1]


@dataclass(slots=True)
class Outcome:
    """What a run came to. ``worst`` is (CPU seconds, number of the mutation); ``grown`` the growth of peak memory in KiB."""

    results: Counter[str] = field(default_factory=Counter)
    broken: list[tuple[int, str]] = field(default_factory=list)
    worst: tuple[float, int] = (0.0, 0)
    grown: int = 0


def run(seeds: list[bytes], seed: int, numbers: range) -> Outcome:
    """Decode these mutations. ``broken`` lists those that raised anything else, and any that left the marker."""
    outcome = Outcome()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in numbers:
        data = mutate(seeds, seed, number)
        began = time.process_time()
        try:
            decoded = decode(data, Limits())
            result = "decoded whole" if decoded.complete else "decoded in part"
        except (NotADump, Refused) as error:
            result = type(error).__name__
            if not str(error).isprintable():
                outcome.broken.append((number, f"a message that cannot be shown: {error!a}"))
        except Exception as error:  # whatever it is, it is what we are looking for
            result = "broken"
            outcome.broken.append((number, f"{type(error).__name__}: {error}"))
        outcome.worst = max(outcome.worst, (time.process_time() - began, number))
        outcome.results[result] += 1
        if Path(MARKER).exists():
            outcome.broken.append((number, "code was run"))
            Path(MARKER).unlink()
    outcome.grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return outcome


def read_seeds(folder: Path, largest: int = 1 << 20) -> list[bytes]:
    """The files of a folder and its subfolders that decode, as they are, and a wrapped one."""
    seeds = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and 0 < path.stat().st_size <= largest:
            data = path.read_bytes()
            try:
                decode(data, Limits())
            except (NotADump, Refused):
                continue
            seeds.append(data)
    return seeds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the dumps to damage are")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, metavar="N", help="repeat mutation N and write it to fuzz-N.bin")
    args = parser.parse_args()
    seeds = read_seeds(args.folder)
    if not seeds:
        print(f"no dump under {args.folder}", file=sys.stderr)
        return 2
    if args.only is not None:
        data = mutate(seeds, args.seed, args.only)
        Path(f"fuzz-{args.only}.bin").write_bytes(data)
        print(decode(data, Limits()))
        return 0
    outcome = run(seeds, args.seed, range(args.count))
    for result, count in sorted(outcome.results.items()):
        print(f"{count:9,} {result}")
    seconds, number = outcome.worst
    print(f"slowest: {seconds:.3f} CPU seconds (mutation {number}); peak memory grew by {outcome.grown / 1024:.1f} MiB")
    for number, why in outcome.broken[:20]:
        print(f"mutation {number}: {why}")
    return 1 if outcome.broken else 0


if __name__ == "__main__":
    sys.exit(main())
