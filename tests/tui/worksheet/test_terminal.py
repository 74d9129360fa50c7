"""In a real terminal: whatever ends the program, what was typed is there afterwards."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from hangview.worksheet import drafts
from tests.terminal.terminal import RUN, Terminal

pytestmark = pytest.mark.terminal

ROOT = Path(__file__).parents[3]
RUN_ID = "night-shift-4711"
KEPT = f"- **Run identifier:** {RUN_ID}"


class Desk:
    """A folder of dumps and the state directory of whoever looks at it."""

    def __init__(self, base: Path) -> None:
        self.folder = base / "seed-a"
        self.state = base / "state"
        shutil.copytree(ROOT / "fixtures" / "seed-a", self.folder)

    def terminal(self, **env: str) -> Terminal:
        return Terminal([*RUN, str(self.folder)], size=(80, 24), env={"XDG_STATE_HOME": str(self.state), **env})

    def paths(self) -> list[Path]:
        return sorted((self.state / "hangview" / "drafts").glob("*/*.md"))

    def text(self) -> str:
        return "".join(path.read_text() for path in self.paths())


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def open_worksheet(terminal: Terminal, until: str = "Run identifier") -> None:
    terminal.wait_for(lambda: "LOOK FIRST" in terminal.text() and "reading" not in terminal.text())
    terminal.press("w")
    terminal.wait_for(until)


def type_into_it(terminal: Terminal, text: str) -> None:
    terminal.press("\t")
    terminal.wait_for("[typing]")
    terminal.press(text)
    terminal.wait_for(text)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT])
def test_an_end_by_signal_loses_no_letter(desk: Desk, number: signal.Signals) -> None:
    with desk.terminal() as terminal:
        open_worksheet(terminal)
        type_into_it(terminal, RUN_ID)
        os.kill(terminal.pid, number)
        assert terminal.finish() == 128 + number
    assert KEPT in desk.text()


def test_a_dropped_line_loses_no_letter(desk: Desk) -> None:
    with desk.terminal() as terminal:
        open_worksheet(terminal)
        type_into_it(terminal, RUN_ID)
        terminal.hang_up()
        assert terminal.finish() == 128 + signal.SIGHUP
    assert KEPT in desk.text()


def test_kill_loses_nothing_that_was_kept_and_the_draft_is_offered_and_gone_on_with(desk: Desk) -> None:
    with desk.terminal() as terminal:
        open_worksheet(terminal)
        type_into_it(terminal, RUN_ID)
        terminal.wait_for(lambda: RUN_ID in desk.text())
        terminal.press("-and-more")
        terminal.wait_for(f"{RUN_ID}-and-more")
        os.kill(terminal.pid, signal.SIGKILL)
        assert terminal.finish() == -signal.SIGKILL
    (path,) = desk.paths()
    draft = drafts.read_draft(path)
    assert draft is not None
    assert not draft.open_elsewhere
    assert draft.sheet["run"].typed.startswith(RUN_ID)
    with desk.terminal() as terminal:
        open_worksheet(terminal, "a draft of this worksheet is there")
        terminal.press("\r")
        terminal.wait_for(f"* Run identifier               {RUN_ID}")


def test_a_state_folder_that_cannot_be_is_said_and_the_text_is_kept_elsewhere(desk: Desk, tmp_path: Path) -> None:
    desk.state.write_text("a file, and no folder\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with desk.terminal(TMPDIR=str(elsewhere)) as terminal:
        open_worksheet(terminal)
        type_into_it(terminal, RUN_ID)
        terminal.wait_for(lambda: "the draft is kept in " in " ".join(terminal.text().split()))
        os.kill(terminal.pid, signal.SIGTERM)
        assert terminal.finish() == 128 + signal.SIGTERM
    assert any(KEPT in path.read_text() for path in elsewhere.rglob("*.md"))


def test_a_full_disk_is_said_while_one_types(desk: Desk) -> None:
    """Both places of drafts are on a disk without room: the loss is announced before it happens."""
    desk.state.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(desk.state)]
    if shutil.which("mount") is None or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("no right to mount a tmpfs")
    try:
        room = os.statvfs(desk.state)
        (desk.state / "hog").write_bytes(b"x" * (room.f_bavail * room.f_frsize))
        with desk.terminal(TMPDIR=str(desk.state)) as terminal:
            open_worksheet(terminal)
            type_into_it(terminal, RUN_ID)
            terminal.wait_for(lambda: "no space left on the disk" in " ".join(terminal.text().split()))
            (desk.state / "hog").unlink()
            terminal.press("-still")
            terminal.wait_for(lambda: f"{RUN_ID}-still" in desk.text())  # once there is room it is kept
            os.kill(terminal.pid, signal.SIGTERM)
            assert terminal.finish() == 128 + signal.SIGTERM
    finally:
        subprocess.run(["umount", "-l", str(desk.state)], check=True)


def test_two_programs_on_one_folder_keep_both_texts(desk: Desk) -> None:
    with desk.terminal() as first, desk.terminal() as second:
        open_worksheet(first)
        type_into_it(first, "from-the-first")
        first.wait_for(lambda: "from-the-first" in desk.text())
        open_worksheet(second, "open in another hangview")
        second.press("n")
        second.wait_for("Run identifier")
        type_into_it(second, "from-the-second")
        first.press("-still")
        first.wait_for("from-the-first-still")
        for terminal in (second, first):
            os.kill(terminal.pid, signal.SIGHUP)
            assert terminal.finish() == 128 + signal.SIGHUP
    assert "- **Run identifier:** from-the-first-still" in desk.text()
    assert "- **Run identifier:** from-the-second" in desk.text()


def test_sections_fields_and_texts_in_one_write(desk: Desk) -> None:
    """Escape right before a digit is no alt-digit, tab moves the focus before the text comes, no text is a command."""
    with desk.terminal() as terminal:
        open_worksheet(terminal)
        terminal.press("".join(f"{number}\tsq note {number}\x1b" for number in range(1, 9)))
        terminal.wait_for(lambda: "sq note 8" in desk.text())
        os.kill(terminal.pid, signal.SIGTERM)
        assert terminal.finish() == 128 + signal.SIGTERM
    (path,) = desk.paths()
    draft = drafts.read_draft(path)
    assert draft is not None
    typed = [[field.typed for field in section.fields if field.typed] for section in draft.sheet.sections]
    assert typed == [[f"sq note {number}"] for number in range(1, 9)]


@pytest.mark.parametrize(
    ("editor", "said"), [("/nonexistent/ed", "/nonexistent/ed cannot be started"), ("false", "false ended with 1")]
)
def test_an_editor_that_fails_gives_the_field_back(desk: Desk, editor: str, said: str) -> None:
    """The screen is drawn again, keys go into the field, and what was typed is there."""
    with desk.terminal(EDITOR=editor, VISUAL="", TMPDIR=str(desk.folder.parent)) as terminal:
        open_worksheet(terminal)
        type_into_it(terminal, RUN_ID)
        terminal.press(b"\x1bOS")  # F4
        terminal.wait_for(lambda: "the editor failed: " in terminal.text() and said in terminal.text())
        assert RUN_ID in terminal.text()
        terminal.press("-again")
        terminal.wait_for(f"{RUN_ID}-again")
        terminal.press("\x11")
        assert terminal.finish() == 1
        assert terminal.restored()
    assert list(desk.folder.parent.glob("hangview-*.md")) == []
