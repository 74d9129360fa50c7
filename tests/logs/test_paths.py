"""Whose a log is, by its name: world ranks, and numbers that count within a node or a group."""

# ruff: noqa: E501 - log lines are quoted whole

from __future__ import annotations

from pathlib import Path

import pytest

from hangview.logs import LogFile, conclude, leads_of, read_logs
from hangview.logs.paths import told_by_path
from tests.engine.support import Pg, alike, look, lost
from tests.logs.support import caught, read_text

RAISED = 'Traceback (most recent call last):\n  File "/job/data.py", line 41, in read\n    f()\nValueError: bad shard\n'
TWO_NODES = Pg("0", "default_pg", tuple(range(8)))


@pytest.mark.parametrize(
    ("shown", "rank", "local"),
    [
        ("rank_3.log", 3, None),
        ("logs/rank3.err", 3, None),
        ("nccl_trace_rank_3.log", 3, None),
        ("worker-rank-3.log", 3, None),
        ("rank_3/stderr.log", 3, None),
        ("node_rank_1/rank_7.log", 7, None),
        ("global_rank_7_local_rank_3.log", 7, None),
        ("local_rank_3_global_rank_7.log", 7, None),
        ("nemo_log_globalrank-7_localrank-3.txt", 7, None),
        ("rank_7_node_rank_1.log", 7, None),
        ("rank_7_tp_rank_1_pp_rank_0.log", 7, None),
        ("world_rank=7.log", 7, None),
        ("node_rank_1.log", None, None),
        ("noderank1.log", None, None),
        ("tp_rank_1.log", None, None),
        ("group_rank_1.log", None, None),
        ("node1/local_rank_3.log", None, 3),
        ("rank_1/local_rank_3.log", None, 3),
        ("node_rank_1_local_rank_3.log", None, 3),
        ("frank3.log", None, None),
        ("sft_lora_rank16.log", None, None),
        ("qlora_rank_64/rank_3.log", 3, None),
        ("sft_lora_rank16_rank3.log", 3, None),
        ("train_model_rank_3.log", None, None),  # alone it may be that of a part
        ("crank_3.log", None, None),
    ],
)
def test_which_number_of_a_path_is_a_world_rank(shown, rank, local):
    told = told_by_path(LogFile(0, Path(shown), shown))
    assert (told.path_rank, told.path_local) == (rank, local)


