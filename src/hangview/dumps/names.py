"""The rank of a dump: from its file name, checked against what is inside.

A dump says nothing about itself: torch appends the global rank to a prefix, in decimal and without a separator
(``TORCH_FR_DUMP_TEMP_FILE``, torch 2.2 to 2.15). People then add hosts, job ids and endings, and copy the files into folders.
So every number in a name is a candidate, the candidates of all names are weighed together, and what is inside decides where
it can: the members of its groups contain the rank, and a ``send 2->3`` or ``recv 3<-2`` shows the position in a group.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hangview.dumps.kinds import strip_suffixes
from hangview.dumps.replicas import shifts
from hangview.text import escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hangview.schema import ReadOptions

BY_NAME = "file name"
BY_CONTENT = "members and peers inside"

#: A rank has at most this many digits: 1795969886415 is a time.
_DIGITS = 7
_RANK_WORD = re.compile(r"(?:(?<![a-z])|(?<=global)|(?<=world)|(?<=trace)|(?<=recorder))rank[-_=.]?(\d+)(?!\d)", re.IGNORECASE)
_LOCAL = re.compile(r"local[-_]?$", re.IGNORECASE)
_NODE_WORD = re.compile(r"(?:^|[^a-z])(?:node|host|machine|server|pod)$", re.IGNORECASE)
_AFFIX = (
    r"(?:torch|nccl|comm_?lib|[hmb]ccl|cncl|fr|flight_?recorder|flight|recorder|dumps?|traces?|debug|info|global|world|rank|r"
    r"|json|job|slurm|run|local_?rank_?\d+)"
)
_LEADING = re.compile(rf"^(?:[^a-z0-9]*{_AFFIX}(?![a-z]))+[^a-z0-9]*", re.IGNORECASE)
_TRAILING = re.compile(rf"[^a-z0-9]*(?:(?<![a-z]){_AFFIX}[^a-z0-9]*)*$", re.IGNORECASE)
_HOSTLIKE = re.compile(r"[a-z].*(?:\d|\.)|^(?:ip-|localhost)", re.IGNORECASE)
_ATTEMPT = re.compile(r"(?:^|[^a-z])(?:attempt|restart|retry|try|incarnation)[-_=.]?(\d{1,6})(?!\d)", re.IGNORECASE)


class BadOptionError(ValueError):
    """An option that cannot mean anything; the message is one line for the user."""


@dataclass(frozen=True, slots=True)
class Inside:
    """What a dump's content says of its own rank. ``members``: the ranks that all of its groups have in common, None when no
    group says; ``own``: the rank at the position that its sends and receives show."""

    members: frozenset[int] | None = None
    own: int | None = None

    def allows(self, rank: int) -> bool:
        return (self.own is None or self.own == rank) and (self.members is None or rank in self.members)

    def moved(self, shift: int, size: int) -> Inside:
        """The same for a file of a replica group whose ranks are its own (see ``replicas``)."""
        if not shift or self.members is None or not self.members or max(self.members) >= size:
            return self
        return Inside(frozenset(rank + shift for rank in self.members), None if self.own is None else self.own + shift)

    @property
    def only(self) -> int | None:
        """The one rank that the content leaves open, if it is one."""
        if self.own is not None:
            return self.own
        return next(iter(self.members)) if self.members is not None and len(self.members) == 1 else None


@dataclass(frozen=True, slots=True)
class Named:
    """A file's rank and how it was found; ``rank`` is None when nothing tells (then ``notes`` say what was tried)."""

    rank: int | None
    origin: str | None
    host: str | None = None
    notes: tuple[str, ...] = ()
    shift: int = 0  #: what to add to the ranks of its groups: it is of a replica that numbers its ranks from 0


@dataclass(frozen=True, slots=True)
class _Number:
    """A number in a name. ``column`` says which one it is, so that the names of one set can be read alike."""

    value: int
    column: str
    start: int


def attempt_of(shown: str) -> int | None:
    """The attempt that a path names (``attempt_1/…``, torchrun's log folders; ``restart_2``), the innermost one."""
    found = _ATTEMPT.findall(shown)
    return int(found[-1]) if found else None


def shape(shown: str) -> str:
    """The file name with its numbers and endings taken out: dumps of one job have few shapes."""
    return re.sub(r"\d+", "#", strip_suffixes(_split(shown)[1]))


