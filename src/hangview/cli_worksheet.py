"""``hangview worksheet``: the incident worksheet, prefilled."""

from __future__ import annotations

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
    kept = _keep(output) if output is not None else None
    deliver(text, output)
    if kept is not None:
        click.echo(f"hangview: what was in {output} before is in {kept}", err=True)
    return Exit.NO_HANG if readable(incident) else Exit.NOTHING


def _keep(output: str) -> str | None:
    """Keep a copy of a worksheet that is about to be replaced: a person may have written in it. None: there is none."""
    from shutil import copyfile

    if Path(output).is_dir():
        return None  # said when it is written to
    backup = f"{output}~"
    try:
        return copyfile(output, backup)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Complaint(f"{backup}: {error.strerror or error}, so {output} was left as it is") from error
