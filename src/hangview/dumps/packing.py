"""Dumps → a pack: what is new among the sources is read, what an earlier pack of them holds is taken over.

Where the reading is done is the caller's choice (:data:`Reader`): here, or on the workers of a Dask cluster (``farm``).
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import astuple, dataclass, replace
from typing import TYPE_CHECKING

from hangview._version import __version__
from hangview.dumps import pack
from hangview.dumps.bundles import Unusable
from hangview.dumps.cache import final
from hangview.dumps.find import Found, find, likely, open_regular
from hangview.dumps.kinds import PACK
from hangview.dumps.pack import ENTRY, NotAPackError, Pack, Row
from hangview.dumps.pool import read_all
from hangview.dumps.read import read_file
from hangview.dumps.result import FileRead
from hangview.dumps.sources import place_files, sources_of, told_apart
from hangview.schema import SourceKind, SourceStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from hangview.dumps.find import Listing
    from hangview.schema import Limits, ReadOptions, Source

    Key = tuple[str, int, int, int]
    Told = Callable[[Sequence[tuple[Found, tuple[Row, ...]]]], None]
    #: Reads all of the files, and hands over the rows of each with ``told`` as they come, in the calling thread.
    Reader = Callable[[Sequence[Found], ReadOptions, Told], None]

#: What a pack says of a log, which counts as none: the screen would say that it has it.
LOG = "a log: packs hold no logs, name it beside the pack"
_STEP = 1 << 20


@dataclass(frozen=True, slots=True)
class Packed:
    """A pack that was made of sources. ``sources`` are those that may be dumps, as ``hangview check`` lists them."""

    data: bytes
    sources: tuple[Source, ...]
    taken_over: int  #: sources that an earlier pack held unchanged, and that were not read again
    left_out: int  #: sources of the earlier pack that are no longer there
    unusable: str | None  #: why the earlier pack could not be used
    entries: int

    @property
    def dumps(self) -> int:
        """How many dumps could be read, wholly or in part."""
        return sum(source.usable for source in self.sources)

    @property
    def failed(self) -> tuple[Source, ...]:
        """The sources that were not read to their end, or not at all."""
        fine = (SourceStatus.READ, SourceStatus.IGNORED)
        return tuple(source for source in self.sources if source.status not in fine)

    def opens_within(self, limits: Limits) -> bool:
        """Whether it is opened again without raising a limit."""
        return self.entries * ENTRY <= limits.unpacked_bytes


def make(
    paths: Sequence[str],
    options: ReadOptions,
    target: str,
    reader: Reader | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Packed:
    """Read what is under ``paths``, as far as the pack that ``target`` may be does not hold it. ``target`` is not written.

    Raises as :func:`hangview.dumps.find.find`, and ``ValueError`` with one line for an option that does not fit the files.
    """
    listing = _listing(paths, options, target)
    earlier, unusable = _earlier(target, options.limits)
    rows: dict[Key, tuple[Row, ...]] = {found.key: earlier[found.key] for found in listing.dumps if found.key in earlier}
    taken_over = len(rows)
    new = [found for found in listing.dumps if found.key not in rows]
    new.sort(key=lambda found: not likely(found.shown.rpartition("/")[2], options))

    def told(results: Sequence[tuple[Found, tuple[Row, ...]]]) -> None:
        rows.update((found.key, group) for found, group in results)
        if on_progress is not None:
            on_progress(len(rows), len(listing.dumps))

    told([(found, _opened(found, options.limits)) for found in new if found.path.endswith(PACK)])
    (reader or read_here)([found for found in new if not found.path.endswith(PACK)], options, told)
    kept = [_called(row, found.shown) for found in listing.dumps for row in rows[found.key]]
    kept = [replace(row, file=file) for row, file in zip(kept, told_apart([row.file for row in kept]), strict=True)]
    dumps = [row.file for row in kept if not row.file.listed]
    entries = sum(file.decoded.count for file in dumps if file.decoded is not None)
    return Packed(
        data=pack.write([*kept, *_left_alone(listing)], options.limits),
        sources=tuple(sources_of(place_files(dumps, options)[1], 0)),
        taken_over=taken_over,
        left_out=len({path for path, *_ in earlier} - {row.file.found.path for row in kept}),
        unusable=unusable,
        entries=entries,
    )


def _listing(paths: Sequence[str], options: ReadOptions, target: str) -> Listing:
    """What is there but for the pack itself, with paths that mean the same in every folder."""
    listing = find(paths, options)
    own = os.path.realpath(target)
    dumps = [replace(found, path=os.path.abspath(found.path)) for found in listing.dumps]  # noqa: PTH100 - not resolved
    return replace(listing, dumps=tuple(found for found in dumps if os.path.realpath(found.path) != own))


def _earlier(target: str, limits: Limits) -> tuple[dict[Key, tuple[Row, ...]], str | None]:
    """The sources that the pack holds which is there already, as far as reading them again would give the same; or why none."""
    try:
        held = _held(target, limits)
    except FileNotFoundError:
        return {}, None
    except OSError as error:
        return {}, error.strerror or str(error)
    except NotAPackError:
        return {}, "no pack"
    except Unusable as error:
        return {}, str(error)
    if held.version != __version__:
        return {}, f"written by hangview {held.version}, this is {__version__}"
    if held.limits != astuple(limits):
        return {}, "written with other limits"
    groups: dict[Key, list[Row]] = {}
    for row in held.rows:
        if row.sha256 is not None and final((row.file,)):
            groups.setdefault(row.key, []).append(row)
    return {key: tuple(group) for key, group in groups.items()}, None


def _held(path: str, limits: Limits) -> Pack:
    with os.fdopen(open_regular(path), "rb") as file:
        return pack.read(pack.bytes_of(file, limits), limits)


def _opened(found: Found, limits: Limits) -> tuple[Row, ...]:
    """The rows of a pack among the sources, with the checksums of their own sources; or its own row when it is unusable."""
    try:
        rows = _held(found.path, limits).rows
    except (OSError, NotAPackError, Unusable):
        return rows_of(found, read_file(found, limits), limits)  # says what is the matter
    return tuple(replace(row, file=replace(row.file, pack=found.shown)) for row in rows)


def _called(row: Row, shown: str) -> Row:
    """A row by the name that its file has this time; one out of another pack keeps its own."""
    if row.file.pack:
        return row
    return replace(row, file=replace(row.file, found=replace(row.file.found, shown=shown + row.member)))


def _left_alone(listing: Listing) -> Iterable[Row]:
    """Rows for what is not read: logs, and what is no dump by its name."""
    for found in listing.logs:
        yield Row(FileRead(found, SourceKind.OTHER, SourceStatus.IGNORED, LOG, listed=True), whole=found.size)
    for source in listing.others:
        found = Found(source.path, source.path, source.kind, source.size, source.mtime_ns, 0)
        yield Row(FileRead(found, source.kind, source.status, source.reason, listed=True), whole=found.size)


def read_here(files: Sequence[Found], options: ReadOptions, told: Told) -> None:
    """Read files in this process, or in some more when there is much to read."""
    read_all(files, options, lambda results: told([(found, rows_of(found, group, options.limits)) for found, group in results]))


def rows_of(found: Found, files: Iterable[FileRead], limits: Limits) -> tuple[Row, ...]:
    """The lines of the ledger for a file that was read."""
    files = tuple(files)
    sha256 = _sha256(found, limits) if all(file.opened for file in files) else None
    return tuple(_row(found, file, sha256) for file in files)


def _row(found: Found, file: FileRead, sha256: str | None) -> Row:
    if file.kind is SourceKind.LOG and file.status is SourceStatus.READ:  # text that calls itself a log
        file = replace(file, kind=SourceKind.OTHER, status=SourceStatus.IGNORED, reason=LOG, listed=True)
    elif file.kind is SourceKind.LOG:  # in a bundle
        file = replace(file, kind=SourceKind.OTHER, listed=True)
    return Row(file, sha256, found.size, file.found.shown[len(found.shown) :])


def _sha256(found: Found, limits: Limits) -> str | None:
    """The checksum of the bytes that were just read; None when the file is no longer the one that was found."""
    if found.size > limits.unpacked_bytes:
        return None  # it was refused for its size
    digest = hashlib.sha256()
    try:
        with os.fdopen(open_regular(found.path), "rb") as file:
            while data := file.read(_STEP):
                digest.update(data)
            info = os.fstat(file.fileno())
    except OSError:
        return None
    return digest.hexdigest() if (info.st_size, info.st_mtime_ns, info.st_ino) == found.key[1:] else None
