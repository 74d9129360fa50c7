"""What the evidence allows to say about a run: worked out from everything the simulation knows, not as the engine does it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.jobs.simulate import members

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.jobs.evidence import Recording
    from tests.jobs.simulate import Key, Outcome


@dataclass(frozen=True, slots=True)
class Truth:
    """``expected``: ranks that must be named, the dumps suffice for them. ``allowed``: ranks that may be named, nobody else.

    ``hangs``: whether any call is left unfinished or a rank did not come to its end. ``fair``: False when even a perfect reader
    of all dumps would look at a rank that did nothing wrong (others ended while an odd one still waits): no job to test with.
    """

    hangs: bool
    injected: tuple[int, ...]
    expected: tuple[int, ...]
    allowed: tuple[int, ...]
    fair: bool
    why: str

    def wrong(self, leads: Iterable[int]) -> str:
        """``false``: names a rank that it must not; ``missed``: leaves out one that it could know; "" when right."""
        named = set(leads)
        if named - set(self.allowed):
            return "false"
        return "missed" if set(self.expected) - named else ""


def judge(outcome: Outcome, how: Recording) -> Truth:
    """The truth of a run, as far as what was recorded and collected can show it."""
    job = outcome.job
    made = _made(outcome)
    stopped, waited = _stopped(outcome, how, made)
    strict, loose = _minorities(outcome, how, made)
    expected = {rank for rank in stopped if outcome.idle(rank)} | strict
    allowed = set(expected) | loose
    for rank in job.injected - how.missing:
        if (rank in job.stops and outcome.at_stop(rank) and rank in waited) or job.fault in ("skip", "repeat"):
            allowed.add(rank)
    if how.producer == "hook":  # it never says that a call is over
        expected = set()
    blocked = set(outcome.joining)  # they look as idle as the rank that they wait for: nothing of it is recorded
    if blocked:
        expected, allowed = set(), allowed | blocked | (job.injected - how.missing)
    expected -= how.inside
    why = f"{job.what or 'no fault'}; stopped {sorted(stopped)}, minorities {sorted(strict)} ({sorted(loose)})"
    return Truth(
        outcome.hangs,
        tuple(sorted(job.injected)),
        tuple(sorted(expected)),
        tuple(sorted(allowed)),
        allowed - blocked <= job.injected,
        why,
    )


def _made(outcome: Outcome) -> dict[Key, dict[int, int]]:
    """Who made the call of each rendezvous, arrived on the device or not."""
    made: dict[Key, dict[int, int]] = {}
    for rank, calls in enumerate(outcome.ranks):
        for index, call in enumerate(calls):
            for key in call.keys:
                made.setdefault(key, {})[rank] = index
    return made


def _stopped(outcome: Outcome, how: Recording, made: dict[Key, dict[int, int]]) -> tuple[set[int], set[int]]:
    """Ranks that did not make a call that another one waits in: those whose dumps show it, and all."""
    shown, waited = set(), set()
    for key, there in made.items():
        if how.producer == "gloo" and key.is_p2p:
            continue  # not recorded
        absent = set(members(outcome.job, key)) - there.keys()
        witnesses = [r for r, index in there.items() if outcome.ranks[r][index].ended is None]
        if not witnesses:
            continue
        waited |= absent
        if how.producer == "gloo" and key.group and len(absent) > 1:
            continue  # no members recorded: those absent may be a group of their own with the same name
        if any(map(how.whole, witnesses)):
            shown |= {rank for rank in absent if how.whole(rank) and _covers(outcome, how, rank, key)}
    return {rank for rank in shown if outcome.idle(rank)}, waited


def _covers(outcome: Outcome, how: Recording, rank: int, key: Key) -> bool:
    """Whether a rank's whole dump can show that it did not come to a rendezvous."""
    calls = [made.call for made in outcome.ranks[rank]]
    records = sum(len(call.parts) + 1 for call in calls)
    if (how.ring is None or records <= how.ring) and not how.only_active:
        return True  # everything it ever did is there
    if key.is_p2p:
        return False
    group = key.group
    counted = [call for program in outcome.job.programs for call in program if call.group == group]
    if how.producer != "gloo" and not any(call.is_p2p for call in counted):
        return True  # its counters tell
    if how.only_active:
        return False
    return any(call.group == group for call in calls[len(calls) - (how.ring or 0) // 4 :])


def _over(outcome: Outcome, made: dict[Key, dict[int, int]], key: Key) -> bool:
    return all(outcome.ranks[rank][index].ended is not None for rank, index in made[key].items())


def _cut_but_shown(outcome: Outcome, how: Recording, there: dict[int, int], side: object) -> set[int]:
    """Ranks whose dump is cut and may still hold the call in which they differ from most: to name them is right."""
    cut = how.cut.keys() & outcome.job.injected & there.keys()
    return {rank for rank in cut if outcome.ranks[rank][there[rank]].call.wire != side}


def _minorities(outcome: Outcome, how: Recording, made: dict[Key, dict[int, int]]) -> tuple[set[int], set[int]]:
    """Ranks that made another call than most: against more than half of all members, and against most of those seen."""
    strict: set[int] = set()
    loose: set[int] = set()
    seen_groups = set()
    for key in sorted(key for key in made if not key.is_p2p):
        there = {rank: index for rank, index in made[key].items() if how.whole(rank)}
        sides = {rank: outcome.ranks[rank][index].call.wire for rank, index in there.items()}
        counts = Counter(sides.values()).most_common()
        if len(counts) == 1 and key.group not in seen_groups:
            loose |= _cut_but_shown(outcome, how, made[key], counts[0][0])
        if len(counts) < 2 or key.group in seen_groups:
            continue
        seen_groups.add(key.group)
        if counts[0][1] == counts[1][1]:
            continue
        odd = {rank for rank, side in sides.items() if side != counts[0][0]}
        loose |= odd | _cut_but_shown(outcome, how, made[key], counts[0][0])
        if 2 * counts[0][1] > len(members(outcome.job, key)) and not any(
            unfinished < key for unfinished in made if unfinished.group == key.group and not _over(outcome, made, unfinished)
        ):
            strict |= odd  # else an earlier call of the group is what holds everybody
    return strict, loose
