"""A look at paths: find, read, assemble, read the logs, analyse. The one place where the rooms meet."""

from __future__ import annotations

import gc
import math
import time
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hangview.log_sources import log_source, logs_not_read, logs_of_other_attempts, set_aside, with_logs
from hangview.schema import NOT_READ_YET, ReadOptions, SourceKind, SourceStatus
from hangview.telling import Parts, Progress
from hangview.text import count, lasted, size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from threading import Thread

    from hangview.dumps.early import Early
    from hangview.dumps.find import Found, Listing, Search
    from hangview.dumps.heads import Heads
    from hangview.dumps.result import FileRead
    from hangview.incident import Incident
    from hangview.logs.events import LogScan
    from hangview.logs.evidence import LogEvidence
    from hangview.schema import Records

    Key = tuple[str, int, int, int]

#: Entries from which on the cache is written while the ranks are aligned: side by side both take a tenth more memory, one after
#: the other up to a second more.
MANY = 1_000_000
#: Seconds after which dumps are read although not all files were looked at.
FIRST_TURN = 0.5


class Session:
    """Looks at the same paths again and again, and reads only what has changed since the last look.

    Not to be used by two threads at once. Dumps and scanned logs are kept by path, size, time and inode; with ``keep=False``
    nothing is, which takes a fifth less memory. ``early`` is a process that was asked for the headers under these paths.
    """

    def __init__(
        self, paths: Sequence[str], options: ReadOptions | None = None, *, keep: bool = True, early: Early | None = None
    ) -> None:
        self.paths = tuple(paths)
        self.options = options or ReadOptions()
        self._keep = keep
        self._early = early
        self._dumps: dict[Key, tuple[FileRead, ...]] = {}
        self._storing: Thread | None = None
        self._logs: dict[tuple[Key, int], LogScan] = {}

    def look(
        self,
        on_progress: Callable[[int, int], None] | None = None,
        on_partial: Callable[[Incident], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
        settled: Callable[[str], float] | None = None,
        listing: Listing | None = None,
        on_heads: Callable[[Heads], None] | None = None,
    ) -> Incident:
        """Read what is new, and say what everything together says.

        All callbacks are called from the calling thread. ``on_progress`` gets (files read, files found). ``on_partial`` gets an
        incident of what has been read so far, first within about a second and then whenever twice as much has been read, and
        all dumps before logs that take long; files that were not read yet are sources of status GROWING. When looking at the
        files' sizes takes long already, the likeliest dumps are read before the other files are looked at. ``cancelled`` is
        asked often; when it says yes, :class:`~hangview.dumps.calling_off.Cancelled` is raised, and the session can be used
        again. ``settled(path)`` tells for how many seconds a file has not been written to: one that does not decode whole is
        GROWING at 0, and no fault of anybody; UNFINISHED as long as that number is finite; and only then CUT. ``listing`` is
        what was found already; None: the files are looked for. ``on_heads`` gets what the dumps' headers say, once, before the
        first look reads a set that is large enough for somebody to wait.

        Raises as :func:`load` does.
        """
        from hangview.dumps.find import Search

        cancelled = cancelled or _never
        fresh = not self._dumps
        parts = Parts(on_partial)
        progress = Progress(on_progress)
        with _no_collection():
            if listing is None:
                search = Search(self.paths, self.options)
                if fresh and on_partial is not None:
                    self._look_by_turns(search, progress, parts, cancelled)
                else:
                    search.look(lambda: _stop(cancelled))
                listing = search.listing()
            if fresh and on_heads is not None:
                self._tell_heads(listing, on_heads, cancelled)
            new = self._read(listing, progress, parts, cancelled, fresh=fresh)
            files = [result for found in listing.dumps for result in self._seen(found, settled)]
            records = self._assemble(listing, files)
            texts = [file.found for file in files if file.kind is SourceKind.LOG and not file.pack]
            del files
            self._settle(listing, records, store=new)
            logs = None
            if self.options.logs:
                records, logs = self._read_logs(records, (*texts, *listing.logs), progress, parts if fresh else None, cancelled)
            incident = _analyse(records, logs, self.paths)
            if self._storing is not None and not self._keep:
                self._storing.join()  # the program may end now
                self._storing = None
            return incident

    # --- dumps

    def _tell_heads(self, listing: Listing, tell: Callable[[Heads], None], cancelled: Callable[[], bool]) -> None:
        from hangview.dumps.heads import heads_of, worth_it

        early, self._early = self._early, None
        if early is None:
            heads = heads_of(listing, self.options, cancelled)
        elif worth_it(listing, self.options):
            heads = early.take(cancelled)
        else:
            early.drop()
            heads = None
        if heads is not None:
            tell(heads)

    def _look_by_turns(self, search: Search, progress: Progress, parts: Parts, cancelled: Callable[[], bool]) -> None:
        """Look at the files. On a slow file system that takes long: then look and read by turns, each twice as long as before.

        So there is something to show long before all was looked at, and no more than half of the time goes into reading dumps
        one by one that are read faster, or need not be, when all of them are known.
        """
        turn = FIRST_TURN
        end = parts.begun + turn

        def over() -> bool:
            return _stop(cancelled) or (bool(search.dumps) and time.monotonic() >= end)

        while not search.look(over):
            self._read(search.listing(), progress, parts, cancelled, end=time.monotonic() + turn)
            turn *= 2
            end = time.monotonic() + turn

    def _read(
        self,
        listing: Listing,
        progress: Progress,
        parts: Parts,
        cancelled: Callable[[], bool],
        *,
        fresh: bool = False,
        end: float | None = None,
    ) -> bool:
        """Read the new dumps of a listing, the likeliest first. Whether what was read is to be stored in the cache.

        ``fresh`` asks the cache; ``end`` is when to stop (at least one is read) and to show what there is.
        """
        from hangview.dumps import shelf
        from hangview.dumps.allocator import give_back, import_polars
        from hangview.dumps.find import likely
        from hangview.dumps.pool import read_all

        first = fresh and self.options.cache and shelf.worth_it(listing.dumps)
        if first and (kept := self._kept(listing)) is not None:
            self._dumps = kept
            first = False
        new = [found for found in listing.dumps if found.key not in self._dumps]
        new.sort(key=lambda found: not likely(found.shown.rpartition("/")[2], self.options))
        known = len(listing.dumps) - len(new)
        unseen = sum(self.options.logs or found.kind is SourceKind.DUMP for found in listing.unseen)
        progress.start(known, len(listing.dumps) + unseen + (len(listing.logs) if self.options.logs else 0))
        parts.total = parts.done + len(new) + len(listing.unseen)

        def done(results: Sequence[tuple[Found, tuple[FileRead, ...]]]) -> None:
            self._dumps.update((found.key, files) for found, files in results)
            progress.add(len(results))
            if parts.due(len(results)):
                parts.show(lambda: self._so_far(listing))

        if end is not None:
            for found in new:  # one by one: processes would still be starting when the turn is over
                read_all((found,), self.options, done, cancelled)
                if time.monotonic() >= end:
                    break
            if parts.shown < parts.done:
                parts.show(lambda: self._so_far(listing))
            return False
        read_all(new, self.options, done, cancelled, gentle=parts.tell is not None, meanwhile=_import_the_rest)
        give_back()
        import_polars()
        return first

    def _kept(self, listing: Listing) -> dict[Key, tuple[FileRead, ...]] | None:
        """What the cache has of these files."""
        from hangview.dumps import shelf

        if not shelf.holds(shelf.dumps_name(listing.dumps, self.options.limits)):
            return None
        from hangview.dumps import cache

        return cache.load(listing.dumps, self.options.limits)

    def _so_far(self, listing: Listing) -> Incident:
        """What those files say that were read, beside those that were not."""
        from hangview.dumps.result import failed

        files: list[FileRead] = []
        for found in (*listing.dumps, *listing.unseen):
            if found.kind is SourceKind.DUMP:
                known = self._dumps.get(found.key)
                files.extend(known if known is not None else (failed(found, SourceStatus.GROWING, NOT_READ_YET),))
        logs = (*listing.logs, *(found for found in listing.unseen if found.kind is SourceKind.LOG))
        records = self._assemble(replace(listing, logs=logs), files)
        return _analyse(logs_not_read(records) if self.options.logs else records, None, self.paths)

    def _seen(self, found: Found, settled: Callable[[str], float] | None) -> tuple[FileRead, ...]:
        """What is known of a file. One that is not whole and is being written is read again at the next look; one that has
        paused is no longer read again, but what it lacks may still come."""
        files = self._dumps[found.key]
        whole = all(file.status in _AS_IT_IS or not file.opened or file.pack for file in files)
        if whole or settled is None or (rest := settled(found.path)) == math.inf:
            return files
        if rest > 0:
            return tuple(_paused(file, rest) for file in files)
        del self._dumps[found.key]
        reason = f"being written, {size(found.size)} so far"
        changes: dict[str, Any] = {"status": SourceStatus.GROWING, "reason": reason, "decoded": None, "facts": None}
        return tuple(file if file.status in _AS_IT_IS else replace(file, **changes) for file in files)

    def _assemble(self, listing: Listing, files: Sequence[FileRead]) -> Records:
        from hangview.dumps.assemble import assemble
        from hangview.jobs import of_the_job_that_hangs

        others = [*(log_source(f, self.options) for f in listing.logs), *listing.others]
        return of_the_job_that_hangs(lambda options: assemble(files, others, options), self.options)

    # --- logs

    def _read_logs(
        self,
        records: Records,
        files: Sequence[Found],
        progress: Progress,
        parts: Parts | None,
        cancelled: Callable[[], bool],
    ) -> tuple[Records, LogEvidence | None]:
        if not any(source.kind is SourceKind.LOG for source in records.sources):
            self._logs = {}
            return records, None  # to import what reads them takes as long as to read a small set
        from hangview.dumps.calling_off import Cancelled
        from hangview.logs import LogFile, of_this_run, scan_log

        found = {one.shown: one for one in files}
        elsewhere = logs_of_other_attempts(records, self.options.attempt)
        records = set_aside(records, elsewhere)
        scans: dict[tuple[Key, int], LogScan] = {}
        for i, source in enumerate(records.sources):
            if source.kind is not SourceKind.LOG or source.status is not SourceStatus.READ or i in elsewhere:
                continue
            if cancelled():
                raise Cancelled
            if parts is not None and parts.late():
                parts.show(lambda: _analyse(logs_not_read(records), None, self.paths))
                parts = None
            one = found[source.path]
            scan = self._logs.get((one.key, i))
            scans[one.key, i] = scan if scan is not None else scan_log(LogFile(i, Path(one.path), one.shown))
            progress.add(1)
        self._logs = scans
        if not scans:
            return records, None
        evidence = of_this_run(scans.values(), records)
        return with_logs(records, evidence), evidence

    def _settle(self, listing: Listing, records: Records, *, store: bool) -> None:
        """Keep what the next look may need, in little memory, and forget the rest. ``store`` it in the cache, too."""
        from hangview.dumps import cache
        from hangview.dumps.allocator import give_back
        from hangview.dumps.sharing import rebase

        wanted = listing.dumps if self._keep or store else ()
        known = [(found.key, self._dumps[found.key]) for found in wanted if found.key in self._dumps]
        files = iter(rebase([file for _, group in known for file in group], records))
        kept = {key: tuple(next(files) for _ in group) for key, group in known}
        if store and not self._keep and records.entries.height < MANY:
            cache.store(listing.dumps, self.options, kept)
        elif store:
            self._storing = cache.store_later(listing.dumps, self.options, kept)
        self._dumps = kept if self._keep else {}
        give_back()


#: Statuses that more bytes would not change.
_AS_IT_IS = frozenset({SourceStatus.READ, SourceStatus.REFUSED, SourceStatus.IGNORED})


def _paused(file: FileRead, rest: float) -> FileRead:
    """A file that is not whole and came only now: its writer may have died, or may go on."""
    if file.status in _AS_IT_IS or not file.opened:
        return file
    told = f"no growth for {lasted(rest)}"
    if file.decoded is None:
        return replace(file, reason=f"{file.reason}; it may still be written: {told}")
    whole = f"{count(file.decoded.count, 'whole entry is', 'whole entries are')} used"
    reason = f"being written or cut: {told}, {size(file.found.size)} so far; its {whole}"
    return replace(file, status=SourceStatus.UNFINISHED, reason=reason)


def _import_the_rest() -> None:
    """Import what comes after reading: a third of a second, in which this process would only wait."""
    from hangview.dumps.allocator import import_polars

    with suppress(ImportError, OSError):  # who needs it says so
        import_polars()
        import numpy.ma  # noqa: F401 - polars asks for it

        import hangview.dumps.assemble
        import hangview.engine.analyse  # noqa: F401


def _analyse(records: Records, logs: LogEvidence | None, paths: tuple[str, ...]) -> Incident:
    from hangview.engine.analyse import analyse

    return analyse(records, logs, paths)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Without garbage collection: nothing here makes cycles, and every collection would walk over all that was decoded."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _stop(cancelled: Callable[[], bool]) -> bool:
    """Never True: raises instead."""
    from hangview.dumps.calling_off import Cancelled

    if cancelled():
        raise Cancelled
    return False


def _never() -> bool:
    return False
