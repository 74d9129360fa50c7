"""What follows from logs alone, and above all what does not."""

# ruff: noqa: E501 - log lines are quoted whole

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from hangview.logs import conclude, ends_by_rank, groups_by_log, leads_of, process_ended_finding
from hangview.terms import Kind, Role, Side
from tests.logs.support import caught, read_text, said, signalled

if TYPE_CHECKING:
    from pathlib import Path

    from hangview.terms import Finding

RAISED = 'Traceback (most recent call last):\n  File "/srv/a.py", line 1, in load\n    x\n{}\n'
TP = "PG ID 3 PG GUID 5(mesh_tp)"


def findings(tmp_path: Path, **texts: str | bytes) -> tuple[Finding, ...]:
    return conclude(read_text(tmp_path, **texts))


def test_a_rank_behind_by_its_own_counters(tmp_path):
    found = findings(tmp_path, job_log="".join(caught(rank, 42) for rank in (0, 1, 3)) + signalled(2, 41, 41, sender=0))
    [finding] = found
    assert (finding.kind, finding.role, finding.ranks, finding.others) == (Kind.NOT_REQUESTED, Role.LEAD, (2,), (0, 1, 3))
    assert (finding.seq, finding.op, finding.side, finding.lane) == (42, "all_reduce", Side.HOST, "collective")
    assert any("rank 0" in text for text in finding.not_concluded)


def test_a_rank_that_enqueued_the_call_is_not_behind(tmp_path):
    found = findings(tmp_path, job_log="".join(caught(rank, 42) for rank in (0, 1, 3)) + signalled(2, 43, 41))
    assert leads_of(found) == ()
    assert [finding.kind for finding in found] == [Kind.NOT_COMPLETED]


def test_a_silent_rank_is_a_candidate_and_no_lead(tmp_path):
    found = findings(tmp_path, job_log="".join(caught(rank, 42) for rank in (0, 1, 3)))
    [finding] = found
    assert (finding.kind, finding.ranks, finding.others) == (Kind.NOT_OBSERVED, (2,), (0, 1, 3))
    assert leads_of(found) == ()
    assert any("skipped" in text for text in finding.not_concluded)


def test_behind_in_the_default_group_because_of_a_wait_elsewhere_is_no_lead(tmp_path):
    # Ranks 2 and 3 are below the default group's call 9, as they wait in tp themselves, for each other's sake or the device's.
    text = caught(0, 9) + caught(1, 9)
    text += "".join(
        caught(rank, 17, "_ALLGATHER_BASE", group=TP, member=rank - 2, numel_in=8, numel_out=16) + signalled(rank, 8, 8)
        for rank in (2, 3)
    )
    found = findings(tmp_path, job_log=text)
    assert leads_of(found) == ()
    assert {finding.kind for finding in found} == {Kind.NOT_COMPLETED, Kind.NOT_OBSERVED}


def test_counters_seconds_apart_name_nobody_without_a_time_out(tmp_path):
    assert findings(tmp_path, job_log=signalled(0, 9, 8) + signalled(1, 8, 8) + signalled(2, 8, 8)) == ()
    assert findings(tmp_path, job_log=signalled(0, 9, 8) + signalled(1, 8, 8)) == ()


def test_point_to_point_works_mix_into_the_counters(tmp_path):
    found = findings(tmp_path, job_log=caught(0, 42, "COALESCED") + caught(1, 42, "COALESCED") + signalled(2, 41, 41))
    assert leads_of(found) == ()


def test_a_rank_with_unfinished_works_is_not_said_to_be_missing(tmp_path):
    # Rank 2 stopped before the all_reduce; rank 3 sits in a receive from it, whose number its one counter holds.
    found = findings(
        tmp_path, job_log=caught(0, 13) + caught(1, 13) + signalled(2, 12, 12, sender=0) + signalled(3, 8, 7, sender=0)
    )
    [finding] = found
    assert (finding.kind, finding.ranks, leads_of(found)) == (Kind.NOT_REQUESTED, (2,), (2,))
    assert any("rank 3 has fewer works completed than enqueued" in step for step in finding.steps)


def test_where_all_who_are_behind_have_unfinished_works_nobody_is_named(tmp_path):
    found = findings(tmp_path, job_log=caught(0, 13) + caught(1, 13) + signalled(3, 8, 7, sender=0))
    assert leads_of(found) == ()
    [finding] = found
    assert finding.kind is Kind.NOT_OBSERVED
    assert any("last enqueued 8, last completed 7" in line.text for line in finding.evidence)


