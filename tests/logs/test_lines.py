"""Heads, prefixes, colours: from bytes to messages."""

# ruff: noqa: E501 - log lines are quoted whole

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hangview.logs.lines import Piece, RawLine, Who, clean, pieces, raw_lines
from hangview.logs.prefilter import Window

if TYPE_CHECKING:
    from pathlib import Path

RANKS = st.integers(0, 9_999_999)
MESSAGES = st.text(
    st.characters(codec="ascii", exclude_characters="".join(map(chr, range(32))) + "\x7f"), min_size=1, max_size=60
).filter(lambda text: text[0].isalpha() and ".cpp" not in text and ".hpp" not in text)
FILES = st.sampled_from(["ProcessGroupNCCL.cpp", "socket.cpp", "TCPStore.cpp", "WorkNCCL.cpp", "FlightRecorderHook.cpp"])


@st.composite
def heads(draw: st.DrawFn) -> tuple[str, int | None, str, str, int, str | None]:
    """A head of any version with what must be read off it: (text, rank, level, file, line, time as printed)."""
    level, file, number = draw(st.sampled_from("IWEF")), draw(FILES), draw(st.integers(1, 9_999))
    rank = draw(st.none() | RANKS)
    month, day = draw(st.integers(1, 12)), draw(st.integers(1, 31))
    clock = f"{draw(st.integers(0, 23)):02}:{draw(st.integers(0, 59)):02}:{draw(st.integers(0, 59)):02}"
    label = "" if rank is None else f"[rank{rank}]:"
    form = draw(st.sampled_from(["old", "dated", "glog"]))
    if form == "old":
        return f"{label}[{level} {file}:{number}] ", rank, level, file, number, None
    at = f"{month:02}-{day:02} {clock}"
    if form == "dated":
        fraction = draw(st.integers(0, 10**9 - 1))
        return f"{label}[{level}{month * 100 + day} {clock}.{fraction:09} {file}:{number}] ", rank, level, file, number, at
    thread = draw(st.integers(1, 10**6))
    return f"{level}{month:02}{day:02} {clock}.{number:06} {thread} {file}:{number}] ", None, level, file, number, at


def one(text: str) -> Piece:
    [piece] = pieces(RawLine(1, 0, b""), text)
    return piece


@given(heads(), MESSAGES)
def test_every_head_is_read(head, message):
    text, rank, level, file, number, at = head
    piece = one(text + message)
    assert (piece.text, piece.level, piece.file, piece.file_line, piece.at) == (message, level, file, number, at)
    assert piece.who.rank == rank
    assert bool(piece.who.rank_from) is (rank is not None)


@given(st.lists(st.tuples(heads(), MESSAGES), min_size=2, max_size=4))
def test_messages_that_share_a_line_are_told_apart(parts):
    # Two threads write at once: the second head stands in the middle of the line. A glog head needs a boundary before it.
    text = "".join(head[0] + message + " " for head, message in parts)
    found = list(pieces(RawLine(1, 0, b""), text))
    assert [(piece.who.rank, piece.text.strip()) for piece in found] == [(head[1], message.strip()) for head, message in parts]


