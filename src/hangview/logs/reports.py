"""Errors in which one rank tells of others of its group: who did not come to a monitored_barrier, whose part of a checkpoint
failed, who asks for another collective, whose model is another one.

The numbers in them count within the group (torch 1.12 to 2.15: ``ProcessGroupGloo::monitoredBarrier``, ``ProcessGroupWrapper``,
``torch.distributed.checkpoint.utils._DistWrapper``, ``reducer.cpp``). They are world ranks only where the reports show it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from hangview.logs.events import Raised
from hangview.logs.evidence import Asked, Report, ReportKind
from hangview.logs.positions import family

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

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
_MODEL = re.compile(
    r"DDP expects same model across all ranks, but Rank (?P<own>\d+) has (?P<holds>\d+) params, while rank (?P<rank>\d+) has"
)
_OTHER = re.compile(r"but Rank (?P<rank>\d+) is running")
#: Reports of one thing that show a world without a log of the rank that they name.
_SAY_THE_SAME = 3


def collect(
    events: Sequence[Event], resolver: Resolver, known: Collection[int] = (), have_logs: Collection[int] = ()
) -> tuple[Report, ...]:
    """What ranks of the current attempt report of others, each text of a rank once. ``known``: all ranks that exist as far as
    files tell, ``have_logs``: those that have a log."""
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
    return tuple(_placed(list(found.values()), known, have_logs))


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
    if (said := _MODEL.search(text)) is not None:
        return Report(rank, ReportKind.MODEL, line, _numbers(said["rank"]), int(said["own"]), holds=int(said["holds"]))
    return None


def _asked(said: re.Match[str] | None) -> Asked | None:
    return None if said is None else Asked(_number(said["seq"]), family(said["op"]), said["shape"], said["dtypes"])


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(sorted({int(number) for number in re.findall(r"\d{1,7}", text)}))


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)


def _placed(reports: Sequence[Report], known: Collection[int], have_logs: Collection[int]) -> Iterable[Report]:
    """The reports, marked where their numbers are world ranks: where the group is that of all ranks.

    So it is where who reports and whom they name are all ranks from 0 on and all that are known of. Of a smaller group some
    rank would be neither. Who came and has a log reports too; of a checkpoint everybody does, also whose part failed. Where the
    named one left no log, nothing shows that the world goes so far: then three must say the same.
    """
    for kind in {one.kind for one in reports}:
        mine = [one for one in reports if one.kind is kind]
        told = {one.rank for one in mine}
        named = {rank for one in mine for rank in one.named}
        own = all(one.own is None or one.own == one.rank for one in mine)
        silent = {rank for rank in have_logs if rank not in told and (kind is ReportKind.CHECKPOINT or rank not in named)}
        whole = told | named == set(range(1 + max(told | named))) and set(known) <= told | named
        shown = named <= set(known) or len(told) >= _SAY_THE_SAME
        yield from (replace(one, world=own and whole and shown and not silent) for one in mine)
