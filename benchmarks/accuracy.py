"""Whom hangview and torchfrtrace name, beside the truth, as a markdown table.

    python -m benchmarks.accuracy --torch-python /tmp/torch/bin/python fixtures
    python -m benchmarks.accuracy --torch-python /tmp/torch/bin/python --seeds 300

A folder holds cases with EXPECT.json; ``--seeds`` invents jobs (tests/jobs), written as pickles, the only form torchfrtrace
reads. torchfrtrace names the ranks that it lists as missing and those of its error messages; where it refuses to work because
dumps are missing it is started again with ``--allow-incomplete-ranks``. Both tools see the dumps alone.

torchfrtrace wants ``tabulate`` in its environment; without, it fails on some sets.

right: names exactly whom the dumps show (for torchfrtrace, too, nobody where they show nobody); false: names somebody else;
missed: leaves somebody out; crashed: a traceback or no answer.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.compare import prefix_of, torchfrtrace

if TYPE_CHECKING:
    from collections.abc import Iterator

OUTCOMES = ("right", "false", "missed", "crashed")
_MISSING = re.compile(r"^missing ranks: \{([\d, ]*)\}", re.MULTILINE)
_ERRORS = re.compile(r"\brank (\d+); Error type")


@dataclass(frozen=True, slots=True)
class Case:
    """``accept``: the sets of ranks that are right; ``allowed``: ranks that may be named at all."""

    name: str
    kind: str
    folder: Path
    accept: tuple[frozenset[int], ...]
    allowed: frozenset[int]


def judge(case: Case, named: frozenset[int] | None) -> str:
    if named is None:
        return "crashed"
    if named in case.accept:
        return "right"
    return "false" if named - case.allowed else "missed"


def by_hangview(case: Case, command: list[str]) -> frozenset[int] | None:
    done = subprocess.run(
        [*command, "report", "--format", "json", "--no-logs", "--no-cache", str(case.folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        return frozenset(json.loads(done.stdout)["leads"])
    except (ValueError, KeyError):
        return None


def by_torchfrtrace(case: Case, command: list[str]) -> frozenset[int] | None:
    for more in ([], ["--allow-incomplete-ranks"]):
        try:
            done = subprocess.run(
                [*command, "-p", prefix_of(case.folder), *more, str(case.folder)],
                capture_output=True,
                text=True,
                check=False,
                timeout=300,
            )
        except (subprocess.TimeoutExpired, SystemExit):
            return None
        said = done.stdout + done.stderr
        if "Traceback (most recent call last)" not in said:
            listed = [int(rank) for ranks in _MISSING.findall(said) for rank in ranks.split(",") if rank.strip()]
            return frozenset(listed) | frozenset(int(rank) for rank in _ERRORS.findall(said))
    return None


def from_folder(root: Path) -> Iterator[Case]:
    for path in sorted(root.rglob("EXPECT.json")):
        expect = json.loads(path.read_text())
        if "score" not in expect:
            continue  # logs, not dumps
        score = expect["score"]
        accept = tuple(frozenset(leads) for leads in score.get("leads_any", [score.get("leads", [])]))
        kind = (score.get("kinds") or [score["verdict"]])[0]
        yield Case(path.parent.name, kind, path.parent, accept, frozenset().union(*accept))


def from_seeds(first: int, count: int, root: Path) -> Iterator[Case]:
    from itertools import chain, combinations

    from tests.jobs.plan import draw

    for seed in range(first, first + count):
        plan = draw(seed)
        plan = replace(plan, how=replace(plan.how, as_json=False))
        folder = root / str(seed)
        folder.mkdir()
        plan.write(folder)
        must, may = set(plan.truth.expected), set(plan.truth.allowed) - set(plan.truth.expected)
        more = chain.from_iterable(combinations(sorted(may), size) for size in range(len(may) + 1))
        accept = tuple(frozenset(must | set(extra)) for extra in more)
        yield Case(str(seed), plan.outcome.job.fault, folder, accept, frozenset(must | may))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--seeds", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--torch-python", type=Path, default=Path(sys.executable), help="Python of an environment with torch")
    parser.add_argument("--hangview", default=f"{sys.executable} -m hangview", help="command")
    parser.add_argument("--no-peer", action="store_true", help="hangview alone")
    parser.add_argument("--each", action="store_true", help="one line for each case as well")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args(arguments)
    own, peer = options.hangview.split(), torchfrtrace(options.torch_python)
    tools = {"hangview": (by_hangview, own), "torchfrtrace": (by_torchfrtrace, peer)}
    if options.no_peer:
        del tools["torchfrtrace"]
    counts: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: {tool: Counter() for tool in tools})
    with tempfile.TemporaryDirectory() as root, ThreadPoolExecutor(options.jobs) as pool:
        cases = [case for folder in options.folders for case in from_folder(folder)]
        cases += from_seeds(options.first, options.seeds, Path(root))
        answers = {
            tool: list(pool.map(lambda case, ask=ask, cmd=cmd: ask(case, cmd), cases)) for tool, (ask, cmd) in tools.items()
        }
    for number, case in enumerate(cases):
        words = []
        for tool in tools:
            named = answers[tool][number]
            outcome = judge(case, named)
            counts[case.kind][tool][outcome] += 1
            words.append(f"{tool} {outcome} {'' if named is None else sorted(named)}")
        if options.each:
            wanted = " or ".join(str(sorted(ranks)) for ranks in case.accept)
            print(f"{case.name} ({case.kind}): {wanted}: {'; '.join(words)}")
    print(table(counts, list(tools)))
    return 0


def table(counts: dict[str, dict[str, Counter[str]]], tools: list[str]) -> str:
    lines = ["| | cases | " + " | ".join(f"{tool}: {outcome}" for tool in tools for outcome in OUTCOMES) + " |"]
    lines.append("| --- |" + " ---: |" * (1 + len(tools) * len(OUTCOMES)))
    total = {tool: Counter[str]() for tool in tools}
    for kind in sorted(counts):
        for tool in tools:
            total[tool].update(counts[kind][tool])
        lines.append(_line(kind, counts[kind], tools))
    lines.append(_line("all", total, tools))
    return "\n".join(lines)


def _line(name: str, counts: dict[str, Counter[str]], tools: list[str]) -> str:
    figures = [str(counts[tool][outcome]) for tool in tools for outcome in OUTCOMES]
    return f"| {name} | {sum(counts[tools[0]].values())} | " + " | ".join(figures) + " |"


if __name__ == "__main__":
    sys.exit(main())