def name_files(
    paths: Sequence[str], inside: Sequence[Inside], defaults: Sequence[tuple[int, ...] | None], options: ReadOptions
) -> tuple[int, list[Named]]:
    """The rank and host of each file, and the size of a replica group (0: there are none).

    ``paths`` as shown; ``inside`` and ``defaults`` (the members of the default group) from the contents, ``Inside()`` and None
    for a file that was not decoded. Raises :class:`BadOptionError` for a ``rank_regex`` that cannot be used.
    """
    if options.rank_regex is not None:
        pattern = _compile(options.rank_regex)
        named = [_by_pattern(path, pattern) for path in paths]
    elif options.prefix is not None:
        named = [_by_prefix(path, options.prefix.rpartition("/")[2]) for path in paths]
    else:
        numbers = _choose(paths, inside)
        hosts = _hosts(paths, numbers)
        size, moves = shifts([n.value if n else None for n in numbers], defaults, options.group_world_size)
        known = zip(numbers, hosts, inside, moves, strict=True)
        return size, [_settle(number, host, hint.moved(move, size), move) for number, host, hint, move in known]
    size, moves = shifts([n.rank for n in named], defaults, options.group_world_size)
    return size, [replace(n, shift=move) for n, move in zip(named, moves, strict=True)]


def _settle(number: _Number | None, host: str | None, hint: Inside, shift: int) -> Named:
    """Weigh one file's name against its content."""
    if number is None:
        return Named(hint.only, None if hint.only is None else BY_CONTENT, host, shift=shift)
    rank = number.value
    if hint.own is not None and hint.own != rank:
        note = f"its name says rank {rank}, its sends and receives say rank {hint.own}"
        return Named(hint.own, BY_CONTENT, host, (note,), shift)
    notes = []
    if number.column.startswith("cut"):
        notes.append(f"rank {rank}: the digits before it are taken for a node's number")
    if hint.own == rank:
        notes.append("its sends and receives confirm the rank")
    elif hint.members is None:
        notes.append("nothing inside confirms the rank")
    elif rank not in hint.members:
        notes.append(f"no group that it knows has rank {rank} as a member: is the rank in its name right?")
    return Named(rank, BY_NAME, host, tuple(notes), shift)


def _split(shown: str) -> tuple[str, str]:
    """Folder and file name of a shown path; a bundle counts as a folder."""
    cut = max(shown.rfind("/"), shown.rfind(":"))
    return shown[: cut + 1], shown[cut + 1 :]


# --- options


def _compile(text: str) -> re.Pattern[str]:
    """A regex with a group named rank, or a template such as ``trace_{host}_{rank}``."""
    if "{rank}" in text:
        parts = re.split(r"(\{rank\}|\{host\}|\*)", text)
        known = {"{rank}": r"(?P<rank>\d+)", "{host}": r"(?P<host>.+?)", "*": ".*?"}
        text = "".join(known.get(part, re.escape(part)) for part in parts) + "$"
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise BadOptionError(f"--rank-regex {escape(text)!r} is no regular expression: {error}") from None
    if "rank" not in pattern.groupindex:
        raise BadOptionError(
            f"--rank-regex {escape(text)!r} has no group named rank: write (?P<rank>\\d+), or a template such as trace_{{rank}}"
        )
    return pattern


def _by_pattern(path: str, pattern: re.Pattern[str]) -> Named:
    """Tried on the whole path as shown, then on it without the endings of dumps."""
    folder, name = _split(path)
    for text in (path, folder + strip_suffixes(name), name, strip_suffixes(name)):
        found = pattern.search(text)
        if found is not None and found["rank"] and found["rank"].isdecimal():
            return Named(int(found["rank"]), "--rank-regex", found.groupdict().get("host"))
    return Named(None, None, None, ("--rank-regex does not match its name",))


def _by_prefix(path: str, prefix: str) -> Named:
    name = strip_suffixes(_split(path)[1])
    rest = name.removeprefix(prefix)
    if name.startswith(prefix) and rest.isdecimal() and len(rest) <= _DIGITS:
        return Named(int(rest), "--prefix")
    return Named(None, None, None, (f"its name is not {escape(prefix)!r} (--prefix) and a number",))


# --- candidates


def _numbers(path: str) -> list[_Number]:
    """The numbers of a name that may be its rank, the likeliest first."""
    folder, name = _split(path)
    stem = strip_suffixes(name)
    out: list[_Number] = []
    words = [m for m in _RANK_WORD.finditer(stem) if not _LOCAL.search(stem, 0, m.start())]
    if words:
        out.append(_Number(int(words[-1][1]), "word", words[-1].start(1)))
    runs = list(re.finditer(r"\d+", stem))
    if runs and runs[-1].end() == len(stem):
        out.append(_Number(int(runs[-1][0]), "last", runs[-1].start()))
    if runs and runs[0].start() == 0:
        out.append(_Number(int(runs[0][0]), "first", 0))
    out += [_Number(int(run[0]), f"run {i}", run.start()) for i, run in enumerate(reversed(runs))]
    above = [m for m in _RANK_WORD.finditer(folder) if not _LOCAL.search(folder, 0, m.start())]
    if above:
        out.append(_Number(int(above[-1][1]), "folder", len(stem)))
    return [number for number in out if number.value < 10**_DIGITS]


