"""A rank's own counters (``pg_status``), brought to the units of ``collective_seq_id`` or taken for incomparable.

They survive the ring buffer and only-active dumps, so they are the only word of some ranks. But they are keyed by a number
that is local to the process, and one field counts different things by recorder: nccl's has the number of the last collective
or of the last point-to-point work, the hook's counts both from 0, gloo's counts operations that have no record. So they
are used only where the group's own records agree with them on some rank and contradict them on none.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from hangview.dumps.facts import DEFAULT_NAME
from hangview.dumps.heads import PIPELINE, numbered
from hangview.producers import Completion, Counters
from hangview.schema import GroupStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hangview.dumps.decoded import RawStatus
    from hangview.producers import Producer
    from hangview.schema import GroupConfig

    #: (name, members by the rank's own configuration)
    Key = tuple[str, frozenset[int] | None]


#: A group's name that is longer is no number that anything counted to.
_DIGITS = 18


@dataclass(frozen=True, slots=True)
class Counted:
    """One dump's counters with what is needed to read them."""

    source: int
    statuses: tuple[RawStatus, ...]
    producer: Producer | None
    cut: bool
    only_active: bool
    issued_only: bool


@dataclass(frozen=True, slots=True)
class _Stand:
    """What the records of one (source, pg_id, label) reach to."""

    label: int
    count: int
    newest: int | None  #: highest collective seq
    p2p: bool


def stands(entries: pl.DataFrame) -> dict[tuple[int, int], _Stand]:
    """Per (source, pg_id), of the label with most records."""
    p2p = pl.col("is_p2p") | (pl.col("p2p_seq") > 0).fill_null(value=False)
    table = (
        entries.lazy()
        .filter(pl.col("pg_id").is_not_null())
        .group_by("source", "pg_id", "label")
        .agg(n=pl.len(), newest=pl.col("seq").filter(~pl.col("is_p2p")).max(), p2p=p2p.any())
        .sort("source", "pg_id", "n", "label", descending=[False, False, True, False])
        .collect()
    )
    out: dict[tuple[int, int], _Stand] = {}
    for source, pg_id, label, n, newest, has_p2p in table.iter_rows():
        out.setdefault((source, pg_id), _Stand(label, n, newest, has_p2p))
    return out


def read_counters(
    counted: Sequence[Counted],
    found: Mapping[tuple[int, int], _Stand],
    labels: Sequence[tuple[str, str]],
    configs: Iterable[GroupConfig],
) -> tuple[GroupStatus, ...]:
    """All counters of all dumps, in the order of the sources."""
    members: dict[int, dict[str, GroupConfig]] = defaultdict(dict)
    for one in configs:
        members[one.source][one.name] = one
    zero = {labels[s.label][0] for (_, pg_id), s in found.items() if pg_id == 0}
    in_order = _in_order(counted, found, labels, members)
    names = {
        c.source: _names(c, found, labels, members[c.source], default_is_zero=zero == {DEFAULT_NAME}, in_order=in_order)
        for c in counted
    }
    sets = {config.ranks: frozenset(config.ranks) or None for own in members.values() for config in own.values()}
    keys: dict[tuple[int, int], Key] = {}
    for source, own_names in names.items():
        for pg_id, group in own_names.items():
            known = members[source].get(group)
            keys[source, pg_id] = (group, None if known is None else sets[known.ranks])
    trusted, beyond = _comparable(counted, found, labels, keys)
    out = []
    for c in counted:
        for status in c.statuses:
            name = names[c.source].get(status.pg_id)
            stand = found.get((c.source, status.pg_id))
            given = None if name is None else members[c.source].get(name)
            desc = labels[stand.label][1] if stand is not None else given.desc if given is not None else None
            fits = name is not None and keys[c.source, status.pg_id] in trusted
            says_more = (c.source, status.pg_id) in beyond and not fits
            out.append(_status(c, status, name, desc, comparable=fits, beyond=says_more))
    return tuple(out)


