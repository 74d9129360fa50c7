"""Errors in which one rank tells of others of its group: who did not come to a monitored_barrier, whose part of a checkpoint
failed, who asks for another collective.

The numbers in them count within the group (torch 1.12 to 2.15: ``ProcessGroupGloo::monitoredBarrier``, ``ProcessGroupWrapper``,
``torch.distributed.checkpoint.utils._DistWrapper``). They are world ranks only where the reports show it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from hangview.logs.events import Raised
from hangview.logs.evidence import Asked, Report, ReportKind
from hangview.logs.positions import family

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hangview.logs.events import Event
    from hangview.logs.evidence import LogLine
    from hangview.logs.resolve import Resolver

_MISSED = re.compile(
    r"(?:\[Rank (?P<own>\d+)\]: )?Ranks? (?P<ranks>\d+(?:, ?\d+)*) failed to pass monitoredBarrier in (?P<ms>\d+) ms"
)
_REACHED = re.compile(r"Rank (?P<own>\d+) successfully reached monitoredBarrier")
_CHECKPOINT = re.compile(r"CheckpointException ranks:(?:dict_keys\(\[)?(?P<ranks>\d+(?:, ?\d+)*)")
_PRINT = (
    r"CollectiveFingerPrint\((?:SequenceNumber=(?P<seq>\d+),? ?)?OpType=(?P<op>\w+)"
    r"(?:, TensorShape=\[(?P<shape>[^\]]*)\])?(?:, TensorDtypes=(?P<dtypes>[^,)]*))?"
)
_MISMATCH = re.compile(
    r"Detected mismatch between collectives on ranks\. Rank (?P<own>\d+) is running (?:inconsistent )?collective: " + _PRINT
)
#: The monitored_barrier that TORCH_DISTRIBUTED_DEBUG=DETAIL puts before each call names that call.
_WRAPPED = re.compile(r"Monitored Barrier encountered error running collective: " + _PRINT)
_OTHER = re.compile(r"but Rank (?P<rank>\d+) is running")


def collect(events: Sequence[Event], resolver: Resolver) -> tuple[Report, ...]:
    """What ranks of the current attempt report of others, each text of a rank once."""
    found: dict[tuple[object, ...], Report] = {}
    for event in events:
        if not isinstance(event, Raised) or resolver.attempts.of(event) != resolver.attempts.current:
            continue
        if event.lived or event.no_end:
            continue
        rank = resolver.of(event).rank
        report = None if rank is None or event.of_rank is not None else _read(rank, event.text, event.line)
        if report is not None:
            found.setdefault((report.rank, report.kind, report.named, report.asked), report)
    return tuple(_placed(list(found.values())))


def _read(rank: int, text: str, line: LogLine) -> Report | None:
    if (said := _MISSED.search(text)) is not None:
        return Report(
            rank, ReportKind.BARRIER, line, _numbers(said["ranks"]), _number(said["own"]),
            ms=int(said["ms"]), asked=_asked(_WRAPPED.search(text)),
        )  # fmt: skip
    if (said := _REACHED.search(text)) is not None:
        return Report(rank, ReportKind.BARRIER, line, (), int(said["own"]), asked=_asked(_WRAPPED.search(text)))
    if (said := _CHECKPOINT.search(text)) is not None:
        return Report(rank, ReportKind.CHECKPOINT, line, _numbers(said["ranks"]))
    if (said := _MISMATCH.search(text)) is not None:
        others = _numbers(",".join(_OTHER.findall(text)))
        return Report(rank, ReportKind.MISMATCH, line, others, int(said["own"]), asked=_asked(said))
    return None


def _asked(said: re.Match[str] | None) -> Asked | None:
    return None if said is None else Asked(_number(said["seq"]), family(said["op"]), said["shape"], said["dtypes"])


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(sorted({int(number) for number in re.findall(r"\d{1,7}", text)}))


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)


def _placed(reports: Sequence[Report]) -> Iterable[Report]:
    """The reports, marked where their numbers are world ranks: those who tell their own number have it as world rank, another
    than 0 among them; or all ranks below the named one report the same, so that the group begins with them."""
    own: dict[ReportKind, set[tuple[int, int]]] = {}
    alike: dict[tuple[ReportKind, tuple[int, ...]], set[int]] = {}
    for one in reports:
        if one.own is not None:
            own.setdefault(one.kind, set()).add((one.own, one.rank))
        alike.setdefault((one.kind, one.named), set()).add(one.rank)
    for one in reports:
        pairs = own.get(one.kind)
        if pairs is not None:
            world = all(number == rank for number, rank in pairs) and any(number for number, _ in pairs)
        else:
            below = alike[one.kind, one.named]
            world = bool(one.named) and {0, *range(one.named[-1])} <= {*below, *one.named} and 0 in below
        yield replace(one, world=world)
