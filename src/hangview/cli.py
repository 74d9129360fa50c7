"""The command line: arguments in, exit code out.

Only click is imported here; everything that reads or draws is imported by the command that needs it, so that ``--help`` and
``--version`` answer at once on a slow file system.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from hangview._version import __version__
from hangview.cli_compare import compare
from hangview.cli_completion import completion
from hangview.cli_config import config
from hangview.cli_errors import Complaint, Exit, exit_code, narrate
from hangview.cli_load import load
from hangview.cli_options import (
    PATH,
    Defaults,
    all_option,
    config_of,
    format_option,
    language_option,
    no_logs_option,
    output_option,
    paths_argument,
    read_options,
    reading_options,
    screen_options,
    setting_option,
)
from hangview.cli_output import deliver, deliver_lines, gone, is_terminal, not_terminal, put, put_lines
from hangview.cli_pack import pack
from hangview.cli_paths import check_paths, look_up
from hangview.cli_worksheet import worksheet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hangview.keymap import KeyMap
    from hangview.schema import ReadOptions

_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_SCREEN = "(screen)"  # the command that paths without a command go to; nobody can type its name by accident

_EPILOG = """Exit codes of report and explain: 0 these files show no hang, 1 a divergence was found, 3 nothing could be
concluded. All commands: 2 usage error, 130 interrupted, 128+n ended by signal n."""


class _Front(click.Group):
    """``hangview PATH...`` opens the screen; a first word that is a command runs it. A folder named like one: ``./report``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        completing = ctx.resilient_parsing and not args  # the word to complete may become a command
        if not completing and (not args or args[0] not in {*self.commands, "-h", "--help", "--version"}):
            args = [_SCREEN, *args]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Lay the configuration under the options of whichever command runs."""
        ctx.default_map = Defaults(os.environ)  # type: ignore[assignment]  # click writes nothing into it
        return super().invoke(ctx)

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage(ctx.command_path, "[OPTIONS] [PATH]...")
        formatter.write_usage(ctx.command_path, "COMMAND [OPTIONS] PATH...", prefix="       ")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        screen = self.commands[_SCREEN]
        options = [param for param in (*screen.params, *self.get_params(ctx)) if isinstance(param, click.Option)]
        records = [record for param in options if (record := param.get_help_record(ctx)) is not None]
        with formatter.section("Options"):
            formatter.write_dl(records)
        self.format_commands(ctx, formatter)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        if incomplete.startswith("-"):
            return [*super().shell_complete(ctx, incomplete), *self.commands[_SCREEN].shell_complete(ctx, incomplete)]
        # The file comes first: click's script for bash forgets what stood before one, and takes paths where nothing follows.
        return [CompletionItem(incomplete, type="file"), *super().shell_complete(ctx, incomplete)]


class _Screen(click.Command):
    """Its help is that of the whole program."""

    def get_help(self, ctx: click.Context) -> str:
        return ctx.parent.get_help() if ctx.parent is not None else super().get_help(ctx)


@click.group(cls=_Front, context_settings=_SETTINGS, epilog=_EPILOG)
@click.version_option(__version__, message="hangview %(version)s")
def cli() -> None:
    """Which rank to look at first when a distributed PyTorch job hangs.

    Reads flight-recorder dumps and logs under each PATH (folders or files) and opens a screen over them. Without a PATH it
    looks where PyTorch writes dumps by default.
    """


@cli.command(_SCREEN, cls=_Screen, hidden=True)
@click.argument("paths", nargs=-1, type=PATH)
@screen_options
@setting_option("watch")
@setting_option("poll")
@language_option
@reading_options
@click.pass_context
def _screen(ctx: click.Context, /, paths: tuple[str, ...], **options: Any) -> int:
    paths = paths or config_of(ctx)["paths"]
    paths = check_paths(paths, _command_names(), may_fill=True) if paths else look_up(os.environ)
    _need_terminal()
    screen = {name: options.pop(name) for name in ("theme", "ascii_", "mouse", "watch", "poll", "lang")}
    return _open_screen(paths, read_options(**options), keys=config_of(ctx)["keys"], **screen)


@cli.command()
@paths_argument
@format_option
@output_option
@all_option
@no_logs_option
@click.option("--logs", "more_logs", multiple=True, metavar="PATH", type=PATH, help="Logs that lie elsewhere.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 instead of 1 or 3 once a report is written.")
@reading_options
def report(
    paths: tuple[str, ...],
    *,
    format_: str,
    output: str | None,
    everything: bool,
    no_logs: bool,
    more_logs: tuple[str, ...],
    exit_zero: bool,
    **reading: Any,
) -> int:
    """Print the findings: what to look at first, and why."""
    if no_logs and more_logs:
        raise click.UsageError("--logs and --no-logs exclude each other")
    incident = load((*paths, *more_logs), read_options(logs=not no_logs, **reading), brief=True)
    if format_ == "json":
        from hangview.report.as_json import to_json

        deliver(to_json(incident), output)
    elif format_ == "markdown":
        from hangview.report.markdown import to_markdown

        deliver(to_markdown(incident, everything=everything), output)
    else:
        from hangview.report.text import report_lines

        deliver_lines(report_lines(incident, everything=everything), output)
    return Exit.NO_HANG if exit_zero else exit_code(incident.verdict)


@cli.command(short_help="List every source and what became of it.")
@paths_argument
@reading_options
def check(paths: tuple[str, ...], **reading: Any) -> int:
    """List every source: what was read, cut, refused or missing, and why.

    Exits with 0 when at least one dump or log could be read, else with 3; it says nothing about a hang.
    """
    incident = load(paths, read_options(**reading), brief=True)
    from hangview.report.ledger import ledger_lines, readable

    put_lines(ledger_lines(incident))
    return Exit.NO_HANG if readable(incident) else Exit.NOTHING


@cli.command()
@paths_argument
@reading_options
def explain(paths: tuple[str, ...], **reading: Any) -> int:
    """Print how each finding follows from the records."""
    incident = load(paths, read_options(**reading), brief=True)
    from hangview.report.explain import explanation_lines

    put_lines(explanation_lines(incident))
    return exit_code(incident.verdict)


cli.add_command(worksheet)
cli.add_command(compare)


@cli.command(short_help="Open the screen over a bundled incident.")
@click.option("--tour", is_flag=True, help="Lead through it, in eight key presses.")
@screen_options
@click.pass_context
def demo(ctx: click.Context, /, **screen: Any) -> int:
    """Open the screen over a bundled incident; without a terminal, print its report.

    Exits with 0 either way: that a divergence is found is no news here.
    """
    from hangview.demo import folder
    from hangview.schema import ReadOptions

    paths = (str(folder()),)
    options = ReadOptions(cache=False)
    if is_terminal("stdin", "stdout") and os.environ.get("TERM") != "dumb":
        code = _open_screen(paths, options, keys=config_of(ctx)["keys"], watch=False, demo=True, **screen)
        return Exit.NO_HANG if code in (Exit.NO_HANG, Exit.DIVERGENCE, Exit.NOTHING) else code
    from hangview.report.text import report_lines

    put_lines(report_lines(load(paths, options)))
    return Exit.NO_HANG


@cli.group(no_args_is_help=False)
def cache() -> None:
    """What was read once is kept for the next time."""


@cache.command()
def clear() -> int:
    """Remove everything that was kept."""
    from hangview.cli_cache import clear as clear_cache
    from hangview.cli_cache import folder
    from hangview.text import count, escape

    put(f"removed {count(clear_cache(), 'file')} from {escape(str(folder()))}\n")
    return Exit.NO_HANG


cli.add_command(completion)
cli.add_command(config)
cli.add_command(pack)


def _command_names() -> list[str]:
    return [name for name, command in cli.commands.items() if not command.hidden]


def _need_terminal() -> None:
    """Textual hangs where stdin is no terminal and writes escapes where stdout is none: say so and end instead."""
    missing = not_terminal("stdin", "stdout")
    if missing is not None:
        raise Complaint(f"no terminal ({missing} is none): hangview report PATH prints the findings without one")
    if os.environ.get("TERM", "") in ("", "dumb"):
        raise Complaint("TERM is dumb or not set: hangview report PATH prints the findings without a screen")


def _open_screen(
    paths: Sequence[str], options: ReadOptions, *, ascii_: bool | None, lang: str = "en", keys: KeyMap, **screen: Any
) -> int:
    from hangview.tui import UiOptions
    from hangview.tui import run as run_screen

    return run_screen(tuple(paths), options, UiOptions(ascii=ascii_, language=lang, keys=keys, **screen))


def run(argv: Sequence[str] | None = None) -> int:
    """Run the command line ``argv`` (without the program's name) and return its exit code; never raises."""
    try:
        code = cli.main(list(sys.argv[1:] if argv is None else argv), prog_name="hangview", standalone_mode=False)
        return int(code or 0)
    except Complaint as complaint:
        if complaint.__cause__ is not None:
            _show_where()
        return _end(complaint)
    except click.ClickException as error:
        return _end(Complaint(f"{' '.join(error.format_message().split())}{_where(error)}"))
    except (KeyboardInterrupt, click.Abort):
        return Exit.INTERRUPTED
    except SystemExit as end:
        # Not from a command: click ends so after completing a word for the shell, and with 1 when --help meets a closed pipe.
        code = end.code if isinstance(end.code, int) else 0
        return code if "_HANGVIEW_COMPLETE" in os.environ else gone().code
    except OSError as error:  # raised by load() for a path that went away, or by the system under us
        place = f"{error.filename}: " if error.filename else ""
        return _end(Complaint(f"{place}{error.strerror or error}", Exit.NOTHING))
    except MemoryError:
        return _end(Complaint("out of memory: read fewer files at a time, or use --workers 1", Exit.NOTHING))
    except Exception as error:  # a fault of ours: Python would exit with 1, which promises that a divergence was found
        _show_where()
        reason = f"internal error: {type(error).__name__}: {error}; HANGVIEW_DEBUG=1 shows where"
        return _end(Complaint(reason, Exit.NOTHING))


def _show_where() -> None:
    """The traceback of what is being handled, for who asks for it."""
    if os.environ.get("HANGVIEW_DEBUG"):
        import traceback

        traceback.print_exc()


def _where(error: click.ClickException) -> str:
    """Which help page answers a usage error."""
    if not isinstance(error, click.UsageError) or error.ctx is None:
        return ""
    return f" (see {error.ctx.command_path.replace(f' {_SCREEN}', '')} --help)"


def _end(complaint: Complaint) -> int:
    if complaint.message:
        narrate(complaint.message)
    return complaint.code
