"""What was concluded from a large set of dumps, kept beside the decoded dumps: reports on it again come at once.

Found by the same things as the dumps (path, size, time, inode of every file), and by the options and the program's own files.
Only conclusions are kept; who asks a brief incident for its records or for the view makes it read and analyse everything.
"""

from __future__ import annotations

import json
import os
import types
import typing
import zlib
from collections.abc import Mapping
from dataclasses import astuple, fields, is_dataclass, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hangview.dumps import shelf
from hangview.incident import Incident
from hangview.schema import Attempt, Records, Source, SourceStatus
from hangview.terms import Clock, Coverage, Fact, Finding, Group, Lane, Verdict, Wait

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hangview.dumps.find import Listing
    from hangview.schema import ReadOptions

    Reader = Callable[[Any], Any]

#: Statuses that another look at the same file may change: out of memory, no permission, an error of the network.
_PASSING = frozenset({SourceStatus.UNREADABLE, SourceStatus.GROWING})

_PARTS: dict[str, Any] = {
    "paths": tuple[str, ...],
    "verdict": Verdict,
    "leads": tuple[int, ...],
    "findings": tuple[Finding, ...],
    "coverage": Coverage,
    "groups": tuple[Group, ...],
    "lanes": tuple[Lane, ...],
    "waits": tuple[Wait, ...],
    "clocks": tuple[Clock, ...],
    "facts": tuple[Fact, ...],
}
_LEDGER: dict[str, Any] = {"sources": tuple[Source, ...], "attempts": tuple[Attempt, ...]}


class BriefIncident(Incident):
    """An incident whose entries and view are made when somebody asks for them."""

    __slots__ = ("_whole",)
    _whole: Callable[[], Incident]

    def __getattr__(self, name: str) -> Any:
        """Called for slots that are not filled."""
        if name not in ("entries", "view"):
            raise AttributeError(name)
        whole = self._whole()
        for late in ("entries", "view"):
            object.__setattr__(self, late, getattr(whole, late))
        return getattr(self, name)


class BriefRecords(Records):
    """The ledger of sources; the rest is read when somebody asks for it."""

    __slots__ = ("_whole",)
    _whole: Callable[[], Incident]

    def __getattr__(self, name: str) -> Any:
        """Called for slots that are not filled."""
        late = {field.name for field in fields(Records)} - _LEDGER.keys()
        if name not in late:
            raise AttributeError(name)
        whole = self._whole().records
        for one in late:
            object.__setattr__(self, one, getattr(whole, one))
        return getattr(self, name)


def load(listing: Listing, paths: Sequence[str], options: ReadOptions, whole: Callable[[], Incident]) -> Incident | None:
    """What was concluded from exactly these files; None when that is not known. ``whole`` reads and analyses them."""
    return shelf.fetch(_name(listing, paths, options), lambda body: _read(body, whole))


def store(listing: Listing, paths: Sequence[str], options: ReadOptions, incident: Incident) -> bool:
    """Keep what was concluded. False where logs had a say, or where another look at the same files may find more."""
    passing = any(source.status in _PASSING for source in incident.records.sources)
    if incident.logs is not None or passing:
        return False
    return shelf.keep(_name(listing, paths, options), lambda: [_write(incident)], options.cache_bytes)


def _name(listing: Listing, paths: Sequence[str], options: ReadOptions) -> str:
    package = Path(__file__).parent
    own = [line for room in (".", "dumps", "dumps/decode", "engine", "engine/findings", "logs") for line in _own(package, room)]
    asked = repr(astuple(replace(options, workers=None, cache=True, cache_bytes=0)))
    found = [f"{one.shown}\0{one.path}\0{one.size}\0{one.mtime_ns}\0{one.inode}" for one in listing.logs]
    shown = [one.shown for one in listing.dumps]
    told = [*own, asked, repr(tuple(paths)), os.getcwd(), repr(found), repr(shown), repr(listing.others)]  # noqa: PTH109
    return shelf.name_of(listing.dumps, told, shelf.REPORT)


def _own(package: Path, room: str) -> list[str]:
    return [f"{room}/{line}" for line in shelf.modules(package / room)]


# --- bytes


def _write(incident: Incident) -> bytes:
    parts = [getattr(incident, name) for name in _PARTS]
    ledger = [getattr(incident.records, name) for name in _LEDGER]
    return zlib.compress(json.dumps([parts, ledger], default=_plain, separators=(",", ":")).encode(), 1)


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return [getattr(value, field.name) for field in fields(value)]
    raise TypeError(f"{type(value).__name__} cannot be kept")


def _read(body: memoryview, whole: Callable[[], Incident]) -> Incident:
    parts, ledger = json.loads(zlib.decompress(body))
    made: list[Incident] = []

    def once() -> Incident:
        if not made:
            made.append(whole())
        return made[0]

    readers: dict[Any, Reader | None] = {}
    records, incident = object.__new__(BriefRecords), object.__new__(BriefIncident)
    for brief, kinds, values in ((records, _LEDGER, ledger), (incident, _PARTS, parts)):
        object.__setattr__(brief, "_whole", once)
        for (name, kind), value in zip(kinds.items(), values, strict=True):
            reader = _reader(kind, readers)
            object.__setattr__(brief, name, value if reader is None else reader(value))
    object.__setattr__(incident, "records", records)
    object.__setattr__(incident, "logs", None)
    return incident


def _reader(kind: Any, known: dict[Any, Reader | None]) -> Reader | None:
    """How values of a type are made of what JSON has for them; None: they are as they are."""
    if kind not in known:
        known[kind] = _new_reader(kind, known)
    return known[kind]


def _new_reader(kind: Any, known: dict[Any, Reader | None]) -> Reader | None:
    origin, of = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        (one,) = (part for part in of if part is not type(None))
        some = _reader(one, known)
        return None if some is None else lambda value: None if value is None else some(value)
    if origin is tuple and of[1:] == (...,):
        inner = _reader(of[0], known)
        return tuple if inner is None else lambda values: tuple(map(inner, values))
    if origin is Mapping:
        return lambda told: {int(key): value for key, value in told.items()}  # the only mappings here are by rank
    if isinstance(kind, type) and issubclass(kind, Enum):
        members = {member.value: member for member in kind}
        return members.__getitem__
    if is_dataclass(kind):
        hints = typing.get_type_hints(kind, localns={"Mapping": Mapping})
        inner_of = [(i, reader) for i, field in enumerate(fields(kind)) if (reader := _reader(hints[field.name], known))]
        return lambda values: _made(kind, values, inner_of)
    if kind in (str, int, float, bool):
        return None
    raise TypeError(f"{kind} cannot be kept")


def _made(kind: Any, values: list[Any], readers: list[tuple[int, Reader]]) -> Any:
    for i, reader in readers:
        values[i] = reader(values[i])
    return kind(*values)