@given(
    st.sampled_from(
        [
            ("[default3]:", Who(local=3)), ("[trainer12]:", Who(local=12)), (" 7: ", Who(task=7)), ("12: ", Who(task=12)),
            ("[1,9]<stderr>:", Who(task=9)), ("[1,mpirank:9,algo-1]<stderr>:", Who(task=9)), ("[2] ", Who(task=2)),
            ("(RayTrainWorker pid=4410, ip=10.0.0.7) ", Who(pid=4410, host="10.0.0.7")),
            ("(Worker_TP3 pid=77) ", Who(pid=77)), ("2026-11-29T14:02:40.123456Z ", Who()), ("2026-11-29T14:02:40Z stderr F ", Who()),
            ("node17: ", Who(host="node17")), ("slurm0-a3-8: ", Who(host="slurm0-a3-8")), ("trainer-1  | ", Who()),
            ("[2025-02-07 01:19:40 TP0] ", Who()), ("[80746] ", Who()), ("18:11:06.680 ", Who()), ("> ", Who()), ("", Who()),
            ("[pod/job-worker-0/pytorch] ", Who()), ("[trainer3|11]:", Who()),
        ]
    ),
    heads(),
    MESSAGES,
)  # fmt: skip
def test_launcher_prefixes_are_peeled(prefix, head, message):
    text, who = prefix
    if "TP0" in text:
        return  # the bracket of a framework holds more than a time; not peeled, and the head behind it is still found
    if head[0].startswith(("I", "W", "E", "F")) and text in ("[80746] ", "18:11:06.680 ", "> "):
        return  # viewers are told by what follows; a glog head is no bracket
    piece = one(text + head[0] + message)
    assert piece.text == message
    assert piece.level == head[2]
    assert (piece.who.local, piece.who.task, piece.who.pid, piece.who.host) == (who.local, who.task, who.pid, who.host)
    assert piece.who.rank == head[1]


@given(st.binary(max_size=400))
def test_any_bytes_become_lines(data):
    for text in clean(data):
        found = list(pieces(RawLine(1, 0, data), text))
        assert found
        assert all(len(piece.text) <= len(text) for piece in found)


def test_a_prefix_and_a_traceback_label_name_the_rank():
    piece = one('[default3]:[rank11]:   File "/srv/job/pp.py", line 402, in forward_stage')
    assert piece.text == '  File "/srv/job/pp.py", line 402, in forward_stage'
    assert (piece.who.rank, piece.who.local) == (11, 3)


@pytest.mark.parametrize(
    "front",
    [
        *("llm-worker-2 pytorch ", '2026-06-26T05:14:36Z {container="pytorch", pod="llm-worker-2"} ', "    13\t", "gpu-beta: "),
        "2026-06-26T05:14:48.123000+00:00 pytorch-training-2026/algo-1-1782450876 ", "nid003401.hsn.cm.example 2: ",
        "[2026-06-26T05:14:36.106313Z] fa88a9df || [rank=2] ", "dinov2.cn-d004.nolog [stderr] ",
        "(worker1, rank=1, pid=221, ip=10.0.0.1) ", "[rank 1] ", "[1,mpirank:2,algo-1]<stderr>:", "[2] ",
    ],
)  # fmt: skip
def test_the_label_of_a_traceback_is_found_behind_any_front(front):
    piece = one(f'{front}[rank2]:   File "/srv/job/pp.py", line 402, in forward_stage')
    assert (piece.text, piece.who.rank) == ('  File "/srv/job/pp.py", line 402, in forward_stage', 2)


def test_a_line_of_one_rank_may_speak_of_another():
    assert one("[rank0]: saw [rank2]: OSError").who.rank == 0
    assert one("rank 0: saw [rank2]: OSError").who.rank == 0
    assert one("as in worker[rank2]: OSError").who.rank is None
    assert one("peer [rank2]: is late").who.rank is None


@pytest.mark.parametrize(
    ("line", "texts"),
    [
        (r'{"log": "[rank2]: ValueError: x\n", "stream": "stderr", "time": "2026-06-26T05:14:36.000000003Z"}', ["2026-06-26T05:14:36.000000003Z [rank2]: ValueError: x"]),
        ('{"labels": {"pod": "w-2"}, "line": "step 1", "timestamp": "1782"}', ["step 1"]),
        (r'{"severity": "ERROR", "textPayload": "a\nb"}', ["a", "b"]),
        (r'{"level": "ERROR", "message": "step failed", "exc_info": "Traceback (most recent call last):\nKeyError: 1"}', ["ERROR log: step failed", "Traceback (most recent call last):", "KeyError: 1"]),
        (r'{"levelname": "info", "name": "train", "msg": "step 1", "asctime": "2026-06-26 05:04:30,100"}', ["2026-06-26 05:04:30,100 INFO train: step 1"]),
        (r'{"level": "ERROR", "message": "[rank2]: ValueError: x"}', ["[rank2]: ValueError: x"]),
        *((text, [text]) for text in ('{"loss": 0.5}', '{"log": 3}', '{"log": "cut', '{"a": [}', "{'log': 'x'}")),
        (r'{"log": "\ud800"}', ["?"]),
    ],
)  # fmt: skip
def test_of_a_line_of_json_the_message_is_read(line, texts):
    assert clean(line.encode()) == texts


