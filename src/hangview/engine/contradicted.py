"""Dumps that seem older than calls that others completed with them, and have newer times than these.

A dump that ends below a call that others completed with its rank was written before that. Where its records are minutes younger
than the call, it was not: the others' files are of a start before, or a clock is wrong. Which of the two is not known, and so
neither whether anybody waits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from hangview.engine.words import not_concluded
from hangview.schema import CellState
from hangview.terms import COLLECTIVE, Evidence, Finding, Kind, Role, Side
from hangview.text import lasted, name_ranks

if TYPE_CHECKING:
    from hangview.engine.calls import Calls
    from hangview.engine.windows import Windows
    from hangview.schema import Records
    from hangview.terms import Group

#: Nanoseconds that the clocks of one cluster's hosts do not differ by.
_CLOCKS = 5 * 60 * 1_000_000_000


def contradicted(
    records: Records, groups: tuple[Group, ...], calls: Calls, known: Windows, families: tuple[str, ...]
) -> tuple[Finding, ...]:
    """A note for each group in which somebody waits whose records are younger than calls beyond them in other files."""
    behind = [w for w in known.values() if w.above is CellState.BEFORE_DUMP and w.open_seq is not None]
    if not behind:
        return ()
    newest = dict(records.entries.group_by("rank").agg(pl.col("created_ns").max()).iter_rows())
    over = calls.by_seq.filter(pl.col("full") & (pl.col("n_completed") > 0)).group_by("group").agg(pl.col("seq").max())
    limits = [(group, seq) for group, seq in over.iter_rows() if any(w.group == group for w in behind)]
    rows = calls.at_all(limits).filter((pl.col("reading") == int(CellState.COMPLETED)) & pl.col("completed_ns").is_not_null())
    out = []
    for row in rows.unique("group", keep="first", maintain_order=True).iter_rows(named=True):
        ages = {
            w.rank: at - row["completed_ns"]
            for w in behind
            if w.group == row["group"] and (w.newest or 0) < row["seq"] and (at := newest.get(w.rank)) is not None
        }
        late = sorted(rank for rank, age in ages.items() if age > _CLOCKS)
        if not late:
            continue
        who, prover = name_ranks(late, 12), f"rank {row['rank']}"
        call = f"{families[row['family']]} {row['seq']} of {groups[row['group']].label}"
        age = lasted(min(ages[rank] for rank in late) / 1e9)
        out.append(
            Finding(
                Kind.NOT_OBSERVED, Role.NOTE, tuple(late), (row["rank"],), row["group"], COLLECTIVE, row["seq"],
                families[row["family"]], Side.UNKNOWN,
                f"{prover}'s file is of an earlier start, or a clock is wrong; it completed {call} {age} before {who}, whose "
                "records end below it, made their newest",
                (
                    Evidence(f"{prover}: {call} completed", row["source"], row["record_id"]),
                    *(Evidence(f"rank {w.rank}: waits in {w.open_seq}, newest here is {w.newest}", w.source, w.newest_record)
                      for w in behind if w.rank in late[:8] and w.group == row["group"]),
                ),
                f"the time at which the file of {prover} was written, and the clocks of the hosts",
                (f"that {who} wait for nobody", *not_concluded(Kind.NOT_OBSERVED, prover)),
            )
        )  # fmt: skip
    return tuple(out)
