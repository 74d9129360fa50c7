"""hangview beside torchfrtrace on the same dumps: wall, CPU and peak memory of all processes, medians, as a markdown table.

    python -m benchmarks.large /tmp/sets/1024x2000 --ranks 1024
    python -m benchmarks.compare --torch-python /tmp/torch/bin/python /tmp/sets/*

torch belongs into an environment of its own. Runs of the tools alternate. ``cold`` is with an empty cache of hangview's,
``cached`` a second start over the same files. torchfrtrace gets a high ``--mismatch_cap``: without, it stops before it looks.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.measure import Cost, measure

TOOLS = ("torchfrtrace", "hangview cold", "hangview cached")


@dataclass(frozen=True, slots=True)
class Row:
    dumps: str
    tool: str
    wall: float
    cpu: float
    peak: int
    note: str


def torchfrtrace(python: Path) -> list[str]:
    """How to start it from the environment of a Python."""
    script = python.parent / "torchfrtrace"
    return [str(script)] if script.exists() else [str(python), "-m", "torch.distributed.flight_recorder.fr_trace"]


def prefix_of(folder: Path) -> str:
    """What the dumps' names have before the rank."""
    prefixes = Counter(path.name.rstrip("0123456789") for path in folder.iterdir() if path.name[-1].isdigit())
    if not prefixes:
        raise SystemExit(f"no dumps in {folder}")
    return max(sorted(prefixes), key=prefixes.__getitem__)


def run(folder: Path, options: argparse.Namespace) -> list[Row]:
    """All tools over one set, in turn, as often as asked for."""
    costs: dict[str, list[Cost]] = {tool: [] for tool in TOOLS}
    peer = [*torchfrtrace(options.torch_python), "--allow-incomplete-ranks", "--mismatch_cap", "100000000"]
    peer += ["-p", prefix_of(folder), str(folder)]
    own = [*options.hangview.split(), "report", "--no-logs", str(folder)]
    for _ in range(options.runs):
        if not options.no_peer:
            costs["torchfrtrace"].append(measure(peer))
        with tempfile.TemporaryDirectory() as cache:
            env = {"XDG_CACHE_HOME": cache}
            costs["hangview cold"].append(measure(own, env))
            costs["hangview cached"].append(measure(own, env))
    return [_median(folder.name, tool, found) for tool, found in costs.items() if found]


def _median(dumps: str, tool: str, costs: list[Cost]) -> Row:
    broken = [cost for cost in costs if cost.exit not in (0, 1) or "Traceback (most recent call last)" in cost.stderr]
    note = "" if not broken else (broken[0].stderr.strip().splitlines() or [f"exit {broken[0].exit}"])[-1][:80]
    middle = [statistics.median(getattr(cost, what) for cost in costs) for what in ("wall", "cpu", "peak")]
    return Row(dumps, tool, middle[0], middle[1], int(middle[2]), note)


def table(rows: list[Row]) -> str:
    """Markdown; ratios are to torchfrtrace on the same set."""
    lines = [
        "| dumps | tool | wall s | CPU s | peak MiB | wall ratio | CPU ratio | memory ratio |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        peer = next((r for r in rows if r.dumps == row.dumps and r.tool == TOOLS[0]), None)
        ratios = ["", "", ""]
        if peer is not None and row is not peer:
            ratios = [
                f"{own / other:.3f}" for own, other in ((row.wall, peer.wall), (row.cpu, peer.cpu), (row.peak, peer.peak))
            ]
        figures = [f"{row.wall:.2f}", f"{row.cpu:.2f}", f"{row.peak / 2**20:,.0f}", *ratios]
        tool = f"{row.tool} ({row.note})" if row.note else row.tool
        lines.append(f"| {row.dumps} | {tool} | " + " | ".join(figures) + " |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", type=Path, help="folders of dumps")
    parser.add_argument("--torch-python", type=Path, default=Path(sys.executable), help="Python of an environment with torch")
    parser.add_argument("--hangview", default=f"{sys.executable} -m hangview", help="command")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--no-peer", action="store_true", help="hangview alone")
    parser.add_argument("--json", type=Path, help="write the figures there too")
    options = parser.parse_args(arguments)
    rows: list[Row] = []
    for folder in options.sets:
        for path in folder.iterdir():
            path.read_bytes()  # all tools read from memory: this is about what they do, not about the disk
        rows += run(folder, options)
        print(table(rows).splitlines()[-1], file=sys.stderr, flush=True)
    print(table(rows))
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
