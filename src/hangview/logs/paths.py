"""What the path of a log says about whose it is."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from hangview.logs.events import Caught, LogScan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hangview.logs import LogFile

_NUMBER = re.compile(r"(?P<of>[a-z]+)?(?P<apart>[_.-])?rank[_.=-]?(?P<rank>\d{1,7})(?!\d)", re.IGNORECASE)
_OF_WORLD = frozenset({"global", "world"})
#: Words before "rank" that make it a number within a part of the job: a node, a group, a replica.
_OF_LOCAL = frozenset({"local"})
_OF_PART = _OF_LOCAL | {
    "node", "host", "machine", "agent", "group", "replica", "shard", "intra", "inter", "tp", "dp", "pp", "ep", "cp", "sp", "mp",
    "vp", "etp", "edp", "tensor", "pipeline", "data", "expert", "context", "sequence", "model",
}  # fmt: skip
#: The ranks of a fine-tuning method, which are no numbers of processes: ``sft_lora_rank16.log``.
_NO_PROCESS = re.compile(r"lora$", re.IGNORECASE)
#: Words that may be those of a job's name: ``train_model_rank_3.log``, ``2node_rank3.log``, data parallelism alone.
_OF_NAME = frozenset({"dp", "data", "model", "context", "sequence"})
#: Words of which the same holds where the lines of some file prove its number.
_OF_NAME_PROVEN = (
    _OF_PART - _OF_NAME - _OF_LOCAL - {"node", "host", "machine", "agent", "group", "replica", "shard", "intra", "inter"}
)
_COUNTED = "2"  #: a digit stands in front of the word: so many nodes
_DIGITS = re.compile(r"\d{1,9}")
_PROOF = 2  #: files whose lines show that their number is a rank; one more where these are numbers within a group
_PATH_TREE = re.compile(r"^(?P<tree>.*?)/?attempt_(?P<attempt>\d+)/(?P<local>\d+)/[^/]+$")
_PATH_ATTEMPT = re.compile(r"(?:^|/)attempt_(\d+)(?=/)")
_PATH_TASK = re.compile(r"slurm-\w+-(\d{1,6})\.\w+$")


def told_by_path(file: LogFile) -> LogScan:
    """What the path says: rank, local rank and attempt of a torchrun tree or of a node's folder, Slurm's task number."""
    shown = file.shown.replace("\\", "/")
    scan = LogScan(file.source, file.shown, 0, 0)
    if (tree := _PATH_TREE.match(shown)) is not None:
        return replace(scan, attempt=int(tree["attempt"]), path_local=int(tree["local"]), tree=tree["tree"])
    if (attempt := _PATH_ATTEMPT.search(shown)) is not None:
        scan = replace(scan, attempt=int(attempt[1]))
    folder, _, name = shown.rpartition("/")
    world, local, part = _numbers(name)
    if not world and part is None:
        world, _, _ = _numbers(folder)
    if world:
        return replace(scan, path_rank=world[-1])
    if local:
        return replace(scan, path_local=local[-1], tree=folder)
    scan = replace(scan, path_part=part if part is not None and part[0] else None)
    task = _PATH_TASK.search(shown)
    return scan if task is None else replace(scan, path_task=int(task[1]))


def named(scans: Sequence[LogScan], world: int | None = None) -> list[LogScan]:
    """The scans; those whose names hold one number of a part of the job, as ``dp_rank_3.log``, with it as their world rank
    where the numbers of one folder's files of that name run from 0 on, one file each, and no line and no dump is of a rank
    beyond (``world``: the number of ranks where it is known)."""
    alike: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for place, scan in enumerate(scans):
        if scan.path_part is not None:
            folder, _, name = scan.shown.replace("\\", "/").rpartition("/")
            alike[folder, _NUMBER.sub("", name), scan.path_part[0]].append(place)
    out = list(scans)
    last = max([(world or 0) - 1, *(rank for scan in scans for rank in scan.ranks)])
    for (_, _, word), places in alike.items():
        parts = {place: part[1] for place in places if (part := scans[place].path_part) is not None}
        if len(parts) < 2 or sorted(parts.values()) != list(range(len(parts))) or last >= len(parts):
            continue
        lines = [(number, scans[place].ranks) for place, number in parts.items()]
        proven = any(number and ranks == (number,) for number, ranks in lines)
        if all(ranks in ((), (number,)) for number, ranks in lines) and (word not in _OF_NAME_PROVEN or proven):
            for place, number in parts.items():
                out[place] = replace(scans[place], path_rank=number)
    return out


def proven(scans: Sequence[LogScan]) -> list[LogScan]:
    """The scans; those of files whose paths differ in a number, with it as their world rank where the lines of two others show
    that it is: each bears that rank alone, and none bears another one. Whatever the word before it: ``worker-2.log``."""
    alike: dict[str, list[int]] = defaultdict(list)
    for place, scan in enumerate(scans):
        if scan.path_rank is None and scan.path_local is None and scan.path_task is None:
            alike[_DIGITS.sub("#", scan.shown)].append(place)
    out = list(scans)
    for places in alike.values():
        rows = [[int(number) for number in _DIGITS.findall(scans[place].shown)] for place in places]
        told = [_called(scans[place]) for place in places]
        fits = [column for column in zip(*rows, strict=True) if _are_ranks(column, told)]
        if len(fits) == 1:
            for place, number in zip(places, fits[0], strict=True):
                out[place] = replace(scans[place], path_rank=number)
    return out


def _called(scan: LogScan) -> tuple[set[int], bool]:
    """The ranks on the lines of a file, and whether they are world ranks: else its processes call themselves so in a group."""
    if scan.ranks:
        return set(scan.ranks), True
    events = (event for event in scan.events if isinstance(event, Caught) and event.printed_rank is not None)
    return {event.printed_rank for event in events if event.printed_rank is not None}, False


def _are_ranks(numbers: Sequence[int], told: Sequence[tuple[set[int], bool]]) -> bool:
    """Whether numbers of files are ranks by what is told in them."""
    shown = [(number, world) for number, (ranks, world) in zip(numbers, told, strict=True) if ranks == {number}]
    if len(set(numbers)) < len(numbers) or len(shown) != sum(bool(ranks) for ranks, _ in told) or not any(shown):
        return False
    return sum(world for _, world in shown) >= _PROOF or len(shown) > _PROOF


def _numbers(text: str) -> tuple[list[int], list[int], tuple[str, int] | None]:
    """The world ranks that a part of a path names, its local ranks, and a number of another kind with the word before it: a
    global rank where one is called so, else what is called a rank alone (``global_rank_7_local_rank_3``,
    ``rank_7_node_rank_1``)."""
    called: list[int] = []
    plain: list[int] = []
    local: list[int] = []
    parts: list[tuple[str, int]] = []
    for found in _NUMBER.finditer(text):
        of, number = (found["of"] or "").lower(), int(found["rank"])
        if _NO_PROCESS.search(of):
            continue
        if of in _OF_WORLD:
            called.append(number)
        elif of in _OF_PART:
            local += [number] if of in _OF_LOCAL else []
            many = of not in _OF_NAME | _OF_NAME_PROVEN | _OF_LOCAL and text[: found.start()][-1:].isdigit()
            parts.append((_COUNTED if many else of, number))
        elif not of or found["apart"]:  # "frank3" is a name
            plain.append(number)
    usable = [one for one in parts if one[0] in _OF_NAME | _OF_NAME_PROVEN | {_COUNTED}]
    one = usable[0] if len(parts) == len(usable) == 1 else ("", parts[0][1]) if parts else None
    return called or plain, local, one