def _choose(paths: Sequence[str], inside: Sequence[Inside]) -> list[_Number | None]:
    """Read the names of one set alike: the column that gives distinct ranks which the contents allow."""
    names = [_split(path) for path in paths]
    candidates = [_numbers(path) for path in paths]
    columns = list(dict.fromkeys(number.column for numbers in candidates for number in numbers))
    columns.sort(key=lambda c: (("word", "last", "first", "folder").index(c) if not c.startswith("run") else 9, c))
    tables = {c: _column(c, candidates) for c in columns}
    tables |= _cuts(paths, tables.get("last"))
    if not tables:
        return [None] * len(paths)
    places = [(folder, name[len(strip_suffixes(name)) :]) for folder, name in names]
    scores = {column: _score(table, places, inside) for column, table in tables.items()}
    best = max(scores.values())
    node = _after_node(names)
    order = sorted(tables, key=lambda column: (scores[column] < best, node and _scattered(tables[column])))
    usable = [column for column in order if not column.startswith("cut") or column == order[0]]
    return [next((number for column in usable if (number := tables[column][i]) is not None), None) for i in range(len(paths))]


def _column(column: str, candidates: Iterable[list[_Number]]) -> list[_Number | None]:
    return [next((n for n in numbers if n.column == column), None) for numbers in candidates]


def _score(table: Sequence[_Number | None], places: Sequence[tuple[str, str]], inside: Sequence[Inside]) -> int:
    """How many files a column names, less those whose content forbids it and those that claim another one's rank."""
    claims = Counter((place, number.value) for place, number in zip(places, table, strict=True) if number is not None)
    doubles = sum(times - 1 for times in claims.values())
    named = sum(number is not None for number in table)
    forbidden = sum(number is not None and not hint.allows(number.value) for number, hint in zip(table, inside, strict=True))
    return named - 2 * doubles - 2 * forbidden


def _cuts(paths: Sequence[str], last: Sequence[_Number | None] | None) -> dict[str, list[_Number | None]]:
    """Readings of glued digits: ``trace_node13`` is rank 13, or node 1 and rank 3. Only where a letter is before them all."""
    if last is None:
        return {}
    stems = [strip_suffixes(_split(path)[1]) for path in paths]
    if not all(n is not None and n.start > 0 and s[n.start - 1].isalpha() for n, s in zip(last, stems, strict=True)):
        return {}
    runs = [(stem[number.start :], number.start) for stem, number in zip(stems, last, strict=True) if number is not None]
    out: dict[str, list[_Number | None]] = {}
    for length in (1, 2, 3):
        if all(len(run) > length and (run[length] != "0" or len(run) == length + 1) for run, _ in runs):
            column = f"cut {length}"
            out[column] = [_Number(int(run[length:]), column, start + length) for run, start in runs]
    return out


def _after_node(names: Sequence[tuple[str, str]]) -> bool:
    return all(_NODE_WORD.search(re.sub(r"\d+$", "", strip_suffixes(name))) for _, name in names)


def _scattered(table: Sequence[_Number | None]) -> bool:
    """Whether ranks are missing in between; told apart only where a node's number may be glued to the rank."""
    ranks = {number.value for number in table if number is not None}
    return bool(ranks) and max(ranks) - min(ranks) + 1 != len(ranks)


# --- hosts


def _hosts(paths: Sequence[str], numbers: Sequence[_Number | None]) -> list[str | None]:
    """The host that a name or a folder gives: what is left of a name without rank, endings and the usual words."""
    left = [_leftover(path, number) for path, number in zip(paths, numbers, strict=True)]
    varied = len({text for text in left if text}) > 1
    by_name = [text if text and (varied or _HOSTLIKE.search(text)) and re.search("[a-zA-Z]", text) else None for text in left]
    if any(by_name):
        return by_name
    return _folder_hosts(paths, numbers)


def _leftover(path: str, number: _Number | None) -> str:
    stem = strip_suffixes(_split(path)[1])
    if number is None or number.column == "folder":
        return ""
    before, after = stem[: number.start], re.sub(r"^\d+", "", stem[number.start :])
    parts = [_TRAILING.sub("", _LEADING.sub("", part)).strip("_-. ") for part in (before, after)]
    return next((part for part in parts if re.search("[a-zA-Z]", part)), "")


def _folder_hosts(paths: Sequence[str], numbers: Sequence[_Number | None]) -> list[str | None]:
    """Folders are hosts where there are several side by side and no rank is in two of them."""
    folders = [_innermost(_split(path)[0]) for path in paths]
    ranks: dict[str, set[int]] = defaultdict(set)
    for folder, number in zip(folders, numbers, strict=True):
        if number is not None and number.column != "folder":
            ranks[folder].add(number.value)
    total = sum(map(len, ranks.values()))
    if len(ranks) < 2 or "" in ranks or len(set().union(*ranks.values())) != total:
        return [None] * len(paths)
    return [folder if folder in ranks else None for folder in folders]


def _innermost(folder: str) -> str:
    """The last folder of a path that names no attempt and says more than "dumps"."""
    parts = (part for part in reversed(re.split("[/:]", folder)) if part and not _ATTEMPT.search(part))
    return next((part for part in parts if _LEADING.sub("", f"{part}_")), "")
