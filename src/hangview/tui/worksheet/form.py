"""The eight sections as a scrolling form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.containers import Vertical, VerticalScroll

from hangview.tui.prose import Tone, line
from hangview.tui.worksheet.fields import FieldBox, box_for
from hangview.tui.worksheet.lines import Lines
from hangview.tui.worksheet.words import kept_lines

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.widget import Widget

    from hangview.tui.prose import Prose
    from hangview.worksheet.model import Section, Sheet


class SectionBox(Vertical, inherit_bindings=False):
    """One section: its title and the fields that are not hidden."""

    def __init__(self, section: Section, *, ascii_only: bool) -> None:
        super().__init__(classes="section")
        self.section = section
        self._ascii = ascii_only
        self._title = Lines(self._title_lines(), ascii_only=ascii_only, classes="section-title")
        self.boxes = self._make_boxes()

    def _title_lines(self) -> Prose:
        return (line((self.section.title, Tone.STRONG), hang=3), *kept_lines(self.section.intro))

    def _make_boxes(self) -> list[FieldBox]:
        return [box_for(field, ascii_only=self._ascii) for field in self.section.fields if not field.hidden]

    def compose(self) -> ComposeResult:
        yield self._title
        yield from self.boxes

    async def show(self, section: Section) -> None:
        """Show a newer version. Fields that came or went are made anew; the others keep their cursor."""
        self.section = section
        self._title.show(self._title_lines())
        fields = [field for field in section.fields if not field.hidden]
        if [field.key for field in fields] != [box.field.key for box in self.boxes]:
            known = {box.field.key: box for box in self.boxes}
            wanted = {field.key for field in fields}
            for key, box in known.items():
                if key not in wanted:
                    await box.remove()
            before: Widget = self._title
            boxes = []
            for field in fields:
                box = known.get(field.key) or box_for(field, ascii_only=self._ascii)
                if field.key not in known:
                    await self.mount(box, after=before)
                boxes.append(box)
                before = box
            self.boxes = boxes
        for at, field in enumerate(fields):
            box = self.boxes[at]
            if box.can_show(field):
                box.show(field)
            else:
                self.boxes[at] = box_for(field, ascii_only=self._ascii)
                await self.mount(self.boxes[at], after=box)
                await box.remove()


class Form(VerticalScroll, inherit_bindings=False):
    """Never has the focus itself: a change of focus would style everything inside it again."""

    def __init__(self, sheet: Sheet, *, ascii_only: bool) -> None:
        super().__init__(id="sheet-form", can_focus=False)
        self.sections = [SectionBox(section, ascii_only=ascii_only) for section in sheet.sections]

    def compose(self) -> ComposeResult:
        yield from self.sections

    @property
    def boxes(self) -> list[FieldBox]:
        return [box for section in self.sections for box in section.boxes]

    def box(self, key: str) -> FieldBox | None:
        return next((box for box in self.boxes if box.field.key == key), None)

    async def show(self, sheet: Sheet) -> None:
        for box, section in zip(self.sections, sheet.sections, strict=True):
            await box.show(section)

    def go_to_section(self, number: int) -> None:
        """Scroll section ``number``, from 1, to the top."""
        self.scroll_to_widget(self.sections[number - 1], top=True, animate=False, force=True)

    def first_in_sight(self) -> FieldBox | None:
        """The first field that is wholly in sight below the top: where tab goes from outside of fields."""
        top = self.scrollable_content_region.y
        return next((box for box in self.boxes if box.region.y >= top), None)
