"""Commands, exit codes and the one line on stderr, with hand-made incidents in place of files."""

from __future__ import annotations

import json
import os
import socket
import stat
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hangview import __version__, cli
from hangview.cli_paths import check_paths
from hangview.terms import Verdict
from tests.report.build import NOT_REQUESTED, healthy, incident, nothing, one_lead

if TYPE_CHECKING:
    from hangview.incident import Incident


@pytest.fixture
def loaded(monkeypatch):
    """Makes load() answer with an incident, or raise."""

    def set_answer(answer: Incident | BaseException) -> None:
        def load(paths, options, on_progress, listing=None):
            if isinstance(answer, BaseException):
                raise answer
            return answer

        monkeypatch.setattr("hangview.loading.load_incident", load)

    set_answer(one_lead())
    return set_answer


def one_line(text: str) -> str:
    """The only line of stderr, which starts with the program's name."""
    lines = text.splitlines()
    assert len(lines) == 1, text
    assert lines[0].startswith("hangview: ")
    return lines[0].removeprefix("hangview: ")


@pytest.mark.parametrize(("make", "code"), [(healthy, 0), (one_lead, 1), (nothing, 3)])
@pytest.mark.parametrize(
    "command", [["report"], ["report", "--format", "json"], ["report", "--format", "markdown"], ["explain"]]
)
def test_exit_code_says_the_verdict(loaded, tmp_path, command, make, code):
    loaded(make())
    assert cli.run([*command, __file__]) == code


def test_formats(loaded, capsys):
    cli.run(["report", __file__])
    assert capsys.readouterr().out.startswith("LOOK FIRST  rank 3")
    cli.run(["report", "--format", "markdown", __file__])
    assert capsys.readouterr().out.startswith("# hangview report\n")
    cli.run(["report", "--format", "json", __file__])
    out, err = capsys.readouterr()
    assert json.loads(out)["leads"] == [3]
    assert err == ""


@pytest.mark.parametrize("make", [one_lead, nothing])
def test_exit_zero(loaded, make):
    loaded(make())
    assert cli.run(["report", "--exit-zero", __file__]) == 0


def test_all_leaves_nothing_out(loaded, capsys):
    loaded(incident(*(replace(NOT_REQUESTED, summary=f"finding {number}") for number in range(30)), leads=(3,)))
    cli.run(["report", __file__])
    assert "finding 29" not in capsys.readouterr().out
    cli.run(["report", "--all", __file__])
    assert "finding 29" in capsys.readouterr().out


@pytest.mark.parametrize(("make", "code"), [(one_lead, 0), (healthy, 0), (nothing, 3)])
def test_check_says_whether_anything_was_read(loaded, capsys, make, code):
    loaded(make())
    assert cli.run(["check", __file__]) == code
    assert capsys.readouterr().out.startswith(("nothing to read", "4 sources", "5 sources"))


def test_version(capsys):
    assert cli.run(["--version"]) == 0
    assert capsys.readouterr().out == f"hangview {__version__}\n"


@pytest.mark.parametrize("args", [["--help"], ["-h"], ["--no-mouse", "--help"], ["some/path", "-h"]])
def test_help_shows_screen_options_and_commands(args, capsys):
    assert cli.run(args) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith("Usage: hangview [OPTIONS] [PATH]...\n       hangview COMMAND [OPTIONS] PATH...\n")
    for word in ("--no-mouse", "--poll", "--prefix", "report", "check", "worksheet", "demo", "explain", "cache", "128+n"):
        assert word in out
    assert "(screen)" not in out


