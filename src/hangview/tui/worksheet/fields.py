"""The fields of the form: label with its mark, what the evidence says, and the control for what a person writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Input, TextArea

from hangview.tui.worksheet.bindings import bind
from hangview.tui.worksheet.choice import Choice
from hangview.tui.worksheet.keys import LINE_ACTIONS
from hangview.tui.worksheet.lines import Lines
from hangview.tui.worksheet.tick import Tick
from hangview.tui.worksheet.words import kept_lines, label_line, shifted, shown_evidence
from hangview.worksheet.layout import BLANK, FieldKind

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.events import Focus
    from textual.widget import Widget

    from hangview.tui.prose import Prose
    from hangview.worksheet.model import Field


class LineInput(Input):
    """One line with a way back to what it held when it got the focus."""

    BINDINGS: ClassVar[list[BindingType]] = bind(LINE_ACTIONS)

    def __init__(self, value: str) -> None:
        super().__init__(value, placeholder=BLANK, select_on_focus=False, compact=True)
        self.cursor_blink = False
        self._before = value

    def on_focus(self, event: Focus) -> None:  # noqa: ARG002
        self._before = self.value

    def action_undo(self) -> None:
        self.value, self._before = self._before, self.value


class TextInput(TextArea):
    """Several lines. ``given`` is what it was given, and what that looks like in it: white space of other systems may not
    survive in a terminal's field, and what nobody edited must not count as typed."""

    def __init__(self, text: str) -> None:
        super().__init__(text, compact=True, highlight_cursor_line=False)
        self.cursor_blink = False
        self._given = (text, self.text)

    @property
    def typed(self) -> str:
        given, looks = self._given
        return given if self.text == looks else self.text

    def put(self, text: str) -> None:
        """Show ``text``, if it is not what is shown; undo goes back over it."""
        if text != self.typed:
            cursor = self.cursor_location
            self.replace(text, self.document.start, self.document.end)
            self._given = (text, self.text)
            self.move_cursor(cursor)


class FieldBox(Vertical, inherit_bindings=False):
    """One field. Says :class:`Typed` and :class:`Ticked`; :meth:`show` takes a field with the same key."""

    class Typed(Message):
        def __init__(self, key: str, text: str) -> None:
            super().__init__()
            self.key = key
            self.text = text

    class Ticked(Message):
        def __init__(self, key: str, index: int, checked: bool) -> None:
            super().__init__()
            self.key = key
            self.index = index
            self.checked = checked

    def __init__(self, field: Field, *, ascii_only: bool) -> None:
        super().__init__(classes="field")
        self.field = field
        self._ascii = ascii_only
        self._above = Lines(self.lines_above(field), ascii_only=ascii_only, classes="field-above")
        self._below = Lines(self.lines_below(field), ascii_only=ascii_only, classes="field-below")

    def lines_above(self, field: Field) -> Prose:
        """What stands before the control: label and evidence. Few widgets make a form that opens at once."""
        return (label_line(field), *(shifted(shown_evidence(field), 2)))

    def lines_below(self, field: Field) -> Prose:
        """What stands after the control."""
        return kept_lines(field.kept)

    @property
    def control(self) -> Widget:
        """What takes the focus."""
        raise NotImplementedError  # pragma: no cover - each kind of field has one

    def can_show(self, field: Field) -> bool:  # noqa: ARG002 - not all kinds need to look
        """Whether this kind of box can show a newer version of its field."""
        return True

    def pending(self) -> list[FieldBox.Typed | FieldBox.Ticked]:
        """Edits that stand in the control and were not heard of yet: a signal does not wait for messages."""
        return []

    def put(self, field: Field) -> None:
        """Bring the control to what the field holds, where it does not hold it already."""

    def show(self, field: Field) -> None:
        """Show a newer version of the field; what is being typed and the cursor stay where they are."""
        if field == self.field:
            return
        self.relabel(field)
        self.put(field)

    def relabel(self, field: Field) -> None:
        """Take over what only the mark and the evidence show of an edit that was made in this box."""
        self.field = field
        self._above.show(self.lines_above(field))
        self._below.show(self.lines_below(field))


class OneLineBox(FieldBox):
    """Label and control side by side, the evidence below."""

    def can_show(self, field: Field) -> bool:
        return "\n" not in field.typed

    def lines_above(self, field: Field) -> Prose:
        return (label_line(field),)

    def lines_below(self, field: Field) -> Prose:
        return (*shown_evidence(field), *kept_lines(field.kept))

    def compose(self) -> ComposeResult:
        yield Horizontal(self._above, self.control, classes="field-row")
        yield self._below


