"""Which parts of a big log are worth reading, at the speed of memory.

A log of gigabytes holds a few hundred lines that matter. Searching for forty phrases one after the other (or with one
regular expression, 0.1 GB/s) is too slow, so every aligned 8-byte word of the file is hashed into a table of all 8-byte
words that occur in the phrases: a phrase of 15 bytes or more holds at least one aligned word wherever it starts. That is
three passes of numpy over cache-sized pieces for any number of phrases, and it lets go of the interpreter lock.

The result is a map of blocks; the lines of marked blocks and of their neighbourhood are read one by one.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

#: Bytes read at once by one thread, and bytes that go through the three passes at once: these stay in the fast cache.
CHUNK = 1 << 20
_PART = 1 << 17
#: Granularity of the map.
BLOCK = 1 << 12
#: Files up to this size are read whole, line by line: they may be wrapped copies, in which no phrase is in one piece.
WHOLE = 1 << 20
#: At the ends of a bigger file everything is read: versions and settings at the start, the launcher's last words at the end.
HEAD = 1 << 16
TAIL = 1 << 18
#: What is read around a marked block: a line, or (``_LONG``) a traceback or a summary among the lines of other ranks.
BEFORE = 1 << 12
AFTER = 1 << 12
AFTER_LONG = 1 << 16
#: At most so many bytes of one file are read line by line: the first and the last ones.
BUDGET_FIRST = 8 << 20
BUDGET_LAST = 24 << 20
#: From this size on two threads share the work, unless the machine is busy: then they only wait for each other.
_PARALLEL = 32 << 20

_NEAR, _LONG = 1, 2

#: Phrases of at least 15 bytes; 2 where what follows counts as well.
PHRASES: dict[bytes, int] = {
    b"Watchdog caught collective operation timeout": _NEAR,
    b"ast enqueued NCCL work": _NEAR,
    b"last enqueued work: ": _NEAR,
    b"timed out in blocking wait": _NEAR,
    b"raised the following async exception": _NEAR,
    b"Stack trace of the failed collective": _NEAR,
    b"First PG on this rank": _NEAR,
    b"Heartbeat monitor timed out": _NEAR,
    b"watchdog got stuck for ": _NEAR,
    b"Terminating the process after attempting": _NEAR,
    b"preparing to dump debug info": _NEAR,
    b"was not called before program exit": _NEAR,
    b"process group has NOT been destroyed": _NEAR,
    b"Error opening file for writing": _NEAR,
    b"Future for Flight recorder dump": _NEAR,
    b"Operation timed out after ": _NEAR,
    b"Aborting process on rank ": _NEAR,
    b"nccl hit async error": _NEAR,
    b"FlightRecorderHook: ": _NEAR,
    b"uncorrectable ECC error": _NEAR,
    b"illegal memory access": _NEAR,
    b"unspecified launch failure": _NEAR,
    b"Memory access fault by GPU": _NEAR,
    b"HW Exception by GPU": _NEAR,
    b"dumping nccl trace to ": _NEAR,
    b"Finished writing NCCLPG": _NEAR,
    b"Finished writing Flight Recorder": _NEAR,
    b"NCCL watchdog thread terminated": _NEAR,
    b"Process group watchdog thread": _NEAR,
    b"Traceback (most recent call last)": _LONG,
    b"(most recent call first)": _LONG,
    b"Fatal Python error: ": _LONG,
    b"terminate called after throwing": _NEAR,
    b"gloo::EnforceNotMet": _NEAR,
    b"Connection closed by peer": _NEAR,
    b"Connection reset by peer": _NEAR,
    b"torch/distributed/elastic/": _NEAR,
    b"torch.distributed.elastic.": _NEAR,
    b"failed (exitcode: ": _NEAR,
    b" closing signal SIG": _NEAR,
    b"ChildFailedError": _LONG,
    b"first observed failure": _LONG,
    b"will restart worker group": _NEAR,
    b"slurmstepd: error: ": _NEAR,
    b"Exited with exit code ": _NEAR,
    b" (core dumped)\n": _NEAR,
    b": Out Of Memory\n": _NEAR,
    b"srun: Terminating ": _NEAR,
    b"srun: Job step aborted": _NEAR,
    b" exited on signal ": _NEAR,
    b" died from signal ": _NEAR,
    b"exits with return code": _NEAR,
    b"BAD TERMINATION OF ONE OF YOUR": _NEAR,
    b"*** Process received signal ***": _NEAR,
    b" terminated with code ": _NEAR,
    b"t of memory: Kill": _NEAR,
    b"oom-kill:constraint=": _NEAR,
    b"NVRM: Xid (PCI:": _NEAR,
    b"OutOfMemoryError": _NEAR,
    b"DataLoader worker": _NEAR,
    b" - Init COMPLETE": _NEAR,
    b"NCCL version 2.": _NEAR,
    b" used by this process ": _NEAR,
    b"Connection closed by remote peer": _NEAR,
    b"Got completion from peer": _NEAR,
    b"Got async event : ": _NEAR,
    b"To our best knowledge, ": _NEAR,
    b"joined but didn't finish collective": _NEAR,
    b"cudaDriverVersion": _NEAR,
    b" set by environment to ": _NEAR,
    b"x across cluster]": _NEAR,
    b"PyTorch version: ": _NEAR,
    b"process group initialised": _NEAR,
}


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of a file that is read line by line, and the number (from 1) of the line in which ``start`` lies."""

    start: int
    end: int
    number: int