def _names(
    counted: Counted,
    found: Mapping[tuple[int, int], _Stand],
    labels: Sequence[tuple[str, str]],
    configs: Mapping[str, GroupConfig],
    *,
    default_is_zero: bool,
    in_order: bool,
) -> dict[int, str]:
    """pg_id → group name: by the records; else, where all names are numbers and none is left over, in numeric order.

    With the hook groups without any work have no counters but are in the configuration, so there (``in_order``) pg_id is the
    place of the name among all of them.
    """
    ids = sorted(status.pg_id for status in counted.statuses)
    names = {i: labels[found[counted.source, i].label][0] for i in ids if (counted.source, i) in found}
    if len(names) == len(ids):
        return names
    by_number = numbered(ids, configs)
    if by_number and all(by_number[i] == name for i, name in names.items()):
        return by_number
    if in_order and _hooked(counted) and ids and ids[0] >= 0 and ids[-1] < len(configs):
        ordered = sorted(configs, key=int)
        return {i: ordered[i] for i in ids}
    if 0 in ids and 0 not in names and default_is_zero and DEFAULT_NAME in configs:
        names[0] = DEFAULT_NAME  # the default group is the first that a process makes
    return names


def _hooked(counted: Counted) -> bool:
    return counted.producer is not None and counted.producer.counters is Counters.OPS_FROM_ZERO


def _in_order(
    counted: Sequence[Counted],
    found: Mapping[tuple[int, int], _Stand],
    labels: Sequence[tuple[str, str]],
    members: Mapping[int, Mapping[str, GroupConfig]],
) -> bool:
    """Whether the hook numbered groups in the order of their names, by every record of the job.

    It does so from 0 as they are made, over all backends of a process: those of another backend leave gaps.
    """
    hooked = {c.source for c in counted if _hooked(c)}
    if any(not name.isdecimal() or len(name) > _DIGITS for source in hooked for name in members[source]):
        return False
    ordered = {source: sorted(members[source], key=int) for source in hooked}
    seen = [(ordered[source], pg_id, labels[stand.label][0]) for (source, pg_id), stand in found.items() if source in hooked]
    return bool(seen) and all(0 <= pg_id < len(own) and own[pg_id] == name for own, pg_id, name in seen)


def _comparable(
    counted: Sequence[Counted],
    found: Mapping[tuple[int, int], _Stand],
    labels: Sequence[tuple[str, str]],
    keys: Mapping[tuple[int, int], Key],
) -> tuple[set[Key], set[tuple[int, int]]]:
    """Groups whose counters count what ``collective_seq_id`` counts; and the (source, pg_id) that say more than they recorded
    where another rank of the group says what it recorded."""
    agree: set[Key] = set()
    against: set[Key] = set()
    mixed: set[Key] = set()
    more: dict[tuple[int, int], Key] = {}
    for c in counted:
        for status in c.statuses:
            key, stand = keys.get((c.source, status.pg_id)), found.get((c.source, status.pg_id))
            if key is None or stand is None:
                continue
            enqueued, completed = (_in_seqs(value, c.producer) for value in (status.enqueued, status.completed))
            if stand.p2p or PIPELINE.search(labels[stand.label][1]) or c.producer is None:
                mixed.add(key)
            elif enqueued is None or stand.newest is None:
                continue
            elif abs(enqueued - stand.newest) <= 1:
                agree.add(key)  # one ahead is a call whose launch has not returned yet (nccl)
            elif enqueued < stand.newest:
                against.add(key)
            elif not (c.cut or c.only_active):
                against.add(key)
                more[c.source, status.pg_id] = key
            elif not c.cut and (completed or 0) > stand.newest:
                against.add(key)  # what an only-active dump holds is unfinished
    return agree - against - mixed, {place for place, key in more.items() if key in agree - mixed}


def _in_seqs(value: int | None, producer: Producer | None) -> int | None:
    """A counter as a seq, as if the group had no point-to-point works."""
    if value is None or producer is None or producer.counters in (Counters.OPS_LIKE, Counters.NONE):
        return None
    return value + 1 if producer.counters is Counters.OPS_FROM_ZERO and value >= 0 else value


def _status(
    counted: Counted, status: RawStatus, name: str | None, desc: str | None, *, comparable: bool, beyond: bool
) -> GroupStatus:
    raw = (status.enqueued, status.started, status.completed)
    values = [_in_seqs(value, counted.producer) if comparable or value == -1 else None for value in raw]
    if values[1] == -1 and (raw[0] or 0) > -1:
        values[1] = None  # starts are recorded only with timing on, and never by the hook
    if values[2] == -1 and counted.issued_only and counted.producer and counted.producer.completion is not Completion.RECORDED:
        values[2] = None  # a hooked backend without completion: never counted
    return GroupStatus(counted.source, status.pg_id, name, desc, values[0], values[1], values[2], raw, beyond)
