"""``hangview worksheet``: the incident worksheet, prefilled."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import click

from hangview.cli_errors import Complaint, Exit
from hangview.cli_load import load
from hangview.cli_options import (
    PATH,
    language_option,
    output_option,
    paths_argument,
    read_options,
    reading_options,
    template_option,
)
from hangview.cli_output import deliver


@click.command()
@paths_argument
@output_option
@click.option("--against", metavar="PATH", type=PATH, help="A comparison run: fills in what changed, and the trials around it.")
@language_option
@template_option
@reading_options
def worksheet(
    paths: tuple[str, ...], *, output: str | None, against: str | None, lang: str, template: str | None, **reading: Any
) -> int:
    """Print the incident worksheet, prefilled, as markdown.

    Exits with 0 when at least one dump or log could be read, else with 3.
    """
    from hangview.worksheet.template import Template, TemplateProblem

    try:  # before anything is read: a slip in the template should not cost the reading of a thousand dumps
        layout = Template.read(template) if template is not None else None
    except TemplateProblem as problem:
        raise Complaint(str(problem)) from None
    options = read_options(**reading)
    incident = load(paths, options)
    comparison = None
    if against is not None:
        from hangview.compare import compare

        comparison = compare(load((against,), options), incident)
    from hangview.report.ledger import readable
    from hangview.worksheet import prefill, to_markdown

    sheet = prefill(incident, language=lang, comparison=comparison)
    try:
        text = to_markdown(sheet) if layout is None else layout.render(sheet, incident)
    except TemplateProblem as problem:
        raise Complaint(str(problem)) from problem
    kept = _keep(output, text) if output is not None else None
    deliver(text, output)
    if kept is not None:
        click.echo(f"hangview: what was in {output} before is in {kept}", err=True)
    return Exit.NO_HANG if readable(incident) else Exit.NOTHING


def _keep(output: str, text: str) -> Path | None:
    """Keep a copy of a worksheet that is about to be replaced by another text: a person may have written in it. None: there is
    none, or it holds this text already."""
    from hangview.worksheet import files

    target = Path(os.path.realpath(output))
    try:
        if output == "-" or not target.is_file():
            return None  # what cannot be written to says so then
        files.refuse_read_only(target)
        current, mode = target.read_bytes(), stat.S_IMODE(target.stat().st_mode)
        if not current or current == text.encode("utf-8", "backslashreplace"):
            return None
        backup = files.aside(target, current)
        files.replace_file(backup, current, mode)
    except OSError as error:
        raise Complaint(f"{error.filename or output}: {error.strerror or error}, so {output} was left as it is") from error
    return Path(output).with_name(backup.name) if target.name == Path(output).name else backup