def node(number: int, *ranks: int) -> str:
    return "".join(caught(rank, 42) for rank in ranks if rank // 4 == number)


def test_an_exception_in_a_node_s_console_is_of_nobody(tmp_path):
    waited = {"node_rank_0_log": node(0, 0, 2, 3), "node_rank_1_log": node(1, 4, 5, 7) + RAISED}
    found = conclude(read_text(tmp_path, **waited))
    assert leads_of(found) == ()
    assert any("whose rank the logs do not give, raised ValueError" in one.summary for one in found)


@pytest.mark.parametrize("name", ["local_rank_{}_log", "rank_{}_log"])
def test_local_numbers_in_a_node_s_folder_count_from_the_node_s_first_rank(tmp_path, name):
    logs = {f"node{rank // 4}__{name.format(rank % 4)}": caught(rank, 42) for rank in range(8) if rank not in (3, 7)}
    logs |= {f"node0__{name.format(3)}": "", f"node1__{name.format(3)}": RAISED}
    told = read_text(tmp_path, **logs)
    assert leads_of(conclude(told)) == (7,)
    others = alike((0, 1, 2, 4, 5, 6), "all_reduce", 42, group=TWO_NODES)
    assert look(*others, lost(3), lost(7), logs=told).leads == (7,)


def test_what_is_known_of_one_node_says_nothing_of_another(tmp_path):
    """Of the second node no line bears a rank: its local rank 3 may be any."""
    logs = {f"node0__local_rank_{rank}_log": caught(rank, 42) for rank in range(3)}
    told = read_text(tmp_path, **logs, node0__local_rank_3_log="", node1__local_rank_3_log=RAISED)
    assert leads_of(conclude(told)) == ()


def test_a_file_that_holds_lines_of_another_rank_is_not_of_the_rank_in_its_name(tmp_path):
    logs = {f"rank_{rank}_log": caught(rank, 42) for rank in (1, 2)}
    told = read_text(tmp_path, **logs, rank_0_log=caught(3, 42) + RAISED, rank_4_log="")
    assert [end.rank for end in told.ends] == []
    # The other files of the folder agree with their names.
    told = read_text(tmp_path, **logs, rank_0_log=caught(3, 42), rank_4_log=RAISED)
    assert leads_of(conclude(told)) == (4,)


def test_one_file_alone_does_not_tell_how_a_folder_counts(tmp_path):
    told = read_text(tmp_path, node1__rank_0_log=caught(4, 42), node1__rank_3_log=RAISED, node0__rank_0_log=caught(0, 42))
    assert leads_of(conclude(told)) == ()


def test_the_plain_names_name_their_rank(tmp_path):
    logs = {f"rank_{rank}_log": caught(rank, 42) for rank in range(3)}
    assert leads_of(conclude(read_text(tmp_path, **logs, rank_3_log=RAISED))) == (3,)
    two = {f"rank_{rank}_{kind}": caught(rank, 42) if kind == "err" else "" for rank in range(3) for kind in ("err", "log")}
    assert leads_of(conclude(read_text(tmp_path, **two, rank_3_err=RAISED, rank_3_log=""))) == (3,)


@pytest.mark.parametrize("name", ["train_model_rank_{}", "2node_rank{}", "dp_rank_{}", "run_data_rank{}", "tp_rank_{}"])
def test_numbers_of_a_folder_that_run_from_0_on_are_ranks_whatever_the_word_before_them(tmp_path, name):
    logs = {f"{name.format(rank)}_log": caught(rank, 42) for rank in range(3)}
    told = read_text(tmp_path, **logs, **{f"{name.format(3)}_log": RAISED})
    assert leads_of(conclude(told)) == (3,)
    assert not any("no rank is missing" in one.summary for one in conclude(told))


def test_they_are_none_where_there_are_more_ranks_or_lines_of_others_or_numbers_are_missing(tmp_path):
    def ends(**logs: str) -> list[int]:
        return [end.rank for end in read_text(tmp_path, **logs).ends]

    two = {"dp_rank_0_log": caught(0, 42), "dp_rank_1_log": RAISED}
    assert ends(**two) == [1]
    assert ends(**two, job_log=caught(5, 42)) == []  # a job of six
    assert ends(dp_rank_0_log=caught(0, 42) + caught(2, 42), dp_rank_1_log=RAISED) == []
    assert ends(dp_rank_0_log=caught(0, 42), dp_rank_2_log=RAISED) == []
    assert ends(node_rank_0_log=caught(0, 42), node_rank_1_log=RAISED) == []  # consoles of nodes
    assert ends(tp_rank_0_log=caught(0, 42), tp_rank_1_log=RAISED) == []  # no line proves it


def test_beside_a_process_of_unknown_rank_that_ended_nobody_says_that_no_rank_is_missing(tmp_path):
    waited = "world_size: 3\n" + "".join(caught(rank, 42) for rank in range(3))
    assert any("no rank is missing" in one.summary for one in conclude(read_text(tmp_path, job_log=waited)))
    found = conclude(read_text(tmp_path, job_log=waited, worker_b_err=RAISED))
    assert any("whose rank the logs do not give, raised ValueError" in one.summary for one in found)
    assert not any("no rank is missing" in one.summary for one in found)
    lora = conclude(read_text(tmp_path, job_log=waited, sft_lora_rank16_log=RAISED))
    assert leads_of(lora) == ()


# -- a file of a node whose name holds the number of the node --------------------------------------------------------------

OLD = "[E ProcessGroupNCCL.cpp:475] [Rank {0}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=841, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600123 milliseconds before timing out.\n"
AGENT = "[2024-06-26 05:14:40,345] torch.distributed.elastic.multiprocessing.api: "
SENT = AGENT + "[WARNING] Sending process {} closing signal SIGTERM\n"
FAILED = AGENT + "[ERROR] failed (exitcode: 1) local_rank: {} (pid: {}) of binary: /usr/bin/python\n"


@pytest.mark.parametrize(
    "launcher",
    [
        FAILED.format(2, 8003),
        SENT.format(8001) + FAILED.format(0, 8003),
        SENT.format(8001) + SENT.format(8002),
        OLD.format(4) + OLD.format(5),
    ],
)
def test_a_file_of_several_processes_is_not_of_the_rank_in_its_name(tmp_path, launcher):
    assert leads_of(conclude(read_text(tmp_path, rank_0_log=caught(0, 42), rank_1_log=RAISED + launcher))) == ()


@pytest.mark.parametrize(
    "launcher", [FAILED.format(0, 8003), FAILED.format(0, 8003) * 2 + FAILED.format(0, 8005), OLD.format(1)]
)
def test_a_launcher_of_one_process_is_of_its_rank(tmp_path, launcher):
    told = read_text(tmp_path, rank_0_log=caught(0, 42), rank_1_log=RAISED + launcher)
    assert 1 in {end.rank for end in (*told.ends, *told.earlier_ends)}  # of several failures, the first attempt's


def test_what_other_ranks_print_behind_a_traceback_in_a_node_s_file_is_not_of_its_process(tmp_path):
    labelled = "".join(f"[rank2]: {line}\n" for line in RAISED.splitlines())
    text = "[rank3]: hello\n" + labelled + "".join(f"step {n}\n" for n in range(40))
    assert [end.went_on for end in read_text(tmp_path, rank_1_log=text).ends] == [False]


def test_labels_of_local_ranks_of_another_console_are_of_another_node(tmp_path):
    first = "".join(f"[default{n}]:{caught(n, 42)}" for n in (0, 1, 3)) + "[default2]:step 1\n"
    raised = "".join(f"[default2]:{line}\n" for line in RAISED.splitlines())
    assert leads_of(conclude(read_text(tmp_path, a_log=first, b_log=raised))) == ()
    assert leads_of(conclude(read_text(tmp_path, a_log=first.replace("[default2]:step 1\n", ""), b_log=raised))) == (2,)


def test_a_number_that_lines_call_a_rank_beside_torch_s_label_is_a_node(tmp_path):
    head = "[rank 1] [rank{0}]:[E ProcessGroupNCCL.cpp:523] [Rank {0}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=841, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600123 milliseconds before timing out.\n"
    raised = "".join(f"[rank 1] {line}\n" for line in RAISED.splitlines())
    told = read_text(tmp_path, job_log=head.format(4) + head.format(5) + raised)
    assert (told.ranks, [end.rank for end in told.ends]) == ((4, 5), [])
    assert [end.rank for end in read_text(tmp_path, job_log=caught(0, 42) + raised).ends] == [1]


# -- numbers in names that lines show to be ranks --------------------------------------------------------------------------


def named(folder: Path, name: str, texts: dict[int, str]) -> list[int]:
    """The ranks of the ends in logs of this name, which takes a number."""
    files = []
    for number, text in texts.items():
        path = folder / name.format(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        files.append(LogFile(number, path, name.format(number)))
    return [end.rank for end in read_logs(files).ends]


@pytest.mark.parametrize(
    "name",
    ["slurm-7719_{}.out", "worker-{}.log", "llm-worker-{}/pytorch/0.log", "r{}/train.log", "err.{}", "log-acct_7719_{}_0.out"],
)
def test_a_number_in_a_name_is_the_rank_where_lines_of_two_files_show_it(tmp_path, name):
    waited = {rank: caught(rank, 42) for rank in (0, 1)}
    assert named(tmp_path / "a", name, {**waited, 2: RAISED, 3: ""}) == [2]
    assert named(tmp_path / "b", name, {0: caught(0, 42), 1: "", 2: RAISED}) == []  # 0 is the number of a first node, too
    assert named(tmp_path / "c", name, {**waited, 2: RAISED, 3: caught(7, 42)}) == []
    assert named(tmp_path / "d", name, {0: caught(0, 42), 1: caught(1, 42) + caught(4, 42), 3: caught(3, 42), 2: RAISED}) == []


def test_numbers_in_a_group_show_it_where_three_agree(tmp_path):
    old = {rank: OLD.format(rank) for rank in (0, 1, 3)}
    assert named(tmp_path / "a", "std_log_process_{}.txt", {**old, 2: RAISED}) == [2]
    assert named(tmp_path / "b", "std_log_process_{}.txt", {0: old[0], 1: old[1], 2: RAISED}) == []
    assert named(tmp_path / "c", "std_log_process_{}.txt", {**old, 4: OLD.format(0), 2: RAISED}) == []


def test_two_numbers_that_fit_leave_it_open(tmp_path):
    logs = {f"n{rank}__w{rank}_log": caught(rank, 42) for rank in (0, 1)}
    assert read_text(tmp_path, **logs, n2__w2_log=RAISED).ends == ()
