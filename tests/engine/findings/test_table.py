"""The table every verdict comes from: ranks 0-2 request all_reduce 42 of 1,024 floats; what does rank 3 show?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hangview.terms import Kind, Role, Side, Verdict
from tests.engine.by_logs import end, logs
from tests.engine.support import OPEN, WORLD, Dump, Pg, look, lost, rank

if TYPE_CHECKING:
    from hangview.incident import Incident
    from hangview.schema import Source
    from hangview.terms import Finding

TP = Pg("7", "tp", (0, 1, 2, 3))


def job(rank_3: Dump | Source, library: str = "nccl") -> Incident:
    return look(*(up_to_41(r, library).call("all_reduce", 42, OPEN) for r in range(3)), rank_3)


def up_to_41(number: int = 3, library: str = "nccl") -> Dump:
    return rank(number, library).calls("all_reduce", 1, 41)


def only(incident: Incident) -> Finding:
    (finding,) = incident.findings
    assert (finding.group, finding.lane, finding.seq, finding.role) == (0, "collective", 42, Role.LEAD)
    assert incident.verdict is Verdict.DIVERGENCE
    return finding


def says(finding: Finding, compare_first: list[str], not_concluded: list[str]) -> None:
    for words in compare_first:
        assert words in finding.compare_first
    for words in not_concluded:
        assert any(words in text for text in finding.not_concluded), words


LIBRARIES = pytest.mark.parametrize("library", ["nccl", "nccl2", "gloo", "xccl"])


@LIBRARIES
def test_no_request_for_42(library):
    incident = job(up_to_41(3, library), library)
    finding = only(incident)
    assert (finding.kind, finding.ranks, finding.others, finding.side) == (Kind.NOT_REQUESTED, (3,), (0, 1, 2), Side.HOST)
    assert incident.leads == (3,)
    assert finding.summary == "rank 3 did not request all_reduce 42 of default_pg; ranks 0-2 wait for it"
    says(finding, ["rank 3's path before communication", "exception", "end after it"], ["timed out", "network"])


def test_no_request_for_42_and_an_exception_in_its_data_loading():
    dumps = [up_to_41(r).call("all_reduce", 42, OPEN) for r in range(3)]
    incident = look(*dumps, up_to_41(), logs=logs(end(3, "ValueError: shard_3.bin", where="DataLoader worker process 5")))
    assert incident.leads == (3,)
    first, second = incident.findings
    assert (first.kind, second.kind) == (Kind.NOT_REQUESTED, Kind.PROCESS_ENDED)
    assert any("ValueError: shard_3.bin" in line.text for line in first.evidence)


@LIBRARIES
def test_no_dump_file_at_all(library):
    incident = job(lost(3), library)
    finding = only(incident)
    assert (finding.kind, finding.ranks, finding.others, finding.side) == (
        Kind.NOT_OBSERVED,
        (3,),
        (0, 1, 2),
        Side.UNKNOWN,
    )
    assert incident.leads == ()
    assert incident.coverage.missing == {3: "trace_rank_3: the file is empty"}
    says(finding, ["collection", "path", "permission", "time the process ended", "covered"], ["skipped"])


@LIBRARIES
def test_42_is_an_all_gather(library):
    incident = job(up_to_41(3, library).call("all_gather", 42, OPEN, out=4096), library)
    finding = only(incident)
    assert (finding.kind, finding.ranks, finding.others) == (Kind.DIFFERENT_OP, (3,), (0, 1, 2))
    assert incident.leads == (3,)
    says(finding, ["the branch that chose the call", "order of calls", "group's identity"], ["network equipment"])


@LIBRARIES
def test_42_is_an_all_reduce_of_512_elements(library):
    incident = job(up_to_41(3, library).call("all_reduce", 42, OPEN, size=512), library)
    finding = only(incident)
    assert (finding.kind, finding.ranks, finding.others) == (Kind.DIFFERENT_SIZE, (3,), (0, 1, 2))
    assert incident.leads == (3,)
    assert "512 × Float" in finding.summary
    assert "1,024 × Float" in finding.summary
    says(finding, ["input, batch and tensor construction"], ["lack of memory"])


@LIBRARIES
def test_42_is_an_all_reduce_of_as_many_halves(library):
    incident = job(up_to_41(3, library).call("all_reduce", 42, OPEN, dtype="Half"), library)
    finding = only(incident)
    assert (finding.kind, finding.ranks, finding.others) == (Kind.DIFFERENT_DTYPE, (3,), (0, 1, 2))
    assert incident.leads == (3,)
    says(finding, ["dtype conversion", "mixed-precision"], ["equal element count makes it safe"])


@LIBRARIES
def test_the_same_request_and_no_completion(library):
    incident = job(up_to_41(3, library).call("all_reduce", 42, OPEN), library)
    finding = only(incident)
    assert (finding.kind, finding.ranks, finding.others, finding.side) == (
        Kind.NOT_COMPLETED,
        (0, 1, 2, 3),
        (),
        Side.DEVICE,
    )
    assert incident.leads == ()
    on_gpu = ["GPU execution errors", "stream progress"]
    says(finding, [*(on_gpu if library != "gloo" else ["processes", "stacks"]), "communication path", "earlier errors"],
         ["network is the proven"])  # fmt: skip
    assert ("GPU" in finding.compare_first) == (library != "gloo")


@pytest.mark.parametrize(
    "rank_3",
    [
        rank(3).wrapped().calls("all_reduce", 1, 9, group=TP).knows(WORLD),  # the ring buffer holds another group only
        up_to_41().cut(),
        rank(3).only_active().call("all_reduce", 9, OPEN, group=TP).knows(WORLD),
    ],
    ids=["overwritten", "cut", "only active"],
)
def test_no_record_in_that_window(rank_3):
    dumps = [up_to_41(r).call("all_reduce", 42, OPEN).knows(TP) for r in range(3)]
    incident = look(*dumps, rank_3)
    finding = next(f for f in incident.findings if f.group == 0 and f.seq == 42)
    assert (finding.kind, finding.ranks, finding.others) == (Kind.NOT_OBSERVED, (3,), (0, 1, 2))
    assert incident.leads == ()
    says(finding, ["whether the process lived"], ["skipped"])


@pytest.mark.parametrize("odd", [0, 1, 2, 3])
@pytest.mark.parametrize("row", ["nothing", "all_gather", "512", "Half"])
def test_every_row_holds_for_any_rank(odd, row):
    """Rank 0, the first one read and printed, is no reference."""
    dumps = []
    for number in range(4):
        dump = up_to_41(number)
        if number != odd:
            dump.call("all_reduce", 42, OPEN)
        elif row == "all_gather":
            dump.call("all_gather", 42, OPEN, out=4096)
        elif row == "512":
            dump.call("all_reduce", 42, OPEN, size=512)
        elif row == "Half":
            dump.call("all_reduce", 42, OPEN, dtype="Half")
        dumps.append(dump)
    assert look(*dumps).leads == (odd,)


def test_a_call_that_completed_only_after_its_own_time_out_did_not_complete():
    """The communicators were torn down after 600 s, and the kernels ended with them."""
    dumps = [up_to_41(r).call("all_reduce", 42, took=615.0) for r in range(3)]
    incident = look(*dumps, up_to_41())
    finding = only(incident)
    assert (finding.kind, finding.ranks, finding.others) == (Kind.NOT_REQUESTED, (3,), (0, 1, 2))
    assert incident.leads == (3,)


def test_so_it_is_where_all_requested_it():
    dumps = [up_to_41(r).call("all_reduce", 42, took=615.0) for r in range(4)]
    assert only(look(*dumps)).kind is Kind.NOT_COMPLETED


def test_requests_that_gloo_retired_when_they_timed_out_waited_too():
    dumps = [rank(r, "gloo").calls("all_reduce", 1, 42) for r in range(3)]
    incident = look(*dumps, rank(3, "gloo").calls("all_reduce", 1, 41))
    finding = only(incident)
    assert (finding.kind, finding.ranks, finding.others) == (Kind.NOT_REQUESTED, (3,), (0, 1, 2))
