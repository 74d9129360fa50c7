"""The program in a real terminal: what it draws, how it ends, and that it leaves the terminal as it was."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.terminal.terminal import RUN, Terminal

pytestmark = pytest.mark.terminal

FIXTURES = Path(__file__).parents[2] / "fixtures"
HANG = str(FIXTURES / "skipped-one")
HEALTHY = str(FIXTURES / "healthy")


def answered(terminal: Terminal) -> bool:
    """The files were read to the end: there is an answer, and the banner no longer says that it reads."""
    text = terminal.text()
    return any(word in text for word in ("LOOK FIRST", "NO RANK NAMED", "NO HANG SEEN", "NOT ENOUGH EVIDENCE")) and not any(
        word in text for word in ("reading", "comparing", "nothing to look at yet")
    )


@pytest.mark.parametrize(("folder", "code"), [(HANG, 1), (HEALTHY, 0)])
def test_quits_with_the_verdict_and_restores_the_terminal(folder, code):
    with Terminal([*RUN, folder]) as terminal:
        terminal.wait_for(lambda: answered(terminal))
        terminal.press("q")
        assert terminal.finish() == code
        assert terminal.restored()


def test_an_empty_folder_has_words(tmp_path):
    with Terminal([*RUN, str(tmp_path)]) as terminal:
        terminal.wait_for("nothing was found under")
        terminal.press("\x11")  # ^Q
        assert terminal.finish() == 3
        assert terminal.restored()
        assert b"no dump and no log was found" in terminal.raw


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT])
def test_signals_end_it_cleanly(number):
    with Terminal([*RUN, HANG]) as terminal:
        terminal.wait_for(lambda: answered(terminal))
        os.kill(terminal.pid, number)
        assert terminal.finish() == 128 + number
        assert terminal.restored()
        assert b"Traceback" not in terminal.raw


def test_a_dropped_line_ends_it(tmp_path):
    """ssh is gone: the screen cannot be written any more, and still nothing hangs."""
    with Terminal([*RUN, HANG]) as terminal:
        terminal.wait_for(lambda: answered(terminal))
        terminal.hang_up()
        assert terminal.finish() == 128 + signal.SIGHUP


def test_no_color_writes_no_colour():
    with Terminal([*RUN, HANG], env={"NO_COLOR": "1"}) as terminal:
        terminal.wait_for(lambda: answered(terminal))
        terminal.press("q")
        terminal.finish()
        for code in (b"[38;", b";38;", b"[48;", b";48;", b"[31m", b"[33m"):
            assert code not in terminal.raw


def test_an_empty_no_color_means_colours():
    with Terminal([*RUN, HANG], env={"NO_COLOR": ""}) as terminal:
        terminal.wait_for(lambda: answered(terminal))
        terminal.press("q")
        terminal.finish()
        assert b"38;" in terminal.raw


@pytest.mark.parametrize("env", [{"LANG": "C"}, {"LANG": ""}, {"LC_ALL": "POSIX"}])
def test_without_utf8_only_ascii_is_drawn(env):
    with Terminal([*RUN, HANG], env=env) as terminal:
        terminal.wait_for(lambda: answered(terminal))
        terminal.press("\r?")
        terminal.wait_for("help | esc closes")
        assert terminal.raw.isascii()


def test_a_dumb_terminal_is_sent_to_the_report():
    with Terminal([*RUN, HANG], env={"TERM": "dumb"}) as terminal:
        assert terminal.finish() == 2
        assert b"hangview report" in terminal.raw
        assert b"\x1b" not in terminal.raw


def test_without_a_terminal_it_says_so_and_does_not_hang():
    done = subprocess.run([*RUN, HANG], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "hangview report" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_no_mouse_asks_for_none():
    with Terminal([*RUN, "--no-mouse", HANG]) as terminal:
        terminal.wait_for(lambda: answered(terminal))
        assert b"\x1b[?1003h" not in terminal.raw
        terminal.press(b"\x1bOQ")  # F2
        terminal.wait_for("mouse on")
        terminal.wait_for(lambda: b"\x1b[?1003h" in terminal.raw)
        terminal.press("q")
        terminal.finish()
        assert terminal.restored()


def test_another_size_keeps_the_answer():
    with Terminal([*RUN, HANG], size=(120, 40)) as terminal:
        terminal.wait_for(lambda: answered(terminal))
        terminal.resize(60, 20)
        terminal.wait_for(lambda: "│" not in terminal.text().splitlines()[0] and "3:call" in terminal.text())
        terminal.press("q")
        assert terminal.finish() == 1


def test_a_key_costs_little_over_ssh():
    """Of a step only the cells that change are sent: 1.5 kB at most at 120 x 40, and a whole pane costs less than a screen."""
    with Terminal([*RUN, "--no-watch", HANG], size=(120, 40)) as terminal:
        terminal.wait_for(lambda: answered(terminal))
        first = len(terminal.raw)
        terminal.press("h")
        terminal.wait_for("3:call 39")
        for number, seq in ((38, "h"), (37, "h"), (38, "l")):
            before = len(terminal.raw)
            terminal.press(seq)
            terminal.wait_for(f"3:call {number}")
            rest(terminal)
            assert len(terminal.raw) - before < 1_500
        before = len(terminal.raw)
        terminal.press("5")
        terminal.wait_for("5:who waits")
        rest(terminal)
        assert len(terminal.raw) - before < first / 2
        terminal.press("\x11")
        terminal.finish()


def rest(terminal: Terminal) -> None:
    """Take what comes until nothing does."""
    before = -1
    while before != len(terminal.raw):
        before = len(terminal.raw)
        for _ in range(6):
            terminal.read()


def test_redrawing_shows_the_same_screen():
    """^L sends everything anew: what was sent cell by cell before was the same."""
    with Terminal([*RUN, "--no-watch", HANG], size=(120, 40)) as terminal:
        terminal.wait_for(lambda: answered(terminal))
        for keys in ("hjl", "nN5j", "4j", "2u-+"):
            terminal.press(keys)
            rest(terminal)
            shown = terminal.text()
            terminal.screen.erase_in_display(2)
            terminal.press("\x0c")
            rest(terminal)
            assert terminal.text() == shown
        terminal.press("\x11")
        terminal.finish()


def test_a_new_dump_is_read_while_watching(tmp_path):
    """A rank's dump that arrives late turns "no dump" into an answer, and the cursor stays where it is."""
    for file in Path(HANG).iterdir():
        if file.name[-1].isdigit() and not file.name.endswith("2"):
            (tmp_path / file.name).write_bytes(file.read_bytes())
    with Terminal([*RUN, "--poll", "0.3", str(tmp_path)], size=(120, 40)) as terminal:
        terminal.wait_for(lambda: answered(terminal) and "dumps 3/4" in terminal.text())
        terminal.press("h")
        late = next(file for file in Path(HANG).iterdir() if file.name.endswith("2"))
        (tmp_path / late.name).write_bytes(late.read_bytes())
        terminal.wait_for(lambda: "dumps 4/4" in terminal.text() and answered(terminal))
        terminal.press("q")
        assert terminal.finish() == 1


