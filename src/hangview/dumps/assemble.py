"""All files that were read → :class:`hangview.schema.Records`: ranks, starts of the job, groups, counters, entries.

The order of the files does not matter: everything is decided by contents, and at last by the natural order of the paths.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from hangview.dumps import attempt_times, attempts, doubles, table
from hangview.dumps.counters import Counted, read_counters, stands
from hangview.dumps.decoded import NONE
from hangview.dumps.facts import DEFAULT_NAME, ids, ints
from hangview.dumps.names import BY_CONTENT, BadOptionError, attempt_of, without_rank
from hangview.dumps.ops import parse_op
from hangview.dumps.replicas import shifted
from hangview.dumps.sources import Place, common_library, describe, out_of_packs, place_files, sources_of
from hangview.dumps.worlds import default_label
from hangview.schema import FULL, Attempt, GroupConfig, Records, Source, SourceKind, SourceStatus
from hangview.text import fold_ranks, natural

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from hangview.dumps.decoded import Decoded
    from hangview.dumps.facts import Facts
    from hangview.dumps.result import FileRead
    from hangview.schema import ReadOptions

_SAYS_NOTHING = ("", "undefined")


def assemble(files: Sequence[FileRead], others: Sequence[Source], options: ReadOptions) -> Records:
    """Put what was read into one schema.

    ``files`` are all that may be dumps, after reading; ``others`` are sources that are not read here: logs, and what was left
    alone. The sources of the result are the logs in natural order (so that their numbers do not change when dumps arrive),
    then the files, then the rest. Raises :class:`~hangview.dumps.names.BadOptionError` (a ``ValueError``) for an option that
    does not fit the files.
    """
    files, listed = out_of_packs(files)
    rest = sorted((*others, *listed), key=lambda source: natural(source.path))
    logs = [replace(source, attempt=attempt_of(source.path)) for source in rest if source.kind is SourceKind.LOG]
    rest = [
        replace(source, attempt=attempt_of(source.path)) if source.status is SourceStatus.UNREADABLE else source
        for source in rest
        if source.kind is not SourceKind.LOG
    ]
    files = sorted(files, key=lambda file: natural(file.found.shown))
    replica, places = place_files(files, options)
    sources, places = _without_local_numbers(sources_of(places, replica), places)
    usable = [i for i, source in enumerate(sources) if source.usable and source.rank is not None]
    library = common_library(places[i].facts for i in usable)
    first = len(logs)
    lists: dict[tuple[int, ...], tuple[int, ...]] = {}
    configs = {i: _configs(first + i, places[i], library, replica, lists) for i in usable}
    finished = any(_both(places[i])[1].completed for i in usable)
    for i in usable:
        sources[i] = describe(sources[i], places[i], library, finished=finished)
    built = _build(places, usable, first)
    starts = _starts(places, sources, usable, first, built, configs, options)
    sources = _with_starts(sources, places, starts)
    current = [i for start in starts if start.current for i in start.sources]
    for i, reason in doubles.superseded(sources, places, current).items():
        sources[i] = replace(sources[i], status=SourceStatus.SUPERSEDED, reason=reason)
    kept = sorted(i for i in current if sources[i].usable)
    entries = built.entries if len(kept) == len(usable) else built.entries.filter((pl.col("source") - first).is_in(kept))
    chosen = tuple(config for i in kept for config in configs[i])
    counted = [_counted(first + i, sources[i], places[i], library) for i in kept]
    return Records(
        sources=(*logs, *sources, *rest),
        configs=chosen,
        statuses=read_counters(counted, stands(entries), built.labels, chosen),
        entries=entries,
        labels=built.labels,
        ops=tuple(parse_op(text) for text in built.ops),
        signatures=built.signatures,
        stacks=built.stacks,
        threads=built.threads,
        attempts=tuple(Attempt(s.number, s.ranks, s.current, s.reason, s.beside, s.newest_ns) for s in starts),
        exist=tuple(sorted({rank for i in kept for rank in _exist(places[i], library, replica)})),
    )


def _without_local_numbers(sources: list[Source], places: list[Place]) -> tuple[list[Source], list[Place]]:
    """Take ranks away from files whose number counts within a folder; the content may give them one of their own."""
    for i, other in doubles.local_numbers(sources, places).items():
        rank = _both(places[i])[1].inside.only
        origin = None if rank is None else BY_CONTENT
        sources[i] = replace(sources[i], rank=rank, rank_from=origin)
        places[i] = replace(places[i], named=replace(places[i].named, rank=rank, origin=origin))
        if rank is None:
            reason = (
                f"its number is no rank: {other} has it too, and both took part in the same calls; put the rank into the name"
            )
            sources[i] = replace(sources[i], status=SourceStatus.UNREADABLE, reason=reason)
    return sources, places


def _counted(source: int, ledger: Source, place: Place, library: str | None) -> Counted:
    decoded, facts = _both(place)
    cut = ledger.partial
    return Counted(source, decoded.statuses, facts.producer(library), cut, ledger.only_active, facts.issued_only)


def _both(place: Place) -> tuple[Decoded, Facts]:
    """The content of a usable place; there by construction."""
    assert place.decoded is not None
    assert place.facts is not None
    return place.decoded, place.facts


# --- groups


def _configs(
    source: int, place: Place, library: str | None, replica: int, lists: dict[tuple[int, ...], tuple[int, ...]]
) -> tuple[GroupConfig, ...]:
    """The groups that a dump's own configuration gives, as far as they can be believed. Equal lists of members, which are long
    and in every dump, become one by way of ``lists``."""
    decoded, facts = _both(place)
    rank = place.named.rank
    producer = facts.producer(library)
    described = {name: desc for name, desc in decoded.labels if desc not in _SAYS_NOTHING}
    used = {name for name, _ in decoded.labels}
    out = []
    for raw in decoded.configs:
        ranks = raw.ranks
        if rank is not None and place.named.shift:
            ranks = shifted(ranks, replica, rank, place.named.shift)
        if ranks and rank not in ranks:
            continue  # of a group that this rank is not in: written by mistake, or the file's name is wrong
        if producer is not None and not producer.config_trusted and not _looks_right(raw.key, used, ranks):
            label = default_label(decoded) if replica and raw.key == "" and len(ranks) == replica else None
            if label is not None:  # of several worlds, each with numbers of its own
                out.append(GroupConfig(source, *label, lists.setdefault(ranks, ranks)))
            continue
        desc = described.get(raw.name, raw.desc) if raw.desc in _SAYS_NOTHING else raw.desc
        out.append(GroupConfig(source, raw.name, desc, lists.setdefault(ranks, ranks)))
    return tuple(out)


def _looks_right(key: str, used: set[str], ranks: tuple[int, ...]) -> bool:
    """Whether a configuration of gloo is one of a group by name: split_group writes such, with world ranks (torch 2.15). The
    key '' has the numbers of whatever group was made last."""
    return bool(ranks) and key != "" and (key in used or key == DEFAULT_NAME)


def _exist(place: Place, library: str | None, replica: int) -> tuple[int, ...]:
    """World ranks that exist by gloo's key ''.

    ProcessGroupGloo notes its ranks before its group has a name. In torch 2.13 the first group of a process gives the ranks
    0 to n - 1 and later ones nothing; 2.15 gives the numbers within the group made last. Whichever it is, a group of n
    members proves that the world has as many, so the numbers are ranks that exist. They are no group's member list.
    """
    decoded, facts = _both(place)
    producer = facts.producer(library)
    if producer is None or producer.config_trusted:
        return ()
    rank, shift = place.named.rank, place.named.shift
    told = (raw.ranks for raw in decoded.configs if raw.key == "")
    return tuple(r for ranks in told for r in (ranks if rank is None else shifted(ranks, replica, rank, shift)))


# --- entries


def _build(places: Sequence[Place], usable: Sequence[int], first: int) -> table.Table:
    dumps = []
    seqs: dict[int, npt.NDArray[np.int64]] = {}
    for i in usable:
        decoded, facts = _both(places[i])
        rank = places[i].named.rank
        dumps.append((first + i, -1 if rank is None else rank, decoded))
        if facts.torchcomms:
            seqs[first + i] = _renumbered(decoded, wrapped=bool(facts.first_record))
    return table.build(dumps, seqs)


def _renumbered(decoded: Decoded, *, wrapped: bool) -> npt.NDArray[np.int64]:
    """torchcomms numbers calls over all communicators of a process: number them per communicator, from 1, in its order.

    Once the ring buffer has wrapped nobody knows how many there were before, and no number is better than a wrong one.
    """
    seq, label = ints(decoded, "seq"), ids(decoded, "label")
    out = np.full(len(seq), NONE, np.int64)
    if wrapped:
        return out
    order = np.lexsort((np.arange(len(seq)), seq, label))
    starts = np.flatnonzero(np.diff(label[order], prepend=label[order][:1] + 1))
    lengths = np.diff(np.append(starts, len(order)))
    out[order] = np.arange(len(order)) - np.repeat(starts, lengths) + 1
    return out


# --- starts of the job


def _starts(
    places: Sequence[Place],
    sources: Sequence[Source],
    usable: Sequence[int],
    first: int,
    built: table.Table,
    configs: dict[int, tuple[GroupConfig, ...]],
    options: ReadOptions,
) -> list[attempts.Start]:
    """Starts of the job, their sources as indices into ``places``; in ``built`` and ``configs`` they count from ``first``."""
    defaults = {i: next((c.ranks for c in configs[i] if c.name == DEFAULT_NAME and c.ranks), None) for i in usable}
    dumps = []
    for i in usable:
        rank, facts = sources[i].rank, _both(places[i])[1]
        if rank is not None:
            folder = without_rank(sources[i].path, rank)
            dumps.append(
                attempt_times.Dump(first + i, rank, places[i].label, defaults[i], facts.oldest_ns, facts.newest_ns, folder)
            )
    joining = [i for i, text in enumerate(built.ops) if parse_op(text).family in FULL]

    def clash(one: int, other: int) -> bool:
        return doubles.related(places, one - first, other - first) in doubles.SEPARATE

    starts = attempts.separate(dumps, lambda: _with_groups(built, configs), joining, clash, options.attempt)
    if options.attempt is not None and starts and all(start.number != options.attempt for start in starts):
        there = fold_ranks(start.number for start in starts)
        raise BadOptionError(f"--attempt {options.attempt}: no file is of that attempt, there is {there}")
    return [replace(start, sources=tuple(source - first for source in start.sources)) for start in starts]


def _with_groups(built: table.Table, configs: dict[int, tuple[GroupConfig, ...]]) -> pl.DataFrame:
    """Entries with the id of their group, where its members are known: equal only for equal names and members."""
    numbers: dict[tuple[str, frozenset[int]], int] = {}
    of_name: dict[str, list[int]] = defaultdict(list)
    for i, (name, _) in enumerate(built.labels):
        of_name[name].append(i)
    rows = [
        (config.source, label, numbers.setdefault((config.name, frozenset(config.ranks)), len(numbers)))
        for own in configs.values()
        for config in own
        if config.ranks
        for label in of_name[config.name]
    ]
    groups = pl.DataFrame(rows, schema={"source": pl.UInt32, "label": pl.UInt32, "group": pl.Int32}, orient="row")
    return built.entries.join(
        groups.unique(["source", "label"], keep="first", maintain_order=True), on=["source", "label"], how="left"
    )


def _with_starts(sources: Sequence[Source], places: Sequence[Place], starts: Sequence[attempts.Start]) -> list[Source]:
    """Sources with their attempt; those of other starts than the current one do not count."""
    out = list(sources)
    current = next((start.number for start in starts if start.current), None)
    for start in starts:
        for i in start.sources:
            out[i] = replace(out[i], attempt=start.number)
            if not start.current:
                reason = start.reason or "of another attempt than the one looked at"
                out[i] = replace(out[i], status=SourceStatus.OTHER_ATTEMPT, reason=reason)
    for i, (source, place) in enumerate(zip(sources, places, strict=True)):
        if source.kind is not SourceKind.DUMP or out[i].attempt is not None:
            continue
        number = place.label if place.label is not None else current
        out[i] = replace(out[i], attempt=number)
        if number != current and current is not None:
            reason = f"{source.reason}; folder of attempt {number}" if source.reason else f"folder of attempt {number}"
            out[i] = replace(out[i], status=SourceStatus.OTHER_ATTEMPT, reason=reason)
    return out
