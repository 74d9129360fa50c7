"""Changes to the evidence that must not change the answer: names, order, labels, clocks, and more of what is healthy."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

import hangview
from hangview.terms import Verdict
from tests.jobs import change, faults, layouts
from tests.jobs.check import OPTIONS
from tests.jobs.evidence import Recording
from tests.jobs.record import tree
from tests.jobs.simulate import run
from tests.jobs.truth import judge

if TYPE_CHECKING:
    from hangview.incident import Incident
    from tests.jobs.change import Dumps

FIXTURES = Path(__file__).parents[2] / "fixtures"
RECORDED = (
    *("seed-a", "seed-b", "seed-d", "order-swap", "skipped-one", "two-groups", "hsdp-32", "gloo2.15-mismatch"),
    *("two-leads", "size-tie", "p2p-chain", "p2p-unpaired", "nccl-stuck"),
)
INVENTED = (
    *(
        ("data", "stop"),
        ("sharded", "stall"),
        ("hybrid", "two"),
        ("tensor", "swap"),
        ("pipeline", "stop"),
        ("pipeline", "none"),
    ),
    *(("pipeline-plain", "stop"), ("expert", "op"), ("expert", "swap"), ("full", "size"), ("full", "stop")),
)
SETS = [*RECORDED, *(f"{kind}/{fault}" for kind, fault in INVENTED)]


@cache
def dumps_of(name: str) -> Dumps:
    """A fixture's dumps, or those of an invented job of at most 16 ranks with everything recorded."""
    if "/" not in name:
        folder = FIXTURES / name
        files = {int(path.name.rsplit("_", 1)[1]): path.name for path in folder.glob("*_trace_rank_*")}
        return change.read(folder, files)
    kind, fault = name.split("/")
    for seed in range(1000):
        rng = random.Random(seed)
        job = layouts.build(kind, rng)
        if job.world > 16:
            continue
        outcome = run(faults.inject(fault, job, rng), seed)
        if outcome.hangs == (fault != "none") and judge(outcome, Recording()).fair:
            return {rank: tree(outcome, rank, Recording()) for rank in range(job.world)}
    raise AssertionError(name)


def ask(dumps: Dumps, folder: Path, pattern: str = "trace_rank_{}") -> Incident:
    return hangview.load(*change.save(dumps, folder, pattern), options=OPTIONS)


@cache
def unchanged(name: str) -> Incident:
    """The answer to a set as it is."""
    with TemporaryDirectory() as folder:
        return ask(dumps_of(name), Path(folder))


def said(incident: Incident) -> list[tuple[object, ...]]:
    """Every finding without names of files and groups."""
    return [
        (f.kind, f.role, f.ranks, f.others, f.group is not None and incident.groups[f.group].desc, f.lane, f.seq, f.op, f.side)
        for f in incident.findings
    ]


@pytest.fixture(params=SETS)
def name(request):
    return request.param


def test_the_order_of_the_files_changes_nothing(name, tmp_path):
    paths = change.save(dumps_of(name), tmp_path)
    once = hangview.load(*paths, options=OPTIONS)
    random.Random(4).shuffle(paths)
    again = hangview.load(*paths, options=OPTIONS)
    assert again.leads == once.leads
    assert [(f.summary, f.ranks, f.steps) for f in again.findings] == [(f.summary, f.ranks, f.steps) for f in once.findings]
    assert [[e.text for e in f.evidence] for f in again.findings] == [[e.text for e in f.evidence] for f in once.findings]


def test_the_names_of_the_files_change_nothing(name, tmp_path):
    assert said(ask(dumps_of(name), tmp_path, "fr_{:03d}.json")) == said(unchanged(name))


def test_other_labels_of_the_ranks_permute_the_answer(name, tmp_path):
    dumps, once = dumps_of(name), unchanged(name)
    ranks = sorted(dumps)
    labels = ranks[:]
    random.Random(9).shuffle(labels)
    new = dict(zip(ranks, labels, strict=True))
    again = ask(change.relabelled(dumps, new), tmp_path)
    assert again.verdict == once.verdict
    assert again.leads == tuple(sorted(new[rank] for rank in once.leads))
    kinds = sorted((f.kind, f.role, tuple(sorted(new[rank] for rank in f.ranks))) for f in once.findings)
    assert sorted((f.kind, f.role, f.ranks) for f in again.findings) == kinds


@pytest.mark.parametrize("changed", [change.with_other_names, change.with_healthy_group, change.with_history])
def test_more_of_what_is_healthy_changes_no_lead(name, changed, tmp_path):
    once, again = unchanged(name), ask(changed(dumps_of(name)), tmp_path)
    assert (again.verdict, again.leads) == (once.verdict, once.leads)


def test_clocks_that_are_wrong_by_up_to_an_hour_change_no_lead(name, tmp_path):
    once, again = unchanged(name), ask(change.with_clock_errors(dumps_of(name), random.Random(3)), tmp_path)
    assert (again.verdict, again.leads) == (once.verdict, once.leads)


def test_without_one_dump_nobody_else_is_named(name, tmp_path):
    """Each rank of a small set in turn; of a larger one those that are named and a few others."""
    dumps, once = dumps_of(name), unchanged(name)
    others = [rank for rank in sorted(dumps) if rank not in once.leads]
    for rank in {*once.leads, *others[:2], *random.Random(1).sample(others, min(2, len(others)))}:
        folder = tmp_path / str(rank)
        folder.mkdir()
        again = ask({r: dump for r, dump in dumps.items() if r != rank}, folder)
        assert set(again.leads) <= set(once.leads) - {rank}, f"without rank {rank}"
        if once.verdict is Verdict.NO_HANG:
            assert again.leads == ()