@pytest.mark.parametrize("command", ["report", "check", "worksheet", "explain", "demo", "cache"])
def test_every_command_has_help(command, capsys):
    assert cli.run([command, "-h"]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: hangview {command}")


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["reprot", "x"], "reprot: no such file or folder; did you mean the command report?"),
        (["watch"], "watch: no such file or folder; hangview PATH watches by itself"),
        (["demmo"], "demmo: no such file or folder; did you mean the command demo?"),
        (["--ascii", "report"], "report: no such file or folder; the command comes first: hangview report PATH"),
        (["--ascii", "demo"], "demo: no such file or folder; the command comes first: hangview demo"),
        (["/tmp/no-such-run"], "/tmp/no-such-run: no such file or folder; if it is still to come: hangview /tmp shows it then"),
        (["help"], "help: no such file or folder; did you mean hangview --help?"),
        (["no/such/report"], "no/such/report: no such file or folder"),
        (["zzzz"], "zzzz: no such file or folder"),
        (["report", "zzzz"], "zzzz: no such file or folder"),
        (["report", ""], "an empty PATH: no such file or folder"),
        (["report", "zz-*.out"], "zz-*.out: nothing matches this pattern"),
        (["check", "x\x1b[31m"], r"x\x1b[31m: no such file or folder"),
        (["report", "a\nb"], r"a\nb: no such file or folder"),
        (["report"], "Missing argument 'PATH...'. (see hangview report --help)"),
        (["--zzz"], "No such option '--zzz'. (see hangview --help)"),
        (["report", "--formt", "json", "x"], "No such option '--formt'. Did you mean '--format'? (see hangview report --help)"),
        (["--poll", "0", "x"], "Invalid value for '--poll': '0' is not a number from 0.1 to 3600 (see hangview --help)"),
        (["cache", "drop"], "No such command 'drop'. (see hangview cache --help)"),
    ],
)
def test_usage_errors_are_one_line_and_2(args, says, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.run(args) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert one_line(err) == says


def test_a_pattern_in_quotes_stands_for_the_files_that_match(tmp_path, monkeypatch):
    for name in ("slurm-7-10.out", "slurm-7-2.out", "slurm-8-1.out", "odd-*.out"):
        (tmp_path / name).write_text("x\n")
    monkeypatch.chdir(tmp_path)
    found = check_paths(["slurm-7-*.out", "odd-*.out", "."])  # a file of just that name is itself
    assert found == ("slurm-7-10.out", "slurm-7-2.out", "odd-*.out", ".")


def test_a_folder_named_like_a_command_is_still_reachable(loaded, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "report").mkdir()
    assert cli.run(["report", "report"]) == 1
    assert cli.run(["./report"]) == 2  # no terminal here
    assert "no terminal" in capsys.readouterr().err


def test_special_files_are_refused(tmp_path, capsys):
    os.mkfifo(tmp_path / "trace_0.pipe")
    assert cli.run(["report", str(tmp_path / "trace_0.pipe")]) == 2
    assert one_line(capsys.readouterr().err) == f"{tmp_path}/trace_0.pipe: a named pipe, neither a file nor a folder"
    assert cli.run(["report", "/dev/null"]) == 2
    assert one_line(capsys.readouterr().err) == "/dev/null: a device, neither a file nor a folder"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        assert cli.run(["report", str(tmp_path / "s")]) == 2
    assert "a socket" in one_line(capsys.readouterr().err)


def test_links_that_lead_nowhere(tmp_path, capsys):
    (tmp_path / "gone").symlink_to(tmp_path / "target")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert cli.run(["report", str(tmp_path / "gone")]) == 2
    assert "no such file" in one_line(capsys.readouterr().err)
    assert cli.run(["report", str(tmp_path / "loop")]) == 2
    assert f"{tmp_path}/loop: " in one_line(capsys.readouterr().err)


def test_an_empty_folder_is_said_and_reported(loaded, tmp_path, capsys):
    loaded(nothing())
    assert cli.run(["report", str(tmp_path)]) == 3
    out, err = capsys.readouterr()
    assert one_line(err) == f"{tmp_path}: the folder is empty"
    assert out.startswith("NOT ENOUGH EVIDENCE")


def test_a_folder_that_may_not_be_listed(monkeypatch, tmp_path, capsys):
    def scandir(path):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("hangview.cli_paths.os.scandir", scandir)
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    assert cli.run(["report", str(tmp_path)]) == 3
    assert one_line(capsys.readouterr().err) == f"{tmp_path}: permission denied"


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (FileNotFoundError(2, "No such file or directory", "run-7"), 3, "run-7: No such file or directory"),
        (PermissionError(13, "Permission denied", "run-7"), 3, "run-7: Permission denied"),
        (OSError(5, "Input/output error", "run-7/x"), 3, "run-7/x: Input/output error"),
        (MemoryError(), 3, "out of memory: read fewer files at a time, or use --workers 1"),
        (ValueError("--attempt 7: there are attempts 0-1"), 2, "--attempt 7: there are attempts 0-1"),
        (ZeroDivisionError("a fault"), 3, "internal error: ZeroDivisionError: a fault; HANGVIEW_DEBUG=1 shows where"),
    ],
)
def test_what_goes_wrong_while_reading_is_one_line_and_never_1(loaded, capsys, error, code, says):
    loaded(error)
    assert cli.run(["report", __file__]) == code
    assert one_line(capsys.readouterr().err) == says


