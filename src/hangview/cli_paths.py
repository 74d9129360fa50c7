"""The paths named on the command line, and the places where PyTorch writes dumps when none is named."""

from __future__ import annotations

import glob
import os
import stat
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from hangview.cli_errors import Complaint, Exit, narrate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_SPECIAL = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def check_paths(paths: Iterable[str], commands: Iterable[str] = (), *, may_fill: bool = False) -> tuple[str, ...]:
    """Refuse what cannot be read before anything is read; say on stderr when a folder is empty, unless it may fill yet.

    Gives the paths, with those that a pattern stands for in its place: a pattern in quotes ('slurm-7719-*.out') passes the
    shell, and may stand for more files than a command line holds. ``commands`` are names that a path that does not exist may
    have been meant for. Raises :class:`Complaint`: usage for a path that does not exist or is neither file nor folder,
    "nothing concluded" where permission is missing.
    """
    names = tuple(commands)
    found = tuple(one for path in paths for one in _matches(path))
    for path in found:
        try:
            mode = Path(path).stat().st_mode
            if stat.S_ISDIR(mode):
                with os.scandir(path) as entries:
                    empty = next(entries, None) is None
                if empty and not may_fill:
                    narrate(f"{path}: the folder is empty")
        except PermissionError:
            raise Complaint(f"{path}: permission denied", Exit.NOTHING) from None
        except (FileNotFoundError, NotADirectoryError):
            raise Complaint(
                f"{path or 'an empty PATH'}: no such file or folder{_meant(path, names, may_fill=may_fill)}"
            ) from None
        except (OSError, ValueError) as error:  # a link to itself, a name too long, a NUL in it, an I/O error
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise Complaint(f"{path}: {reason}") from None
        for test, what in _SPECIAL:
            if test(mode):
                raise Complaint(f"{path}: {what}, neither a file nor a folder")
    return found


def _matches(path: str) -> tuple[str, ...]:
    """What a pattern stands for; a path that is there stands for itself, whatever signs are in its name."""
    if not ("*" in path or "?" in path) or os.path.lexists(path):
        return (path,)
    try:
        found = tuple(sorted(glob.glob(path, recursive=True)))  # noqa: PTH207 - the paths are shown as they were written
    except (OSError, ValueError):  # a NUL in it
        return (path,)
    if not found:
        raise Complaint(f"{path}: nothing matches this pattern")
    return found


#: What needs no command, by the words that are typed for it.
_WITHOUT_COMMAND = {
    **dict.fromkeys(("watch", "follow", "tail"), "hangview PATH watches by itself"),
    **dict.fromkeys(("open", "view", "show", "tui", "ui"), "hangview PATH opens the screen"),
}


#: Commands that take no PATH.
_ALONE = frozenset({"cache", "completion", "config", "demo"})


def _meant(path: str, commands: Sequence[str], *, may_fill: bool) -> str:
    """``"; did you mean ..."`` when a missing path looks like a mistyped or misplaced command; where a folder ``may_fill``, how
    one that is still to come is waited for."""
    parent = os.path.dirname(path.rstrip(os.sep))  # noqa: PTH120 - as it was written
    if may_fill and parent and Path(parent).is_dir():
        return f"; if it is still to come: hangview {parent} shows it then"
    if os.sep in path:
        return ""
    if path in commands:
        return f"; the command comes first: hangview {path}{'' if path in _ALONE else ' PATH'}"
    if path == "help":
        return "; did you mean hangview --help?"
    if path in _WITHOUT_COMMAND:
        return f"; {_WITHOUT_COMMAND[path]}"
    near = get_close_matches(path, commands, n=1, cutoff=0.7)
    return f"; did you mean the command {near[0]}?" if near else ""


@dataclass(frozen=True, slots=True)
class Place:
    """A prefix under which PyTorch writes dumps, why it was looked at, and the files found there, by rank."""

    prefix: str
    origin: str
    files: tuple[str, ...]


def default_places(environ: Mapping[str, str]) -> tuple[Place, ...]:
    """Where PyTorch writes dumps by default, in its own order of preference: variables first, then 2.15 back to 2.2.

    The prefixes are those of the releases (see :mod:`hangview.report.recording`); the rank follows without a separator.
    """
    home = environ.get("HOME") or "/tmp"
    cache = environ.get("XDG_CACHE_HOME") or f"{home}/.cache"
    prefixes = [(environ.get(name, ""), name) for name in ("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE")]
    prefixes += [
        (f"{cache}/torch/comm_lib_trace_rank_", "default of torch 2.11-2.15"),
        (f"{home}/.cache/torch/comm_lib_trace_rank_", "default of torch 2.9-2.10"),
        (f"{home}/.cache/torch/nccl_trace_rank_", "default of torch 2.7-2.8"),
        ("/tmp/nccl_trace_rank_", "default of torch 2.2-2.6"),
    ]
    places: dict[str, Place] = {}
    for prefix, origin in prefixes:
        if prefix and prefix not in places:
            places[prefix] = Place(prefix, origin, _files(prefix))
    return tuple(places.values())


def _files(prefix: str) -> tuple[str, ...]:
    """Regular files named by the prefix and a rank; the bare prefix too, as torch 2.10 can be told to write just that."""
    folder, stem = os.path.split(prefix)
    found: list[tuple[int, str]] = []
    try:
        with os.scandir(folder or ".") as entries:
            for entry in entries:
                rank = entry.name.removeprefix(stem)
                if entry.name.startswith(stem) and (not rank or (rank.isascii() and rank.isdigit())) and entry.is_file():
                    found.append((int(rank or -1), str(Path(folder) / entry.name)))
    except OSError:  # not there, or not ours to list: a place without dumps
        return ()
    return tuple(path for _, path in sorted(found))


def look_up(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The files of the first default place that has any, saying which; raises :class:`Complaint` naming all when none has."""
    places = default_places(environ)
    full = [place for place in places if place.files]
    if not full:
        named = ", ".join(f"{place.prefix}*" for place in places)
        raise Complaint(f"no PATH was given, and no dump is in the default places: {named}", Exit.NOTHING)
    first, others = full[0], full[1:]
    also = "".join(f"; not read: {place.prefix}* ({len(place.files)} files)" for place in others)
    narrate(f"no PATH was given: reading {first.prefix}* ({len(first.files)} files, {first.origin}){also}")
    return first.files
