"""Lookups into an incident: what the grid, the panes, the report and the worksheet ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hangview.incident import Call, Cell, Entry, GridRows, Position
    from hangview.schema import StackFrame


class View:
    """Read-only lookups, computed when asked for and kept. Groups are Group.id, lanes are Lane.lane strings."""

    def grid(self, group: int, lane: str) -> GridRows:
        """Cell codes of a whole lane; rows for its members, ascending by rank."""
        raise NotImplementedError

    def call(self, group: int, lane: str, seq: int) -> Call:
        """All members at one seq. Works for any seq between the lane's first and front."""
        raise NotImplementedError

    def cell(self, group: int, lane: str, seq: int, rank: int) -> Cell:
        raise NotImplementedError

    def positions(self, rank: int) -> tuple[Position, ...]:
        """Where a rank stands in each of its lanes, diverged lanes first."""
        raise NotImplementedError

    def newest_entries(self, rank: int, count: int = 20) -> tuple[Entry, ...]:
        """A rank's last records over all groups, newest first."""
        raise NotImplementedError

    def stacks(self, group: int, lane: str, seq: int) -> tuple[tuple[tuple[int, ...], tuple[StackFrame, ...]], ...]:
        """Ranks of a call grouped by equal stack, most ranks first; ranks without a record are left out."""
        raise NotImplementedError
