"""Files with their ranks → lines of the ledger: what each file is, what became of it, and why."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hangview.dumps.decoded import DAMAGED
from hangview.dumps.facts import flags, ints
from hangview.dumps.kinds import PACK, says_dump, strip_suffixes
from hangview.dumps.names import BY_NAME, Named, attempt_of, name_files, shape
from hangview.dumps.worlds import worlds
from hangview.producers import Completion, Counters
from hangview.schema import Source, SourceKind, SourceStatus
from hangview.text import count, escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hangview.dumps.decoded import Decoded
    from hangview.dumps.facts import Facts
    from hangview.dumps.result import FileRead
    from hangview.producers import Producer
    from hangview.schema import ReadOptions

_NO_RANK = "no rank in its name, and nothing inside tells it: --prefix or --rank-regex can"


@dataclass(frozen=True, slots=True)
class Place:
    """A file with what its name and its content say."""

    file: FileRead
    named: Named
    label: int | None  #: the attempt that its folder names

    @property
    def decoded(self) -> Decoded | None:
        return self.file.decoded

    @property
    def facts(self) -> Facts | None:
        return self.file.facts


def out_of_packs(files: Sequence[FileRead]) -> tuple[list[FileRead], list[Source]]:
    """The files as they would be without packs, and what the packs' ledgers say of sources that were left alone."""
    files = told_apart(files)
    return [file for file in files if not file.listed], [_as_listed(file) for file in files if file.listed]


def told_apart(files: Sequence[FileRead]) -> Sequence[FileRead]:
    """The files of packs by names that are theirs alone.

    A source is called as it was when it was packed. Only where two are called alike, as are those of hosts that number their
    ranks from 0 each, all of the packs that they are in stand before the names.
    """
    claims: dict[str, set[str]] = {}
    for file in files:
        claims.setdefault(file.found.shown, set()).add(file.pack)
    apart = {pack for packs in claims.values() if len(packs) > 1 for pack in packs if pack}
    if not apart:
        return files
    return [_under(file, f"{file.pack}:{file.found.shown}") if file.pack in apart else file for file in files]


def _under(file: FileRead, shown: str) -> FileRead:
    return replace(file, found=replace(file.found, shown=shown))


def _as_listed(file: FileRead) -> Source:
    found = file.found
    return Source(found.shown, file.kind, file.status, file.reason, size=found.size, mtime_ns=found.mtime_ns)


