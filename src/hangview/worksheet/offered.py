"""What the evidence as it is now would fill in otherwise than a sheet has it: offered, never taken over by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.worksheet.hypothesis import hypothesis_lines
from hangview.worksheet.languages import LANGUAGES
from hangview.worksheet.model import AGAINST, Change, Mark, field_label, repeat_key, same_values
from hangview.worksheet.prefill import prefill

if TYPE_CHECKING:
    from hangview.incident import Incident
    from hangview.worksheet.model import Field, Sheet

#: The fields of one hypothesis that are filled in from a finding.
HYPOTHESIS_KEYS = ("hypothesis", "not_concluded")


def offer(sheet: Sheet, incident: Incident) -> tuple[Change, ...]:
    """What the evidence as it is now would fill in otherwise, field by field. Nothing is taken over until accepted.

    Where a value stays and only its origin is another one, nothing is offered.
    """
    fresh = prefill(incident, language=sheet.language)
    changes = []
    for new in fresh:
        # The date is the caller's, not the evidence's; hypotheses may stand in another place, and there may be more of them.
        if new.key == "date" or new.key.partition(".")[0] in HYPOTHESIS_KEYS or new.key not in sheet:
            continue
        old = sheet[new.key]
        # What a comparison run filled in is known to whoever has both runs, and not by the incident alone.
        if any(line.origin.startswith(AGAINST) for line in old.prefilled) or (old.key == "compared" and not new.prefilled):
            continue
        items = () if old.items else tuple(item for item in new.items if item.origin)
        if items or not same_values(new.prefilled, old.prefilled):
            changes.append(Change(new.key, old.label, old.prefilled, new.prefilled, items))
    return (*changes, *_hypotheses(sheet, fresh, incident))


def _hypotheses(sheet: Sheet, fresh: Sheet, incident: Incident) -> tuple[Change, ...]:
    """The hypotheses of ``fresh`` that ``sheet`` does not hold, or holds with other evidence.

    A new one is offered in the place of one whose finding is gone, else in a blank one, else as one more: never in a place
    where a person wrote a hypothesis of their own or that a living finding has.
    """
    alive = {hypothesis_lines(finding, incident)[0].value for finding in incident.findings}
    held = [sheet[repeat_key("hypothesis", number)] for number in range(1, sheet.hypotheses + 1)]
    places = {field.prefilled[0].value: number for number, field in enumerate(held, 1) if field.prefilled}
    free = [number for number, field in enumerate(held, 1) if _may_take(field, alive)]
    changes = []
    extra = len(held)
    for number in range(1, fresh.hypotheses + 1):
        lines = fresh[repeat_key("hypothesis", number)].prefilled
        if not lines:
            continue
        place = places.get(lines[0].value)
        if place is None and free:
            place = free.pop(0)
        if place is None:
            extra += 1
            place = extra
        elif place in free:
            free.remove(place)
        changes += [change for key in HYPOTHESIS_KEYS if (change := _change(sheet, fresh, key, place, number)) is not None]
    return tuple(changes)


def _may_take(field: Field, alive: set[str]) -> bool:
    return field.prefilled[0].value not in alive if field.prefilled else field.mark is Mark.BLANK


def _change(sheet: Sheet, fresh: Sheet, key: str, place: int, number: int) -> Change | None:
    new = fresh[repeat_key(key, number)]
    target = repeat_key(key, place)
    before = sheet[target].prefilled if target in sheet else ()
    if same_values(before, new.prefilled):
        return None
    return Change(target, field_label(LANGUAGES[sheet.language], key, place), before, new.prefilled)
