"""Completion in real shells, on a pseudo terminal: commands, options, their values, and paths."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from tests.terminal.terminal import Terminal

pytestmark = pytest.mark.terminal

SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "PS1='% '"),
    "zsh": (["zsh", "-f", "-i"], "PS1='%% '; autoload -Uz compinit; compinit -u -D"),
}
CASES = [
    ("hangview compa", "hangview compare"),
    ("hangview --no-mo", "hangview --no-mouse"),
    ("hangview report --form", "hangview report --format"),
    ("hangview report --format mark", "hangview report --format markdown"),
    ("hangview config val", "hangview config validate"),
    ("hangview demo --theme li", "hangview demo --theme light"),
    ("hangview run-47", "hangview run-4711/"),
    ("hangview report run-47", "hangview report run-4711/"),
    ("hangview report -o notes", "hangview report -o notes.txt"),
]


@pytest.fixture(scope="module", params=SHELLS)
def shell(request, tmp_path_factory):
    """An interactive shell that has taken its script, in a folder with a folder and a file."""
    if shutil.which(request.param) is None:
        pytest.skip(f"no {request.param}")
    folder = tmp_path_factory.mktemp("shell")
    (folder / "bin").mkdir()
    program = folder / "bin/hangview"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m hangview "$@"\n')
    program.chmod(0o755)
    (folder / "work/run-4711").mkdir(parents=True)
    (folder / "work/notes.txt").touch()
    command, prepare = SHELLS[request.param]
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    env = {"PATH": path, "HISTFILE": "/dev/null", "HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config")}
    with Terminal(["env", "-C", str(folder / "work"), *command], env=env) as terminal:
        terminal.press(f"{prepare}; eval \"$(hangview completion {request.param})\"; clear; echo re''ady\r")
        terminal.wait_for(lambda: terminal.text().startswith("ready\n%"))
        yield terminal


@pytest.mark.parametrize(("typed", "completed"), CASES)
def test_a_tab_completes(shell, typed, completed):
    shell.press(f"{typed}\t")
    shell.wait_for(f"% {completed}\n")
    shell.press("\x15")  # ^U: what was typed is gone
    shell.wait_for(lambda: shell.text().rstrip().endswith("%"))


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish")
def test_fish_takes_its_script(tmp_path):
    script = subprocess.run([sys.executable, "-m", "hangview", "completion", "fish"], capture_output=True, check=True).stdout
    subprocess.run(["fish", "--no-execute"], input=script, check=True, env={**os.environ, "HOME": str(tmp_path)})
