"""What every test starts from: no user settings, no cache or state of the person who runs them, a neutral terminal."""

from __future__ import annotations

import itertools
import os

import pytest
from hypothesis import settings

#: Before anything imports textual: a test that presses a key waits for the next frame, and learns nothing by it.
os.environ["TEXTUAL_FPS"] = "240"

#: Tests say nothing about the speed of this machine, and say the same each time.
settings.register_profile("steady", deadline=None, database=None, derandomize=True)
settings.load_profile("steady")

#: Settings of PyTorch and hangview, and what decides about colour and width, that must not reach a test from outside.
_FOREIGN = ("TORCH_", "HANGVIEW_", "TEXTUAL_")
_TERMINAL = ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "COLUMNS", "LINES", "TMUX", "PYTHONIOENCODING")


@pytest.fixture(scope="session", autouse=True)
def compiled_once(tmp_path_factory):
    """Programs that tests start find hangview compiled, also where python is told to keep no bytecode."""
    base = tmp_path_factory.getbasetemp()
    folder = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base  # the workers share it
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        patch.setenv("PYTHONPYCACHEPREFIX", str(folder / "bytecode"))
        yield


@pytest.fixture(scope="session")
def homes(tmp_path_factory):
    """Folders for the homes of tests; beside the other temporary ones each new name would be looked for among thousands."""
    folder = tmp_path_factory.mktemp("homes")
    return (folder / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def quiet_environment(homes, monkeypatch):
    """A home, cache and state directory of the test's own, and a plain terminal."""
    for name in list(os.environ):
        if name.startswith(_FOREIGN) or name in _TERMINAL:
            monkeypatch.delenv(name)
    home = next(homes)
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / ".cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / ".local/state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("TERM", "xterm-256color")


def pytest_make_parametrize_id(val: object) -> str | None:
    """Bytes may hold a time stamp (gzip, zip): their content is no name, or the workers collect different tests."""
    return f"{len(val)}bytes" if isinstance(val, bytes) else None
