"""What the path of a log says about whose it is."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from hangview.logs.events import LogScan

if TYPE_CHECKING:
    from hangview.logs import LogFile

_PATH_RANK = re.compile(r"(?:^|[^a-z])rank[_.-]?(\d{1,7})(?!\d)", re.IGNORECASE)
_PATH_TREE = re.compile(r"^(?P<tree>.*?)/?attempt_(?P<attempt>\d+)/(?P<local>\d+)/[^/]+$")
_PATH_ATTEMPT = re.compile(r"(?:^|/)attempt_(\d+)(?=/)")
_PATH_TASK = re.compile(r"slurm-\w+-(\d{1,6})\.\w+$")


def told_by_path(file: LogFile) -> LogScan:
    """What the path says: rank, local rank and attempt of a torchrun tree, Slurm's task number."""
    shown = file.shown.replace("\\", "/")
    scan = LogScan(file.source, file.shown, 0, 0)
    if (tree := _PATH_TREE.match(shown)) is not None:
        return replace(scan, attempt=int(tree["attempt"]), path_local=int(tree["local"]), tree=tree["tree"])
    if (attempt := _PATH_ATTEMPT.search(shown)) is not None:
        scan = replace(scan, attempt=int(attempt[1]))
    named = _PATH_RANK.findall(shown.rsplit("/", 1)[-1]) or _PATH_RANK.findall(shown)
    if named:
        return replace(scan, path_rank=int(named[-1]))
    task = _PATH_TASK.search(shown)
    return scan if task is None else replace(scan, path_task=int(task[1]))
