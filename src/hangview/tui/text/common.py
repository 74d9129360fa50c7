"""Words that several panes share: names of lanes, times, states, tones."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from hangview.producers import Completion, producer_of
from hangview.report.page import LOOK_FIRST, lead_words, names_a_rank
from hangview.schema import CellState
from hangview.terms import COLLECTIVE, Role, Verdict
from hangview.text import fold_ranks
from hangview.tui.glyphs import DIFFERS_CODE, GLYPHS
from hangview.tui.prose import Tone

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hangview.incident import Incident
    from hangview.terms import Entry, Finding, Group, Wait

#: How many parts of a rank list a pane writes out.
PARTS = 24

DIVERGENCE = "DIVERGENCE"
ROLE_WORDS = {Role.LEAD: LOOK_FIRST, Role.WAITING: "WAITING", Role.NOTE: "NOTE"}
ROLE_TONES = {Role.LEAD: Tone.LEAD, Role.WAITING: Tone.WAITING, Role.NOTE: Tone.STRONG}
ROLE_MARKS = {Role.LEAD: "!", Role.WAITING: "w", Role.NOTE: "i"}
#: The sign of what stands first and yet names nobody: ranks stand still here, and the records do not tell on whom it hangs.
NO_RANK_MARK = "s"


def answering(incident: Incident) -> Finding | None:
    """The finding that the answer tells: the first lead, whichever the current finding is."""
    leads = [finding for finding in incident.findings if finding.role is Role.LEAD]
    if leads:
        return leads[0]
    if incident.verdict is Verdict.DIVERGENCE:
        waiting = (finding for finding in incident.findings if finding.role is Role.WAITING)
        return next(waiting, incident.findings[0] if incident.findings else None)
    return None


def role_word(incident: Incident, finding: Finding) -> str:
    """The report's word for a finding: ``LOOK FIRST``, ``AND`` for another place to look, ``ITS LOG`` where the log of ranks
    that were named already says more, ``NO RANK NAMED`` where the evidence names none, ``DIVERGENCE`` of what is the answer and
    explains no hang."""
    leads = [each for each in incident.findings if each.role is Role.LEAD]
    words = zip(leads, lead_words(incident, leads), strict=True)
    if not leads and finding.role is Role.NOTE and finding is answering(incident):
        return DIVERGENCE
    return next((word for each, word in words if each is finding), ROLE_WORDS[finding.role])


def role_mark(incident: Incident, finding: Finding) -> tuple[str, Tone]:
    """The sign of a finding: ``!`` only where a rank is named, ``s`` where ranks stand still and nobody is."""
    if finding.role is Role.LEAD and not names_a_rank(incident, finding):
        return NO_RANK_MARK, Tone.UNKNOWN
    return ROLE_MARKS[finding.role], ROLE_TONES[finding.role]


def group_of(incident: Incident, number: int | None) -> Group | None:
    """The group with this id; None when there is none."""
    return next((group for group in incident.groups if group.id == number), None)


def lane_name(incident: Incident, group: int | None, lane: str | None) -> str:
    """``"dp_3"``, ``"dp_3 p2p 0->1"``."""
    found = group_of(incident, group)
    name = found.label if found else "no group"
    return name if lane in (None, COLLECTIVE) else f"{name} {lane}"


def of_group(incident: Incident, entry: Entry) -> str:
    """``" of dp_3"``: the numbers of calls are of a group; "" where a record names none."""
    found = group_of(incident, entry.group)
    return f" of {found.label}" if found else ""


def op_text(entry: Entry, group: Group | None) -> str:
    """An operation as recorded, ``"nccl:send 12->4"`` with the world ranks that the group's own numbers stand for."""
    op = entry.op
    if group is None or group.inferred or op.source is None or op.target is None:
        return op.text
    if max(op.source, op.target) >= len(group.ranks):
        return op.text
    library = f"{op.library}:" if op.library else ""
    return f"{library}{op.name} {group.ranks[op.source]}->{group.ranks[op.target]}"


def missing_groups(incident: Incident) -> list[tuple[str, tuple[int, ...]]]:
    """Reasons for missing dumps with their ranks, most ranks first; a file's own name before its reason is left out."""
    names = {source.rank: source.path for source in incident.records.sources if source.rank is not None}
    ranks: defaultdict[str, list[int]] = defaultdict(list)
    for rank, reason in incident.coverage.missing.items():
        ranks[reason.removeprefix(f"{names.get(rank, '')}: ")].append(rank)
    return sorted(((reason, tuple(sorted(each))) for reason, each in ranks.items()), key=lambda each: (-len(each[1]), each[1]))


