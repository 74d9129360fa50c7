"""Errors in which a rank tells of others. Their wordings are those of real runs of torch 2.13 (gloo)."""

# ruff: noqa: E501 - log lines are quoted whole

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hangview.logs import conclude, leads_of
from hangview.terms import Kind, Role, Verdict
from tests.engine.support import OPEN, alike, look, lost, rank
from tests.logs.support import caught, read_text

if TYPE_CHECKING:
    from pathlib import Path

    from hangview.logs.evidence import LogEvidence
    from hangview.terms import Finding

ENV = "/opt/env/lib/python3.11/site-packages/torch/distributed/"


def raised(number: int, last: str, file: str = "distributed_c10d.py", name: str = "monitored_barrier") -> str:
    lines = ["Traceback (most recent call last):", '  File "/job/train.py", line 64, in main', "    step()"]
    lines += [f'  File "{ENV}{file}", line 7, in {name}', "    x", *last.splitlines()]
    return "".join(f"[rank{number}]: {line}\n" for line in lines)


def read(folder: Path, texts: dict[int, str], **more: str) -> LogEvidence:
    return read_text(folder, **{f"rank_{number}_log": text for number, text in texts.items()}, **more)


def only(evidence: LogEvidence) -> Finding:
    [finding] = conclude(evidence)
    assert finding.role is Role.LEAD
    return finding


# -- monitored_barrier ---------------------------------------------------------------------------------------------------

FIRST = "RuntimeError: [Rank 0]: Rank 3 failed to pass monitoredBarrier in 4000 ms\n Original exception: \n[/x/gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 4000ms for recv operation to complete"
OLDER = "RuntimeError: Rank 3 failed to pass monitoredBarrier in 4000 ms"
ALL = "RuntimeError: [Rank 0]: Ranks 2, 3 failed to pass monitoredBarrier in 4000 ms"


def came(number: int, own: int | None = None) -> str:
    return raised(
        number,
        f"RuntimeError: Rank {number if own is None else own} successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0. Please check rank 0 logs for faulty rank.\n Original exception: \n[/x/gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:19869.",
    )


@pytest.mark.parametrize(("text", "named"), [(FIRST, (3,)), (OLDER, (3,)), (ALL, (2, 3))])
def test_who_did_not_come_to_a_monitored_barrier_is_named_and_not_who_tells(tmp_path, text, named):
    texts = {0: raised(0, text), **{n: came(n) for n in (1, 2) if n not in named}, **dict.fromkeys(named, "")}
    finding = only(read(tmp_path, texts))
    assert (finding.kind, finding.ranks, finding.seq) == (Kind.NOT_REQUESTED, named, None)
    assert finding.others == tuple(n for n in range(4) if n not in named)
    assert any("which reported it" in wrong for wrong in finding.not_concluded)


def test_the_barrier_that_detail_puts_before_a_call_names_the_call(tmp_path):
    def wrapped(text: str) -> str:
        call = "ProcessGroupWrapper: Monitored Barrier encountered error running collective: " + asks("ALLREDUCE", seq=42)
        return text.replace("RuntimeError: ", f"RuntimeError: {call}. Error: \n[/x/ProcessGroupGloo.cpp:3009] ")

    texts = {0: raised(0, wrapped(ALL)), 1: "", 2: "", 3: ""}
    texts[1] = raised(1, wrapped("RuntimeError: Rank 1 successfully reached monitoredBarrier, but received errors"))
    finding = only(read(tmp_path, texts))
    assert (finding.kind, finding.ranks, finding.others, finding.seq, finding.op) == (
        Kind.NOT_REQUESTED, (2, 3), (0, 1), 42, "all_reduce",
    )  # fmt: skip
    assert "a monitored_barrier of 4,000 ms before all_reduce 42, by rank 0's report" in finding.summary


def test_the_numbers_count_within_the_group(tmp_path):
    """A group of ranks 0, 2, 4 and 6: number 3 is rank 6, which the text does not say."""
    evidence = read(tmp_path, {0: raised(0, FIRST), 2: came(2, 1), 4: came(4, 2), 3: "", 6: ""})
    finding = only(evidence)
    assert (finding.kind, finding.ranks) == (Kind.NOT_OBSERVED, ())
    assert "number 3 of its group" in finding.summary


