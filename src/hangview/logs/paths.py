"""What the path of a log says about whose it is."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from hangview.logs.events import LogScan

if TYPE_CHECKING:
    from hangview.logs import LogFile

_NUMBER = re.compile(r"(?P<of>[a-z]+)?(?P<apart>[_.-])?rank[_.=-]?(?P<rank>\d{1,7})(?!\d)", re.IGNORECASE)
_OF_WORLD = frozenset({"global", "world"})
#: Words before "rank" that make it a number within a part of the job: a node, a group, a replica.
_OF_LOCAL = frozenset({"local"})
_OF_PART = _OF_LOCAL | {
    "node", "host", "machine", "agent", "group", "replica", "shard", "intra", "inter", "tp", "dp", "pp", "ep", "cp", "sp", "mp",
    "vp", "etp", "edp", "tensor", "pipeline", "data", "expert", "context", "sequence", "model",
}  # fmt: skip
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
    world, local, other = _numbers(name)
    if not world and not other:
        world, _, _ = _numbers(folder)
    if world:
        return replace(scan, path_rank=world[-1])
    if local:
        return replace(scan, path_local=local[-1], tree=folder)
    task = _PATH_TASK.search(shown)
    return scan if task is None else replace(scan, path_task=int(task[1]))


def _numbers(text: str) -> tuple[list[int], list[int], bool]:
    """The world ranks that a part of a path names, its local ranks, and whether it names a number of another kind: a global
    rank where one is called so, else what is called a rank alone (``global_rank_7_local_rank_3``, ``rank_7_node_rank_1``)."""
    called: list[int] = []
    plain: list[int] = []
    local: list[int] = []
    part = False
    for found in _NUMBER.finditer(text):
        of, number = (found["of"] or "").lower(), int(found["rank"])
        if of in _OF_WORLD:
            called.append(number)
        elif of in _OF_PART:
            local += [number] if of in _OF_LOCAL else []
            part = True
        elif not of or found["apart"]:  # "frank3" is a name
            plain.append(number)
    return called or plain, local, part
