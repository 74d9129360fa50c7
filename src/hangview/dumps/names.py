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
    from collections.abc import Sequence

    from hangview.schema import ReadOptions

BY_NAME = "file name"
BY_CONTENT = "members and peers inside"

#: A rank has at most this many digits: 1795969886415 is a time.
_DIGITS = 7
_RANK_WORD = re.compile(r"(?:(?<![a-z])|(?<=global)|(?<=world)|(?<=trace)|(?<=recorder))rank[-_=.]?([0-9]+)", re.IGNORECASE)
#: ``rank_-1``: torch's number of a rank that is not known yet, and not rank 1 behind a dash.
_MINUS = re.compile(r"(?:^|[-_.=])-$")
_LOCAL = re.compile(r"local[-_]?$", re.IGNORECASE)
_ARCHIVE = re.compile(r"\.(?:tar(?:\.\w{1,4})?|t[gbx]z2?|zip|hvpack)$", re.IGNORECASE)
_NODE_WORD = re.compile(r"(?:^|[^a-z])(?:node|host|machine|server|pod)$", re.IGNORECASE)
_AFFIX = (
    r"(?:torch|nccl|comm_?lib|[hmb]ccl|cncl|fr|flight_?recorder|flight|recorder|dumps?|traces?|debug|info|global|world|rank|r"
    r"|json|job|slurm|run|local_?rank_?\d+)"
)
_LEADING = re.compile(rf"^(?:[^a-z0-9]*{_AFFIX}(?![a-z]))+[^a-z0-9]*", re.IGNORECASE)
_TRAILING = re.compile(rf"[^a-z0-9]*(?:(?<![a-z]){_AFFIX}[^a-z0-9]*)*$", re.IGNORECASE)
_HOSTLIKE = re.compile(r"[a-z].*(?:\d|\.)|^(?:ip-|localhost)", re.IGNORECASE)
#: Columns in the order of likelihood, see _numbers.
_ORDER = ("word", "last", "first", "folder")
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


def without_rank(shown: str, rank: int) -> str:
    """The folder, and the name without the rank: ``job17_rank_3`` and ``job18_rank_3`` are of different places, too."""
    at = max(shown.rfind("/"), shown.rfind(":")) + 1
    runs = [run for run in re.finditer(r"[0-9]+", shown[at:]) if _is_number(run[0]) and int(run[0]) == rank]
    named = [run for run in runs if re.search(r"rank[-_=.]?$", shown[at : at + run.start()], re.IGNORECASE)]
    for run in (named or runs)[-1:]:
        return f"{shown[: at + run.start()]}#{shown[at + run.end() :]}"
    return shown


def name_files(
    paths: Sequence[str],
    inside: Sequence[Inside | None],
    defaults: Sequence[tuple[int, ...] | None],
    options: ReadOptions,
) -> tuple[int, list[Named]]:
    """The rank and host of each file, and the size of a replica group (0: there are none).

    ``paths`` as shown; ``inside`` and ``defaults`` (the members of the default group) from the contents, both None for a file
    that was not decoded: it is named as the decoded ones are, and has no say in how names are read. Raises
    :class:`BadOptionError` for a ``rank_regex`` that cannot be used.
    """
    if options.rank_regex is not None:
        pattern = _compile(options.rank_regex)
        named = [_by_pattern(path, pattern) for path in paths]
    elif options.prefix is not None:
        named = [_by_prefix(path, options.prefix.rpartition("/")[2]) for path in paths]
    else:
        voters = [i for i, hint in enumerate(inside) if hint is not None] or list(range(len(paths)))
        numbers = _choose(paths, inside, voters)
        hosts = _hosts(paths, numbers, voters)
        size, moves = shifts([n.value if n else None for n in numbers], defaults, options.group_world_size)
        known = zip(numbers, hosts, inside, moves, strict=True)
        return size, [_settle(number, host, hint and hint.moved(move, size), move) for number, host, hint, move in known]
    size, moves = shifts([n.rank for n in named], defaults, options.group_world_size)
    return size, [replace(n, shift=move) for n, move in zip(named, moves, strict=True)]


def _settle(number: _Number | None, host: str | None, hint: Inside | None, shift: int) -> Named:
    """Weigh one file's name against its content."""
    if hint is None:
        return Named(None, None, host) if number is None else Named(number.value, BY_NAME, host, shift=shift)
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
        if found is not None and found["rank"] and _is_number(found["rank"]):
            return Named(int(found["rank"]), "--rank-regex", found.groupdict().get("host"))
    return Named(None, None, None, ("--rank-regex does not match its name",))


def _by_prefix(path: str, prefix: str) -> Named:
    name = strip_suffixes(_split(path)[1])
    rest = name.removeprefix(prefix)
    if name.startswith(prefix) and _is_number(rest):
        return Named(int(rest), "--prefix")
    return Named(None, None, None, (f"its name is not {escape(prefix)!r} (--prefix) and a number",))


# --- candidates