#: By the style of a state's glyph: one state has one colour, in the grid and in words. What is over stays plain.
_STATE_TONES = {
    "requested": Tone.REQUESTED,
    "started": Tone.STARTED,
    "failed": Tone.FAILED,
    "differs": Tone.FAILED,
    "absent": Tone.LEAD,
    "past": Tone.PAST,
    "unknown": Tone.UNKNOWN,
    "done": Tone.PLAIN,
}


def state_tone(state: CellState, *, differs: bool = False) -> Tone:
    return _STATE_TONES[GLYPHS[DIFFERS_CODE if differs else state].style]


NOBODY = "it waits for nobody"
NOBODY_RECORDED = "as far as is recorded it waits for nobody"
UNTOLD = "no dump tells whether it waits"
DONE_BY_LOG = "by its log nothing that it enqueued is unfinished"


def waits_for_nobody(incident: Incident, rank: int) -> str:
    """What is true of a rank without a wait: one with open requests is inside a call, and yet waits for no other rank; of one
    without a dump nothing is known."""
    if rank not in incident.coverage.read:
        return DONE_BY_LOG if _done_by_log(incident, rank) else UNTOLD
    still = any(position.open_seq is not None for position in incident.view.positions(rank))
    if still:
        return "its own open requests wait for no other rank"
    return NOBODY_RECORDED if incident.coverage.unrecorded else NOBODY


def over_there(incident: Incident, waits: Sequence[Wait]) -> str:
    """What is recorded of the requests of ranks that wait in one call, where their recorders only say that it is over, or say
    so as soon as it is made; "" where the request of one of them is open."""
    first = waits[0]
    if first.lane != COLLECTIVE or not all(wait.observed for wait in waits):
        return ""
    ranks = {wait.rank for wait in waits}
    cells = [cell for cell in incident.view.call(first.group, first.lane, first.seq).cells if cell.rank in ranks]
    if len(cells) < len(ranks) or any(cell.state is not CellState.ENDED or not cell.entries for cell in cells):
        return ""
    issued = any(producer_of(cell.entries[-1].op.library).completion is Completion.HOOK for cell in cells)
    return "whether it is over there is not recorded" if issued else "it is over there, well or badly is not recorded"


def _done_by_log(incident: Incident, rank: int) -> bool:
    """Whether the rank's log gives its counters, and none of them shows a work that is not over."""
    logs = incident.logs
    rows = [row for row in (*logs.groups, *logs.outrun) if row.rank == rank] if logs is not None else []
    return bool(rows) and all(row.completed is not None and not row.unfinished for row in rows)


def ranks_text(ranks: Iterable[int]) -> str:
    return fold_ranks(ranks, PARTS)


def clock_time(ns: int | None) -> str:
    """``"14:02:11.418"`` (UTC); "not recorded" for None."""
    if ns is None:
        return "not recorded"
    moment = datetime.fromtimestamp(ns // 1_000_000_000, UTC)
    return f"{moment:%H:%M:%S}.{ns % 1_000_000_000 // 1_000_000:03d}"


def full_time(ns: int | None) -> str:
    """``"2026-11-29 14:02:11.418 UTC"``."""
    if ns is None:
        return "not recorded"
    return f"{datetime.fromtimestamp(ns // 1_000_000_000, UTC):%Y-%m-%d} {clock_time(ns)} UTC"


def seconds(ns: int) -> str:
    """A span of time: ``"0.6 s"``, ``"12 ms"``, ``"3 min 20 s"``."""
    value = abs(ns) / 1e9
    if value < 0.0995:
        return f"{value * 1000:.0f} ms"
    if value < 120:
        return f"{value:.1f} s"
    return f"{value // 60:.0f} min {value % 60:.0f} s"


def clock_spread(incident: Incident, ranks: Iterable[int]) -> str:
    """How far the clocks of these ranks' hosts may be apart, ``"clocks: ±0.2 s"``; says so where it was not measured, or by
    a single call, which tells no spread."""
    wanted = set(ranks)
    known = [clock for clock in incident.clocks if wanted & set(clock.ranks)]
    if not known or not wanted <= {rank for clock in known for rank in clock.ranks}:
        return "clocks: not measured"
    apart = max(clock.offset_ns for clock in known) - min(clock.offset_ns for clock in known)
    if any(clock.calls == 1 for clock in known):
        off = f"{seconds(apart)} apart " if apart else ""
        return f"clocks: {off}by one call alone, spread not known"
    return f"clocks: ±{seconds(apart + max(clock.spread_ns for clock in known))}"