def test_unfinished_works_in_another_group_count_as_well(tmp_path):
    other = (
        "[rank2]:[E626 05:14:37.393067540 ProcessGroupNCCL.cpp:1743] [PG ID 3 PG GUID 5(mesh_tp) Rank 0] Received a dump signal due to "
        "a collective timeout from  rank 0 and we will try our best to dump the debug info. Last enqueued NCCL work: 8, last completed "
        "NCCL work: 7.This is most likely\n"
    )
    found = findings(tmp_path, job_log=caught(0, 13) + caught(1, 13) + signalled(2, 12, 12, sender=0) + other)
    assert leads_of(found) == ()


def test_counters_alone_of_ranks_with_unfinished_works_name_nobody(tmp_path):
    # Rank 3 waits in tp and is behind for that; what rank 2's open work is nobody can tell.
    text = caught(3, 17, "_ALLGATHER_BASE", group=TP, member=0, numel_in=8, numel_out=16) + signalled(3, 8, 8)
    assert leads_of(findings(tmp_path, job_log=text + signalled(0, 9, 8) + signalled(1, 9, 8) + signalled(2, 8, 7))) == ()
    assert leads_of(findings(tmp_path, job_log=text + signalled(0, 9, 8) + signalled(1, 9, 8) + signalled(2, 8, 8))) == (2,)


def test_an_exception_that_was_handled_names_nobody(tmp_path):
    steps = "".join(f"step {number}\n" for number in range(5, 41))
    raised = RAISED.format("OSError: shard 3")
    waits = caught(0, 42) + caught(1, 42)
    assert leads_of(findings(tmp_path, job_log=waits, rank_3_log="step 4\n" + raised + steps)) == ()
    assert leads_of(findings(tmp_path, job_log=waits, rank_3_log="step 4\n" + raised)) == (3,)


def test_the_source_of_a_broadcast_may_run_ahead(tmp_path):
    found = findings(tmp_path, job_log=caught(0, 42, "BROADCAST", enqueued=99, completed=98) + caught(1, 42, "BROADCAST"))
    assert leads_of(found) == ()


@pytest.mark.parametrize("odd", [0, 1, 3])
def test_sizes_that_differ_name_the_minority_wherever_it_stands(tmp_path, odd):
    text = "".join(
        caught(rank, 42, numel_in=512 if rank == odd else 1024, numel_out=512 if rank == odd else 1024) for rank in range(4)
    )
    [finding] = findings(tmp_path, job_log=text)
    assert (finding.kind, finding.ranks, finding.seq) == (Kind.DIFFERENT_SIZE, (odd,), 42)
    assert "that there is a lack of memory" in finding.not_concluded


