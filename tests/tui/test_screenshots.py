"""The pictures of the README are there, and say what the program says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_picture_is_there():
    listed = re.findall(r'Shot\("([^"]+)"', (ROOT / "scripts" / "screenshots.py").read_text(encoding="utf-8"))
    assert sorted(f"{name}.svg" for name in listed) == sorted(path.name for path in (ROOT / "screenshots").glob("*.svg"))


def test_a_picture_is_not_stale():
    """One here; the whole set is checked by ``scripts/screenshots.py --check``."""
    command = [sys.executable, str(ROOT / "scripts" / "screenshots.py"), "--check", "--only", "ascii-80x24"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
