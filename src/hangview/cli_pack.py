"""``hangview pack``: dumps into one file, on the node where they lie or on the workers of a cluster."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hangview.cli_errors import Complaint, Exit, narrate
from hangview.cli_options import PATH, read_options, setting_option
from hangview.cli_output import Progress, put, save_bytes
from hangview.cli_paths import check_paths

if TYPE_CHECKING:
    from collections.abc import Callable

    from hangview.dumps.packing import Packed
    from hangview.schema import ReadOptions

_ENDING = ".hvpack"  # that of hangview.dumps.kinds, which is not imported for it
_OPTIONS = ("prefix", "rank_regex", "workers", "follow_symlinks", "limits.file_size", "limits.entries")


def _reading(command: Callable[..., Any]) -> Callable[..., Any]:
    for name in reversed(_OPTIONS):
        command = setting_option(name)(command)
    return command


@click.command(short_help="Put dumps into one small file.")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=PATH)
@click.option("-o", "--output", metavar="FILE", required=True, type=PATH, help=f"The pack, named x{_ENDING}.")
@click.option("--dask", metavar="ADDRESS", help="Have the workers of this Dask scheduler read: tcp://host:8786.")
@_reading
def pack(paths: tuple[str, ...], output: str, *, dask: str | None, **reading: Any) -> int:
    """Put all dumps under PATH into one small file, which hangview opens like the folder they were in.

    On the nodes of a job, or on a Dask cluster. Sources that FILE holds already and that have not changed are not read again.
    Logs are not packed. Exits with 0 when at least one dump could be read, else with 3.
    """
    _check(output)
    paths = check_paths(paths)
    options = read_options(**reading)
    packed = _make(paths, options, output, dask)
    if packed.unusable is not None:
        narrate(f"{output}: not taken over, all is read anew: {packed.unusable}")
    if packed.left_out and not packed.dumps:
        raise Complaint(f"no dump could be read, so {output} was left as it was", Exit.NOTHING)
    save_bytes(packed.data, output)
    if not packed.opens_within(options.limits):
        narrate(f"{output}: is past the limits, and is opened with a higher --max-file-size only; one pack a node is better")
    _tell(packed, output)
    return Exit.NO_HANG if packed.dumps else Exit.NOTHING


def _check(output: str) -> None:
    """Refuse what could not be written, or not be found again, before anything is read."""
    if not output.endswith(_ENDING) or Path(output).name == _ENDING:
        raise Complaint(f"{output}: a pack's name ends in {_ENDING}, by which it is known in a folder")
    folder = Path(os.path.realpath(output)).parent
    if not folder.is_dir():
        raise Complaint(f"{output}: cannot be written: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise Complaint(f"{output}: cannot be written: {folder} may not be written to")


def _make(paths: tuple[str, ...], options: ReadOptions, output: str, dask: str | None) -> Packed:
    from hangview.dumps.packing import make

    try:
        with Progress() as progress:
            if dask is None:
                return make(paths, options, output, None, progress)
            from hangview.dumps.farm import NoClusterError, cluster

            try:
                with cluster(dask) as reader:
                    return make(paths, options, output, reader, progress)
            except NoClusterError as error:
                raise Complaint(str(error), Exit.NOTHING) from None
    except ValueError as error:  # an option that does not fit the files, in one line
        raise Complaint(str(error)) from error


def _tell(packed: Packed, output: str) -> None:
    """What became of the sources: a line for each that was not read whole, and one for all."""
    from hangview.text import count, escape, size

    lines = [f"{source.status.value:<10}  {escape(source.path)}: {source.reason}\n" for source in packed.failed]
    before = sum(source.size for source in packed.sources if source.usable)
    again = f"; not read again: {count(packed.taken_over, 'file')}" if packed.taken_over else ""
    gone = f"; left out: {count(packed.left_out, 'file')} no longer there" if packed.left_out else ""
    summary = f"{count(packed.dumps, 'dump')} ({size(before)}) in {escape(output)} ({size(len(packed.data))}){again}{gone}\n"
    put("".join((*lines, summary)))
