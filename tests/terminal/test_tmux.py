"""The same program inside tmux, where most people will run it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = [pytest.mark.terminal, pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux here")]

HANG = Path(__file__).parents[2] / "fixtures" / "two-groups"
PATIENCE = 60
Tmux = Callable[..., str]


@pytest.fixture
def tmux(tmp_path):
    """A tmux server of the test's own; called with arguments of tmux, answers what it prints."""
    socket = str(tmp_path / "socket")
    env = {name: value for name, value in os.environ.items() if name != "TMUX"} | {"LANG": "C.UTF-8", "SHELL": "/bin/sh"}

    def call(*args: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", socket, "-f", "/dev/null", "-u", *args], env=env, capture_output=True, text=True, check=False
        )
        return done.stdout

    yield call
    call("kill-server")


def wait_for(tmux: Tmux, what: str) -> str:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        screen = tmux("capture-pane", "-p", "-t", "main")
        if what in screen:
            return screen
        time.sleep(0.1)
    raise AssertionError(f"never came: {what!r}\n{tmux('capture-pane', '-p', '-t', 'main')}")


def start(tmux: Tmux, *args: str) -> None:
    command = " ".join([sys.executable, "-m", "hangview", *args, str(HANG)])
    tmux("new-session", "-d", "-s", "main", "-x", "100", "-y", "30", f"{command}; echo ended with $?; cat")


def test_answers_drills_down_and_quits(tmux):
    start(tmux, "--no-watch")
    assert "! 7" in wait_for(tmux, "LOOK FIRST  rank 7")
    tmux("send-keys", "-t", "main", "Enter")
    wait_for(tmux, "ENTRY")
    tmux("send-keys", "-t", "main", "Escape")
    wait_for(tmux, "3:call 6 of TP1")
    tmux("send-keys", "-t", "main", "n")
    wait_for(tmux, "ITS LOG  rank 7 raised ValueError")
    tmux("send-keys", "-t", "main", "q")
    screen = wait_for(tmux, "ended with 1")
    assert "LOOK FIRST" not in screen  # the alternate screen is gone


def test_copies_into_the_buffer_of_tmux(tmux):
    start(tmux, "--no-watch")
    wait_for(tmux, "LOOK FIRST  rank 7")
    wait_for(tmux, "3:call 6 of TP1")
    tmux("send-keys", "-t", "main", "y")
    wait_for(tmux, "copied:")
    assert "rank 7 did not request" in tmux("show-buffer")
