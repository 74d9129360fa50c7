"""What the dumps say about time, for the logs to be held against: when their records begin and end, and until when each rank
is known to have gone on."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hangview.producers import Completion, producer_of
from hangview.schema import DEFAULT_DESC, FULL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import polars as pl

    from hangview.schema import Records

_SECOND = 1e9
#: 2010: what lies before it was not counted from 1970, or is damaged.
_EPOCH = 1_262_304_000
#: A ring buffer's newest records tell how long the job took for one of them, pauses left out: allowed for so often.
_PAUSES = 20
#: How long a call may wait where no record has its time-out.
_PATIENCE = 86_400.0


@dataclass(frozen=True, slots=True)
class Together:
    """A group's newest call that needs every member and that some of them completed: all members had requested it."""

    name: str
    desc: str
    ranks: frozenset[int]
    seq: int
    asked: float | None  #: when it was requested by one who completed it


@dataclass(frozen=True, slots=True)
class Recorded:
    """Times are Unix seconds by the clocks of the hosts that wrote the records."""

    first: float
    last: float
    began: float | None  #: no later than this the run had its first record; None where that cannot be told
    patience: float  #: how long the ranks wait at most: their longest time-out
    asked: Mapping[int, float]  #: rank -> its newest request, by its own dump
    together: tuple[Together, ...]
    world: int | None = None  #: number of ranks, where the default group's members are recorded and the dumps agree on them

    def answered(self, rank: int) -> float | None:
        """When the newest call was requested that others completed with a rank."""
        return max((one.asked for one in self.together if rank in one.ranks and one.asked is not None), default=None)

    def reached(self, rank: int, name: str | None, desc: str | None) -> int | None:
        """The newest call of a group that others completed with a rank. A group is known by its name, without one by what it
        is called."""
        mine = [
            one for one in self.together if rank in one.ranks and (one.name == name if name is not None else one.desc == desc)
        ]
        return max((one.seq for one in mine), default=None)


def recorded(records: Records) -> Recorded | None:
    """None where no record has a time, or one has none that can be compared with a date."""
    import polars as pl

    entries = records.entries
    times = [pl.col(name) for name in ("created_ns", "started_ns", "completed_ns")]
    low, high, wait = entries.select(
        pl.min_horizontal([at.min() for at in times]).alias("low"),
        pl.max_horizontal([at.max() for at in times]).alias("high"),
        pl.col("timeout_ms").max(),
    ).row(0) if entries.height else (None, None, None)  # fmt: skip
    if low is None or high is None or low < _EPOCH * _SECOND:
        return None
    asked = entries.group_by("rank").agg(pl.col("created_ns").max())
    return Recorded(
        low / _SECOND, high / _SECOND, _began(records), wait / 1000 if wait else _PATIENCE,
        {rank: at / _SECOND for rank, at in asked.iter_rows() if at is not None}, tuple(_together(records)),
        _world(records),
    )  # fmt: skip


def _began(records: Records) -> float | None:
    """No later than this the first record of the run was made: a recorder counts its records, also those that it overwrote."""
    import polars as pl

    number, at = pl.col("record_id"), pl.col("created_ns")
    table = records.entries.group_by("source").agg(
        low=number.min(), high=number.max(), first=at.min(), last=at.max(), unknown=number.is_null().any()
    )
    found = []
    for source, low, high, first, last, unknown in table.iter_rows():
        if unknown or first is None or (low and (high == low or records.sources[source].only_active)):
            continue
        pace = (last - first) / (high - low) if high > low else 0.0
        found.append((first - _PAUSES * pace * low) / _SECOND)
    return min(found, default=None)  # never later than the first record that is left


def _world(records: Records) -> int | None:
    found = {config.ranks for config in records.configs if config.name == "0" or config.desc == DEFAULT_DESC}
    ranks = next(iter(found)) if len(found) == 1 else ()
    return len(ranks) if ranks and tuple(sorted(ranks)) == tuple(range(len(ranks))) else None


def _together(records: Records) -> Iterable[Together]:
    members = {(config.source, config.name): frozenset(config.ranks) for config in records.configs if config.ranks}
    newest: dict[tuple[str, str, frozenset[int]], tuple[int, int | None]] = defaultdict(lambda: (0, None))
    for source, label, seq, at in _completed(records).iter_rows():
        name, desc = records.labels[label]
        ranks = members.get((source, name))
        if ranks is not None and seq > newest[name, desc, ranks][0]:
            newest[name, desc, ranks] = (seq, at)
    for (name, desc, ranks), (seq, at) in newest.items():
        yield Together(name, desc, ranks, seq, None if at is None else at / _SECOND)


def _completed(records: Records) -> pl.DataFrame:
    """source, label, newest seq and its created_ns of completed calls that need every member.

    Left out: what a recorder calls over without saying how, what was completed by an abort after its time-out (PyTorch PR
    119249), and what moves no element, which a library need not carry out.
    """
    import polars as pl

    ops = [
        i for i, op in enumerate(records.ops)
        if op.family in FULL and producer_of(op.library).completion is not Completion.RETIRED
    ]  # fmt: skip
    barriers = [i for i in ops if records.ops[i].family == "barrier"]
    nothing = [i for i, signature in enumerate(records.signatures) if not any(signature.elements)]
    took = pl.col("completed_ns") - pl.col("created_ns")
    aborted = ((pl.col("timeout_ms") > 0) & (took > pl.col("timeout_ms") * 1_000_000)).fill_null(value=False)
    empty = pl.col("signature").is_in(nothing) & ~pl.col("op").is_in(barriers)
    wanted = (pl.col("state") == 2) & pl.col("op").is_in(ops) & ~pl.col("is_p2p") & ~aborted & ~empty
    rows = records.entries.lazy().filter(wanted & pl.col("seq").is_not_null())
    newest = pl.col("created_ns").get(pl.col("seq").arg_max())
    return rows.group_by("source", "label").agg(pl.col("seq").max(), newest).collect()
