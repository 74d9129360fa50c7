"""What textual does anew for every test, made quick: waiting until an app is at rest, and parsing style sheets."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from textual.css.stylesheet import Stylesheet

if TYPE_CHECKING:
    from textual.css.model import RuleSet

#: A timer that is due this soon belongs to what was just done, in seconds: a redraw comes up to two of textual's frames later.
SOON = 1 / 25
#: A test that keeps its app busy goes on after so many seconds, as with textual's own.
MOST = 1.0


async def wait_for_idle(min_sleep: float = SOON, max_sleep: float = MOST) -> None:
    """Until the event loop has nothing to do, now or soon.

    textual's own sleeps 20 ms at least, and on while the process uses its CPU: nearly all the time of a test that presses keys,
    and on a busy machine no promise that what was sent has been answered.
    """
    loop: Any = asyncio.get_running_loop()
    end = loop.time() + max_sleep
    await asyncio.sleep(0)
    while loop.time() < end:
        if loop._ready:
            await asyncio.sleep(0)
            continue
        due = min((timer.when() for timer in loop._scheduled if not timer.cancelled()), default=end) - loop.time()
        if due > SOON:
            return
        await asyncio.sleep(max(due, 0))


_parse_rules = Stylesheet._parse_rules
_parsed: dict[tuple[Any, ...], list[RuleSet]] = {}


def parse_rules(sheet: Stylesheet, css: str, *more: Any, **named: Any) -> list[RuleSet]:
    """The rules of a style sheet, parsed once for all apps; textual keeps them for one app and never changes them."""
    key = (css, more, tuple(named.items()), tuple(sheet._variables.items()))
    found = _parsed.get(key)
    if found is None:
        found = _parsed[key] = _parse_rules(sheet, css, *more, **named)
    return found