class LineBox(OneLineBox):
    """A line: its value stands in the control, prefilled or typed."""

    def __init__(self, field: Field, *, ascii_only: bool) -> None:
        super().__init__(field, ascii_only=ascii_only)
        self._input = LineInput(field.value)

    @property
    def control(self) -> LineInput:
        return self._input

    def pending(self) -> list[FieldBox.Typed | FieldBox.Ticked]:
        value = self._input.value
        return [self.Typed(self.field.key, value)] if value != self.field.value else []

    def put(self, field: Field) -> None:
        # While it has the focus an empty field stays empty, though the evidence's value stands again once it is left.
        if self._input.value != field.value and not (self._input.has_focus and not self._input.value):
            self._input.value = field.value

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Typed(self.field.key, event.value))

    @on(Input.Blurred)
    def _left(self, event: Input.Blurred) -> None:
        event.stop()
        self.put(self.field)


class ChoiceBox(OneLineBox):
    """One of a few answers; one that a hand wrote into the file is offered too."""

    def __init__(self, field: Field, *, ascii_only: bool) -> None:
        super().__init__(field, ascii_only=ascii_only)
        self._choice = Choice(_answers(field), field.value, ascii_only=ascii_only)

    @property
    def control(self) -> Choice:
        return self._choice

    def pending(self) -> list[FieldBox.Typed | FieldBox.Ticked]:
        value = self._choice.value
        return [self.Typed(self.field.key, value)] if value != self.field.value else []

    def put(self, field: Field) -> None:
        self._choice.offer(_answers(field), field.value)

    @on(Choice.Changed)
    def _changed(self, event: Choice.Changed) -> None:
        event.stop()
        self.post_message(self.Typed(self.field.key, event.value))


class TextBox(FieldBox):
    """Prefilled lines above, a text area for what a person writes below."""

    def __init__(self, field: Field, *, ascii_only: bool) -> None:
        super().__init__(field, ascii_only=ascii_only)
        self._area = TextInput(field.typed)
        self._area.placeholder = _placeholder(field)

    @property
    def control(self) -> Widget:
        return self._area

    def compose(self) -> ComposeResult:
        yield self._above
        yield self._area
        yield self._below

    def pending(self) -> list[FieldBox.Typed | FieldBox.Ticked]:
        typed = self._area.typed
        return [self.Typed(self.field.key, typed)] if typed != self.field.typed else []

    def put(self, field: Field) -> None:
        self._area.placeholder = _placeholder(field)
        self._area.put(field.typed)

    @on(TextArea.Changed)
    def _changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self.post_message(self.Typed(self.field.key, self._area.typed))


class ChecklistBox(TextBox):
    """Lines to tick; a text area below, as notes belong to them."""

    def __init__(self, field: Field, *, ascii_only: bool) -> None:
        super().__init__(field, ascii_only=ascii_only)
        self._ticks = [Tick(item.text, checked=item.checked, ascii_only=ascii_only) for item in field.items]

    def can_show(self, field: Field) -> bool:
        return [item.text for item in field.items] == [item.text for item in self.field.items]

    @property
    def control(self) -> Widget:
        """The first thing to tick, if there is one."""
        return self._ticks[0] if self._ticks else self._area

    def compose(self) -> ComposeResult:
        yield self._above
        yield from self._ticks
        yield self._area
        yield self._below

    def pending(self) -> list[FieldBox.Typed | FieldBox.Ticked]:
        ticked = [
            self.Ticked(self.field.key, index, tick.checked)
            for index, (tick, item) in enumerate(zip(self._ticks, self.field.items, strict=False))
            if tick.checked != item.checked
        ]
        return [*super().pending(), *ticked]

    def put(self, field: Field) -> None:
        super().put(field)
        for tick, item in zip(self._ticks, field.items, strict=False):
            tick.set_checked(item.checked)

    @on(Tick.Changed)
    def _ticked(self, event: Tick.Changed) -> None:
        event.stop()
        index = next(number for number, tick in enumerate(self._ticks) if tick is event.tick)
        self.post_message(self.Ticked(self.field.key, index, event.checked))


def _answers(field: Field) -> tuple[str, ...]:
    return field.options if field.value in ("", *field.options) else (*field.options, field.value)


def _placeholder(field: Field) -> str:
    """A blank looks blank; where the evidence has filled something in, more is welcome and not missing."""
    return "add here" if field.prefilled or field.items else BLANK


def box_for(field: Field, *, ascii_only: bool) -> FieldBox:
    """The box that can show a field; a line that holds several by hand is shown as a text."""
    kinds: dict[FieldKind, type[FieldBox]] = {
        FieldKind.LINE: LineBox,
        FieldKind.CHOICE: ChoiceBox,
        FieldKind.TEXT: TextBox,
        FieldKind.CHECKLIST: ChecklistBox,
    }
    kind = TextBox if field.kind in (FieldKind.LINE, FieldKind.CHOICE) and "\n" in field.typed else kinds[field.kind]
    return kind(field, ascii_only=ascii_only)
