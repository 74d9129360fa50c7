"""The program as a process: pipes that close, signals, terminals."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

#: The program with a hand-made incident in place of files; ``slow`` waits inside load() until a signal comes.
PROGRAM = """
import sys, time
import hangview.loading
from tests.report.build import one_lead

def load(paths, options, on_progress, listing=None):
    on_progress(1, 64)
    if "slow" in paths[0]:
        print("reading", flush=True)
        time.sleep(60)
    return one_lead()

hangview.loading.load_incident = load
from hangview.__main__ import main
main()
"""


def command(*args: str) -> list[str]:
    """The program as a command line."""
    return [sys.executable, "-c", PROGRAM, *args]


@pytest.mark.parametrize("output", ["text", "markdown", "json"])
def test_a_reader_that_goes_away_is_no_error(output):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command("report", "--format", output, __file__), cwd=ROOT, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert done.returncode == 141
    assert done.stderr == b""


def test_output_may_be_a_device_that_leads_to_a_pipe():
    whole = subprocess.run(command("report", __file__), cwd=ROOT, capture_output=True, check=False)
    done = subprocess.run(command("report", "-o", "/dev/stdout", __file__), cwd=ROOT, capture_output=True, check=False)
    assert done.stdout == whole.stdout
    assert whole.stdout
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command("report", "-o", "/dev/stdout", __file__), cwd=ROOT, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


def test_help_into_a_closed_pipe():
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command("--help"), cwd=ROOT, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert done.returncode == 141
    assert done.stderr == b""


def test_the_shell_can_complete_commands_and_options():
    env = {**os.environ, "_HANGVIEW_COMPLETE": "bash_complete", "COMP_CWORD": "1"}
    for word, wanted in (("rep", "plain,report"), ("--no-m", "plain,--no-mouse"), ("", "file,")):
        env["COMP_WORDS"] = f"hangview {word}"
        done = subprocess.run(command(), cwd=ROOT, capture_output=True, text=True, env=env)
        assert done.returncode == 0
        assert wanted in done.stdout.splitlines()
        assert "(screen)" not in done.stdout


def test_a_closed_stdout_is_said():
    done = subprocess.run(
        [*("sh", "-c", 'exec "$@" >&-', "sh"), *command("report", __file__)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr == "hangview: stdout: is closed\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_behind_stdout():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command("report", __file__), cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr == "hangview: stdout: No space left on device\n"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)])
def test_signals(tmp_path, number, code):
    slow = tmp_path / "slow"
    slow.write_text("")
    with subprocess.Popen(
        command("report", str(slow)), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "reading\n"
        process.send_signal(number)
        _, err = process.communicate(timeout=30)
    assert process.returncode == code
    assert "Traceback" not in err


def test_interrupt_while_importing_shows_no_traceback():
    code = "import builtins, sys\nreal = builtins.__import__\n"
    code += "def slow(name, *rest):\n    if name == 'click': raise KeyboardInterrupt\n    return real(name, *rest)\n"
    code += "builtins.__import__ = slow\nfrom hangview.__main__ import main\nmain()"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "")


def test_stdin_is_not_touched_and_stderr_is_empty_in_a_pipe():
    done = subprocess.run(command("report", __file__), cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout.startswith("LOOK FIRST")
    assert "\x1b" not in done.stdout
    assert done.stderr == ""


def in_terminal(*args: str, columns: int = 60, **environment: str) -> tuple[int, str]:
    """Run the program on a pseudo terminal; its exit code and everything it wrote."""
    leader, follower = pty.openpty()
    env = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm-256color", **environment}
    with subprocess.Popen(command(*args), cwd=ROOT, stdin=follower, stdout=follower, stderr=follower, env=env) as process:
        os.close(follower)
        seen = b""
        while True:
            try:
                part = os.read(leader, 65536)
            except OSError:  # Linux says so when the last writer is gone
                break
            if not part:
                break
            seen += part
        process.wait(timeout=30)
    os.close(leader)
    return process.returncode, seen.decode()


@pytest.mark.terminal
def test_a_terminal_gets_colour_folded_lines_and_progress():
    code, seen = in_terminal("report", __file__)
    assert code == 1
    assert "reading 1 of 64" in seen
    assert "\x1b[1m" in seen
    assert "\r\n            all_reduce" in seen or "\r\n            " in seen


@pytest.mark.terminal
def test_a_dumb_terminal_gets_neither():
    code, seen = in_terminal("report", __file__, TERM="dumb")
    assert code == 1
    assert "\x1b" not in seen
    assert "reading" not in seen


@pytest.mark.terminal
def test_an_ascii_locale_still_prints():
    code, seen = in_terminal("check", __file__, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert code == 0
    assert "Traceback" not in seen
