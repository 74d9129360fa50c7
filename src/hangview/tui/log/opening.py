"""From the main screen to a log: whose, and which."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.schema import SourceKind
from hangview.tui.log.target import targets

if TYPE_CHECKING:
    from hangview.incident import Incident
    from hangview.tui.log.screen import LogScreen
    from hangview.tui.main.screen import MainScreen


def wanted_rank(main: MainScreen) -> int | None:
    """The rank of a finding that is pointed at in the list of findings, or one that was searched for and has no row anywhere; a
    lead without a row at its own call, as long as the cursor was not moved away; the rank under the cursor, but a lead before
    the other ranks of its row; else a lead, or the lowest rank with a log."""
    incident, finding, place = main.incident, main.finding, main.shown_place()
    if incident is None:
        return None
    if main.center == "findings" and finding is not None and finding.ranks:
        return finding.ranks[0]
    if main.sought is not None:
        return main.sought
    absent = main.rowless()
    if absent is not None:
        return absent
    if place is not None:
        row = main.grid.current_row
        ranks = row.ranks if row is not None and place == main.place else ()
        named = place.rank not in ranks[:1]  # gone to by hand, not the first of a row that stands for all of it
        leads = [rank for rank in ranks if rank in incident.leads]
        return place.rank if named or place.rank in leads or not leads else leads[0]
    known = incident.logs.ranks if incident.logs is not None else ()
    return next(iter((*incident.leads, *known)), None)


def _cited(main: MainScreen) -> int | None:
    """The log that the finding which is pointed at in the list of findings rests on: it may be an earlier attempt's."""
    incident, finding = main.incident, main.finding
    if incident is None or incident.logs is None or main.center != "findings" or finding is None:
        return None
    logs = {log.source for log in incident.logs.logs}
    return next((each.source for each in finding.evidence if each.source in logs), None)


def log_screen(main: MainScreen) -> LogScreen | str:
    """The screen, or in one line why there is none."""
    incident, rank = main.incident, wanted_rank(main)
    if incident is None or main.partial:
        return "no log to show yet: the files are being read"
    if incident.logs is None or not incident.logs.logs:
        return _no_log(incident)
    if rank is None:
        return "no rank to show a log of: no dump and no log names one"
    found = sorted(targets(incident, rank), key=lambda target: target.source != _cited(main))
    if not found:
        return f"no log is rank {rank}'s, and none is of many ranks"
    from hangview.tui.log.screen import LogScreen

    return LogScreen(incident.paths, tuple(found), ascii_only=main.ascii)


def _no_log(incident: Incident) -> str:
    logs = [source for source in incident.records.sources if source.kind is SourceKind.LOG]
    if not logs:
        return "no log was found beside these dumps: name the logs' folder on the command line too"
    return f"no log was read: {logs[0].path}: {logs[0].reason}" if logs[0].reason else "no log was read"
