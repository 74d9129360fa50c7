"""``check``: one line a source, missing ranks with their reason, what to set when there are no dumps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import hangview
from hangview.report.coverage import source_lines
from hangview.report.ledger import readable, to_ledger
from hangview.report.recording import RECORDING, recording_lines
from hangview.schema import Attempt, ReadOptions, SourceKind, SourceStatus
from tests.report.build import dump, incident, log

if TYPE_CHECKING:
    from hangview.schema import Source

MIXED = """\
5 sources: 2 read, 1 cut, 1 empty, 1 ignored

read        rank 0         nccl, schema 2.10, 41 entries  trace_0
cut         rank 1 node-a  nccl, schema 2.10, 1 entry     trace_1: ends early
empty       rank 2         0 bytes                        trace_2: 0 bytes
read        rank 3         log                            logs/rank_3.log
ignored                                                   notes.txt: no dump and no log

expected    4 ranks: 0-3
recovered   2 ranks: 0-1
missing     rank 2: empty file
missing     rank 3: no file
"""


def other(name: str, **changes: Any) -> Source:
    """A file that is neither dump nor log."""
    return dump(
        None, path=name, kind=SourceKind.OTHER, status=SourceStatus.IGNORED, producer=None, version=None, size=3, **changes
    )


def test_whole_ledger_in_the_order_dumps_logs_others():
    sources = (
        other("notes.txt", reason="no dump and no log"),
        log(3),
        dump(2, status=SourceStatus.EMPTY, reason="0 bytes", producer=None, version=None, entries=0, size=0),
        dump(1, status=SourceStatus.CUT, reason="ends early", host="node-a", entries=1),
        dump(0),
    )
    made = incident(sources=sources, expected=(0, 1, 2, 3), missing={2: "empty file", 3: "no file"})
    assert "\n".join(line.rstrip() for line in to_ledger(made).splitlines()) + "\n" == MIXED


def test_attempts_show_when_there_is_more_than_one():
    sources = (dump(0, attempt=2), dump(0, path="old/trace_0", attempt=1, status=SourceStatus.OTHER_ATTEMPT))
    attempts = (Attempt(1, (0,), False, "2 h older"), Attempt(2, (0,), True))
    lines = to_ledger(incident(sources=sources, expected=(0,), attempts=attempts)).splitlines()
    assert lines[2] == "read           rank 0 attempt 2  nccl, schema 2.10, 41 entries  trace_0"
    assert lines[3] == "other attempt  rank 0 attempt 1  nccl, schema 2.10              old/trace_0"
    assert lines[-2:] == ["attempt 1: rank 0, left out (2 h older)", "attempt 2: rank 0, shown here"]


def test_many_ignored_files_are_folded_by_their_ending():
    others = [*(other(f"src/file{number}.py") for number in range(30)), other("core"), other("x.\x1b")]
    text = to_ledger(incident(sources=(dump(0), *others), expected=(0,)))
    assert "ignored     32 files: 30 .py, 1 .\\x1b, 1 without ending\n" in text
    assert "file7.py" not in text
    assert to_ledger(incident(sources=(dump(0), *others[:20]), expected=(0,))).count("src/file") == 20


def test_without_a_dump_it_says_what_makes_them_appear():
    text = to_ledger(incident(sources=(log(0),)))
    for variable in (
        "TORCH_NCCL_TRACE_BUFFER_SIZE",
        "TORCH_FR_BUFFER_SIZE",
        "TORCH_NCCL_DUMP_ON_TIMEOUT",
        "TORCH_FR_DUMP_ON_TIMEOUT",
    ):
        assert variable in text
    for variable in ("TORCH_NCCL_DEBUG_INFO_TEMP_FILE", "TORCH_FR_DUMP_TEMP_FILE"):
        assert variable in text
    assert "what makes PyTorch write them" not in to_ledger(incident(sources=(dump(0),)))


def test_recording_covers_every_release_without_gap():
    releases = [entry.releases for entry in RECORDING]
    minors = [int(part.split(".")[1]) for release in releases for part in (release.split("-")[0], release.split("-")[-1])]
    assert minors == sorted(minors)
    assert (minors[0], minors[-1]) == (2, 15)
    assert len(recording_lines()) > len(RECORDING)


@pytest.mark.parametrize("document", ["README.md", "docs/recording.md"])
def test_the_documents_say_the_same_of_every_release_as_the_ledger(document):
    rows = (Path(__file__).parents[2] / document).read_text("utf-8").splitlines()
    for entry in RECORDING:
        (row,) = [row for row in rows if row.startswith(f"| {entry.releases} |")]
        for said in (entry.settings, f"`{entry.file}`", f"`{entry.file_variable}`"):
            assert said in row


@pytest.mark.parametrize(
    ("minor", "file", "variable"),
    [
        (6, "/tmp/nccl_trace_rank_", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"),
        (7, "~/.cache/torch/nccl_trace_rank_", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"),  # 143446 came after 2.6
        (8, "~/.cache/torch/nccl_trace_rank_", "TORCH_FR_DUMP_TEMP_FILE"),
        (9, "~/.cache/torch/comm_lib_trace_rank_", "TORCH_FR_DUMP_TEMP_FILE"),
    ],
)
def test_where_a_release_writes_its_dumps(minor: int, file: str, variable: str) -> None:
    """As PyTorch's ``DebugInfoWriter::getWriter`` reads in these releases."""

    def covers(releases: str) -> bool:
        minors: list[int] = [int(part.split(".")[1]) for part in releases.split("-")]
        return minors[0] <= minor <= minors[-1]

    (entry,) = [entry for entry in RECORDING if covers(entry.releases)]
    assert (entry.file, entry.file_variable) == (file, variable)