def test_debug_shows_where_and_changes_no_exit_code(loaded, monkeypatch, capsys):
    loaded(ZeroDivisionError("a fault"))
    monkeypatch.setenv("HANGVIEW_DEBUG", "1")
    assert cli.run(["report", __file__]) == 3
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "Traceback (most recent call last):"
    assert said[-1].startswith("hangview: internal error: ZeroDivisionError")


def test_interrupt_is_130_without_a_word(loaded, capsys):
    loaded(KeyboardInterrupt())
    assert cli.run(["report", __file__]) == 130
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("stream", ["stdin", "stdout"])
def test_without_a_terminal_the_screen_names_report(tmp_path, capsys, monkeypatch, stream):
    monkeypatch.setattr(cli, "not_terminal", lambda *names: stream)
    assert cli.run([str(tmp_path / "..")]) == 2
    says = one_line(capsys.readouterr().err)
    assert says == f"no terminal ({stream} is none): hangview report PATH prints the findings without one"


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_dumb_terminal_is_none(capsys, monkeypatch, term):
    monkeypatch.setattr(cli, "not_terminal", lambda *names: None)
    monkeypatch.setenv("TERM", term)
    assert cli.run([__file__]) == 2
    assert "hangview report PATH" in one_line(capsys.readouterr().err)


def test_demo_without_a_terminal_is_a_success(loaded, capsys):
    assert cli.run(["demo"]) == 0
    assert capsys.readouterr().out.startswith("LOOK FIRST")


def test_output_file_is_whole_and_keeps_its_mode(loaded, tmp_path, capsys):
    target = tmp_path / "report.txt"
    assert cli.run(["report", "-o", str(target), __file__]) == 1
    assert target.read_text().startswith("LOOK FIRST")
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~umask
    target.chmod(0o640)
    assert cli.run(["report", "--format", "json", "-o", str(target), __file__]) == 1
    assert json.loads(target.read_text())["leads"] == [3]
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert [path.name for path in tmp_path.iterdir()] == ["report.txt"]
    assert capsys.readouterr() == ("", "")


def test_output_through_a_link_keeps_the_link(loaded, tmp_path):
    (tmp_path / "real.md").write_text("old")
    (tmp_path / "link.md").symlink_to("real.md")
    cli.run(["report", "-o", str(tmp_path / "link.md"), __file__])
    assert (tmp_path / "link.md").is_symlink()
    assert (tmp_path / "real.md").read_text().startswith("LOOK FIRST")


def test_output_to_stdout_and_to_a_device(loaded, capsys):
    assert cli.run(["report", "-o", "-", __file__]) == 1
    assert capsys.readouterr().out.startswith("LOOK FIRST")
    assert cli.run(["report", "-o", "/dev/null", __file__]) == 1


