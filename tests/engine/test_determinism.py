"""The first file read, the first rank listed and the first group configured decide nothing; and nothing is ever raised."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hangview.engine.analyse import analyse
from hangview.schema import NO_CALL, STATE, SourceStatus
from hangview.terms import COLLECTIVE, Role
from tests.engine.findings.test_absent import finished, repeated
from tests.engine.support import DONE, FAILED, OPEN, STARTED, WORLD, Dump, How, Pg, alike, lost, rank, records
from tests.engine.test_analyse import LEGAL
from tests.engine.test_clocks import on_time, tardy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hangview.incident import Incident
    from hangview.schema import Records, Source

TP, DP, PAIR = Pg("7", "tp", (0, 1)), Pg("7", "tp", (2, 3)), Pg("8", "dp", (1, 2))


def said(incident: Incident) -> dict[str, Any]:
    """All that a report or a screen could show, with files by their names and not by their index."""
    paths = [source.path for source in incident.records.sources]

    def line(source: int | None) -> str:
        return "" if source is None else paths[source]

    return {
        "verdict": incident.verdict,
        "leads": incident.leads,
        "groups": incident.groups,
        "coverage": incident.coverage,
        "findings": [
            (replace(f, evidence=()), [(e.text, line(e.source), e.record_id) for e in f.evidence]) for f in incident.findings
        ],
        "lanes": incident.lanes,
        "waits": incident.waits,
        "clocks": incident.clocks,
        "facts": incident.facts,
        "grids": [incident.view.grid(lane.group, lane.lane) for lane in incident.lanes],
        "sides": [
            incident.view.call(lane.group, lane.lane, lane.divergence).sides
            for lane in incident.lanes
            if lane.divergence is not None and lane.lane == COLLECTIVE
        ],
    }


def shuffled(dumps: Sequence[Dump | Source], rng: random.Random) -> Records:
    """The same files in another order, their groups configured and counted in another order too."""
    order = list(dumps)
    rng.shuffle(order)
    made = records(*order)
    configs, statuses = list(made.configs), list(made.statuses)
    rng.shuffle(configs)
    rng.shuffle(statuses)
    return replace(made, configs=tuple(configs), statuses=tuple(statuses))


def disputed() -> list[Dump]:
    odd = Pg("7", "tp", (2, 3))
    mine = Pg("7", "tp", (0, 1, 2, 3))
    return [rank(r).call("all_reduce", 1, OPEN, group=mine) for r in range(3)] + [rank(3).knows(odd, WORLD)]


def tied() -> list[Dump]:
    return [rank(r).call("all_reduce", 1, OPEN, size=512 if r % 2 else 64) for r in range(4)]


def renamed() -> list[Dump]:
    seven, eight = Pg("7", "dp", (0, 1, 2, 3)), Pg("8", "dp", (0, 1, 2, 3))
    return [rank(r).calls("all_reduce", 1, 3, group=seven if r < 2 else eight) for r in range(4)]


def circle() -> list[Dump]:
    a, b = Pg("1", "a", (0, 1)), Pg("2", "b", (0, 1))
    return [rank(0).knows(b).call("all_reduce", 1, OPEN, group=a), rank(1).knows(a).call("all_reduce", 1, OPEN, group=b)]


def two_leads() -> list[Dump]:
    return [
        rank(0).call("all_reduce", 1, OPEN, group=TP),
        rank(1).knows(TP),
        rank(2).call("all_reduce", 1, OPEN, group=DP),
        rank(3).knows(DP),
    ]


def messages() -> list[Dump]:
    return [rank(0).send(1, 1).send(1, 2, OPEN), rank(1).recv(0, 1).send(2, 2), rank(2).recv(1, 1).recv(1, 2, OPEN)]


def unnamed() -> list[Dump]:
    first, second = Pg("", "default_pg", (0, 1), 0), Pg("", "default_pg", (0, 1), 1)
    dumps = [rank(r, "gloo").calls("all_reduce", 1, 3, group=first).calls("broadcast", 1, 2, group=second) for r in (0, 1)]
    return [dumps[0].call("broadcast", 3, OPEN, group=second), dumps[1]]


def waiting() -> list[Dump | Source]:
    return [*alike((0, 1, 2), "all_reduce", 42), lost(3), lost(9)]


def late() -> list[Dump]:
    return [*on_time(32), tardy(3, 1, 32, dict.fromkeys(range(21, 33), 0.2))]


def moved() -> list[Dump]:
    return [*finished(30), repeated(30)]


JOBS = [disputed, tied, renamed, circle, two_leads, messages, unnamed, waiting, late, moved, *LEGAL[:6]]


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.__name__)
def test_the_order_of_files_and_configurations_decides_nothing(job):
    once = said(analyse(records(*job())))
    assert said(analyse(shuffled(job(), random.Random(5)))) == once


# -- whatever files say --------------------------------------------------------------------------------------------------

GROUPS = (WORLD, TP, DP, PAIR, Pg("", "", ()), Pg("9", "undefined", (0, 1, 2, 3)))
OPS = ("all_reduce", "all_gather", "broadcast", "barrier", "all_to_all", "frobnicate", "ALLREDUCE_coalesced", "split")


@st.composite
def dumps_of_anything(draw: st.DrawFn) -> list[Dump | Source]:
    """Files that no real job writes: any calls in any order and state, any counters, cut, wrapped or only-active."""
    out: list[Dump | Source] = []
    for number in range(draw(st.integers(1, 4))):
        if draw(st.integers(0, 9)) == 0:
            out.append(lost(number))
            continue
        dump = rank(number, draw(st.sampled_from(("nccl", "nccl", "nccl2", "gloo", "fake"))))
        for _ in range(draw(st.integers(0, 6))):
            how: How = draw(st.sampled_from((DONE, DONE, OPEN, STARTED, FAILED)))
            seq, size = draw(st.integers(0, 4)), draw(st.sampled_from((8, 16, None)))
            what = draw(st.sampled_from((*OPS, "send", "recv", "batch")))
            peers = [r for r in range(4) if r != number]
            if what == "batch":
                dump.batch(seq, to=peers[:1], of=peers[1:2], how=draw(st.sampled_from((how, None))))
            elif what in ("send", "recv"):
                getattr(dump, what)(draw(st.sampled_from(peers)), seq, how)
            else:
                dump.call(what, seq, how, group=draw(st.sampled_from(GROUPS)), size=size)
        dump.knows(*draw(st.lists(st.sampled_from(GROUPS), max_size=2)))
        for group in draw(st.lists(st.sampled_from(GROUPS[:4]), max_size=2, unique_by=lambda g: g.name)):
            enqueued = draw(st.integers(-1, 5))
            dump.counts(enqueued, draw(st.integers(-1, max(enqueued, -1))), group=group)
        for change in draw(st.lists(st.sampled_from(("cut", "wrapped", "only_active", "unconfigured")), max_size=1)):
            getattr(dump, change)()
        out.append(dump)
    return out


@settings(max_examples=15, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(dumps_of_anything(), st.integers(0, 99))
def test_whatever_files_say_the_answer_holds_together(dumps, seed):
    incident = analyse(records(*dumps))
    once = said(incident)
    assert said(analyse(shuffled(dumps, random.Random(seed)))) == once

    counted = {status.source for status in incident.records.statuses}
    whole = {
        source.rank
        for i, source in enumerate(incident.records.sources)
        if source.usable and (source.status is not SourceStatus.CUT or i in counted)
    }
    for finding in incident.findings:
        assert finding.group is None or 0 <= finding.group < len(incident.groups)
        assert finding.summary
        assert finding.compare_first
        assert finding.not_concluded
        assert all(each.startswith("that ") for each in finding.not_concluded)
        assert finding.ranks == tuple(sorted(set(finding.ranks)))
    named = {r for f in incident.findings if f.role is Role.LEAD for r in f.ranks}
    assert set(incident.leads) <= named
    different = {r for f in incident.findings if f.kind.startswith("different") for r in f.ranks}
    assert set(incident.leads) - different <= whole, "a rank without a whole dump is named for what it did not do"
    for lane in incident.lanes:
        if lane.divergence is None or not lane.first <= lane.divergence <= lane.front:
            continue
        grid = incident.view.grid(lane.group, lane.lane)
        for cell, codes in zip(incident.view.call(lane.group, lane.lane, lane.divergence).cells, grid.rows, strict=True):
            assert cell.reason
            if len(cell.entries) < 2:
                code = codes[lane.divergence - lane.first]
                assert cell.state == code & STATE or code == NO_CALL