def test_one_report_alone_does_not_show_whose_numbers_they_are(tmp_path):
    assert leads_of(conclude(read(tmp_path, {0: raised(0, FIRST), 3: ""}))) == ()


def test_a_group_that_begins_as_the_world_does_is_not_the_world(tmp_path):
    """Ranks 0, 1 and 3: its number 2 is rank 3, and rank 2, which is healthy, has a log of its own or none."""
    text = FIRST.replace("Rank 3 failed", "Rank 2 failed")
    for others in ({2: "", 3: ""}, {2: "step 1\n", 3: ""}, {}):
        assert leads_of(conclude(read(tmp_path, {0: raised(0, text), 1: came(1), **others}))) == ()


def test_who_waited_in_a_later_call_got_over_what_it_reports(tmp_path):
    """The barrier failed hours ago and was tried again; now three wait in a call, and of rank 3 nothing is known."""
    later = {number: caught(number, 42) for number in range(3)}
    told = {0: raised(0, FIRST) + later[0], 1: came(1) + later[1], 2: came(2) + later[2], 3: ""}
    assert leads_of(conclude(read(tmp_path, told))) == ()


def test_who_waits_elsewhere_is_not_named_for_it(tmp_path):
    """Rank 3 waits in tp for rank 2: that it did not come follows."""
    tp = caught(3, 17, group="PG ID 3 PG GUID 5(mesh_tp)", member=1)
    assert leads_of(conclude(read(tmp_path, {0: raised(0, ALL), 1: came(1), 2: "", 3: tp}))) == (2,)
    waits = raised(
        3, "RuntimeError: [/x/unbound_buffer.cc:78] Timed out waiting 15000ms for recv operation to complete", name="all_reduce"
    )
    assert leads_of(conclude(read(tmp_path, {0: raised(0, FIRST), 1: came(1), 2: came(2), 3: waits}))) == ()


def test_a_barrier_that_failed_and_was_dealt_with_is_no_news(tmp_path):
    steps = "".join(f"step {number}\n" for number in range(5, 41))
    assert conclude(read(tmp_path, {0: raised(0, FIRST) + steps, 1: came(1) + steps, 2: came(2) + steps, 3: steps})) == ()


def test_beside_dumps_in_which_nothing_is_open_the_report_is_the_answer(tmp_path):
    """A monitored_barrier is not recorded: by the dumps alone there is no hang."""
    dumps = [rank(r, "gloo").calls("all_reduce", 1, 41) for r in range(4)]
    evidence = read(tmp_path, {0: raised(0, FIRST), 1: came(1), 2: came(2), 3: ""})
    assert look(*dumps).verdict is Verdict.NO_HANG
    incident = look(*dumps, logs=evidence)
    assert (incident.leads, incident.verdict) == ((3,), Verdict.DIVERGENCE)


def test_a_rank_that_waits_by_its_dump_is_not_named_by_the_report(tmp_path):
    dumps = [rank(r).calls("all_reduce", 1, 41) for r in range(3)]
    dumps.append(rank(3).calls("all_reduce", 1, 41).call("all_reduce", 42, OPEN))
    evidence = read(tmp_path, {0: raised(0, FIRST), 1: came(1), 2: came(2), 3: ""})
    assert 3 not in look(*dumps, logs=evidence).leads


def test_beside_what_was_not_observed_the_report_is_a_line(tmp_path):
    evidence = read(tmp_path, {0: raised(0, FIRST), 1: came(1)})
    incident = look(*alike((0, 1, 2), "all_reduce", 42), lost(3), logs=evidence)
    assert incident.leads == ()
    assert any("rank 0 reports: RuntimeError: [Rank 0]: Rank 3 failed" in line.text for line in incident.findings[0].evidence)


# -- checkpoints ---------------------------------------------------------------------------------------------------------


def checkpoint(number: int, *failed: int) -> str:
    """What every rank raises when parts failed: the first lines, then one traceback for each part."""
    text = f"torch.distributed.checkpoint.api.CheckpointException: CheckpointException ranks:dict_keys([{', '.join(map(str, failed))}])"
    for one in failed:
        text += (
            f'\nTraceback (most recent call last): (RANK {one})\n  File "{ENV}checkpoint/utils.py", line 241, in all_reduce\n'
        )
        text += '    local_data = map_fun()\n  File "/job/store.py", line 131, in write_data\n    raise OSError(122)\n'
        text += f"OSError: [Errno 122] Disk quota exceeded: part {one}"
    return raised(number, text, "checkpoint/utils.py", "all_reduce")


