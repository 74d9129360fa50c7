"""Settings from the file, the environment and the command line: who wins, and what is said about mistakes."""

from __future__ import annotations

import subprocess
import sys

import pytest

from hangview import cli
from hangview.schema import Limits, ReadOptions
from hangview.tui import UiOptions

FULL = """\
theme = "light"
ascii = true
mouse = false
watch = false
poll = 9
prefix = "dump_"
workers = 3
cache = false

[limits]
file_size = "2G"
entries = 10

[worksheet]
language = "ko"

[keys]
next_finding = ["n", "ctrl+n"]
"""


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes the configuration file and has it read."""

    def write(text: str | bytes) -> str:
        path = tmp_path / "my.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        monkeypatch.setenv("HANGVIEW_CONFIG", str(path))
        return str(path)

    return write


def test_everything_in_the_file_arrives(write, screens, tmp_path):
    write(FULL)
    assert cli.run([str(tmp_path)]) == 0
    limits = Limits(file_bytes=2 << 30, entries=10, unpacked_bytes=2 << 30)
    keys = (("next_finding", ("n", "ctrl+n")),)
    ui = UiOptions(mouse=False, ascii=True, watch=False, poll=9.0, language="ko", theme="light", keys=keys)
    assert screens == [((str(tmp_path),), ReadOptions(prefix="dump_", workers=3, cache=False, limits=limits), ui)]


def test_option_over_environment_over_file_over_default(write, screens, tmp_path, monkeypatch):
    write("poll = 9\nmouse = false\n")
    cli.run([str(tmp_path)])
    monkeypatch.setenv("HANGVIEW_POLL", "8")
    monkeypatch.setenv("HANGVIEW_NO_MOUSE", "0")
    cli.run([str(tmp_path)])
    cli.run(["--poll", "7", "--no-mouse", str(tmp_path)])
    monkeypatch.delenv("HANGVIEW_CONFIG")
    monkeypatch.delenv("HANGVIEW_POLL")
    cli.run([str(tmp_path)])
    assert [(ui.poll, ui.mouse) for _, _, ui in screens] == [(9.0, False), (8.0, True), (7.0, False), (None, True)]


def test_a_switch_in_the_file_can_be_taken_back(write, screens, tmp_path):
    write("ascii = true\nwatch = false\ncache = false\n")
    cli.run(["--no-ascii", "--watch", "--cache", str(tmp_path)])
    assert screens == [((str(tmp_path),), ReadOptions(), UiOptions(ascii=False))]


def test_paths_of_the_file_are_for_the_screen_without_a_path(write, screens, tmp_path, capsys):
    folder = tmp_path / "dumps"
    folder.mkdir()
    write(f"paths = ['{folder}']\n")
    cli.run([])
    cli.run([str(tmp_path)])
    assert [paths for paths, _, _ in screens] == [(str(folder),), (str(tmp_path),)]
    assert cli.run(["report"]) == 2
    assert "Missing argument" in capsys.readouterr().err


def test_the_usual_place_is_read(screens, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    (tmp_path / "xdg/hangview").mkdir(parents=True)
    (tmp_path / "xdg/hangview/config.toml").write_text("poll = 9")
    cli.run([str(tmp_path)])
    assert screens[0][2].poll == 9.0


BROKEN = [
    ("poll = 3\npool = = 3\n", ":2: "),
    ("a = 1\na = 2\n", ":2: "),
    ("poll = 3\n\n[limits\n", ":3: "),
    ('theme = "dark', ":1: "),
    ("poll = 3\ntheme =\n", ':2: theme: nothing stands after the "="'),
    ("theme = # dark", ':1: theme: nothing stands after the "="'),
    ("theme = dark\n", ':1: theme: text stands in quotes, theme = "dark"'),
    (b"# ok\ntheme = '\xff'\n", ":2: is not UTF-8"),
    ("mouse = true\npoll = 'x'\n", ":2: poll: 'x' is not a number from 0.1 to 3600"),
    ("[limits]\nentries = 0\n", ":2: limits.entries: 0 is not a whole number from 1 to 1000000000"),
    ("limits.entries = 0\n", ":1: limits.entries: 0 is not a whole number"),
    ("[keys]\nnext_finding = 'w'\n", ":1: keys: next_finding: the key 'w' is that of worksheet too"),
    ("x = " + "[" * 3000, ":"),
    ("#" * (1 << 20) + "\n", ": is larger than 1 MB"),
]


@pytest.mark.parametrize(("text", "says"), BROKEN, ids=range(len(BROKEN)))
@pytest.mark.parametrize("command", [["config", "validate"], ["config", "show"], ["report", __file__]])
def test_a_broken_file_is_one_line_with_its_number(write, capsys, text, says, command):
    path = write(text)
    assert cli.run(command) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"hangview: {path}{says}")
    assert err.count("\n") == 1


UNKNOWN = [
    ("pol = 3\n", '1: unknown key "pol"; did you mean poll?'),
    ("poll = 3\n[worksheet]\nlanguag = 'ko'\n", '3: unknown key "worksheet.languag"; did you mean worksheet.language?'),
    ("entries = 3\n", '1: unknown key "entries"; did you mean limits.entries?'),
    ("[limit]\nentries = 3\n", "1: unknown table [limit]; did you mean limits?"),
    ("limits = 3\n", '1: "limits" is a table: write [limits], or limits.key = value'),
    ("\n[keys]\nnext_findin = 'x'\n", '3: unknown action "next_findin"; did you mean next_finding?'),
    ("zzz = 1\n", '1: unknown key "zzz"'),
]


@pytest.mark.parametrize(("text", "says"), UNKNOWN)
def test_what_is_not_known_is_named_with_the_nearest(write, capsys, text, says):
    path = write(text)
    assert cli.run(["config", "validate"]) == 2
    assert capsys.readouterr() == ("", f"hangview: {path}:{says}\n")


def test_what_is_not_known_stops_nobody(write, screens, capsys, tmp_path):
    path = write("pol = 3\npoll = 4\n")
    assert cli.run([str(tmp_path)]) == 0
    assert screens[0][2].poll == 4.0
    assert capsys.readouterr().err == f'hangview: {path}:1: unknown key "pol"; did you mean poll?\n'


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("POLL", "x", "HANGVIEW_POLL: 'x' is not a number from 0.1 to 3600"),
        ("NO_MOUSE", "perhaps", "HANGVIEW_NO_MOUSE: 'perhaps' is neither 1 nor 0"),
        ("CONFIG", "/no/such.toml", "/no/such.toml: no such file (HANGVIEW_CONFIG names it)"),
        ("CONFIG", "/", "/: cannot be read: Is a directory"),
    ],
)
def test_wrong_variables(monkeypatch, capsys, name, value, says):
    monkeypatch.setenv(f"HANGVIEW_{name}", value)
    assert cli.run(["report", __file__]) == 2
    assert capsys.readouterr().err == f"hangview: {says}\n"


def test_a_variable_that_means_nothing_is_said_and_decides_nothing(monkeypatch, capsys):
    monkeypatch.setenv("HANGVIEW_MOUSE", "0")
    monkeypatch.setenv("HANGVIEW_POLL", "")
    assert cli.run(["config", "validate"]) == 0
    out, err = capsys.readouterr()
    assert out.endswith("hangview/config.toml: no such file, so the defaults hold\n")
    assert err.startswith("hangview: HANGVIEW_MOUSE is no setting; did you mean HANGVIEW_")


def test_validate_says_that_all_is_right(write, capsys):
    path = write(FULL)
    assert cli.run(["config", "validate"]) == 0
    assert capsys.readouterr() == (f"{path}: is right\n", "")


def test_path_is_printed_even_where_the_file_is_broken(write, capsys):
    path = write("= =")
    assert cli.run(["config", "path"]) == 0
    assert capsys.readouterr().out == f"{path}\n"


def test_show_says_where_values_come_from_and_can_be_read_again(write, capsys, monkeypatch):
    path = write(FULL)
    monkeypatch.setenv("HANGVIEW_POLL", "8")
    assert cli.run(["config", "show"]) == 0
    shown = capsys.readouterr().out
    lines = {line.split(" = ")[0]: line for line in shown.splitlines()}
    assert lines["poll"].split("  # ") == ["poll = 8.0".ljust(lines["poll"].index("  #")), "HANGVIEW_POLL"]
    assert lines["limits.entries"].endswith(f"  # {path}:12")
    assert lines["follow_symlinks"].endswith("  # default")
    monkeypatch.delenv("HANGVIEW_POLL")
    write(shown)
    assert cli.run(["config", "show"]) == 0
    again = capsys.readouterr().out
    assert [line.split("  #")[0].rstrip() for line in again.splitlines()] == [
        line.split("  #")[0].rstrip() for line in shown.splitlines()
    ]


@pytest.mark.parametrize(
    "arguments", [["--version"], ["--help"], ["report", "--help"], ["config", "path"], ["completion", "bash"]]
)
def test_what_needs_no_setting_reads_no_file(write, arguments):
    write("= =")
    assert cli.run(arguments) == 0


def test_no_toml_is_imported_where_there_is_no_file(tmp_path):
    code = "import sys\nfrom hangview import cli\ncli.run(['report', '/no/such'])\nsys.exit('tomllib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


@pytest.mark.parametrize("group", ["config", "cache"])
def test_a_group_without_a_command_is_one_line(capsys, group):
    assert cli.run([group]) == 2
    assert capsys.readouterr().err == f"hangview: Missing command. (see hangview {group} --help)\n"
