"""Logs for tests: in memory, on the disk, and what a plain reading of them gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.tui.log.target import Target

if TYPE_CHECKING:
    from pathlib import Path

    from textual.pilot import Pilot


class InMemory:
    """Bytes in place of a file."""

    packed = False

    def __init__(self, data: bytes, *, packed: bool = False) -> None:
        self.data, self.size, self.packed = data, len(data), packed

    def read(self, offset: int, length: int) -> bytes:
        return self.data[max(offset, 0) : offset + length]

    stream = read


def never() -> bool:
    return False


def target(path: Path, rank: int = 3, **changes: object) -> Target:
    """A target whose log is the rank's alone, and none of whose lines was used."""
    known: dict[str, object] = {
        "rank": rank, "source": 0, "shown": path.name, "size": path.stat().st_size, "line": None, "why": "", "used": (),
        "own": (), "alone": True,
    }  # fmt: skip
    return Target(**(known | changes))  # type: ignore[arg-type]


async def settled(pilot: Pilot[int]) -> None:
    """Until no thread of the screen reads any more."""
    await pilot.pause()
    for _ in range(4000):  # so that a thread that hangs fails the test
        if not getattr(pilot.app.screen, "busy", False):
            break
        await pilot.pause(0.005)
    else:
        raise AssertionError("a thread of the log's screen does not come to an end")
    await pilot.pause()


async def press(pilot: Pilot[int], *keys: str) -> None:
    """One key after the other, each at rest."""
    for key in keys:
        await pilot.press(key)
        await settled(pilot)