def test_whose_part_of_a_checkpoint_failed_is_named_and_not_who_tells(tmp_path):
    finding = only(read(tmp_path, {n: checkpoint(n, 3) for n in range(4)}))
    assert (finding.kind, finding.ranks) == (Kind.PROCESS_ENDED, (3,))
    assert "OSError: [Errno 122] Disk quota exceeded: part 3 in write_data (/job/store.py:131)" in finding.summary
    assert "by ranks 0-3's logs" in finding.summary


def test_a_checkpoint_of_some_ranks_names_nobody(tmp_path):
    """Of ranks 0 and 2: number 1 is rank 2, and rank 1, which writes no part, reports nothing."""
    for others in ({1: ""}, {1: "step 7\n", 2: checkpoint(2, 1)}, {1: "", 2: checkpoint(2, 1), 3: ""}):
        assert leads_of(conclude(read(tmp_path, {0: checkpoint(0, 1), **others}))) == ()


def test_what_was_reported_before_a_call_that_one_waits_in_is_of_the_past(tmp_path):
    evidence = read(tmp_path, {number: checkpoint(number, 3) for number in range(3)})
    assert look(*alike((0, 1, 2), "all_reduce", 42), lost(3), logs=evidence).leads == ()


def test_it_is_named_without_its_own_log_where_all_below_it_tell(tmp_path):
    assert leads_of(conclude(read(tmp_path, {n: checkpoint(n, 3) for n in range(3)}))) == (3,)


def test_several_parts_may_fail(tmp_path):
    assert leads_of(conclude(read(tmp_path, {n: checkpoint(n, 1, 3) for n in range(4)}))) == (1, 3)


@pytest.mark.parametrize("reporters", [(2,), (1, 2), (4, 5, 6, 7), (0, 2)])
def test_a_number_that_may_not_be_a_world_rank_names_nobody(tmp_path, reporters):
    """Number 3 of ranks 4 to 7 is rank 7; of a group that begins with rank 2 it is none of the first four."""
    evidence = read(tmp_path, {n: checkpoint(n, 3) for n in reporters})
    finding = only(evidence)
    assert (finding.kind, finding.ranks) == (Kind.NOT_OBSERVED, ())
    assert "the part of number 3 failed" in finding.summary


def test_beside_dumps_who_only_tells_of_it_is_not_named(tmp_path):
    big = alike((0, 1), "all_reduce", 42)
    incident = look(*big, lost(2), lost(3), logs=read(tmp_path, {2: checkpoint(2, 3)}))
    assert incident.leads == ()
    assert any("ranks:dict_keys([3]); that only follows" in line.text for line in incident.findings[0].evidence)


# -- TORCH_DISTRIBUTED_DEBUG=DETAIL --------------------------------------------------------------------------------------


def asks(op: str, shape: str = "8", seq: int | None = 4, dtype: str = "Float") -> str:
    number = "" if seq is None else f"SequenceNumber={seq}, "
    return f"CollectiveFingerPrint({number}OpType={op}, TensorShape=[{shape}], TensorDtypes={dtype}, TensorDeviceTypes=TensorOptions(dtype=float (default), device=cpu))"


def mismatch(number: int, mine: str, other: int, theirs: str, own: int | None = None) -> str:
    me = number if own is None else own
    return raised(
        number,
        f"RuntimeError: Detected mismatch between collectives on ranks. Rank {me} is running collective: {mine}, but Rank {other} is running collective: {theirs}.Collectives differ in the following aspects: \t Op type: ALLREDUCEvs BROADCAST",
        name="all_reduce",
    )


def four(most: str, odd: str, who: int = 3) -> dict[int, str]:
    first = 0 if who else 1
    return {n: mismatch(n, odd, first, most) if n == who else mismatch(n, most, who, odd) for n in range(4)}


@pytest.mark.parametrize("who", [0, 2, 3])
@pytest.mark.parametrize(
    ("odd", "kind"),
    [
        (asks("BROADCAST"), Kind.DIFFERENT_OP),
        (asks("ALLREDUCE", "8, 2"), Kind.DIFFERENT_SIZE),
        (asks("ALLREDUCE", dtype="Half"), Kind.DIFFERENT_DTYPE),
    ],
)
def test_a_mismatch_that_all_members_tell_names_the_few(tmp_path, who, odd, kind):
    finding = only(read(tmp_path, four(asks("ALLREDUCE"), odd, who)))
    assert (finding.kind, finding.ranks, finding.seq, finding.op) == (kind, (who,), 4, "all_reduce")
    assert finding.others == tuple(n for n in range(4) if n != who)


