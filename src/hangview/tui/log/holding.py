"""What the log's screen holds and shows, and how it reads on. No keys here; all reading is in threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.text import size as size_text
from hangview.tui.actions import show_key
from hangview.tui.live import live_keys
from hangview.tui.log.jobs import Done, Jobs, Told
from hangview.tui.log.keys import LOG_ACTIONS
from hangview.tui.log.reader import MOST_ROWS, LogReader, Read
from hangview.tui.log.view import LogView
from hangview.tui.log.window import EMPTY, grown_above, grown_below, index_at
from hangview.tui.log.words import head_line, status_words, trouble, why_line
from hangview.tui.main.panes import SingleLine
from hangview.tui.main.prompt import Prompt, Prompted
from hangview.tui.prose import Line, Tone, drawn, line, shorten_to
from hangview.tui.prose_view import ProseView
from hangview.tui.saying import Saying
from hangview.tui.worksheet.bindings import key_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from hangview.tui.log.paging import Row
    from hangview.tui.log.target import Target

#: Seconds between words about a job that takes long.
PATIENCE = 0.5


class HoldingScreen(Saying, Prompted, inherit_bindings=False):
    """One rank's logs, one at a time."""

    AUTO_FOCUS = ""
    ESCAPE_TO_MINIMIZE = False

    def __init__(self, paths: Sequence[str], targets: Sequence[Target], *, ascii_only: bool = False) -> None:
        """``targets`` has at least one."""
        super().__init__()
        self.set_class(ascii_only, "-ascii")
        self._paths = tuple(paths)
        self._targets = tuple(targets)
        self._ascii = ascii_only
        self._at = 0
        self._popped = self._said = False
        self._view = LogView(ascii_only=ascii_only, id="log")
        self._begin()

    def _begin(self) -> None:
        """For another target: whatever a disk still owes to the one before is not waited for."""
        self.reader = LogReader(self._paths, self.target)
        self.jobs = Jobs(self.post_message)
        self.search = Jobs(self.post_message)
        self.held = EMPTY
        self.only = False
        self._length = self.target.size
        self._owed = 0
        self._waited = 0
        self._progress = ""
        self._note = ""

    @property
    def target(self) -> Target:
        return self._targets[self._at]

    @property
    def busy(self) -> bool:
        """Whether a thread reads or searches."""
        return self.jobs.busy or self.search.busy

    @property
    def row(self) -> Row | None:
        """The row under the cursor."""
        rows = self._view.rows
        return rows[self._view.cursor] if rows else None

    def compose(self) -> ComposeResult:
        yield SingleLine(id="log-head")
        yield SingleLine(id="log-why")
        yield self._view
        yield ProseView(id="log-whole")
        yield SingleLine(id="log-status")
        yield Prompt(id="log-prompt")
        yield SingleLine(id="log-keys")

    def on_mount(self) -> None:
        for each in self.query(ProseView):
            each.set_ascii(self._ascii)
            each.can_focus = False
        self.set_interval(PATIENCE, self._say_busy)
        self._open()

    def on_unmount(self) -> None:
        self.jobs.forget()
        self.search.forget()

    def on_resize(self) -> None:
        keys = key_line(tuple(sorted((each for each in LOG_ACTIONS if each.footer), key=lambda each: each.footer)),
                        self.size.width, live=live_keys(self.app))  # fmt: skip
        self._line("log-keys", keys)
        self.query_one("#log-whole").styles.height = self._whole_rows
        self._show_whole()
        self._more()

    # Words

    @property
    def _whole_rows(self) -> int:
        """Rows for the whole text of the line under the cursor."""
        return min(6, self.size.height // 5)

    def _line(self, name: str, text: Line) -> None:
        self.query_one(f"#{name}", SingleLine).show((text,))

    def say(self, text: str) -> None:
        """In the status line, until the next key."""
        self._said = True
        self._line("log-status", line((text, Tone.KEY)))

    def unsay(self) -> None:
        if self._said and not self.busy:
            self._said = False
            self._show_status()

    def unbound(self, key: str) -> str:
        return f"{show_key(key)} does nothing here: {live_keys(self.app)('log_help')} lists the keys"

    def _show_head(self) -> None:
        self._line("log-head", head_line(self.target, self._at, len(self._targets), only=self.only, live=live_keys(self.app)))
        self._line("log-why", line((self._note, Tone.LEAD)) if self._note else why_line(self.target))

    def _show_whole(self) -> None:
        """The line under the cursor, wrapped: what stands behind the launcher's and the library's prefixes is what counts."""
        text = drawn(line(self.row.text if self.row is not None else ""), ascii_only=self._ascii)
        width, rows = max(1, self.size.width), max(1, self._whole_rows)
        self.query_one("#log-whole", ProseView).show((shorten_to(text, width, rows, "..." if self._ascii else "…"),))

    def _show_status(self) -> None:
        row = self.row
        self._show_whole()
        used = row is not None and row.offset in self._view.used
        self._line("log-status", line(status_words(row, self._length, self._view.left, used=used)))

    def _say_busy(self) -> None:
        """While a thread takes long, and it can be stopped."""
        if not self.busy:
            self._waited = 0
            return
        self._waited += 1
        if self.search.busy:
            word = f"searching{self._progress}"
        else:
            word = "reading" if self._waited < 4 else f"reading, {self._waited * PATIENCE:.0f} s"
        keys = live_keys(self.app)
        self.say(f"{word} · {keys('log_stop')} stops, {keys('log_close')} goes back")

    # Reading

    def _open(self) -> None:
        """A target, at its line that matters."""
        target = self.target
        self._view.matters, self._view.left = None, 0
        self._view.used = frozenset(each.offset for each in target.used)
        self._view.say("reading")
        self._show_head()
        self._line("log-status", line("reading"))
        self.to_matters()

    def _go(self, offset: int | None, *, text: str = "", exact: bool = False, words: str = "") -> None:
        """Cursor to an offset, None for the end; reads around it unless it is among the rows that are held."""
        rows = self._view.rows
        if offset is not None and any(row.offset == offset for row in rows):
            self._put(index_at(rows, offset, text), words)
            return
        reader, only = self.reader, self.only
        self._owed = 0
        self.jobs.start(
            lambda stop: reader.around(offset, stop.is_set, only=only, exact=exact),
            lambda result: self._arrived(result, offset, text, words),
        )

    def _put(self, index: int, words: str) -> None:
        view = self._view
        far = not view.topmost <= index < view.topmost + view.size.height
        if far:
            view.show(view.rows, index)
        else:
            view.move(index)
        self._revealed(words)

    def _arrived(self, result: Read | OSError, offset: int | None, text: str, words: str) -> None:
        if isinstance(result, OSError):
            self._failed(result)
            return
        self._take(result)
        rows = self.held.rows
        self._mark(rows)
        if rows:
            index = len(rows) - 1 if offset is None else index_at(rows, result.at, text)
            self._view.show(rows, index)
        else:
            self._view.say(self._no_rows())
        if result.moved:
            self._note = "the file is not as it was when hangview read it: its lines lie elsewhere now"
            self._show_head()
        self._revealed(words)

    def _no_rows(self) -> str:
        if not self.only:
            return "the file is empty"
        held, rank = self.held, self.target.rank
        if held.low == 0 and held.high >= self._length:
            return f"no line here names rank {rank}"
        between = f"between {size_text(held.low)} and {size_text(held.high)}"
        return f"stopped: no line {between} names rank {rank} · {live_keys(self.app)('log_down')} reads on"

    def _revealed(self, words: str) -> None:
        if self._view.needle is not None and words:
            self._view.reveal(self._view.needle)
        self._show_status()
        if words:
            self.say(words)
        if not self.jobs.stopped:  # by hand: then the next move goes on
            self._more()

    def _take(self, read: Read) -> None:
        self.held, self._length = read.stretch, read.size
        if read.changed and not self._note:
            self._note = "the file was replaced or cut since hangview read it"
            self._show_head()

    def _mark(self, rows: Sequence[Row]) -> None:
        matters = self.target.line
        if matters is not None:
            here = [row for row in rows if row.offset == matters.offset]
            if here:
                self._view.matters = here[index_at(here, matters.offset, matters.text)].key

    def _more(self) -> None:
        """Ask for what comes next, a screen before the cursor gets there."""
        height, held, view = max(1, self._view.size.height), self.held, self._view
        if self.jobs.busy or not self.is_mounted or (not view.rows and not self.only):
            return
        reader, only = self.reader, self.only
        if len(view.rows) - view.cursor <= 2 * height and held.high < self._length:
            self.jobs.start(
                lambda stop: reader.below(held.high, held.high_number, stop.is_set, only=only),
                lambda result: self._grown(result, below=True),
            )
        elif view.cursor <= 2 * height and held.low > 0:
            self.jobs.start(
                lambda stop: reader.above(held.low, held.low_number, stop.is_set, only=only),
                lambda result: self._grown(result, below=False),
            )
        else:
            self._owed = 0

    def _grown(self, result: Read | OSError, *, below: bool) -> None:
        if isinstance(result, OSError):
            self.say(trouble(self.target, result))  # what was read stays
            return
        view, row, topmost, old = self._view, self.row, self._view.topmost, self.held
        added = len(result.stretch.rows)
        self._take(result._replace(stretch=(grown_below if below else grown_above)(old, result.stretch, MOST_ROWS)))
        rows = self.held.rows
        self._mark(result.stretch.rows)
        shift = len(rows) - len(old.rows) - added if below else added
        index = next((at for at, each in enumerate(rows) if row is not None and each.key == row.key), 0)
        if rows:
            view.show(rows, index, top=topmost + shift)
        else:
            view.say(self._no_rows())
        if self.jobs.stopped:
            self._owed = 0
        if added and self._owed:
            owed, self._owed = self._owed, 0
            self._move(owed)
        elif self._waited:
            self._show_status()

    def _failed(self, error: OSError) -> None:
        self.held = EMPTY
        self._view.say(trouble(self.target, error))
        self._line("log-status", line(("not read", Tone.UNKNOWN)))

    def on_done(self, event: Done) -> None:
        event.stop()
        if event.jobs in (self.jobs, self.search):
            event.jobs.done(event.result)

    def on_told(self, event: Told) -> None:
        event.stop()
        if event.jobs is self.search:
            self._progress = event.word

    # Moving

    def _move(self, rows: int) -> None:
        view = self._view
        target = view.cursor + rows
        last = len(view.rows) - 1
        over = min(0, target) or max(0, target - last)
        more = self.held.low > 0 if over < 0 else self.held.high < self._length
        view.move(target)
        self._owed = over if more else 0
        self._show_status()
        self._more()

    def to_matters(self) -> None:
        matters = self.target.line
        self._go(matters.offset if matters else None, text=matters.text if matters else "", exact=matters is not None)
