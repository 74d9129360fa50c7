"""``hangview compare``: exit codes, formats and files, over real dump sets."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from hangview import cli, cli_compare

FIXTURES = Path(__file__).parents[2] / "fixtures"
HEALTHY, SKIP = str(FIXTURES / "real-2.15.0-healthy"), str(FIXTURES / "real-2.15.0-skip")


@pytest.mark.parametrize(
    ("a", "b", "code"),
    [
        ("real-2.15.0-healthy", "real-2.15.0-healthy", 0),
        ("real-2.15.0-healthy", "real-2.15.0-skip", 1),
        ("nccl-stuck-wrapped", "nccl-stuck", 3),
        ("hsdp-32", "gloo2.15-ops", 3),  # no group of the one is a group of the other
        ("real-2.15.0-healthy", "logs", 3),
    ],
)
def test_the_exit_code_says_whether_they_differ(a, b, code, capsys):
    arguments = ["compare", str(FIXTURES / a), str(FIXTURES / b)]
    assert cli.run(arguments) == code
    assert capsys.readouterr().err == ""
    assert cli.run([*arguments, "--exit-zero"]) == 0


def test_a_cut_file_is_named_beside_the_answer(tmp_path, capsys):
    """Every call that both hold agrees, so it is 0; that not all were compared is in the first line."""
    shutil.copytree(HEALTHY, tmp_path / "cut")
    dump = next(path for path in sorted((tmp_path / "cut").iterdir()) if path.name.endswith("_2"))
    dump.write_bytes(dump.read_bytes()[: dump.stat().st_size // 2])
    assert cli.run(["compare", HEALTHY, str(tmp_path / "cut")]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("NO DIFFERENCE SEEN")
    assert "of rank 2 (cut in B)" in first


@pytest.mark.parametrize(
    "arguments", [[], [HEALTHY], [HEALTHY, HEALTHY, HEALTHY], [HEALTHY, "no-such"], [HEALTHY, SKIP, "--format", "x"]]
)
def test_usage(arguments, capsys):
    assert cli.run(["compare", *arguments]) == 2
    found = capsys.readouterr()
    assert found.out == ""
    assert len(found.err.splitlines()) == 1


def test_formats(capsys):
    cli.run(["compare", HEALTHY, SKIP])
    assert capsys.readouterr().out.startswith("DIFFERS FIRST  all_reduce 10 of default_pg: rank 2: ")
    cli.run(["compare", HEALTHY, SKIP, "--format", "markdown"])
    assert capsys.readouterr().out.startswith("# hangview compare\n")
    cli.run(["compare", HEALTHY, SKIP, "--format", "json"])
    assert json.loads(capsys.readouterr().out)["differences"][0]["seq"] == 10


def test_the_same_folder_twice_is_said_however_it_is_typed(capsys, monkeypatch):
    monkeypatch.chdir(FIXTURES)
    assert cli.run(["compare", HEALTHY, Path(HEALTHY).name]) == 0
    assert capsys.readouterr().out.splitlines()[0].endswith("; A and B are the same files")
    cli.run(["compare", HEALTHY, SKIP])
    assert "the same files" not in capsys.readouterr().out


def test_into_a_file(tmp_path, capsys):
    target = tmp_path / "compared.txt"
    assert cli.run(["compare", HEALTHY, SKIP, "-o", str(target)]) == 1
    assert capsys.readouterr().out == ""
    assert target.read_text("utf-8").startswith("DIFFERS FIRST")


def test_without_logs_only_dumps_are_read(capsys):
    a, b = str(FIXTURES / "healthy"), str(FIXTURES / "seed-a-exit")
    cli.run(["compare", a, b, "--no-logs", "--format", "json"])
    without = json.loads(capsys.readouterr().out)
    cli.run(["compare", a, b, "--format", "json"])
    having = json.loads(capsys.readouterr().out)
    assert without["differences"] == having["differences"]
    assert without["b"]["answer"] != having["b"]["answer"]


@pytest.fixture
def opened(monkeypatch) -> list[tuple[str, str]]:
    """A terminal, and the sets for which a screen opens over it."""
    from hangview.tui import compare as screen

    sets: list[tuple[str, str]] = []

    def run(a, b, _options, ui):
        assert ui.theme == "light"
        sets.append((a, b))
        return 1

    monkeypatch.setattr(screen, "run", run)
    monkeypatch.setattr(cli_compare, "is_terminal", lambda *_: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("HANGVIEW_THEME", "light")
    return sets


def test_on_a_terminal_a_screen_opens(opened, capsys):
    assert cli.run(["compare", HEALTHY, SKIP]) == 1
    assert cli.run(["compare", HEALTHY, SKIP, "--exit-zero"]) == 0
    assert opened == [(HEALTHY, SKIP)] * 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("arguments", [["--text"], ["--all"], ["--format", "text"], ["--format", "json"], ["-o", "-"]])
def test_who_asks_for_the_report_gets_it_on_a_terminal_too(arguments, opened, capsys):
    assert cli.run(["compare", HEALTHY, SKIP, *arguments]) == 1
    assert not opened
    assert capsys.readouterr().out


def test_a_dumb_terminal_gets_the_report(opened, capsys, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    assert cli.run(["compare", HEALTHY, SKIP]) == 1
    assert not opened
    assert capsys.readouterr().out.startswith("DIFFERS FIRST")