def _numbers(path: str) -> list[_Number]:
    """The numbers of a name that may be its rank, the likeliest first."""
    folder, name = _split(path)
    stem = strip_suffixes(name)
    out: list[tuple[str, str, int]] = []
    words = [m for m in _RANK_WORD.finditer(stem) if not _LOCAL.search(stem, 0, m.start())]
    if words:
        out.append(("word", words[-1][1], words[-1].start(1)))
    runs = list(re.finditer(r"[0-9]+", stem))
    if runs and runs[-1].end() == len(stem):
        out.append(("last", runs[-1][0], runs[-1].start()))
    if runs and runs[0].start() == 0:
        out.append(("first", runs[0][0], 0))
    out += [(f"run {i}", run[0], run.start()) for i, run in enumerate(reversed(runs))]
    above = [m for m in _RANK_WORD.finditer(folder) if not _LOCAL.search(folder, 0, m.start())]
    if above:
        out.append(("folder", above[-1][1], len(stem)))
    return [
        _Number(int(digits), column, start)
        for column, digits, start in out
        if _is_number(digits) and (column == "folder" or not _MINUS.search(stem, 0, start))
    ]


def _is_number(digits: str) -> bool:
    """Whether a rank may be written so; more digits are a time or a job."""
    return re.fullmatch(rf"[0-9]{{1,{_DIGITS}}}", digits) is not None


def _choose(paths: Sequence[str], inside: Sequence[Inside | None], voters: Sequence[int]) -> list[_Number | None]:
    """Read the names of one set alike: the column that gives distinct ranks which the contents allow."""
    candidates = [_numbers(path) for path in paths]
    columns = list(dict.fromkeys(number.column for i in voters for number in candidates[i]))
    columns.sort(key=lambda c: (_ORDER.index(c) if c in _ORDER else len(_ORDER), c))
    tables = {c: [next((n for n in numbers if n.column == c), None) for numbers in candidates] for c in columns}
    if "last" in tables:
        tables |= _cuts(paths, tables["last"], voters)
    if not tables:
        return [None] * len(paths)
    scores = {column: _score(table, paths, inside, voters) for column, table in tables.items()}
    best = max(scores.values())
    node = all(_NODE_WORD.search(strip_suffixes(_split(paths[i])[1]).rstrip("0123456789")) for i in voters)
    order = sorted(tables, key=lambda column: (scores[column] < best, node and _scattered(tables[column], voters)))
    usable = [column for column in order if not column.startswith("cut") or column == order[0]]
    return [next((number for column in usable if (number := tables[column][i]) is not None), None) for i in range(len(paths))]


def _score(
    table: Sequence[_Number | None], paths: Sequence[str], inside: Sequence[Inside | None], voters: Sequence[int]
) -> int:
    """How many files a column names, less those whose content forbids it and those that claim another one's rank."""
    claims: Counter[tuple[str, str, int]] = Counter()
    named = forbidden = 0
    for i in voters:
        number, hint = table[i], inside[i]
        if number is not None:
            named += 1
            folder, name = _split(paths[i])
            claims[folder, name[len(strip_suffixes(name)) :], number.value] += 1
            forbidden += hint is not None and not hint.allows(number.value)
    doubles = sum(times - 1 for times in claims.values())
    return named - 2 * doubles - 2 * forbidden


def _cuts(paths: Sequence[str], last: Sequence[_Number | None], voters: Sequence[int]) -> dict[str, list[_Number | None]]:
    """Readings of glued digits: ``trace_node13`` is rank 13, or node 1 and rank 3. Only where a letter is before them all."""
    runs: list[tuple[str, int] | None] = []
    for path, number in zip(paths, last, strict=True):
        stem = strip_suffixes(_split(path)[1])
        glued = number is not None and number.start > 0 and stem[number.start - 1].isalpha()
        runs.append((stem[number.start :], number.start) if number is not None and glued else None)
    out: dict[str, list[_Number | None]] = {}
    for length in (1, 2, 3):
        cut = [_cut(run, length) for run in runs]
        if all(cut[i] is not None for i in voters):
            out[f"cut {length}"] = cut
    return out


def _cut(run: tuple[str, int] | None, length: int) -> _Number | None:
    """A run of digits without its first ones, if what is left can be a rank."""
    if run is None or len(run[0]) <= length or (run[0][length] == "0" and len(run[0]) > length + 1):
        return None
    return _Number(int(run[0][length:]), f"cut {length}", run[1] + length)


def _scattered(table: Sequence[_Number | None], voters: Sequence[int]) -> bool:
    """Whether ranks are missing in between; told apart only where a node's number may be glued to the rank."""
    ranks = {number.value for i in voters if (number := table[i]) is not None}
    return bool(ranks) and max(ranks) - min(ranks) + 1 != len(ranks)


# --- hosts


def _hosts(paths: Sequence[str], numbers: Sequence[_Number | None], voters: Sequence[int]) -> list[str | None]:
    """The host that a name or a folder gives: what is left of a name without rank, endings and the usual words."""
    left = [_leftover(path, number) for path, number in zip(paths, numbers, strict=True)]
    varied = len({left[i] for i in voters if left[i]}) > 1
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
    """The last folder of a path that names no attempt and says more than "dumps"; of an archive its name without endings."""
    parts = (part for part in reversed(re.split("[/:]", folder)) if part and not _ATTEMPT.search(part))
    return _ARCHIVE.sub("", next((part for part in parts if _LEADING.sub("", f"{part}_")), ""))
