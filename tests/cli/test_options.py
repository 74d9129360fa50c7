"""What is typed becomes what the reader and the screen get."""

from __future__ import annotations

import pytest

from hangview import cli
from hangview.schema import Limits, ReadOptions
from hangview.tui import UiOptions
from tests.report.build import one_lead


@pytest.fixture
def calls(monkeypatch):
    """What load() was called with; it answers with a hand-made incident."""
    seen = []

    def load(paths, options, on_progress, listing=None):
        seen.append((tuple(paths), options))
        on_progress(1, 1)
        return one_lead()

    monkeypatch.setattr("hangview.loading.load_incident", load)
    return seen


def test_defaults(calls, tmp_path):
    assert cli.run(["report", str(tmp_path)]) == 1
    assert calls == [((str(tmp_path),), ReadOptions())]


def test_every_reading_option(calls, tmp_path):
    typed = [
        "--prefix",
        "dump_",
        "--rank-regex",
        r"r(?P<rank>\d+)",
        "--attempt",
        "2",
        "--group-world-size",
        "4",
        "--workers",
        "3",
    ]
    typed += [
        "--no-cache",
        "--max-file-size",
        "2G",
        "--max-entries",
        "10",
        "--no-logs",
        "--follow-symlinks",
        str(tmp_path),
        str(tmp_path),
    ]
    cli.run(["report", *typed])
    limits = Limits(file_bytes=2 << 30, entries=10, unpacked_bytes=2 << 30)
    wanted = ReadOptions("dump_", r"r(?P<rank>\d+)", 2, 4, False, 3, False, follow_symlinks=True, limits=limits)
    assert calls == [((str(tmp_path), str(tmp_path)), wanted)]


@pytest.mark.parametrize(
    ("typed", "size"),
    [("1000", 1000), ("1k", 1024), ("512K", 512 << 10), ("256M", 256 << 20), ("1GiB", 1 << 30), ("2 gb", 2 << 30)],
)
def test_sizes(calls, tmp_path, typed, size):
    cli.run(["check", "--max-file-size", typed, str(tmp_path)])
    assert calls[0][1].limits.file_bytes == size


@pytest.mark.parametrize("typed", ["", "M", "0", "-5", "1.5G", "12Q", "9" * 20])
def test_sizes_that_are_none(calls, tmp_path, capsys, typed):
    assert cli.run(["check", "--max-file-size", typed, str(tmp_path)]) == 2
    assert "is no size like 256M" in capsys.readouterr().err
    assert not calls


@pytest.mark.parametrize(
    ("pattern", "says"),
    [("(", "is no regular expression"), (r"(\d+)", "has neither {rank} nor a group (?P<rank>...)")],
)
def test_patterns_that_give_no_rank(calls, tmp_path, capsys, pattern, says):
    assert cli.run(["report", "--rank-regex", pattern, str(tmp_path)]) == 2
    assert says in capsys.readouterr().err
    assert not calls


def test_template_is_passed_on(calls, tmp_path):
    cli.run(["report", "--rank-regex", "x_{host}_{rank}", str(tmp_path)])
    assert calls[0][1].rank_regex == "x_{host}_{rank}"


def test_logs_that_lie_elsewhere_are_read_too(calls, tmp_path):
    for name in ("dumps", "logs"):
        (tmp_path / name).mkdir()
    cli.run(["report", "--logs", str(tmp_path / "logs"), str(tmp_path / "dumps")])
    assert calls[0][0] == (str(tmp_path / "dumps"), str(tmp_path / "logs"))


def test_logs_and_no_logs_exclude_each_other(calls, tmp_path, capsys):
    assert cli.run(["report", "--logs", str(tmp_path), "--no-logs", str(tmp_path)]) == 2
    assert "exclude each other" in capsys.readouterr().err


def test_screen_defaults(screens, tmp_path):
    assert cli.run([str(tmp_path)]) == 0
    assert screens == [((str(tmp_path),), ReadOptions(), UiOptions())]


def test_screen_options(screens, tmp_path):
    cli.run(["--no-mouse", "--ascii", "--no-watch", "--poll", "7.5", "--lang", "ko", "--prefix", "x", str(tmp_path)])
    wanted = UiOptions(mouse=False, ascii=True, watch=False, poll=7.5, language="ko")
    assert screens == [((str(tmp_path),), ReadOptions(prefix="x"), wanted)]


def test_settings_from_the_environment(screens, tmp_path, monkeypatch):
    for name, value in {"NO_MOUSE": "1", "ASCII": "1", "POLL": "9", "WORKERS": "2", "NO_CACHE": "1"}.items():
        monkeypatch.setenv(f"HANGVIEW_{name}", value)
    cli.run([str(tmp_path)])
    assert screens == [((str(tmp_path),), ReadOptions(workers=2, cache=False), UiOptions(mouse=False, ascii=True, poll=9.0))]
    cli.run([str(tmp_path), "--poll", "3"])
    assert screens[1][2].poll == 3.0


def test_exit_code_of_the_screen_is_passed_on(screens, tmp_path, monkeypatch):
    monkeypatch.setattr("hangview.tui.run", lambda paths, options, ui: 129)
    assert cli.run([str(tmp_path)]) == 129


@pytest.mark.parametrize(("screen", "code"), [(0, 0), (1, 0), (3, 0), (2, 2), (143, 143)])
def test_demo_is_a_success_whatever_its_verdict(screens, monkeypatch, screen, code):
    monkeypatch.setattr("hangview.tui.run", lambda paths, options, ui: screen)
    assert cli.run(["demo"]) == code


def test_demo_opens_the_screen_over_the_bundled_files(screens):
    assert cli.run(["demo", "--ascii"]) == 0
    (paths, options, ui) = screens[0]
    assert len(paths) == 1
    assert paths[0].endswith("data")
    assert options.cache is False
    assert ui == UiOptions(ascii=True, watch=False, demo=True)
