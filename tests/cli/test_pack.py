"""``hangview pack`` and what opens a pack, from the command line."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from hangview import cli
from tests.dumps.job import plain, write

FIXTURES = Path(__file__).parents[2] / "fixtures"


@pytest.fixture
def job(tmp_path, monkeypatch):
    """Rank 1 did not request call 5; paths are relative to the folder beside it."""
    for rank in range(3):
        write(tmp_path / "job" / f"rank_{rank}", plain(3, count=4 if rank == 1 else 5, open_last=rank != 1))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "job"


def output(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    code = cli.run([*args])
    out, err = capsys.readouterr()
    return code, out, err


def test_a_pack_is_opened_by_every_command(job, capsys):
    code, out, err = output(capsys, "pack", "job", "-o", "x.hvpack")
    assert (code, err) == (0, "")
    assert out.startswith("3 dumps (")
    assert " in x.hvpack (" in out
    for command in ("report", "check", "explain", "worksheet"):
        one = output(capsys, command, "--no-cache", "job")
        other = output(capsys, command, "--no-cache", "x.hvpack")
        assert one[0] == other[0]
        if command != "worksheet":  # that names the path
            assert one == other
    code, out, _ = output(capsys, "compare", "--no-cache", "job", "x.hvpack")
    assert code == 0


def test_the_json_differs_in_the_path_alone(job, capsys):
    output(capsys, "pack", "job", "-o", "x.hvpack")
    one, other = (json.loads(output(capsys, "report", "--format", "json", path)[1]) for path in ("job", "x.hvpack"))
    assert {key for key in one if one[key] != other[key]} <= {"paths"}
    assert one["sources"] == other["sources"]


def test_files_are_shown_as_they_were_typed(job, capsys):
    output(capsys, "pack", *(str(job / f"rank_{rank}") for rank in range(3)), "-o", "x.hvpack")
    code, out, _ = output(capsys, "check", "x.hvpack")
    assert code == 0
    assert f"{job}/rank_0" in out


def test_each_source_that_failed_is_a_line(job, capsys):
    (job / "rank_3").write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    (job / "rank_4").write_bytes(b"")
    code, out, _ = output(capsys, "pack", "job", "-o", "x.hvpack")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].startswith("refused     rank_3: refused: asks for ")
    assert lines[1] == "empty       rank_4: empty file (0 bytes)"
    assert len(lines) == 3


def test_nothing_that_could_be_read_is_a_pack_of_its_ledger(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "rank_0").write_bytes(b"")
    code, out, _ = output(capsys, "pack", "job", "-o", "x.hvpack")
    assert (code, out.splitlines()[0]) == (3, "empty       rank_0: empty file (0 bytes)")
    code, out, _ = output(capsys, "check", "x.hvpack")
    assert code == 3
    assert "rank_0: empty file (0 bytes)" in out


def test_a_second_run_says_what_it_did_not_read(job, capsys):
    output(capsys, "pack", "job", "-o", "x.hvpack")
    (job / "rank_0").unlink()
    write(job / "rank_1", plain(3, count=6))
    code, out, _ = output(capsys, "pack", "job", "-o", "x.hvpack")
    assert code == 0
    assert out.endswith("; not read again: 1 file; left out: 1 file no longer there\n")


def test_a_pack_is_not_replaced_by_nothing(job, capsys):
    output(capsys, "pack", "job", "-o", "x.hvpack")
    before = Path("x.hvpack").read_bytes()
    for rank in range(3):
        (job / f"rank_{rank}").unlink()
    code, out, err = output(capsys, "pack", "job", "-o", "x.hvpack")
    assert (code, out) == (3, "")
    assert err.endswith("hangview: no dump could be read, so x.hvpack was left as it was\n")
    assert Path("x.hvpack").read_bytes() == before


def test_a_damaged_earlier_pack_is_said_and_made_anew(job, capsys):
    output(capsys, "pack", "job", "-o", "x.hvpack")
    before = Path("x.hvpack").read_bytes()
    Path("x.hvpack").write_bytes(before[:-1])
    code, _, err = output(capsys, "pack", "job", "-o", "x.hvpack")
    assert (code, err) == (0, "hangview: x.hvpack: not taken over, all is read anew: a damaged pack: it ends early\n")
    assert Path("x.hvpack").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["job"], "Missing option '-o' / '--output'. (see hangview pack --help)"),
        (["-o", "x.hvpack"], "Missing argument 'PATH...'. (see hangview pack --help)"),
        (["job", "-o", "x.parquet"], "x.parquet: a pack's name ends in .hvpack, by which it is known in a folder"),
        (["job", "-o", "packs/.hvpack"], "packs/.hvpack: a pack's name ends in .hvpack, by which it is known in a folder"),
        (["none", "-o", "x.hvpack"], "none: no such file or folder"),
    ],
)
def test_what_cannot_be_is_one_line_before_anything_is_read(job, capsys, arguments, words):
    code, out, err = output(capsys, "pack", *arguments)
    assert (code, out, err) == (2, "", f"hangview: {words}\n")
    assert list(Path().iterdir()) == [Path("job")]


def test_a_folder_that_is_not_there(job, capsys):
    code, _, err = output(capsys, "pack", "job", "-o", "packs/x.hvpack")
    assert code == 2
    assert err == f"hangview: packs/x.hvpack: cannot be written: there is no folder {job.parent}/packs\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_to(job, capsys):
    Path("packs").mkdir(mode=0o555)
    code, _, err = output(capsys, "pack", "job", "-o", "packs/x.hvpack")
    assert code == 2
    assert err.endswith("may not be written to\n")


def test_a_full_disk_leaves_the_earlier_pack_and_nothing_else(job, capsys, monkeypatch):
    output(capsys, "pack", "job", "-o", "x.hvpack")
    before = Path("x.hvpack").read_bytes()
    write(job / "rank_1", plain(3, count=6))

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    code, _, err = output(capsys, "pack", "job", "-o", "x.hvpack")
    assert (code, err) == (2, "hangview: x.hvpack: cannot be written: No space left on device\n")
    assert Path("x.hvpack").read_bytes() == before
    assert {path.name for path in Path().iterdir()} == {"job", "x.hvpack"}


def test_the_mode_of_a_pack_is_that_of_other_files(job, capsys):
    mask = os.umask(0o027)
    try:
        output(capsys, "pack", "job", "-o", "x.hvpack")
    finally:
        os.umask(mask)
    assert stat.S_IMODE(Path("x.hvpack").stat().st_mode) == 0o640


def test_one_that_is_past_the_limits_is_said(job, capsys, monkeypatch):
    monkeypatch.setattr("hangview.dumps.packing.ENTRY", 1 << 30)
    code, _, err = output(capsys, "pack", "job", "-o", "x.hvpack")
    assert code == 0
    assert "is opened with a higher --max-file-size only" in err


def test_an_option_that_does_not_fit_the_files(job, capsys):
    code, _, err = output(capsys, "pack", "job", "-o", "x.hvpack", "--rank-regex", "(?P<rank>x+)")
    assert code in (0, 2, 3)
    assert "Traceback" not in err
    assert "internal error" not in err


def test_dask_that_is_not_installed_is_one_line(job, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    code, _, err = output(capsys, "pack", "job", "-o", "x.hvpack", "--dask", "tcp://127.0.0.1:8786")
    assert (code, err) == (3, "hangview: --dask needs the module distributed: pip install 'hangview[dask]'\n")


def test_bad_files_give_the_ledger_of_their_folder(tmp_path, capsys):
    for name in ("damaged-zero", "crafted-pickle"):
        target = str(tmp_path / f"{name}.hvpack")
        output(capsys, "pack", str(FIXTURES / name), "-o", target)
        one, other = (output(capsys, "check", path)[1] for path in (str(FIXTURES / name), target))
        lines = [
            [line for line in text.splitlines()[1:] if "  log  " not in line and "packs hold no logs" not in line]
            for text in (one, other)
        ]
        assert lines[0] == lines[1]