def test_output_that_cannot_be_written(loaded, tmp_path, capsys):
    assert cli.run(["report", "-o", str(tmp_path / "no/such/report.txt"), __file__]) == 2
    assert one_line(capsys.readouterr().err) == f"{tmp_path}/no/such/report.txt: cannot be written: No such file or directory"
    assert cli.run(["report", "-o", str(tmp_path), __file__]) == 2
    assert one_line(capsys.readouterr().err) == f"{tmp_path}: is a folder, not a file to write"


def test_a_full_disk_leaves_the_old_file_and_no_litter(loaded, tmp_path, capsys, monkeypatch):
    target = tmp_path / "report.txt"
    target.write_text("old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("hangview.cli_output.os.fsync", full)
    assert cli.run(["report", "-o", str(target), __file__]) == 2
    assert "No space left on device" in one_line(capsys.readouterr().err)
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["report.txt"]


def test_worksheet_is_written(loaded, capsys, monkeypatch):
    monkeypatch.setattr("hangview.worksheet.prefill", lambda made, **_: made.leads)
    monkeypatch.setattr("hangview.worksheet.to_markdown", lambda sheet: f"# {sheet}\n")
    assert cli.run(["worksheet", __file__]) == 0
    assert capsys.readouterr().out == "# (3,)\n"


def test_a_worksheet_does_not_go_into_a_folder(loaded, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("hangview.worksheet.prefill", lambda made, **_: made.leads)
    monkeypatch.setattr("hangview.worksheet.to_markdown", lambda sheet: f"# {sheet}\n")
    assert cli.run(["worksheet", __file__, "-o", str(tmp_path)]) == 2
    assert one_line(capsys.readouterr().err) == f"{tmp_path}: is a folder, not a file to write"


def test_a_worksheet_that_somebody_wrote_in_is_kept_however_often_it_is_replaced(loaded, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("hangview.worksheet.prefill", lambda made, **_: made.leads)
    monkeypatch.setattr("hangview.worksheet.to_markdown", lambda sheet: f"# {sheet}\n")
    target = tmp_path / "incident.md"
    run = ["worksheet", __file__, "-o", str(target)]
    for text in ("by hand\n", "by hand again\n"):
        target.write_text(text)
        target.chmod(0o600)
        for _ in range(2):  # the second time it holds this text already
            assert cli.run(run) == 0
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == {
        "incident.md": "# (3,)\n",
        "incident.md~": "by hand\n",
        "incident.md.~2~": "by hand again\n",
    }
    assert stat.S_IMODE((tmp_path / "incident.md~").stat().st_mode) == 0o600
    said = capsys.readouterr().err.splitlines()
    assert said[0] == f"hangview: what was in {target} before is in {target}~"
    assert said[-1] == f"hangview: what was in {target} before is in {target}.~2~"
    assert len(said) == 2


def test_worksheet_of_nothing_is_3(loaded, capsys, monkeypatch):
    loaded(nothing())
    monkeypatch.setattr("hangview.worksheet.prefill", lambda made, **_: made)
    monkeypatch.setattr("hangview.worksheet.to_markdown", lambda sheet: "blank\n")
    assert cli.run(["worksheet", __file__]) == 3
    assert capsys.readouterr() == ("blank\n", "")  # an internal error exits with 3 too


def test_cache_clear(capsys):
    place = Path(os.environ["XDG_CACHE_HOME"]) / "hangview"
    assert cli.run(["cache", "clear"]) == 0
    assert capsys.readouterr().out == f"removed 0 files from {place}\n"
    (place / "v1").mkdir(parents=True)
    (place / "v1" / "a").write_text("x")
    (place.parent / "other").write_text("stays")
    assert cli.run(["cache", "clear"]) == 0
    assert capsys.readouterr().out == f"removed 1 file from {place}\n"
    assert [path.name for path in place.parent.iterdir()] == ["other"]


def test_cache_that_is_a_link_is_left_alone(tmp_path, capsys):
    place = Path(os.environ["XDG_CACHE_HOME"]) / "hangview"
    place.parent.mkdir(parents=True)
    (tmp_path / "precious").write_text("x")
    place.symlink_to(tmp_path)
    assert cli.run(["cache", "clear"]) == 2
    assert "is a link" in one_line(capsys.readouterr().err)
    assert (tmp_path / "precious").exists()


class TestDefaultPlaces:
    """Without a PATH: where PyTorch writes, named."""

    @pytest.fixture(autouse=True)
    def no_tmp(self, monkeypatch, tmp_path):
        """Whatever lies in the machine's /tmp stays out; the screen is a stand-in."""
        from hangview import cli_paths

        real = cli_paths._files
        monkeypatch.setattr(cli_paths, "_files", lambda prefix: () if prefix.startswith("/tmp/nccl") else real(prefix))
        monkeypatch.setattr(cli, "not_terminal", lambda *names: None)
        self.seen: list[tuple[str, ...]] = []
        monkeypatch.setattr("hangview.tui.run", lambda paths, options, ui: self.screen(paths))
        self.home = Path(os.environ["HOME"])

    def screen(self, paths: tuple[str, ...]) -> int:
        """Stands in for the screen."""
        self.seen.append(paths)
        return 0

    def write(self, prefix: Path, *ranks: int | str) -> None:
        """Files under a prefix."""
        for rank in ranks:
            path = Path(f"{prefix}{rank}")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"x")

    def test_none_has_any(self, capsys):
        assert cli.run([]) == 3
        says = one_line(capsys.readouterr().err)
        assert "/torch/comm_lib_trace_rank_*" in says
        assert "/torch/nccl_trace_rank_*" in says
        assert "/tmp/nccl_trace_rank_*" in says
        assert not self.seen

    def test_ranks_come_in_order_and_other_files_do_not(self, capsys):
        prefix = self.home / ".cache/torch/comm_lib_trace_rank_"
        self.write(prefix, 10, 9, 0)
        self.write(prefix, "1.pipe", "x", "²")
        assert cli.run([]) == 0
        assert self.seen == [(f"{prefix}0", f"{prefix}9", f"{prefix}10")]
        assert one_line(capsys.readouterr().err) == (
            f"no PATH was given: reading {prefix}* (3 files, default of torch 2.11-2.15)"
        )

    def test_the_variable_comes_first_and_the_rest_is_named(self, monkeypatch, tmp_path, capsys):
        monkeypatch.setenv("TORCH_FR_DUMP_TEMP_FILE", str(tmp_path / "job_"))
        monkeypatch.setenv("TORCH_NCCL_DEBUG_INFO_TEMP_FILE", str(tmp_path / "old_"))
        self.write(tmp_path / "job_", 0, 1)
        self.write(tmp_path / "old_", 0)
        assert cli.run([]) == 0
        assert self.seen == [(str(tmp_path / "job_0"), str(tmp_path / "job_1"))]
        says = one_line(capsys.readouterr().err)
        assert "TORCH_FR_DUMP_TEMP_FILE" in says
        assert f"not read: {tmp_path}/old_* (1 files)" in says

    def test_a_file_named_without_a_rank(self, monkeypatch, tmp_path):
        monkeypatch.setenv("TORCH_FR_DUMP_TEMP_FILE", str(tmp_path / "dump-7"))
        self.write(tmp_path / "dump-7", "")
        assert cli.run([]) == 0
        assert self.seen == [(str(tmp_path / "dump-7"),)]


def test_stdout_gets_utf8_whatever_the_locale(loaded, monkeypatch, tmp_path):
    loaded(incident(replace(NOT_REQUESTED, summary="1,024 × Float"), leads=(3,)))
    with (tmp_path / "out").open("w", encoding="ascii") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        assert cli.run(["report", __file__]) == 1
    assert "1,024 × Float" in (tmp_path / "out").read_text("utf-8")


def test_not_enough_evidence_is_never_success(loaded):
    loaded(incident(verdict=Verdict.NOT_ENOUGH_EVIDENCE))
    assert cli.run(["report", __file__]) == 3