def test_a_fault_of_ours_is_one_line(tmp_path):
    """No traceback on the screen: the command line turns it into one line after the terminal was restored."""
    broken = (
        "import sys, hangview.tui.main.screen as s\n"
        "def fail(self): raise RuntimeError('boom')\n"
        "s.MainScreen.action_unfold = fail\n"
        "from hangview.cli import run\n"
        f"sys.exit(run([{HANG!r}]))\n"
    )
    with Terminal([sys.executable, "-c", broken]) as terminal:
        terminal.wait_for(lambda: answered(terminal))
        terminal.press("u")
        assert terminal.finish() == 3
        assert terminal.restored()
        assert b"boom" in terminal.raw
        assert b"Traceback" not in terminal.raw


def test_stderr_may_go_to_a_file(tmp_path):
    """textual draws on stderr; where that is a file the screen is drawn on stdout, and the file holds our lines alone."""
    log = tmp_path / "log"
    with Terminal(["sh", "-c", f"exec {shlex.join([*RUN, HANG])} 2>{log}"]) as terminal:
        terminal.wait_for(lambda: answered(terminal))
        terminal.press("q")
        assert terminal.finish() == 1
        assert terminal.restored()
    assert log.read_bytes() == b""


def test_what_is_said_at_the_end_is_true_at_the_end(tmp_path):
    """Dumps arrive in a folder that was empty at the start: no word of an empty folder, and the verdict of the dumps."""
    with Terminal([*RUN, "--poll", "0.3", str(tmp_path)], size=(120, 40)) as terminal:
        terminal.wait_for("nothing was found under")
        shutil.copytree(HANG, tmp_path, dirs_exist_ok=True)
        terminal.wait_for(lambda: "dumps 4/4" in terminal.text() and answered(terminal))
        terminal.press("q")
        assert terminal.finish() == 1
        assert b"empty" not in terminal.raw


