"""A bundled incident, so that the program can be tried without a job that hangs."""

from __future__ import annotations

from pathlib import Path


def folder() -> Path:
    """The folder with the dumps and logs of the bundled incident (its ORIGIN.md says where they come from)."""
    return Path(__file__).parent / "data"
