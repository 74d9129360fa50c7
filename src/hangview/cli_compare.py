"""``hangview compare``: two dump sets side by side, on a screen or as a report."""

from __future__ import annotations

import os
from typing import Any

import click
from click.core import ParameterSource

from hangview.cli_errors import Exit
from hangview.cli_load import load
from hangview.cli_options import (
    PATH,
    all_option,
    config_of,
    format_option,
    no_logs_option,
    output_option,
    read_options,
    reading_options,
    screen_options,
)
from hangview.cli_output import deliver, deliver_lines, is_terminal
from hangview.cli_paths import check_paths


@click.command(name="compare", short_help="Lay two dump sets side by side.")
@click.argument("a", metavar="A", type=PATH)
@click.argument("b", metavar="B", type=PATH)
@format_option
@output_option
@all_option
@no_logs_option
@click.option("--text", is_flag=True, help="Print the report, also on a terminal.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 instead of 1 or 3 once a comparison is written.")
@screen_options
@reading_options
@click.pass_context
def compare(
    ctx: click.Context,
    /,
    a: str,
    b: str,
    *,
    format_: str,
    output: str | None,
    everything: bool,
    no_logs: bool,
    text: bool,
    exit_zero: bool,
    theme: str,
    ascii_: bool | None,
    mouse: bool,
    **reading: Any,
) -> int:
    """Lay two dump sets side by side, a run before a change and one after it: where they stop agreeing.

    On a terminal a screen opens; into a pipe, and with --text, --all, --format or -o, the report is printed. Exits with 0 when
    every call that both hold agrees, 1 when one differs, 3 when no call is held by both.
    """
    options = read_options(logs=not no_logs, **reading)
    check_paths((a, b))
    asked = text or everything or output is not None or ctx.get_parameter_source("format_") is ParameterSource.COMMANDLINE
    if not asked and is_terminal("stdin", "stdout") and os.environ.get("TERM", "") not in ("", "dumb"):
        from hangview.tui import UiOptions
        from hangview.tui.compare import run as run_screen

        code = run_screen(a, b, options, UiOptions(theme=theme, ascii=ascii_, mouse=mouse, keys=config_of(ctx)["keys"]))
        return Exit.NO_HANG if exit_zero and code in (Exit.DIVERGENCE, Exit.NOTHING) else code
    one, other = load((a,), options), load((b,), options)
    from hangview.compare import Outcome, compare

    comparison = compare(one, other)
    if format_ == "json":
        from hangview.compare.as_json import to_json

        deliver(to_json(comparison), output)
    elif format_ == "markdown":
        from hangview.compare.page import to_markdown

        deliver(to_markdown(comparison, everything=everything), output)
    else:
        from hangview.compare.page import comparison_lines

        deliver_lines(comparison_lines(comparison, everything=everything), output)
    codes = {Outcome.SAME: Exit.NO_HANG, Outcome.DIFFERENT: Exit.DIVERGENCE, Outcome.NOTHING: Exit.NOTHING}
    return Exit.NO_HANG if exit_zero else codes[comparison.outcome]