def test_an_empty_folder():
    text = to_ledger(incident(sources=()))
    assert text.startswith("nothing to read in run-7\n\nexpected    no rank\n")
    assert "missing" not in text.split("no dump was read")[0]


def test_readable_means_a_dump_or_a_log():
    assert readable(incident(sources=(dump(0, status=SourceStatus.CUT),)))
    assert readable(incident(sources=(log(0),)))
    assert not readable(incident(sources=(dump(0, status=SourceStatus.REFUSED), other("a"))))
    assert not readable(incident(sources=()))


def test_a_text_that_is_no_log_is_not_said_to_be_one(tmp_path):
    """Read to its end, status as the contract has it; but no evidence, and nothing that could be read of a job."""
    (tmp_path / "notes.txt").write_text("hello world\n")
    made = hangview.load(str(tmp_path), options=ReadOptions(cache=False))
    assert [(source.kind, source.status) for source in made.records.sources] == [(SourceKind.LOG, SourceStatus.READ)]
    text = to_ledger(made)
    assert text.startswith("1 source: 1 read; 1 text file of these says nothing of a hang\n")
    assert "read        text  notes.txt: a text that names no rank and says nothing of a hang" in text
    assert not readable(made)
    assert source_lines(made)[0] == "0 dumps read, 0 logs read, 1 text file that says nothing of a hang"


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("rank_3.log", "hello world"),  # the name says whose it is
        ("train.log", "ValueError: nothing to train on"),
        ("train.log", "[rank1]: hello"),
    ],
)
def test_a_log_is_one_by_its_name_or_by_a_line(tmp_path, name, line):
    text = (
        f'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n{line}\n' if "Error" in line else f"{line}\n"
    )
    (tmp_path / name).write_text(text)
    made = hangview.load(str(tmp_path), options=ReadOptions(cache=False))
    assert "nothing of a hang" not in to_ledger(made)
    assert readable(made)


def test_nothing_raw_reaches_the_terminal():
    evil = dump(0, path="a\x1b[2J", reason="b\nc", host="\x9b", producer="\x07", version="\x00")
    text = to_ledger(incident(sources=(evil,), expected=(0, 1), missing={1: "\x1b"}))
    assert all(char == "\n" or char.isprintable() for char in text)
