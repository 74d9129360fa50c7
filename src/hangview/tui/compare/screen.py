"""The screen of a comparison: the answer, the groups, and beside them the call where the two sets part."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.containers import Container, Horizontal

from hangview.compare.call import has_lane
from hangview.compare.standing import standings
from hangview.text import count
from hangview.tui.actions import ACTIONS, Where
from hangview.tui.bindings import bindings_for
from hangview.tui.compare.columns import ColumnsView
from hangview.tui.compare.groups import GroupsView
from hangview.tui.compare.words import (
    answer_lines,
    call_of,
    group_line,
    group_lines,
    group_title,
    newest_call,
    sets_lines,
    step_text,
    title_line,
)
from hangview.tui.layout import too_small
from hangview.tui.live import live_keys
from hangview.tui.main.paned import PanedScreen
from hangview.tui.main.panes import Pane, SingleLine
from hangview.tui.place import Place
from hangview.tui.prose import Tone, drawn, line, shorten_to
from hangview.tui.prose_view import Choice, ChoiceView, ProseView
from hangview.tui.text.details import LEVELS, details
from hangview.tui.text.help import unbound
from hangview.tui.titles import led
from hangview.tui.worksheet.bindings import key_line

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.events import DescendantFocus, Resize
    from textual.widget import Widget

    from hangview.compare.standing import GroupStanding
    from hangview.incident import Incident
    from hangview.tui.actions import Action
    from hangview.tui.compare.reader import Both
    from hangview.tui.prose import Prose
    from hangview.tui.titles import Title

#: From this width on the list stands beside the call, from this height on the banner has a line for each set.
BESIDE, TALL = 110, 34
#: Below this height the answer stands alone above the panes; with fewer lines than this for panes one is shown at a time.
LOW, TURNS = 16, 14
#: The key of the item that is about the sets as a whole.
SETS = "sets"
_FOOTER = ("next_difference", "help", "details", "next_pane", "previous_difference", "back", "leave")


def footer() -> tuple[Action, ...]:
    """The actions of the key line, the most wanted first."""
    by_id = {action.id: action for action in ACTIONS}
    return tuple(by_id[name] for name in _FOOTER)


class CompareScreen(PanedScreen, inherit_bindings=False):
    """``level`` is how far down the details are: 0 the two sides of the call, then its levels as on the main screen."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for(Where.COMPARE)
    AUTO_FOCUS = "#groups"

    def __init__(self, paths: tuple[str, str], *, ascii_only: bool) -> None:
        super().__init__(ascii_only=ascii_only)
        self.paths = paths
        self.both: Both | None = None
        self.trouble = ""
        self.level = 0
        self.number: int | None = None  #: the difference that is shown
        self.order: dict[int, GroupStanding] = {}
        self._reading = "reading"
        self._turn = "groups"  #: the pane that is shown where there is room for one alone
        self._listed = 0  #: the width that the list was made for

    def compose(self) -> ComposeResult:
        yield ProseView(id="banner")
        with Horizontal(id="main"):
            yield Pane(GroupsView(wrapped=False, id="groups"), id="groups-pane")
            with Container(id="right"):
                yield Pane(ColumnsView(id="call"), id="call-pane")
                with Container(id="below"):
                    yield Pane(ProseView(id="a"), id="a-pane")
                    yield Pane(ProseView(id="b"), id="b-pane")
        yield SingleLine(id="status")
        yield SingleLine(id="keys")

    def on_mount(self) -> None:
        self.set_ascii(self.ascii)
        self.show_all()

    # Pieces

    @property
    def groups(self) -> ChoiceView:
        return self.query_one("#groups", ChoiceView)

    @property
    def chosen(self) -> GroupStanding | None:
        """The group under the cursor; None for the line about the sets."""
        key = self.groups.key
        return self.order.get(key) if isinstance(key, int) else None

    # What is shown

    def reads(self, name: str, done: int, total: int) -> None:
        """So many files of a set were read."""
        self._reading = f"reading {name}: {done:,} of {total:,}" if done < total else f"reading {name}: comparing ranks"
        self.show_banner()

    def fail(self, reason: str) -> None:
        """A set cannot be read."""
        self.trouble = reason
        self.show_all()

    def take(self, both: Both) -> None:
        """Show a comparison, the cursor on what differs first."""
        self.both = both
        called = [each.called for each in both.comparison.groups]
        found = [each for each in standings(both.comparison) if called[each.pair]]
        self.order = {each.pair: each for each in found}
        self._fill_list()
        self.number = 0 if both.comparison.differences else None
        if found:
            self.groups.choose(found[0].pair)
        self.show_all()

    def _fill_list(self) -> None:
        """The list for its width."""
        if self.both is None:
            return
        self._listed = width = max(20, (self.size.width if self.stacked else self._list_width) - 2)
        whole = Choice(SETS, (line(("  both sets and their conditions", Tone.DIM)),))
        comparison = self.both.comparison
        rows = (Choice(each.pair, (group_line(comparison, each, width),)) for each in self.order.values())
        self.groups.choose_from((whole, *rows))

    def show_all(self) -> None:
        """Everything, after anything has changed."""
        self.show_banner()
        self.share_out()
        self.show_group()

    def show_banner(self) -> None:
        if self.cramped:
            self.share_out()  # which says so in its place
            return
        view = self.prose("banner")
        width = max(1, self.size.width)
        if self.both is None:
            word = ("NOT READ  ", Tone.UNKNOWN) if self.trouble else ("READING  ", Tone.KEY)
            text = self.trouble or f"no answer yet: {self._reading}"
            view.show((title_line(self.paths, width), line(word, text, hang=10)))
            return
        tall, low = self.size.height >= TALL, self.size.height < LOW
        lines = answer_lines(self.both.comparison, sides=tall)[: 1 if low else None]
        most = [3 if tall else 2, *([2 if tall else 1] * (len(lines) - 1))]
        told = zip((drawn(each, ascii_only=self.ascii) for each in lines), most, strict=True)  # as long as on the screen
        sign = "..." if self.ascii else "…"
        title = title_line(self.paths, width - 2 * self.ascii)  # its "…" takes three cells there
        view.show((title, *(shorten_to(each, width, rows, sign) for each, rows in told)))

    def show_group(self) -> None:
        """The call where the chosen group parts, or what lies below it."""
        if self.both is None:
            return
        both, each = self.both, self.chosen
        differing = sum(bool(one.differences) for one in self.order.values())
        rest = len(both.comparison.groups) - len(self.order)
        silent = f" · {rest:,} more without a call" if rest else ""
        self.say_title("groups", f"{count(len(self.order), 'group')} · {differing:,} with a difference{silent}")
        if each is None:
            self.level, self.number = 0, None
            self.say_title("call", "both sets")
            self.query_one(ColumnsView).show_made(lambda _: sets_lines(both.comparison))
        else:
            number = self.number
            self.say_title("call", group_title(both.comparison, each, number))
            self.query_one(ColumnsView).show_made(lambda width: group_lines(both, each, number, width))
            self._show_below(both, each)
        self.show_status()

    def _show_below(self, both: Both, each: GroupStanding) -> None:
        if self.level == 0:
            return
        pair = both.comparison.groups[each.pair]
        for name, incident, group in (("a", both.a, pair.a), ("b", both.b, pair.b)):
            title, lines = self._details(incident, group.id if group is not None else None, each)
            self.say_title(name, led(title, f"{name.upper()} · "))
            self.prose(name).show(lines)

    def _details(self, incident: Incident, group: int | None, each: GroupStanding) -> tuple[Title, Prose]:
        """A set's own view of the call, as its main screen would show it."""
        assert self.both is not None
        own = next((found for found in incident.groups if found.id == group), None)
        if own is None:
            return "nothing of it", (line(("this set has no such group", Tone.UNKNOWN)),)
        call = call_of(self.both.comparison, each.pair, self.number) or newest_call(incident, own)
        if call is None or not has_lane(incident, own, call[0]):
            return "nothing of it", (line(("this set has no such call", Tone.UNKNOWN)),)
        ranks = self.both.comparison.groups[each.pair].ranks
        if self.number is not None:
            ranks = self.both.comparison.differences[self.number].parts[0].ranks
        return details(incident, Place(own.id, *call, ranks[0] if ranks else own.ranks[0]), self.level - 1)

    def show_status(self) -> None:
        if self.both is None:
            self.prose("status").show(())
            return
        comparison = self.both.comparison
        if self.number is not None:
            self.prose("status").show((line(step_text(comparison, self.number)),))
        else:
            self.prose("status").show((line(f"{count(len(comparison.differences), 'difference')} in all"),))

    @property
    def stacked(self) -> bool:
        """Whether panes stand above each other."""
        return self.size.width < BESIDE

    @property
    def _list_width(self) -> int:
        return min(56, self.size.width // 3)

    @property
    def turns(self) -> bool:
        """Whether there is room for one pane alone: they take turns, with tab and on the way down and back."""
        return self.stacked and self.size.height - self.prose("banner").rows_needed(self.size.width) - 2 < TURNS

    def share_out(self) -> None:
        """Sizes of the panes for this terminal."""
        width, height = self.size
        fits = not self.cramped
        banner = self.prose("banner")
        for name in ("main", "status", "keys"):
            self.query_one(f"#{name}").display = fits
        if not fits:
            banner.show((line((f"{too_small(width, height)} · {self.key('leave')} quits", Tone.LEAD)),))
            banner.styles.height = height
            return
        rows = banner.rows_needed(width)
        banner.styles.height = rows
        stacked, turns = self.stacked, self.turns
        self.query_one("#main").set_class(stacked, "-stacked")
        groups = self.pane("groups")
        # Below the call two texts need the room: the list comes back when it is left.
        groups.display = not (stacked and self.level > 0) and (not turns or self._turn == "groups")
        room = height - rows - 2
        groups.styles.width = "1fr" if stacked else self._list_width
        part = stacked and not turns
        groups.styles.height = min(len(self.groups.choices) + 2, max(5, room // 3)) if part else "1fr"
        self.query_one("#right").display = not (turns and self._turn == "groups")
        self.pane("call").display = self.level == 0
        self.query_one("#below").display = self.level > 0
        for name, other in (("groups", "call"), ("call", "groups"), ("a", "B"), ("b", "A")):
            if name in ("a", "b"):
                self.pane(name).display = not turns or self._turn == name
            self.pane(name).say_hint(f"{self.key('next_pane')}: {other}" if turns else "")
        if self._listed != max(20, (width if stacked else self._list_width) - 2):
            self._fill_list()
        keys = key_line(footer(), width, live=live_keys(self.app))
        self.prose("keys").show((keys,))

    def on_resize(self, event: Resize) -> None:
        event.stop()
        self.show_banner()
        self.share_out()

    def _turn_to(self, name: str) -> None:
        """The focus to a pane, which is shown for it."""
        self._turn = name
        self.share_out()
        self.query_one(f"#{name}").focus()

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        name = event.widget.id
        if name in ("groups", "call", "a", "b") and name != self._turn:
            self._turn = name
            self.share_out()

    # Keys

    def tab(self, step: int) -> None:
        if not self.turns:
            super().tab(step)
            return
        names = ("a", "b") if self.level else ("groups", "call")
        self._turn_to(names[1] if self._turn == names[0] else names[0])

    def action_next_difference(self) -> None:
        self._step(1)

    def action_previous_difference(self) -> None:
        self._step(-1)

    def _step(self, by: int) -> None:
        found = self.both.comparison.differences if self.both is not None else ()
        if not found:
            self.say("no difference to step to")
            return
        target = (0 if by > 0 else len(found) - 1) if self.number is None else self.number + by
        self.number = target % len(found)
        self.groups.choose(found[self.number].pair)
        self.show_group()
        if not 0 <= target < len(found):
            self.say(f"difference {self.number + 1:,} of {len(found):,} (round the end)")

    def on_choice_view_moved(self, event: ChoiceView.Moved) -> None:
        event.stop()
        each = self.chosen
        self.number = each.differences[0] if each is not None and each.differences else None
        self.show_group()

    def on_choice_view_opened(self, event: ChoiceView.Opened) -> None:
        event.stop()
        self.action_details()

    def action_details(self) -> None:
        if self.both is None:
            self.say("nothing to look at yet: files are being read")
        elif self.turns and self._turn == "groups":
            self._turn_to("call")
        elif self.chosen is None:
            self.prose("call").focus()
        elif self.level == len(LEVELS):
            self.say(f"this is the last level: {self.key('back')} goes back up")
        else:
            self._go_to_level(self.level + 1)

    def _go_to_level(self, level: int) -> None:
        self.level = level
        if self.turns:
            self._turn = "call" if not level else self._turn if self._turn in ("a", "b") else "a"
        self.share_out()
        self.show_group()
        if self.turns:
            self._turn_to(self._turn)
            return
        focused = self.focused
        if focused is None or not focused.is_on_screen or not _displayed(focused):
            (self.prose("a") if level else self.groups).focus()

    def action_back(self) -> None:
        if not self.go_back():
            self.say(f"this is the top: {self.key('leave')} quits")

    def go_back(self) -> bool:
        if self.level > 0:
            self._go_to_level(self.level - 1)
        elif self._turn != "groups" or self.focused is not self.groups:
            self._turn_to("groups")
        else:
            return False
        return True

    def stops(self) -> list[Widget]:
        return [view for name in ("groups", "call", "a", "b") if _displayed(view := self.query_one(f"#{name}"))]

    def unbound(self, key: str) -> str:
        return unbound(key, live_keys(self.app), compared=True)

    def action_copy(self) -> None:
        """The pane with the focus, below the answer; the list stands for its call."""
        view = self.focused if isinstance(self.focused, ProseView) and self.focused is not self.groups else self.prose("call")
        self.copy_lines((*self.prose("banner").prose, *view.prose))


def _displayed(view: Widget) -> bool:
    """Whether it and everything around it is shown."""
    return all(node.display for node in (view, *(each for each in view.ancestors if isinstance(each, Pane | Container))))
