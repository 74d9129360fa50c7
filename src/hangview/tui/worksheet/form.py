"""The eight sections as a scrolling form: one drawn sheet, and on it the control of the field that has the focus."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from textual import on
from textual.containers import VerticalScroll
from textual.widgets import Input, TextArea

from hangview.tui.worksheet.choice import Choice
from hangview.tui.worksheet.fields import LineInput, TextInput
from hangview.tui.worksheet.paper import (
    MOST_ROWS,
    Block,
    Measure,
    Row,
    Stop,
    answers_of,
    block_of,
    kind_of,
    placeholder_of,
    title_block,
)
from hangview.tui.worksheet.paper_view import Paper
from hangview.tui.worksheet.screen_words import ENGLISH, ScreenWords
from hangview.tui.worksheet.tick import Tick
from hangview.worksheet.layout import FieldKind
from hangview.worksheet.model import Mark

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult
    from textual.events import Resize
    from textual.widget import Widget

    from hangview.worksheet.model import Field, Sheet


class Edit(NamedTuple):
    """What was written: the text of a field, or one line of a checklist ticked or not."""

    key: str
    text: str = ""
    tick: int | None = None
    checked: bool = False


class Form(VerticalScroll, inherit_bindings=False):
    """``edited`` is told each edit at once, ``moved`` when another field is written in, or none."""

    def __init__(
        self,
        sheet: Sheet,
        *,
        ascii_only: bool,
        edited: Callable[[Edit], object],
        moved: Callable[[], object],
        words: ScreenWords = ENGLISH,
    ) -> None:
        super().__init__(id="sheet-form", can_focus=False)
        self.sheet = sheet
        self.at: Stop | None = None  #: what is written in
        self.stops: list[Stop] = []
        self._edited, self._moved = edited, moved
        self._words, self._ascii = words, ascii_only
        self._paper = Paper(ascii_only=ascii_only)
        self._line, self._area = LineInput(), TextInput()
        self._choice, self._tick = Choice(ascii_only=ascii_only), Tick("", checked=False, ascii_only=ascii_only)
        self._told: str | bool = ""  # what was told of the control's content last
        self._blocks: dict[str, tuple[object, Block]] = {}
        self._tops: dict[str, int] = {}  # first rows of fields, and of sections by "#1" … "#8"
        self._section = 0  # the section that was jumped to, until one scrolls or enters a field

    def compose(self) -> ComposeResult:
        yield self._paper
        for control in self._controls:
            control.add_class("control")
            control.display = False
            yield control

    @property
    def _controls(self) -> tuple[Widget, ...]:
        return self._line, self._area, self._choice, self._tick

    @property
    def control(self) -> Widget | None:
        """What is written in."""
        if self.at is None:
            return None
        if self.at.tick is not None:
            return self._tick
        return {FieldKind.LINE: self._line, FieldKind.CHOICE: self._choice}.get(self.at.kind, self._area)

    # Drawing

    def shown(self, key: str) -> str:
        """The rows of a field as they are drawn, without what its control draws."""
        rows = self._blocks[key][1].rows
        return "\n".join(f"{row.left.text:<{row.at}}{row.right.text if row.right else ''}".rstrip() for row in rows)

    def show(self, sheet: Sheet, *, by_hand: bool = False) -> None:
        """Draw a newer version; what is being typed and the cursor stay. ``by_hand``: it comes from the control itself."""
        self.sheet = sheet
        at = self.at
        if at is not None and not by_hand:
            if at.key not in sheet or sheet[at.key].hidden:
                self.leave()
            elif kind_of(sheet[at.key]) is not at.kind:
                self.leave()
                self.enter(at.key)
                return
            else:
                self._put(sheet[at.key], at)
        self._draw()

    def _draw(self) -> None:
        """Lay out what has changed and put the control where its field is."""
        width = self.scrollable_content_region.width
        if width <= 0:
            return
        measure = Measure(width, width < 74, words=self._words, ascii_only=self._ascii)
        rows: list[Row] = []
        self.stops = []
        current = self.current_section
        for section in self.sheet.sections:
            self._take(f"#{section.number}", (section.heading, section.intro, measure, section.number == current), rows)
            for field in section.fields:
                if not field.hidden:
                    writing = min(MOST_ROWS, self._area.rows) if self.control is self._area and self._is_at(field) else 0
                    self._take(field.key, (field, measure._replace(writing=writing)), rows)
            if rows[-1] != Row():
                rows.append(Row())
        self._paper.show(rows)
        if self.at is not None:
            name = self.at.name
            self.at = next((stop for stop in self.stops if stop.name == name), self.at)
            self._place(self.at)

    def _is_at(self, field: Field) -> bool:
        return self.at is not None and self.at.key == field.key

    def _take(self, key: str, made_of: tuple[object, ...], rows: list[Row]) -> None:
        """Add one block, made anew only where something that it is made of has changed."""
        known = self._blocks.get(key)
        if known is None or known[0] != made_of:
            known = self._blocks[key] = (made_of, self._make(key, made_of))
        self._tops[key] = len(rows)
        self.stops += [stop.below(len(rows)) for stop in known[1].stops]
        rows += known[1].rows

    def _make(self, key: str, made_of: tuple[object, ...]) -> Block:
        if key.startswith("#"):
            _, _, measure, current = made_of
            return title_block(self.sheet.sections[int(key[1:]) - 1], measure, current=bool(current))  # type: ignore[arg-type]
        field, measure = made_of
        return block_of(field, measure)  # type: ignore[arg-type]

    def _place(self, at: Stop) -> None:
        control = self.control
        assert control is not None
        control.styles.offset = (at.left, at.top)
        control.styles.width = at.width
        control.styles.height = at.height

    def on_resize(self, event: Resize) -> None:  # noqa: ARG002
        self._draw()
        self._bring_into_sight()  # what is said above it takes rows

    @on(TextInput.Wrapped)
    def _wrapped(self, event: TextInput.Wrapped) -> None:
        event.stop()
        self._draw()

    # Entering and leaving

    def enter(self, key: str) -> None:
        """Write in a field from now on. A checklist is entered at its first line."""
        self._enter(next((stop for stop in self.stops if stop.key == key), None))

    def _enter(self, stop: Stop | None) -> None:
        if stop is None:
            return
        self._let_go()
        self._draw()  # what was let go may take other rows now, or have made its field come or go
        at = next((each for each in self.stops if each.name == stop.name), None)
        if at is None:
            self._put_away()
        else:
            self._take_hold(at)

    def _take_hold(self, at: Stop) -> None:
        self.at, self._section = at, 0
        field = self.sheet[at.key]
        control = self.control
        if at.tick is not None:
            item = field.items[at.tick]
            self._tick.offer(item.text, checked=item.checked)
            self._told = item.checked
        elif control is self._line:
            self._line.fill(field.value, replace=field.mark is Mark.PREFILLED)
            self._told = field.value
        elif control is self._choice:
            self._choice.offer(answers_of(field), field.value)
            self._told = field.value
        else:
            self._area.placeholder = placeholder_of(field, self._words)
            self._area.fill(field.typed)
            self._told = field.typed
        for each in self._controls:
            each.display = each is control
        self._draw()
        self.screen.set_focus(control, scroll_visible=False)
        self._bring_into_sight()
        self._moved()

    def leave(self) -> None:
        """Write in no field."""
        if self.at is None:
            return
        self._let_go()
        self._put_away()
        self._draw()

    def _put_away(self) -> None:
        self.screen.set_focus(None)
        for each in self._controls:
            each.display = False
        self._moved()

    def _let_go(self) -> None:
        """Tell what was written last, before the control is used for something else."""
        self._tell()
        self.at = None

    def step(self, by: int) -> None:
        """The next field, or the one before; from outside of fields the first one in sight, or of the section jumped to."""
        if not self.stops:
            return
        if self.at is not None:
            names = [stop.name for stop in self.stops]
            stop = self.stops[(names.index(self.at.name) + by) % len(names)]
        else:
            top = self._tops[f"#{self._section}"] if self._section else round(self.scroll_y)
            stop = next((stop for stop in self.stops if stop.top >= top), self.stops[-1])
        self._enter(stop)

    def enter_first_blank(self) -> bool:
        """Write in the first blank from where one is, else in the first of all; False where nothing is blank."""
        blank = [stop for stop in self.stops if self.sheet[stop.key].mark is Mark.BLANK]
        top = self._tops[f"#{self._section}"] if self._section else round(self.scroll_y)
        stop = next((stop for stop in blank if stop.top >= top), blank[0] if blank else None)
        self._enter(stop)
        return stop is not None

    @property
    def current_section(self) -> int:
        """The number of the section that is written in or was jumped to; 0 for none."""
        if self.at is None:
            return self._section
        return next((section.number for section in self.sheet.sections if any(map(self._is_at, section.fields))), 0)

    def go_to_section(self, number: int) -> None:
        """Scroll section ``number``, from 1, to the top; tab goes into it, also where the last ones do not reach the top."""
        self.leave()
        self._section = number
        self._draw()
        self.scroll_to(y=self._tops[f"#{number}"], animate=False, immediate=True)
        self._moved()

    def scrolled(self) -> None:
        """Somebody scrolls by hand: the section that was jumped to may be out of sight."""
        if self._section:
            self._section = 0
            self._draw()

    def _bring_into_sight(self) -> None:
        """The label with its evidence too, where there is room for both."""
        at = self.at
        if at is None:
            return
        first, end = min(self._tops[at.key], at.top), at.top + at.height
        if at.tick is not None:
            first = at.top
        height = max(1, self.scrollable_content_region.height)
        top = round(self.scroll_y)
        if end - first > height:
            first = max(first, end - height)
        if first < top or end > top + height:
            wanted = first if first < top else end - height
            self.scroll_to(y=wanted, animate=False, immediate=True)

    # What is written

    def _content(self) -> str | bool:
        control = self.control
        if control is self._tick:
            return self._tick.checked
        if control is self._choice:
            return self._choice.value
        return self._area.typed if control is self._area else self._line.value

    def pending(self) -> Edit | None:
        """An edit that stands in the control and was not told yet: a signal does not wait for messages."""
        at = self.at
        if at is None:
            return None
        content = self._content()
        if content == self._told:
            return None
        return Edit(at.key, tick=at.tick, checked=content) if isinstance(content, bool) else Edit(at.key, content)

    def _tell(self) -> None:
        edit = self.pending()
        if edit is not None:
            self._told = self._content()
            self._edited(edit)

    def _put(self, field: Field, at: Stop) -> None:
        """Bring the control to what the field holds, where it does not hold it already."""
        if at.tick is not None:
            self._tick.offer(field.items[at.tick].text, checked=field.items[at.tick].checked)
        elif self.control is self._choice:
            self._choice.offer(answers_of(field), field.value)
        elif self.control is self._area:
            self._area.placeholder = placeholder_of(field, self._words)
            self._area.put(field.typed)
        elif self._line.value and self._line.value != field.value:  # an emptied line stays empty until it is left
            self._line.fill(field.value, replace=field.mark is Mark.PREFILLED)
        self._told = self._content()

    # Changed says only that something changed: what it is and whose, the control and the field know better by now.

    @on(Input.Changed)
    @on(TextArea.Changed)
    @on(Choice.Changed)
    @on(Tick.Changed)
    def _changed(self, event: Input.Changed | TextArea.Changed | Choice.Changed | Tick.Changed) -> None:
        event.stop()
        self._tell()
        if self.control is self._area:
            self._draw()
            self.call_after_refresh(self._bring_into_sight)  # it may be higher by many rows, and its last one is written in

    @on(Paper.Clicked)
    def _clicked(self, event: Paper.Clicked) -> None:
        event.stop()
        stop = next((stop for stop in self.stops if stop.top <= event.y < stop.top + stop.height), None)
        if stop is None:
            self.leave()
            return
        self._enter(stop)
        if self.control is self._tick:
            self._tick.action_tick()
        elif self.control is self._choice and event.x >= stop.left:
            self._choice.choose_row(event.y - stop.top)