def test_the_wording_of_old_versions_is_read(tmp_path):
    texts = {n: text.replace("running collective", "running inconsistent collective") for n, text in four(asks("ALLREDUCE", seq=None), asks("REDUCE", seq=None)).items()}  # fmt: skip
    assert leads_of(conclude(read(tmp_path, texts))) == (3,)


def nobody(folder: Path, texts: dict[int, str]) -> None:
    finding = only(read(folder, texts))
    assert (finding.kind, finding.ranks) == (Kind.DIFFERENT_OP, ())
    assert "nobody is named" in finding.summary


def test_the_error_of_one_rank_names_nobody(tmp_path):
    nobody(tmp_path, {1: mismatch(1, asks("ALLREDUCE"), 3, asks("BROADCAST"))})


def test_without_the_error_of_a_rank_nobody_is_named(tmp_path):
    texts = four(asks("ALLREDUCE"), asks("BROADCAST"))
    nobody(tmp_path, {n: text for n, text in texts.items() if n != 3} | {4: ""})


def test_two_against_one_and_two_against_two_name_nobody(tmp_path):
    texts = four(asks("ALLREDUCE"), asks("BROADCAST"), 2)
    nobody(tmp_path, {n: text for n, text in texts.items() if n != 3})
    nobody(tmp_path, {**texts, 3: mismatch(3, asks("BROADCAST"), 0, asks("ALLREDUCE"))})


def test_ranks_at_different_numbers_name_nobody(tmp_path):
    """Which of them went one call too far the errors do not show."""
    nobody(tmp_path, four(asks("ALLREDUCE"), asks("BROADCAST", seq=5)))


def test_numbers_of_another_group_name_nobody(tmp_path):
    """Ranks 4 to 7 call themselves 0 to 3."""
    texts = four(asks("ALLREDUCE"), asks("BROADCAST"))
    nobody(tmp_path, {n + 4: text.replace(f"[rank{n}]", f"[rank{n + 4}]") for n, text in texts.items()})


# -- DistributedDataParallel: whose model is another one ------------------------------------------------------------------------


def model(rank: int, holds: int, other: int, its: int) -> str:
    return (
        f'[rank{rank}]: Traceback (most recent call last):\n[rank{rank}]:   File "/job/train.py", line 9, in <module>\n'
        f"[rank{rank}]: RuntimeError: DDP expects same model across all ranks, but Rank {rank} has {holds} params, while rank {other} "
        f"has inconsistent {its} params.\n"
    )


def test_whose_model_is_another_one_than_that_of_most_ranks_is_named(tmp_path):
    told = [model(rank, 9, 3, 7) for rank in (0, 1, 2)] + [model(3, 7, 0, 9)]
    [finding] = conclude(read_text(tmp_path, job_log="".join(told)))
    assert (finding.kind, finding.ranks, finding.others) == (Kind.DIFFERENT_SIZE, (3,), (0, 1, 2))
    assert finding.summary.endswith("ranks 0-2: 9 parameters; rank 3: 7 parameters")
    assert len(finding.evidence) == 4


def test_without_a_clear_majority_or_all_ranks_or_world_ranks_no_model_is_named(tmp_path):
    two = "".join((model(0, 9, 2, 7), model(1, 9, 2, 7), model(2, 7, 0, 9), model(3, 7, 0, 9)))
    [finding] = conclude(read_text(tmp_path, job_log=two))
    assert (finding.kind, finding.ranks, finding.others) == (Kind.DIFFERENT_SIZE, (), (0, 1, 2, 3))
    three = "".join(model(rank, 9, 3, 7) for rank in (0, 1, 2))
    assert leads_of(conclude(read_text(tmp_path, job_log=three))) == ()
    told = three + model(3, 7, 0, 9)
    assert leads_of(conclude(read_text(tmp_path, job_log=told, rank_4_log="step 1\n"))) == ()
    numbers = told.replace("Rank 3 has", "Rank 1 has")  # of a smaller group
    assert leads_of(conclude(read_text(tmp_path, job_log=numbers))) == ()