def test_on_a_tie_nobody_is_named(tmp_path):
    text = "".join(caught(rank, 42, numel_in=512 * (1 + rank // 2), numel_out=512 * (1 + rank // 2)) for rank in range(4))
    found = findings(tmp_path, job_log=text)
    assert [finding.kind for finding in found] == [Kind.DIFFERENT_SIZE]
    assert leads_of(found) == ()


def test_uneven_all_to_all_is_legal(tmp_path):
    text = "".join(caught(rank, 42, "ALLTOALL_BASE", numel_in=100 + rank, numel_out=100) for rank in range(4))
    [finding] = findings(tmp_path, job_log=text)
    assert finding.kind is Kind.NOT_COMPLETED


def test_another_operation_at_the_same_number(tmp_path):
    text = "".join(caught(rank, 42, "_ALLGATHER_BASE" if rank == 3 else "ALLREDUCE") for rank in range(4))
    [finding] = findings(tmp_path, job_log=text)
    assert (finding.kind, finding.ranks) == (Kind.DIFFERENT_OP, (3,))
    assert "that the network equipment is at fault" in finding.not_concluded


def test_list_and_tensor_forms_are_one_operation(tmp_path):
    text = caught(0, 42, "_ALLGATHER_BASE", numel_in=4, numel_out=8) + caught(1, 42, "ALLGATHER", numel_in=4, numel_out=8)
    assert [finding.kind for finding in findings(tmp_path, job_log=text)] == [Kind.NOT_COMPLETED]


def test_the_group_s_size_says_that_a_member_is_missing(tmp_path):
    text = "".join(caught(rank, 17, "_ALLGATHER_BASE", group=TP, member=rank, numel_in=8, numel_out=32) for rank in (0, 1, 3))
    [finding] = findings(tmp_path, job_log=text)
    assert finding.kind is Kind.NOT_OBSERVED
    assert "number 2 of its 4 members" in finding.summary
    assert finding.ranks == ()


def test_contiguous_members_are_not_all_members(tmp_path):
    # Group ranks 0-2 wait, rank 3 has a log and is silent about the group: it may be the fourth member.
    text = "".join(caught(rank, 17, group=TP, member=rank) for rank in range(3)) + signalled(3, 5, 5)
    [finding] = findings(tmp_path, job_log=text)
    assert finding.kind is Kind.NOT_OBSERVED


def test_a_name_that_two_ranks_claim_with_one_number_is_no_group(tmp_path):
    text = caught(0, 17, group=TP, member=0) + caught(4, 18, group=TP, member=0)
    evidence = read_text(tmp_path, job_log=text)
    assert groups_by_log(evidence) == ()
    assert leads_of(conclude(evidence)) == ()
    assert {finding.group for finding in conclude(evidence)} == {None}


def test_an_exception_and_a_rank_that_is_behind_are_two_findings(tmp_path):
    found = findings(
        tmp_path,
        job_log="".join(caught(rank, 42) for rank in (0, 1)) + signalled(2, 41, 41),
        rank_2_log=RAISED.format("ValueError: bad sample"),
    )
    leads = [(finding.kind, finding.ranks) for finding in found if finding.role is Role.LEAD]
    assert leads == [(Kind.NOT_REQUESTED, (2,)), (Kind.PROCESS_ENDED, (2,))]


def test_an_exception_of_a_rank_that_waits_itself_is_no_lead(tmp_path):
    logs = {f"rank_{rank}_log": caught(rank, 42) for rank in range(4)}
    logs["rank_1_log"] = RAISED.format("KeyError: 'cache'") + "step 12\n" + caught(1, 42)
    found = findings(tmp_path, **logs)
    assert leads_of(found) == ()
    assert [finding.kind for finding in found] == [Kind.NOT_COMPLETED]


def test_exceptions_that_were_handled_are_no_trouble(tmp_path):
    handled = RAISED.format("ImportError: No module named 'flash'") + "INFO falling back, step 1\n"
    assert findings(tmp_path, **{f"rank_{rank}_log": handled for rank in range(4)}) == ()
    assert findings(tmp_path, rank_0_log=handled, rank_1_log="step 1\n") == ()


def test_one_story_on_many_ranks_is_one_finding(tmp_path):
    found = findings(tmp_path, **{f"rank_{rank}_log": RAISED.format("FileNotFoundError: config.json") for rank in range(6)})
    [finding] = found
    assert finding.ranks == (0, 1, 2, 3, 4, 5)


def test_exit_codes_without_a_word_name_nobody_when_several_have_one(tmp_path):
    block = "  time      : 2026-11-29_14:02:47\n  host      : a\n  rank      : {0} (local_rank: {0})\n  exitcode  : 1 (pid: {0}7)\n  traceback : x\n"
    text = "Failures:\n" + "".join(f"[{rank}]:\n{block.format(rank)}" for rank in (1, 2))
    assert leads_of(findings(tmp_path, launcher_log=text)) == ()
    assert leads_of(findings(tmp_path, launcher_log="Failures:\n[0]:\n" + block.format(5))) == (5,)


def test_two_exceptions_of_their_own_are_two_leads(tmp_path):
    found = findings(
        tmp_path, rank_1_log=RAISED.format("ValueError: a"), rank_2_log=RAISED.format("OSError: b").replace("a.py", "b.py")
    )
    assert leads_of(found) == (1, 2)
    assert len(found) == 2


def test_the_waiting_group_stands_below_its_lead(tmp_path):
    logs = {f"rank_{rank}_log": caught(rank, 42) for rank in (0, 1, 3)}
    found = findings(tmp_path, **logs, rank_2_log=RAISED.format("ValueError: bad sample"))
    assert [(finding.kind, finding.role) for finding in found] == [
        (Kind.PROCESS_ENDED, Role.LEAD),
        (Kind.WAITING, Role.WAITING),
    ]
    assert found[0].others == found[1].ranks == (0, 1, 3)
    assert found[1].others == (2,)
    assert found[0].seq == found[1].seq == 42
    assert found[1].summary.endswith("; no log says whether rank 2 came")  # it raised, before the call or after it asked


def test_ranks_that_ray_hides_forbid_to_say_that_all_are_in(tmp_path):
    text = caught(0, 42) + caught(1, 42).replace("before timing out.", "before timing out. [repeated 5x across cluster]")
    [finding] = findings(tmp_path, job_log=text)
    assert finding.kind is Kind.NOT_OBSERVED
    assert "5 ranks" in finding.summary


def test_process_ended_for_the_engine(tmp_path):
    evidence = read_text(tmp_path, rank_2_log=RAISED.format("ValueError: bad sample"))
    [end] = ends_by_rank(evidence)[2]
    finding = process_ended_finding(
        evidence, end, others=(3, 0, 1), group=0, lane="collective", seq=42, op="all_reduce", call="all_reduce 42 of dp"
    )
    assert (finding.kind, finding.role, finding.ranks, finding.others) == (Kind.PROCESS_ENDED, Role.LEAD, (2,), (0, 1, 3))
    assert finding.summary.endswith("ranks 0-1,3 wait in all_reduce 42 of dp")
    assert finding.side is Side.HOST
    assert (
        finding.compare_first
        == "rank 2's path before communication: does the exception belong to this run, did the process end after it?"
    )
    assert "that there is no network fault at all" in finding.not_concluded
    assert finding.evidence[0].text.endswith("(rank_2.log, line 4)")


@pytest.mark.parametrize("world", [64, 1024])
def test_the_answer_stays_short_for_many_ranks(tmp_path, world):
    text = "".join(signalled(7, 41, 41) if rank == 7 else caught(rank, 42) for rank in range(world))
    [finding] = findings(tmp_path, job_log=text)
    assert finding.ranks == (7,)
    assert len(finding.summary) < 300
    assert len(finding.evidence) < 8


def test_words_that_no_finding_uses(tmp_path):
    logs = {f"rank_{rank}_log": caught(rank, 42) for rank in (0, 1, 3)}
    found = findings(tmp_path, **logs, rank_2_log=RAISED.format("ValueError: bad sample"))
    text = said(found) + " ".join(part for finding in found for part in finding.not_concluded)
    assert re.search(r"\b(culprit|cause|guilty|blame)\b", text, re.IGNORECASE) is None


def test_two_ranks_behind_by_a_dump_signal_are_named_where_no_other_group_is_known(tmp_path):
    text = "".join(caught(rank, 42) for rank in (0, 1)) + "".join(signalled(rank, 41, 41, sender=0) for rank in (2, 3))
    found = findings(tmp_path, job_log=text)
    assert leads_of(found) == (2, 3)
    assert any("each of ranks 2-3 is late by itself" in wrong for wrong in found[0].not_concluded)


def test_two_ranks_behind_by_a_dump_signal_may_wait_for_each_other_in_another_group(tmp_path):
    """The line tells of the default group alone; that there are others is known by rank 0's."""
    text = "".join(caught(rank, 42) for rank in (0, 1)) + caught(0, 900, group=TP, member=0)
    text += "".join(signalled(rank, 41, 41, sender=0) for rank in (2, 3))
    found = findings(tmp_path, job_log=text)
    assert leads_of(found) == ()
    assert found[0].kind is Kind.NOT_OBSERVED
    assert "ranks 2-3 did not request it, by their own logs, which tell of this group alone" in found[0].summary


def test_who_is_known_to_wait_in_the_other_group_leaves_the_other_one_to_be_named(tmp_path):
    text = "".join(caught(rank, 42) for rank in (0, 1)) + caught(2, 900, group=TP, member=0)
    text += "".join(signalled(rank, 41, 41, sender=0) for rank in (2, 3))
    assert leads_of(findings(tmp_path, job_log=text)) == (3,)


UNNAMED = "[rank{rank}]:[E ProcessGroupNCCL.cpp:563] [Rank {member}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=50, OpType={op}, NumelIn={sent}, NumelOut={got}, Timeout(ms)=600000) ran for 60003{rank} milliseconds before timing out.\n"
NUMBERED = "[rank{rank}]:[E ProcessGroupNCCL.cpp:1537] [PG {pg} Rank {member}] Timeout at NCCL work: 50, last enqueued NCCL work: 50, last completed NCCL work: 49.\n"


def unnamed(rank, member, sent, got=None, op="ALLREDUCE"):
    return UNNAMED.format(rank=rank, member=member, op=op, sent=sent, got=sent if got is None else got)


@pytest.mark.parametrize(
    "lines",
    [
        # tensor groups of two, of pipeline stages with layers of their own
        [unnamed(rank, rank % 2, 8192 if rank > 5 else 4096) for rank in range(8)],
        # out / in says that a group has two members
        [
            unnamed(rank, rank, 9000 if rank == 3 else 4096, 18000 if rank == 3 else 8192, "_ALLGATHER_BASE")
            for rank in range(4)
        ],
        # another number of the group
        [
            unnamed(rank, rank, 1 if rank == 3 else 4096) + NUMBERED.format(rank=rank, member=rank, pg=5 if rank == 3 else 3)
            for rank in range(4)
        ],
    ],
)
def test_sizes_of_groups_that_no_line_names_are_compared_only_where_they_may_be_one(tmp_path, lines):
    """torch 2.1 to 2.3 print the number within the group and not which group it is."""
    found = conclude(read_text(tmp_path, job_log="".join(lines)))
    assert leads_of(found) == ()
    assert all(finding.kind is not Kind.DIFFERENT_SIZE for finding in found)


def test_the_odd_size_of_one_group_that_no_line_names_is_named(tmp_path):
    lines = [unnamed(rank, rank, 8192 if rank == 2 else 4096) for rank in range(4)]
    assert leads_of(conclude(read_text(tmp_path, job_log="".join(lines)))) == (2,)
