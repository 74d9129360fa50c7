"""From real files to bytes on stdout: one fixture a promise."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from hangview import cli
from hangview.demo import folder

FIXTURES = Path(__file__).parents[2] / "fixtures"


def output(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of one run."""
    code = cli.run([*args])
    out, err = capsys.readouterr()
    return code, out, err


def test_the_answer_is_the_first_line(capsys):
    code, out, err = output(capsys, "report", "--no-cache", str(FIXTURES / "seed-a"))
    assert (code, err) == (1, "")
    assert out.splitlines()[0] == "LOOK FIRST  rank 3 did not request all_reduce 42 of default_pg; ranks 0-2 wait for it"
    assert "ValueError" in out


def test_no_logs_reads_dumps_alone(capsys):
    code, out, _ = output(capsys, "report", "--no-cache", "--no-logs", str(FIXTURES / "seed-a"))
    assert code == 1
    assert "ValueError" not in out
    assert "logs not read" in out


def test_healthy_files(capsys):
    code, out, err = output(capsys, "report", "--no-cache", str(FIXTURES / "healthy"))
    assert (code, err) == (0, "")
    assert "these files show no hang" in out.splitlines()[0]


def test_nothing_readable(capsys, tmp_path):
    (tmp_path / "nccl_trace_rank_0").write_bytes(b"")
    code, out, _ = output(capsys, "report", "--no-cache", str(tmp_path))
    assert code == 3
    assert out.startswith("NOT ENOUGH EVIDENCE")
    code, out, _ = output(capsys, "report", "--format", "json", "--no-cache", str(tmp_path))
    assert code == 3
    assert json.loads(out)["verdict"] == "not_enough_evidence"
    assert output(capsys, "check", "--no-cache", str(tmp_path))[0] == 3


def test_a_folder_without_dumps(capsys, tmp_path):
    (tmp_path / "train.py").write_text("print(1)\n")
    code, out, _ = output(capsys, "report", "--no-cache", str(tmp_path))
    assert code == 3
    assert out.startswith("NOT ENOUGH EVIDENCE")
    code, out, _ = output(capsys, "check", "--no-cache", str(tmp_path))
    assert code == 3
    assert "TORCH_FR_BUFFER_SIZE" in out


def test_bad_files_are_named_and_the_rest_goes_on(capsys):
    code, out, err = output(capsys, "report", "--no-cache", str(FIXTURES / "crafted-pickle"))
    assert (code, err) == (1, "")
    assert out.startswith("LOOK FIRST  rank 2")
    assert "nccl_trace_rank_1" in out
    assert "posix.system" in out


@pytest.mark.parametrize("output_format", ["text", "markdown", "json"])
@pytest.mark.parametrize("name", ["two-leads", "stale-mixed", "names-folders"])
def test_the_order_of_the_files_changes_no_byte(capsys, tmp_path, name, output_format):
    seen = set()
    files = sorted(path for path in (FIXTURES / name).rglob("*") if path.is_file())
    for number, order in enumerate((files, files[::-1], files[3:] + files[:3])):
        copy = tmp_path / str(number)
        for path in order:
            target = copy / path.relative_to(FIXTURES / name)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target)
        seen.add(output(capsys, "report", "--no-cache", "--format", output_format, str(copy)))
    assert len(seen) == 1
    assert next(iter(seen))[0] == 1


def test_workers_and_cache_change_no_byte(capsys):
    runs = [
        output(capsys, "report", "--format", "json", *options, str(folder()))
        for options in (["--no-cache", "--workers", "1"], ["--no-cache", "--workers", "2"], [], [])
    ]
    assert len(set(runs)) == 1


def test_files_named_one_by_one(capsys):
    dumps = sorted(str(path) for path in (FIXTURES / "seed-a").glob("comm_lib_trace_rank_*"))
    code, out, _ = output(capsys, "report", "--no-cache", *dumps[::-1])
    assert code == 1
    assert out.startswith("LOOK FIRST  rank 3")


def test_logs_that_lie_elsewhere(capsys, tmp_path):
    dumps = tmp_path / "dumps"
    dumps.mkdir()
    for path in (FIXTURES / "seed-a").glob("comm_lib_trace_rank_*"):
        shutil.copy2(path, dumps)
    shutil.copytree(FIXTURES / "seed-a" / "logs", tmp_path / "elsewhere")
    assert "ValueError" not in output(capsys, "report", "--no-cache", str(dumps))[1]
    assert "ValueError" in output(capsys, "report", "--no-cache", "--logs", str(tmp_path / "elsewhere"), str(dumps))[1]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(capsys, tmp_path):
    for path in (FIXTURES / "seed-a").glob("comm_lib_trace_rank_*"):
        shutil.copy2(path, tmp_path)
    (tmp_path / "comm_lib_trace_rank_1").chmod(0)
    code, out, err = output(capsys, "report", "--no-cache", str(tmp_path))
    assert (code, err) == (1, "")
    assert "comm_lib_trace_rank_1" in out


def test_a_named_pipe_in_a_folder_does_not_hang_the_program(capsys, tmp_path):
    for path in (FIXTURES / "seed-a").glob("comm_lib_trace_rank_*"):
        shutil.copy2(path, tmp_path)
    os.mkfifo(tmp_path / "comm_lib_trace_rank_0.pipe")
    assert output(capsys, "report", "--no-cache", str(tmp_path))[0] == 1


@pytest.mark.parametrize("command", ["report", "check", "explain", "worksheet"])
def test_every_command_over_the_demo(capsys, command):
    code, out, err = output(capsys, command, "--no-cache", str(folder()))
    assert code == (1 if command in ("report", "explain") else 0)
    assert err == ""
    assert "6" in out


def test_the_demo_shows_what_its_origin_says(capsys):
    code, out, _ = output(capsys, "report", "--no-cache", "--format", "json", str(folder()))
    report = json.loads(out)
    assert code == 1
    assert report["leads"] == [6]
    first = report["findings"][0]
    assert (first["kind"], first["group"]["desc"], first["seq"], first["ranks"]) == ("not_requested", "tp_1", 42, [6])
    stuck = {finding["group"]["desc"] for finding in report["findings"] if finding["group"]}
    assert stuck == {"tp_1", "dp_0", "dp_1", "dp_2", "dp_3"}


def test_one_limit_raised_on_the_command_line(capsys):
    code, out, _ = output(capsys, "check", "--no-cache", "--max-entries", "5", str(FIXTURES / "seed-a"))
    assert "refused" in out
    assert "--max-entries" in out
    assert code == 0  # the logs were read