DEAD = """
import sys, threading
import hangview.session, hangview.tui.memory, hangview.worksheet.files, hangview.worksheet.drafts, hangview.worksheet.store
never = threading.Event()
def hang(*_, **__):
    never.wait()
look = hangview.session.Session.look
looks = []
def look_once(*args, **options):
    looks.append(1)
    return look(*args, **options) if len(looks) == 1 else hang()
hangview.session.Session.look = look_once
hangview.tui.memory.load = hangview.tui.memory.save = hang
hangview.worksheet.files.replace_file = hangview.worksheet.files.private_folder = hang
hangview.worksheet.drafts.read_draft = hang
hangview.worksheet.store.SheetStore.drafts = hang
from hangview.cli import run
sys.exit(run(["--no-watch", %r]))
"""


def test_a_dead_file_server_holds_no_key_and_no_end():
    """Every look after the first, and everything in the home directory, never comes back; the screen answers and ends."""
    with Terminal([sys.executable, "-c", DEAD % HANG], size=(120, 40)) as terminal:
        terminal.wait_for(lambda: answered(terminal))
        terminal.press("r")
        terminal.press("h")
        terminal.wait_for("3:call 39")
        terminal.press("w")
        terminal.wait_for("[keys]")
        terminal.press("\tlost and found")
        terminal.wait_for("lost and found")
        terminal.press("\x1bq")
        terminal.wait_for("3:call 39")
        terminal.press("\x11")
        assert terminal.finish() == 1
        assert terminal.restored()


def test_suspending_gives_the_shell_back_and_the_screen_comes_again():
    with Terminal(["sh", "-mc", f"{shlex.join([*RUN, '--no-watch', HANG])}; echo gone; read x; fg; echo code $?"]) as terminal:
        terminal.wait_for(lambda: answered(terminal))
        terminal.press("h")
        terminal.press("\x1a")
        terminal.wait_for(lambda: b"gone" in terminal.raw)
        assert terminal.restored()
        before = len(terminal.raw)
        terminal.screen.reset()
        terminal.press("\r")
        terminal.wait_for(lambda: answered(terminal) and "?:help" in terminal.text())
        assert b"\x1b[?1049h" in terminal.raw[before:]
        terminal.press("q")
        terminal.wait_for(lambda: b"code 1" in terminal.raw)


@pytest.mark.parametrize("key", ["4", "\t"])
def test_a_key_before_the_first_screen(key):
    with Terminal([*RUN, HANG]) as terminal:
        terminal.wait_for(lambda: b"\x1b[?1049h" in terminal.raw)
        terminal.press(key)
        terminal.wait_for(lambda: answered(terminal))
        terminal.press("\x11")
        assert terminal.finish() == 1
        assert b"internal error" not in terminal.raw


def test_bytes_of_another_encoding_are_passed_over():
    with Terminal([*RUN, HANG]) as terminal:
        terminal.wait_for(lambda: answered(terminal))
        terminal.press(b"\xfc")
        terminal.press(b"\xe4")
        terminal.press("4")
        terminal.wait_for("findings · ")
        terminal.press("\x11")
        assert terminal.finish() == 1
        assert terminal.restored()
        assert b"Traceback" not in terminal.raw