def place_files(files: Sequence[FileRead], options: ReadOptions) -> tuple[int, list[Place]]:
    """The size of a replica group (0: none), and each file with its rank. Raises BadOptionError."""
    shown = [file.found.shown for file in files]
    insides = [None if file.facts is None else file.facts.inside for file in files]
    defaults = [None if file.facts is None else file.facts.default for file in files]
    size, named = name_files(shown, insides, defaults, options)
    if not size and options.group_world_size is None:
        size = worlds([name.rank for name in named], [file.decoded for file in files])
        named = [replace(name, shift=(name.rank or 0) // size * size) for name in named] if size else named
    return size, [Place(file, name, attempt_of(file.found.shown)) for file, name in zip(files, named, strict=True)]


def sources_of(places: Sequence[Place], replica: int) -> list[Source]:
    """A source for each file, before files are weighed against each other."""
    decoded = [place for place in places if place.facts is not None]
    lists = {config.ranks for place in decoded if place.decoded for config in place.decoded.configs if config.key}
    members = frozenset().union(*lists)
    known = _Known(
        shapes=frozenset(shape(place.file.found.shown) for place in decoded),
        read=frozenset(place.named.rank for place in decoded),
        world=members if members and not replica else None,
    )
    return [_source(place, known) for place in places]


@dataclass(frozen=True, slots=True)
class _Known:
    """What the decoded dumps tell about those that could not be: how they are called, whose they are, and the members of all
    their groups (None when these are not known)."""

    shapes: frozenset[str]
    read: frozenset[int | None]
    world: frozenset[int] | None


def _source(place: Place, known: _Known) -> Source:
    file = place.file
    base = _as_listed(file)
    if file.kind is SourceKind.LOG:
        return base
    if place.decoded is None or place.facts is None:
        if file.found.shown.endswith(PACK) and file.status is not SourceStatus.IGNORED:
            return replace(base, kind=SourceKind.OTHER)  # a pack that could not be read, for whatever reason
        if not _claims(place, known):
            if file.status is SourceStatus.GROWING or (
                file.kind is SourceKind.OTHER and file.status is not SourceStatus.IGNORED
            ):
                return base  # not known yet, or a bundle
            return replace(base, kind=SourceKind.OTHER, status=SourceStatus.IGNORED, reason=_no_dump(file.reason or "unknown"))
        reason = file.reason if file.kind is SourceKind.DUMP else f"{file.reason}, under a dump's name"
        status = file.status if file.kind is SourceKind.DUMP else SourceStatus.UNREADABLE
        return _with_rank(replace(base, kind=SourceKind.DUMP, status=status, reason=reason), place.named)
    if place.named.rank is None:
        told = place.named.notes[0] if place.named.notes else _NO_RANK
        return replace(base, status=SourceStatus.UNREADABLE, reason=told, entries=place.decoded.count)
    return _with_rank(replace(base, version=place.decoded.version, library=place.decoded.library), place.named)


def _no_dump(reason: str) -> str:
    return reason if "not a flight-recorder dump" in reason else f"not a flight-recorder dump: {reason}"


def _with_rank(source: Source, named: Named) -> Source:
    return replace(source, rank=named.rank, rank_from=named.origin, host=named.host and escape(named.host), notes=named.notes)


def _claims(place: Place, known: _Known) -> bool:
    """Whether a file that is no dump would be missed as one: it has a rank in its name, and is called as the dumps are, or as
    dumps are in general and of a rank that is missing."""
    rank = place.named.rank
    if rank is None or place.named.origin is None:
        return False
    if place.named.origin != BY_NAME or shape(place.file.found.shown) in known.shapes:
        return True
    if rank in known.read or (known.world is not None and rank not in known.world):
        return False
    return says_dump(strip_suffixes(place.file.found.shown.rpartition("/")[2]))


def common_library(facts: Iterable[Facts | None]) -> str | None:
    """The library of most dumps; what a dump without entries was most likely recorded by."""
    tally = Counter(fact.library for fact in facts if fact is not None and fact.library is not None)
    return min(tally, key=lambda name: (-tally[name], name)) if tally else None


def describe(source: Source, place: Place, library: str | None, *, finished: bool = False) -> Source:
    """Everything that is known of a decoded file from itself. ``finished``: some dump beside it holds finished calls."""
    decoded, facts = place.decoded, place.facts
    if decoded is None or facts is None:
        return source
    only_active = _only_active(decoded, facts, library, finished=finished)
    return replace(
        source,
        producer=facts.library,
        version=decoded.version,
        library=decoded.library,
        entries=decoded.count,
        wrapped=bool(facts.first_record) and not only_active,
        only_active=only_active,
        has_stacks=facts.has_stacks,
        configured=bool(decoded.configs),
        notes=(*source.notes, *_notes(decoded, facts, library, only_active=only_active)),
    )


def _only_active(decoded: Decoded, facts: Facts, library: str | None, *, finished: bool) -> bool:
    """Whether completed entries were left out when it was written.

    Record ids then have holes; or no entry says completed while the counters do (of a recorder that records completion); or
    there is no entry although something was requested. Without holes a ring buffer may hold nothing but unfinished calls: so it
    is where the first record is there, where the counters know of an unfinished call that is not, and where other dumps of the
    job hold finished ones.
    """
    if not decoded.complete and decoded.count == 0:
        return False
    if decoded.count == 0:
        return any(status.enqueued is not None and status.enqueued >= 0 for status in decoded.statuses)
    producer = facts.producer(library)
    if producer is None or producer.completion is Completion.RETIRED:
        return False
    if facts.holes:
        return True
    done = any(status.completed is not None and status.completed >= 0 for status in decoded.statuses)
    if finished or not done or facts.completed or not decoded.complete or facts.first_record == 0:
        return False
    return not _unfinished_lost(decoded, producer)


def _unfinished_lost(decoded: Decoded, producer: Producer) -> bool:
    """Whether a group's oldest record is newer than the first call that its counters say is unfinished."""
    if producer.counters is not Counters.SEQ:
        return False
    group, seq = ints(decoded, "pg_id"), ints(decoded, "seq")
    paired = flags(decoded, "is_p2p") | (ints(decoded, "p2p_seq") > 0)  # counted along where there are such
    for status in decoded.statuses:
        mine = group == status.pg_id
        if status.completed is None or status.completed < 0 or not mine.any() or paired[mine].any():
            continue
        if seq[mine].min() > status.completed + 1:
            return True
    return False


def _notes(decoded: Decoded, facts: Facts, library: str | None, *, only_active: bool) -> Iterable[str]:
    if decoded.encoding != "pickle 2":
        yield f"read as {decoded.encoding}"
    producer = facts.producer(library)
    if facts.torchcomms and facts.first_record:
        yield (
            "torchcomms numbers calls over all communicators, and the ring buffer wrapped: how many calls each communicator "
            "had before is not recorded, so these calls cannot be set beside those of other ranks"
        )
    elif producer is not None and producer.note:
        yield producer.note
    if not decoded.count:
        yield "holds no entries" if decoded.has_entries_key else "was written without its entries"
    if only_active and decoded.count:
        yield "holds unfinished entries only: completed ones were left out when it was written"
    if facts.first_record and not only_active:
        yield f"the ring buffer wrapped: {count(facts.first_record, 'older record was', 'older records were')} overwritten"
    if decoded.count and not facts.has_stacks:
        yield "no stacks: JSON has none" if decoded.encoding.startswith("json") else "no stacks: dumped without them"
    if decoded.unknown_keys:
        yield f"entries have keys that are not known here: {escape(', '.join(decoded.unknown_keys))}"
    yield from (escape(note) for note in decoded.notes if not note.startswith(DAMAGED))  # that is its reason
