"""How soon a key is answered on the screen, in a real pseudo-terminal at 120 × 40: while files are read, and after that.

    python -m benchmarks.keys /tmp/sets/1024x2000

Each key is a step of the cursor, to the left and back again; it is answered when the line that names the cell under the cursor
is another one. Times end when the terminal has the bytes that say so: what pyte then takes to read them is not hangview's. Said
as well: how long it takes from the start of the program to the first line, to groups and what the beginnings of the dumps say,
and to the final answer.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.terminal.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SIZE = (120, 40)
#: Seconds between two keys, at least and at most: a person's, and never in step with what is redrawn by a clock.
BETWEEN = (0.02, 0.12)
#: Words in the first lines of the screen: some files were read, all were.
PART = "SO FAR"
#: Also there as long as nothing but headers was read, and there is no cell to step from.
HEADERS = "no record read yet"
FINAL = ("LOOK FIRST", "NO RANK NAMED", "NO HANG SEEN", "NOT ENOUGH EVIDENCE", "DIVERGENCE")
#: A key that is not answered within so many seconds had nothing to do: the grid has changed under it.
PATIENCE = 2.0


@dataclass(frozen=True, slots=True)
class Timed:
    """Seconds from the start to the first line, a first part and the answer; and from key to screen, before and after that."""

    first: float
    part: float | None
    answer: float
    loading: list[float] = field(default_factory=list)
    loaded: list[float] = field(default_factory=list)


def timed(command: Sequence[str], keys: int, seed: int) -> Timed:
    """Run ``command``, which opens the screen; press ``keys`` keys after the answer, as many as there is time for before it."""
    rng = random.Random(seed)
    begun = time.monotonic()
    with Terminal(list(command), size=SIZE) as terminal:

        def top() -> str:
            return "\n".join(row(terminal, y) for y in range(4))

        def since(when: Callable[[], bool]) -> float:
            while not when():
                if not terminal.read(0.02):
                    raise SystemExit(f"it ended early:\n{terminal.text()}")
            return time.monotonic() - begun

        first = since(lambda: "hangview" in top())

        def final() -> bool:
            return any(word in top() for word in FINAL)

        part = since(lambda: PART in top() or final())
        loading: list[float] = []
        since(lambda: HEADERS not in top() or final())
        while not final():
            loading += press(terminal, "hl"[len(loading) % 2], rng)
        answer = since(final)
        since(lambda: "cell" in top() or time.monotonic() - begun > answer + 1)  # what is drawn last comes to rest
        loaded = [took for number in range(keys) for took in press(terminal, "hl"[number % 2], rng)]
        terminal.press("\x11")
        terminal.finish()
    return Timed(first, part if part < answer else None, answer, loading, loaded)


def press(terminal: Terminal, key: str, rng: random.Random) -> list[float]:
    """One step of the cursor, after a pause; how long it took to be seen, nothing if it never was."""
    end = time.monotonic() + rng.uniform(*BETWEEN)
    while time.monotonic() < end:
        terminal.read(0.02)
    before = row(terminal, SIZE[1] - 2)
    pressed = time.monotonic()
    terminal.press(key)
    while time.monotonic() < pressed + PATIENCE:
        terminal.read(0.02)
        if row(terminal, SIZE[1] - 2) != before:
            return [terminal.arrived - pressed]
    return []


def row(terminal: Terminal, y: int) -> str:
    """One row of the screen; pyte's ``display`` takes milliseconds for all of them."""
    cells = terminal.screen.buffer[y]
    return "".join(str(cells[x].data) for x in range(SIZE[0]))


def told(name: str, times: Sequence[float]) -> str:
    """``loaded: 300 keys, p50 4.1 ms, p95 9.8 ms, slowest 31.0 ms``."""
    if len(times) < 2:
        return f"{name}: {len(times)} keys were answered"
    cuts = statistics.quantiles(times, n=20)
    shown = ", ".join(
        f"{what} {1000 * seconds:.1f} ms"
        for what, seconds in (("p50", statistics.median(times)), ("p95", cuts[-1]), ("slowest", max(times)))
    )
    return f"{name}: {len(times)} keys, {shown}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--hangview", default=f"{sys.executable} -m hangview", help="how to start it")
    parser.add_argument("--keys", type=int, default=300, help="keys that are pressed after the answer")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    command = [*options.hangview.split(), "--no-cache", "--no-watch", options.folder]
    runs = [timed(command, options.keys, seed) for seed in range(options.runs)]
    for name in ("first", "part", "answer"):
        found = [seconds for run in runs if (seconds := getattr(run, name)) is not None]
        print(f"{name}: {statistics.median(found):.2f} s" if found else f"{name}: not seen")
    for name in ("loading", "loaded"):
        print(told(name, [seconds for run in runs for seconds in getattr(run, name)]))


if __name__ == "__main__":
    main()