def test_the_local_rank_of_tee_is_no_world_rank():
    assert one("[default3]:step 12 loss 0.5").who == Who(local=3)


@pytest.mark.parametrize(
    ("text", "rank"),
    [
        ("2026-11-29T16:31:26.413Z rank 3 ERROR training loop stopped", 3), ("rank=12, starting", 12), ("[rank 4] ready", 4),
        ("[Rank 5] NCCL watchdog thread", None), ("ranks 3 and 4 agree", None), ("ranking 3 candidates", None),
        ("[rank0]:W1129 15:40:40.321000 29126 torch/x/api.py:1028] text", 0),
    ],
)  # fmt: skip
def test_lines_that_name_their_rank(text, rank):
    assert one(text).who.rank == rank


def test_python_side_heads_give_time_and_pid():
    piece = one(
        "E0816 01:45:43.466000 340200 site-packages/torch/distributed/elastic/multiprocessing/api.py:833] failed (exitcode: -6)"
    )
    assert (piece.text, piece.who.pid, piece.at) == ("failed (exitcode: -6)", 340200, "08-16 01:45:43")


@pytest.mark.parametrize(
    "text",
    [
        b"\x1b[36m(RayTrainWorker pid=4410, ip=10.44.0.7)\x1b[0m hello",
        b"[36m(RayTrainWorker pid=4410, ip=10.44.0.7)[0m hello",
        b"\x1b[1;31m\x1b[36m(RayTrainWorker pid=4410, ip=10.44.0.7)\x1b[39m hello\r",
    ],
)
def test_colours_with_and_without_the_escape_character(text):
    [line] = clean(text)
    piece = one(line)
    assert piece.text == "hello"
    assert piece.who == Who(pid=4410, host="10.44.0.7")


def test_progress_bars_are_pieces_of_their_own():
    assert clean(b" 10%|#\r 20%|##\r[rank1]:[E x.cpp:1] hi\r") == [" 10%|#", " 20%|##", "[rank1]:[E x.cpp:1] hi"]


def test_a_progress_bar_before_the_head_is_cut_off():
    found = list(pieces(RawLine(4, 9, b""), " 37%|###  | 1480/4000 [rank1]:[E ProcessGroupNCCL.cpp:523] [Rank 1] Watchdog"))
    assert [piece.text for piece in found] == [" 37%|###  | 1480/4000 ", "[Rank 1] Watchdog"]
    assert found[1].who.rank == 1
    assert found[1].number == 4


def test_windows_give_line_numbers_and_offsets(tmp_path: Path):
    data = b"".join(b"line %d\n" % number for number in range(1, 501))
    path = tmp_path / "a.log"
    path.write_bytes(data)
    fd = os.open(path, os.O_RDONLY)
    try:
        start = data.index(b"line 100\n") + 3
        [*found] = raw_lines(fd, [Window(start, start + 60, 100)])
    finally:
        os.close(fd)
    assert found[0].data == b"line 101"
    assert found[0].number == 101
    for line in found[:-1]:
        assert data[line.offset : line.offset + len(line.data)] == line.data == b"line %d" % line.number


def test_a_line_without_end_is_read_in_parts(tmp_path: Path):
    path = tmp_path / "a.log"
    path.write_bytes(b"x" * 3_500_000)
    fd = os.open(path, os.O_RDONLY)
    try:
        found = list(raw_lines(fd, [Window(0, 3_500_000, 1)]))
    finally:
        os.close(fd)
    assert sum(len(line.data) for line in found) == 3_500_000
    assert {line.number for line in found} == {1}
    assert max(len(line.data) for line in found) <= 2 << 20
