"""``hangview config``: which file is read, what each setting is and who said so, and whether the file is right."""

from __future__ import annotations

import os

import click

from hangview.cli_errors import Complaint, Exit, narrate
from hangview.cli_output import put


@click.group(no_args_is_help=False)
def config() -> None:
    """Settings that are kept in a file (docs/configuration.md)."""


@config.command()
def path() -> int:
    """Print which file is read, whether it is there or not."""
    from hangview.config import config_path
    from hangview.text import escape

    put(f"{escape(str(config_path(os.environ)))}\n")
    return Exit.NO_HANG


@config.command()
def show() -> int:
    """Print every setting with where its value comes from; the output is a configuration file itself."""
    from hangview.config import load

    loaded = load(os.environ)
    for trouble in loaded.troubles:
        narrate(trouble)
    rows: list[tuple[str, str]] = []
    for value in loaded.values:
        setting = value.setting
        left = f"# {setting.name} =" if value.value is None else f"{setting.name} = {setting.type.write(value.value)}"
        said = setting.decided and not value.value and value.origin == "default"
        rows.append((left, f"default: {setting.decided}" if said else value.origin))
    width = min(max(len(left) for left, _ in rows), 40)
    put("".join(f"{left:<{width}}  # {origin}\n" for left, origin in rows))
    return Exit.NO_HANG


@config.command()
def validate() -> int:
    """Check the file and the environment; exit with 0 when all is right, else with 2."""
    from hangview.config import config_path, load, unknown_variables
    from hangview.text import escape

    loaded = load(os.environ)
    for trouble in unknown_variables(os.environ):
        narrate(trouble)  # may belong to somebody else, so it decides nothing
    if loaded.troubles:
        for trouble in loaded.troubles[:-1]:
            narrate(trouble)
        raise Complaint(loaded.troubles[-1])
    where = config_path(os.environ)
    put(f"{escape(str(where))}: {'no such file, so the defaults hold' if not where.exists() else 'is right'}\n")
    return Exit.NO_HANG
