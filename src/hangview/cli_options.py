"""Options that several commands share, and what they become."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from hangview.schema import ReadOptions

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


class Size(click.ParamType[int]):
    """A number of bytes: ``1000000``, ``512K``, ``256M``, ``2G`` (powers of 1,024)."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number of bytes; a value that is one already comes back as it is."""
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"(\d{1,15})\s*([kmg]?)(?:i?b)?", str(value).strip().lower(), re.ASCII)
        if found is None or int(found[1]) == 0:
            self.fail(f"{value!r} is no size like 256M", param, ctx)
        return int(found[1]) * _UNITS[found[2]]


def _rank_regex(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    """A template with ``{rank}``, or a regular expression with a group named rank."""
    if value is None or "{rank}" in value:
        return value
    try:
        groups = re.compile(value).groupindex
    except re.error as error:
        raise click.BadParameter(f"{value!r} is no regular expression: {error}") from None
    if "rank" not in groups:
        raise click.BadParameter(f"{value!r} has neither {{rank}} nor a group (?P<rank>...)")
    return value


_READING: tuple[Callable[[Callable[..., Any]], Callable[..., Any]], ...] = (
    click.option("--prefix", metavar="TEXT", help="What comes before the rank in the dumps' file names."),
    click.option(
        "--rank-regex",
        metavar="PATTERN",
        callback=_rank_regex,
        help="How to find the rank in a file name: a template like 'dump_{host}_{rank}', or a regular expression with a "
        "group named rank (and host).",
    ),
    click.option(
        "--attempt",
        type=click.IntRange(min=0),
        metavar="N",
        help="Which start of a restarted job to read.  [default: the last]",
    ),
    click.option(
        "--group-world-size",
        type=click.IntRange(min=1),
        metavar="N",
        help="Ranks of one torchft replica, whose own groups count from 0.",
    ),
    click.option(
        "--workers",
        type=click.IntRange(min=1),
        metavar="N",
        envvar="HANGVIEW_WORKERS",
        help="Processes that read.  [default: by size and cores]",
    ),
    click.option("--follow-symlinks", is_flag=True, help="Read what symbolic links inside a folder point to."),
    click.option("--no-cache", is_flag=True, envvar="HANGVIEW_NO_CACHE", help="Read every dump anew, and keep nothing."),
    click.option(
        "--max-file-size", type=Size(), metavar="SIZE", help="Refuse files larger than this, e.g. 512M.  [default: 256M]"
    ),
    click.option(
        "--max-entries",
        type=click.IntRange(min=1),
        metavar="N",
        help="Refuse dumps with more entries than this.  [default: 5000000]",
    ),
)

_SCREEN: tuple[Callable[[Callable[..., Any]], Callable[..., Any]], ...] = (
    click.option("--no-mouse", is_flag=True, envvar="HANGVIEW_NO_MOUSE", help="Leave the mouse to the terminal."),
    click.option("--ascii", "ascii_", is_flag=True, envvar="HANGVIEW_ASCII", help="Draw with ASCII characters only."),
)

#: Languages of the worksheet, as hangview.worksheet.languages has them; named here so that --help needs none of it.
WORKSHEET_LANGUAGES = ("en", "ko")

#: ``lang``: the language of the worksheet's own words; what the evidence says stays as the report words it.
language_option = click.option(
    "--lang",
    type=click.Choice(WORKSHEET_LANGUAGES),
    default="en",
    show_default=True,
    envvar="HANGVIEW_LANG",
    help="Language of the worksheet.",
)


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of :func:`read_options` to a command."""
    for option in reversed(_READING):
        command = option(command)
    return command


def screen_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``no_mouse`` and ``ascii_`` to a command that opens the screen."""
    for option in reversed(_SCREEN):
        command = option(command)
    return command


def read_options(
    *,
    prefix: str | None = None,
    rank_regex: str | None = None,
    attempt: int | None = None,
    group_world_size: int | None = None,
    workers: int | None = None,
    follow_symlinks: bool = False,
    no_cache: bool = False,
    max_file_size: int | None = None,
    max_entries: int | None = None,
    logs: bool = True,
) -> ReadOptions:
    """What was typed, as the reader wants it. A file limit that was raised raises that of unpacked files with it."""
    from hangview.schema import Limits, ReadOptions

    usual = Limits()
    file_bytes = usual.file_bytes if max_file_size is None else max_file_size
    return ReadOptions(
        prefix=prefix,
        rank_regex=rank_regex,
        attempt=attempt,
        group_world_size=group_world_size,
        logs=logs,
        workers=workers,
        cache=not no_cache,
        follow_symlinks=follow_symlinks,
        limits=Limits(
            file_bytes=file_bytes,
            entries=usual.entries if max_entries is None else max_entries,
            unpacked_bytes=max(usual.unpacked_bytes, file_bytes),
        ),
    )
