"""What a dump says once: version, library, groups and counters."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from hangview.dumps.decode import keys
from hangview.dumps.decode.clean import clean_text
from hangview.dumps.decoded import NotADump, RawConfig, RawStatus, Refused

if TYPE_CHECKING:
    from hangview.schema import Limits

_RANK_LIST = re.compile(r"\s*\d{1,9}\s*(?:,\s*\d{1,9}\s*)*,?\s*", re.ASCII)
_NUMBER = re.compile(r"\s*-?\d{1,18}\s*", re.ASCII)
_WRAPPING = "[](){} \t\r\n\"'"
#: Characters of a version, or of a name inside a note.
_SHORT = 100
#: More notes than this help nobody.
_NOTES = 10
#: More groups than any rank is a member of.
_GROUPS = 100_000


@dataclass(frozen=True, slots=True)
class Header:
    version: str | None = None
    library: str | None = None
    configs: tuple[RawConfig, ...] = ()
    statuses: tuple[RawStatus, ...] = ()
    notes: tuple[str, ...] = ()


def read_header(top: dict[Any, Any], limits: Limits) -> Header:
    """The header of a dump's dictionary. What cannot be read is left out and said in a note; raises Refused for long text."""
    notes: list[str] = []
    version = top.get("version")
    if type(version) in (int, float):
        version = str(version)
    if version is not None and (type(version) is not str or len(version) > _SHORT):
        notes.append("its version is neither short text nor a number")
        version = None
    library = next((v for k in keys.LIBRARIES if type(v := top.get(k)) is str and v and len(v) <= _SHORT), None)
    return Header(
        version and clean_text(version, "version", _SHORT),
        library and clean_text(library, "library version", _SHORT),
        tuple(_configs(top.get(keys.CONFIG), notes, limits.string_bytes)),
        tuple(_statuses(top.get(keys.STATUS), notes)),
        tuple(notes[:_NOTES]),
    )


def _not_too_many(groups: dict[Any, Any]) -> None:
    if len(groups) > _GROUPS:
        raise Refused(f"tells of {len(groups):,} groups, more than the limit of {_GROUPS:,}")


def _configs(config: Any, notes: list[str], longest: int) -> list[RawConfig]:
    if config is None:
        return []
    if type(config) is not dict:
        notes.append("its pg_config is no dictionary")
        return []
    _not_too_many(config)
    result = []
    seen: dict[int, tuple[int, ...] | None] = {}  # a file may refer to one list of ranks many times
    for key, value in config.items():
        if type(value) is dict:  # 2.0 and later
            name, desc, ranks = value.get("name"), value.get("desc"), value.get("ranks")
            name = name if type(name) is str else str(key)
            desc = desc if type(desc) is str else ""
            if type(ranks) is str and len(ranks) > longest:
                raise Refused(f"lists ranks in {len(ranks):,} characters, more than the limit of {longest:,}")
        else:  # 1.2 to 1.4: {pg_id: [ranks]}
            name, desc, ranks = str(key), "", value
        if id(ranks) not in seen:
            seen[id(ranks)] = parse_ranks(ranks)
        parsed = seen[id(ranks)]
        if parsed is None:
            notes.append(f"the ranks of group {str(key)[:_SHORT]!a} in pg_config cannot be read")
        key, name, desc = (clean_text(x, "group name", longest) for x in (str(key), name, desc))
        result.append(RawConfig(key, name, desc, parsed or ()))
    return result


@lru_cache(maxsize=4096)
def _ranks_in_text(text: str) -> tuple[int, ...] | None:
    """Every rank of a job writes the list of all its ranks: it is taken apart once."""
    inner = text.strip(_WRAPPING)
    if not inner:
        return ()
    if not _RANK_LIST.fullmatch(inner):
        return None
    return tuple(int(x) for x in inner.split(",") if x.strip())


def parse_ranks(value: Any) -> tuple[int, ...] | None:
    """The ranks of a group: a list, or text as "[0, 1]", "[0,1]" or that again in quotes. None if it is something else."""
    if value is None or value == "":
        return ()
    if type(value) is str:
        return _ranks_in_text(value)
    if type(value) in (list, tuple):
        ranks = []
        for x in value:
            if type(x) is str and x.isascii() and x.isdigit() and len(x) < 10:
                ranks.append(int(x))
            elif type(x) is int and 0 <= x < 2**31:
                ranks.append(x)
            else:
                return None
        return tuple(ranks)
    return None


def _statuses(status: Any, notes: list[str]) -> list[RawStatus]:
    if status is None:
        return []
    if type(status) is not dict:
        notes.append("its pg_status is no dictionary")
        return []
    _not_too_many(status)
    result = []
    for key, value in status.items():
        pg_id = _number(key)
        if pg_id is None or type(value) is not dict:
            notes.append(f"the counters of {str(key)[:_SHORT]!a} in pg_status cannot be read")
            continue
        names = ("last_enqueued_collective", "last_started_collective", "last_completed_collective")
        result.append(RawStatus(pg_id, *(_counter(value.get(name)) for name in names)))
    return result


def _counter(value: Any) -> int | None:
    """A counter; None where it is no number, or one that no job counts to."""
    number = _number(value)
    return number if number is not None and -1 <= number < 2**31 - 2 else None


def _number(value: Any) -> int | None:
    if type(value) is str and _NUMBER.fullmatch(value):
        return int(value)
    return value if type(value) is int and abs(value) < 2**63 else None


def split(root: Any, *, cut_pickle: bool) -> tuple[dict[Any, Any], list[dict[Any, Any]], bool]:
    """Header, entries and whether there was a list of entries, from the value that a file holds.

    torch 2.2 wrote the bare list. Of a pickle that was cut early, the version may be all there is. Raises NotADump if it is
    something else.
    """
    top: dict[Any, Any] = {}
    entries: Any = root
    has_key = True
    if type(root) is dict:
        top = {k: v for k, v in root.items() if k != keys.ENTRIES}
        has_key, entries = keys.ENTRIES in root, root.get(keys.ENTRIES)
        if not has_key and keys.DUMP_KEYS.isdisjoint(top) and not (cut_pickle and "version" in top):
            raise NotADump("not a flight-recorder dump")
        entries = [] if entries is None else entries
    elif type(root) is not list or not root:
        raise NotADump("not a flight-recorder dump")
    if type(entries) is not list:
        raise NotADump("not a flight-recorder dump: its entries are no list")
    if not all(type(e) is dict for e in entries):
        raise NotADump("not a flight-recorder dump: its entries are no dictionaries")
    if entries and not any(key in e for e in entries for key in keys.TELLING):
        raise NotADump("not a flight-recorder dump: its entries are of another kind")
    return top, entries, has_key