@dataclass(frozen=True, slots=True)
class Windows:
    """What to read of one file. ``lines`` counts the newlines of the whole file; ``left_out`` are bytes over the budget."""

    windows: tuple[Window, ...]
    lines: int
    left_out: int = 0


def _places() -> dict[int, list[tuple[bytes, int]]]:
    """Every 8-byte word of the phrases, with the phrases that hold it and where."""
    places: dict[int, list[tuple[bytes, int]]] = {}
    for phrase in PHRASES:
        for start in range(8):
            piece = phrase[start : start + 8]
            places.setdefault(int.from_bytes(piece, "little"), []).append((phrase, start))
    return places


_BITS = 16
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(64 - _BITS)
_PLACES = _places()
_WORDS = np.array(sorted(_PLACES), dtype=np.uint64)
_TABLE = np.zeros(1 << _BITS, dtype=np.bool_)
_TABLE[((_WORDS * _FACTOR) >> _SHIFT).astype(np.int64)] = True
_NEWLINE = np.uint8(10)


class _Scratch:
    """One thread's arrays, allocated once."""

    def __init__(self) -> None:
        self.data = memoryview(bytearray(CHUNK))
        self.buffer = np.frombuffer(self.data, dtype=np.uint8)
        self.words = self.buffer.view(np.uint64)
        self.marked = np.empty(CHUNK // 8, dtype=np.bool_)
        self._hashed = np.empty(_PART // 8, dtype=np.uint64)
        self._newline = np.empty(_PART, dtype=np.bool_)
        self._parts = [
            (self.words[start // 8 :][: _PART // 8], self.marked[start // 8 :][: _PART // 8], self.buffer[start:][:_PART])
            for start in range(0, CHUNK, _PART)
        ]

    def hash(self, size: int) -> int:
        """Fills ``marked`` for the first ``size`` bytes and returns their number of newlines."""
        hashed, index, newline, lines = self._hashed, self._hashed.view(np.int64), self._newline, 0
        for words, marked, part in self._parts[: -(-size // _PART)]:
            np.multiply(words, _FACTOR, out=hashed)
            np.right_shift(hashed, _SHIFT, out=hashed)
            _TABLE.take(index, out=marked, mode="wrap")
            np.equal(part, _NEWLINE, out=newline)
            lines += int(np.count_nonzero(newline[:size]))
            size -= _PART
        return lines


def _mark(scratch: _Scratch, size: int, offset: int, blocks: npt.NDArray[np.uint8]) -> int:
    """Marks the blocks of one chunk and returns its number of newlines."""
    lines = scratch.hash(size)
    hits = np.flatnonzero(scratch.marked[: size // 8])
    if hits.size:
        found = scratch.words[hits]
        index = _WORDS.searchsorted(found)
        index[index == _WORDS.size] = 0
        real = _WORDS[index] == found
        view = scratch.data[:size]
        for word, position in zip(found[real].tolist(), (hits[real] * 8).tolist(), strict=True):
            block = (offset + position) // BLOCK
            for phrase, start in _PLACES[word]:
                if PHRASES[phrase] > blocks[block] and _is_there(view, position - start, phrase):
                    blocks[block] = PHRASES[phrase]
    return lines


class Marker:
    """The same filter over bytes in memory, for what cannot be read at any place."""

    def __init__(self) -> None:
        self._scratch = _Scratch()

    def holds(self, data: bytes) -> bool:
        """Whether a phrase is in ``data``; what looks like one at the edge of a chunk counts as well."""
        blocks = np.zeros(CHUNK // BLOCK, dtype=np.uint8)
        for start in range(0, len(data), CHUNK):
            part = data[start : start + CHUNK]
            self._scratch.data[: len(part)] = part
            _mark(self._scratch, len(part), 0, blocks)
            if blocks.any():
                return True
        return False


def _is_there(view: memoryview, start: int, phrase: bytes) -> bool:
    """Whether ``phrase`` is at ``start``; taken for granted where it reaches over the edge of the chunk."""
    end = start + len(phrase)
    return start < 0 or end > len(view) or view[start:end] == phrase


def _scan(fd: int, size: int) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    blocks = np.zeros(-(-size // BLOCK), dtype=np.uint8)
    newlines = np.zeros(-(-size // CHUNK), dtype=np.int64)

    def share(first: int, step: int) -> None:
        scratch = _Scratch()
        for chunk in range(first, newlines.size, step):
            offset = chunk * CHUNK
            got = os.preadv(fd, [scratch.data], offset)
            newlines[chunk] = _mark(scratch, min(got, size - offset), offset, blocks)

    if size < _PARALLEL or not _idle_core():
        share(0, 1)
    else:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(share, (0, 1), (2, 2)))
    return blocks, newlines


def _idle_core() -> bool:
    """Whether a second thread would find a core of its own."""
    cores = os.cpu_count() or 1
    try:
        return cores > 1 and os.getloadavg()[0] < cores
    except OSError:
        return False


def find_windows(fd: int, size: int) -> Windows:
    """What to read of the open file ``fd`` of ``size`` bytes, in order and without overlap.

    Raises ``OSError`` when reading fails. Bytes appended meanwhile are not looked at.
    """
    if size <= WHOLE:
        return Windows((Window(0, size, 1),) if size else (), 0)
    blocks, newlines = _scan(fd, size)
    stretches = _stretches(blocks, size)
    kept, left_out = _within_budget(stretches)
    before = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(newlines)))
    windows = []
    for start, end in kept:
        chunk = start // CHUNK
        rest = os.pread(fd, start - chunk * CHUNK, chunk * CHUNK).count(b"\n")
        windows.append(Window(start, end, int(before[chunk]) + rest + 1))
    return Windows(tuple(windows), int(before[-1]), left_out)


def _stretches(blocks: npt.NDArray[np.uint8], size: int) -> list[tuple[int, int]]:
    """Marked blocks with their neighbourhood, and both ends of the file; ascending, merged."""
    after = {_NEAR: AFTER, _LONG: AFTER_LONG}
    found = np.flatnonzero(blocks)
    merged = [(0, HEAD)]
    for block, kind in zip(found.tolist(), blocks[found].tolist(), strict=True):
        start, end = max(block * BLOCK - BEFORE, 0), (block + 1) * BLOCK + after[kind]
        if start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    tail = max(size - TAIL, 0)
    while merged and merged[-1][0] >= tail:
        merged.pop()
    if merged and merged[-1][1] >= tail:
        merged[-1] = (merged[-1][0], size)
    else:
        merged.append((tail, size))
    return merged


def _within_budget(stretches: list[tuple[int, int]]) -> tuple[list[tuple[int, int]], int]:
    """The first and the last stretches that fit the budget, and how many bytes lie between them."""
    total = sum(end - start for start, end in stretches)
    if total <= BUDGET_FIRST + BUDGET_LAST:
        return stretches, 0
    first: list[tuple[int, int]] = []
    room = BUDGET_FIRST
    for start, end in stretches:
        first.append((start, min(end, start + room)))
        room -= end - start
        if room <= 0:
            break
    last: list[tuple[int, int]] = []
    room = BUDGET_LAST
    for start, end in reversed(stretches):
        last.append((max(start, end - room), end))
        room -= end - start
        if room <= 0:
            break
    last.reverse()
    return first + last, total - BUDGET_FIRST - BUDGET_LAST
