"""Incident: everything known about one folder at one moment, as one immutable value.

Left of it (``dumps``, ``logs``, ``engine``) is plain Python and polars; right of it (``report``, ``worksheet``, ``tui``)
everything only reads an ``Incident``: a view never opens a dump and never decides a verdict.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from hangview.engine.view import View
    from hangview.logs.evidence import LogEvidence
    from hangview.schema import Records, Source
    from hangview.terms import Clock, Coverage, Fact, Finding, Group, Lane, Verdict, Wait


@dataclass(frozen=True, slots=True)
class Incident:
    """The value that everything to the right reads. Built by :func:`hangview.load`; see :mod:`hangview.terms` for the parts.

    ``entries`` is ``Records.entries`` plus the columns ``group`` (Group.id), ``lane`` (0 collective, else a P2P lane id),
    ``family`` and ``reading`` (CellState).
    """

    paths: tuple[str, ...]
    verdict: Verdict
    leads: tuple[int, ...]
    findings: tuple[Finding, ...]
    coverage: Coverage
    groups: tuple[Group, ...]
    lanes: tuple[Lane, ...]
    waits: tuple[Wait, ...]
    clocks: tuple[Clock, ...]
    facts: tuple[Fact, ...]
    records: Records
    entries: pl.DataFrame
    view: View  #: lookups: view.grid(group, lane), view.call(group, lane, seq), view.cell(...), view.positions(rank), ...
    logs: LogEvidence | None = None

    @property
    def sources(self) -> tuple[Source, ...]:
        """Every file that was found, read or not, and why not."""
        return self.records.sources

    @property
    def cells(self) -> pl.DataFrame:
        """The cells of all grids as one table, see :func:`hangview.engine.cells.table`. Made when it is first asked for."""
        return self.view.cells
