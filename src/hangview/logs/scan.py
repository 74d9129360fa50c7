"""One file, from bytes to events. It depends on no other file, so a watcher may keep the scan of an unchanged one."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import replace
from typing import TYPE_CHECKING

from hangview.logs.lines import LONGEST, UTF_16, RawLine, clean, raw_lines, utf_16_lines
from hangview.logs.packed import GZIP, ZSTD, PackedLog
from hangview.logs.paths import told_by_path
from hangview.logs.prefilter import WHOLE, find_windows
from hangview.logs.scanner import Scanner
from hangview.logs.times import of_epoch
from hangview.logs.tracebacks import TRACEBACK
from hangview.logs.wraps import unwrap, wrap_width
from hangview.text import size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hangview.logs import LogFile
    from hangview.logs.events import LogScan

_MOST_UTF_16 = 32 << 20  #: bytes of a log in UTF-16 that is read


def scan_log(file: LogFile) -> LogScan:
    """Reads one log. Never raises for what the file holds or for a file that cannot be read: then ``problem`` says why."""
    from_path = told_by_path(file)
    try:
        fd = os.open(file.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        return replace(from_path, problem=f"cannot be read: {error.strerror}")
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            return replace(from_path, problem="no regular file: left alone")
        if os.pread(fd, 4, 0).startswith((GZIP, ZSTD)):
            return _scan_packed(fd, file, from_path)
        return _scan_open(fd, status.st_size, file, from_path)
    except OSError as error:
        return replace(from_path, problem=f"reading stopped: {error.strerror or error}")
    finally:
        os.close(fd)


def _scan_open(fd: int, length: int, file: LogFile, from_path: LogScan) -> LogScan:
    if file.path.name.endswith(".json") and length <= WHOLE:
        return _scan_error_json(os.pread(fd, length, 0), file, from_path)
    if os.pread(fd, 2, 0) in UTF_16:
        return _scan_utf_16(fd, length, file, from_path)
    found = find_windows(fd, length)
    scanner = Scanner(file.source, parts=length > WHOLE)
    lines = found.lines
    if length <= WHOLE:
        for raw, text in _unwrapped(raw_lines(fd, found.windows)):
            scanner.feed_line(raw, text)
            lines = max(lines, raw.number)
    else:
        for raw in raw_lines(fd, found.windows):
            scanner.take(raw)
    notes = scanner.notes
    if found.left_out:
        left = size(found.left_out)
        notes += (f"more lines of interest than are read at once: {left} between the first and the last were left out",)
    return scanner.result(replace(from_path, size=length, lines=lines, notes=notes))


def _scan_utf_16(fd: int, length: int, file: LogFile, from_path: LogScan) -> LogScan:
    """A log that PowerShell's ``>`` wrote: two bytes for each character."""
    if length > _MOST_UTF_16:
        return replace(from_path, size=length, problem=f"text in UTF-16 of {size(length)}: more than is read of that")
    raws = utf_16_lines(os.pread(fd, length, 0))
    scanner = Scanner(file.source)
    for raw, text in _unwrapped(iter(raws)):
        scanner.feed_line(raw, text)
    return scanner.result(replace(from_path, size=length, lines=len(raws) - 1, notes=(*scanner.notes, "UTF-16")))


def _scan_packed(fd: int, file: LogFile, from_path: LogScan) -> LogScan:
    with os.fdopen(fd, "rb", closefd=False) as packed:
        log = PackedLog(packed)
        small = log.small()
        scanner = Scanner(file.source, parts=small is None)
        if small is not None:
            for raw, text in _unwrapped(iter(small)):
                scanner.feed_line(raw, text)
        else:
            for raw in log:
                scanner.take(raw)
    scan = replace(from_path, size=log.size, lines=log.lines, problem=log.problem, notes=(*scanner.notes, "compressed"))
    return scanner.result(scan)


def _unwrapped(lines: Iterator[RawLine]) -> Iterator[tuple[RawLine, str]]:
    cleaned = [(raw, text) for raw in lines for text in clean(raw.data)]
    width = wrap_width([text for _, text in cleaned])
    if width is None:
        return iter(cleaned)
    return unwrap(cleaned, width)


def _scan_error_json(data: bytes, file: LogFile, from_path: LogScan) -> LogScan:
    """torchelastic's ``error.json``: the exception that a worker recorded before it ended."""
    scan = replace(from_path, size=len(data), lines=data.count(b"\n") + 1)
    when = ""
    try:
        message = json.loads(data)["message"]
        if isinstance(message, dict):
            stack, said = str(message.get("extraInfo", {}).get("py_callstack", "")), str(message["message"])
            when = str(message.get("extraInfo", {}).get("timestamp", ""))
        else:
            stack, said = "", str(message)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return replace(scan, problem="no error.json of torchelastic")
    scanner = Scanner(file.source)
    scanner.timeline.see(1, of_epoch(when))
    text = stack or f"{TRACEBACK}\n{said}"
    for part in text[:LONGEST].splitlines():
        scanner.feed_line(RawLine(1, 0, b""), part)
    return scanner.result(scan)
