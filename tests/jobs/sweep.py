"""Many seeds by hand: ``python -m tests.jobs.sweep --seeds 1000`` prints, by fault, what was found, missed and falsely named.

``--keep FOLDER`` leaves the dumps of each wrong answer there, with TRUTH.json.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tests.jobs import faults, layouts
from tests.jobs.check import ask, describe, wrong
from tests.jobs.plan import draw

COLUMNS = ("jobs", "enough", "found", "missed", "false", "verdict", "source", "crash", "open", "named")


class Result(NamedTuple):
    seed: int
    fault: str
    label: str
    enough: bool  #: the dumps suffice to name somebody
    open: bool  #: somebody may be named, but need not
    named: bool
    said: tuple[str, ...]


def try_seed(seed: int, fault: str | None, kind: str | None, keep: Path | None) -> Result:
    plan = draw(seed, fault, kind)
    with tempfile.TemporaryDirectory() as folder:
        plan.write(Path(folder))
        incident = None
        try:
            incident = ask(Path(folder))
            said = wrong(plan, incident)
        except Exception:
            # whatever it raises is a wrong answer, and the other seeds go on
            said = [f"crash: {traceback.format_exc()}"]
        if said and keep is not None:
            there = keep / str(seed)
            shutil.rmtree(there, ignore_errors=True)
            shutil.copytree(folder, there)
            (there / "TRUTH.json").write_text(describe(plan, said, incident))
    truth = plan.truth
    enough = bool(truth.expected)
    named = bool(incident and incident.leads)
    return Result(seed, plan.outcome.job.fault, plan.label, enough, bool(truth.allowed) and not enough, named, tuple(said))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else None)
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--fault", choices=(*faults.FAULTS, *faults.MORE_FAULTS))
    parser.add_argument("--kind", choices=layouts.KINDS)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args(arguments)
    started = time.monotonic()
    one = partial(try_seed, fault=options.fault, kind=options.kind, keep=options.keep)
    seeds = range(options.first, options.first + options.seeds)
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    wrongs = 0
    with ProcessPoolExecutor(options.jobs) as pool:
        for result in pool.map(one, seeds, chunksize=8):
            row = rows[result.fault]
            kinds = {line.split(":")[0] for line in result.said}
            row.update(
                {"jobs": 1, "enough": result.enough, "found": result.enough and not kinds & {"missed", "false", "crash"}}
            )
            row.update(dict.fromkeys(kinds, 1))
            row.update({"open": result.open, "named": result.open and result.named})
            if result.said:
                wrongs += 1
                print(result.label, *result.said, sep="\n    ", flush=True)
    print(table(rows))
    print(f"{len(seeds)} seeds, {wrongs} wrong, {time.monotonic() - started:.0f} s")
    return 1 if wrongs else 0


def table(rows: dict[str, Counter[str]]) -> str:
    """Markdown. ``enough``: jobs whose dumps suffice to name somebody; ``open``: somebody may be named, ``named``: and was."""
    total: Counter[str] = Counter()
    lines = ["| fault | " + " | ".join(COLUMNS) + " |", "| --- |" + " ---: |" * len(COLUMNS)]
    for fault in sorted(rows):
        total.update(rows[fault])
        lines.append(f"| {fault} | " + " | ".join(str(int(rows[fault][column])) for column in COLUMNS) + " |")
    lines.append("| all | " + " | ".join(str(int(total[column])) for column in COLUMNS) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
