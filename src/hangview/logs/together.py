"""Errors that many ranks raise alike while another one says nothing: how the end of one wait looks in a library whose words
nobody has told hangview of. They are shown, and name nobody.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from hangview.logs.evidence import EndKind
from hangview.logs.followers import alone_may_wait, may_have_waited, shared

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from hangview.logs.evidence import ProcessEnd

#: What two ranks say of the same thing differs in numbers, addresses and what is quoted.
_DIFFERS = re.compile(r"0x[0-9a-f]+|\d+|'[^']*'|\"[^\"]*\"", re.IGNORECASE)
_SAID = 80
_FEWEST = 2
_BY_OTHERS = frozenset({EndKind.SIGNAL, EndKind.EXIT_CODE})


#: Ends that no wait has: what ended it is a signal, or a fault of its own. A process that aborts may do so for others.
_OF_ITSELF = frozenset({EndKind.OOM_KILLER, EndKind.SIGNAL})
_ABORTED = "Aborted"
_WHY = "half or more of the ranks raised the same while another one says nothing: so may all who waited for that one"
_GATHERED = "every rank raised it, of what was gathered from all of them"
_OTHERS_LEFT = "its words tell of a wait or of other processes, and not all others are known to wait in a call"
_MAY_WAIT = "its words tell of a wait or of other processes, and no log shows that anybody waits for it"

Ends: TypeAlias = "Mapping[int, tuple[ProcessEnd, ...]]"


def marked(ends: Ends, known: Collection[int], spoke: Collection[int], waiting: Collection[int]) -> Ends:
    """The ends by rank, those marked to follow that half or more of the ``known`` ranks raised alike, while of at least one
    rank nothing tells (``spoke``: all others), no record, no position and no end but that somebody ended it, or while one met
    what no wait ends in. Errors of that kind, as a lack of memory, are of each rank itself. Whose own thread or task did not
    come back in time is a follower no more where all others are ``waiting``: there is nobody left whom it could have waited
    for. Where there is, whose words tell of a wait or of other processes is one."""
    ends = _alone(ends, known, waiting)
    told = {rank for rank, ones in ends.items() if any(not one.follower or one.kind not in _BY_OTHERS for one in ones)}
    silent = set(known) - set(spoke) - told
    out = dict(ends)
    for what, ranks in _of_many(ends).items():
        if 2 * len(ranks) >= len(known) and (silent or _at_fault(ends) - ranks):
            for rank in ranks:
                out[rank] = tuple(_follows(end) if _kind(end) == what else end for end in out[rank])
    return _with_others_left(out, known, waiting)


def _at_fault(ends: Ends) -> set[int]:
    """Ranks that met, before all else, what no wait ends in."""
    return {rank for rank, told in ends.items() if not told[0].follower and not _in_doubt(told[0]) and _kind(told[0]) is None}


def _in_doubt(end: ProcessEnd) -> bool:
    """Whether an end may be how a wait met its end, or none at all."""
    return end.went_on or end.kind is EndKind.EXIT_CODE or _waited(end)


def _waited(end: ProcessEnd) -> bool:
    return end.of_others or may_have_waited(end.type or "", end.message or "", end.frames)


def _with_others_left(ends: Ends, known: Collection[int], waiting: Collection[int]) -> Ends:
    """The ends by rank; what tells of a wait or of others is marked to follow where a rank is left that neither waits in a
    call nor raised such a thing. Who compares itself with another rank may be either where any is left."""
    alike = {rank for rank, told in ends.items() if not told[0].follower and _waited(told[0])}
    left = set(known) - set(waiting)
    if not waiting or not left:
        return ends
    marks = {
        rank: tuple(_follows(end, _OTHERS_LEFT) if _waited(end) else end for end in ends[rank])
        for rank in alike
        if left - ({rank} if ends[rank][0].compares else alike)
    }
    return {**ends, **marks}


def _alone(ends: Ends, known: Collection[int], waiting: Collection[int]) -> Ends:
    left = sorted(set(known) - set(waiting))
    if len(left) != 1 or not waiting or left[0] not in ends:
        return ends
    told = (replace(end, follower=False) if alone_may_wait(end.why_follower, end.frames) else end for end in ends[left[0]])
    return {**ends, left[0]: tuple(told)}


def _of_many(ends: Ends) -> dict[tuple[object, ...], set[int]]:
    found: dict[tuple[object, ...], set[int]] = defaultdict(set)
    for rank, told in ends.items():
        for end in told:
            if not end.follower and (what := _kind(end)) is not None:
                found[what].add(rank)
    return {what: ranks for what, ranks in found.items() if len(ranks) >= _FEWEST}


def _kind(end: ProcessEnd) -> tuple[object, ...] | None:
    """What two ends have in common that may be of one wait; None for an end that is of a rank itself."""
    if end.kind in _OF_ITSELF or (end.kind is EndKind.FATAL and end.type != _ABORTED and not end.inside):
        return None
    if not end.gathered and not shared(end.type or "", end.what, proven=end.before_communication):
        return None
    return end.kind, end.type, _DIFFERS.sub("", end.what)[:_SAID]


def gathered(ends: Ends, known: Collection[int]) -> Ends:
    """The ends by rank; what each of the ``known`` ranks raised of what was gathered from all of them is marked to follow:
    which of them differs, its words may tell, and who raised it does not."""
    every = {rank for rank, told in ends.items() if told[0].gathered}
    if len(every) < _FEWEST or not every >= set(known):
        return ends
    return {rank: tuple(_follows(end, _GATHERED) if end.gathered else end for end in told) for rank, told in ends.items()}


def without_a_wait(ends: Ends, known: Collection[int], waited: Collection[int]) -> Ends:
    """The same for whom nobody else ``waited`` by any log, or not all others did: who raised what tells of a wait, or of other
    processes, may have waited itself."""
    alone = [rank for rank in ends if not set(waited) - {rank}]
    marks = {rank: tuple(_follows(end, _MAY_WAIT) if end.of_others else end for end in ends[rank]) for rank in alone}
    return _with_others_left({**ends, **marks}, known, waited)


def _follows(end: ProcessEnd, why: str = _WHY) -> ProcessEnd:
    return end if end.follower else replace(end, follower=True, why_follower=why, before_communication=False)
