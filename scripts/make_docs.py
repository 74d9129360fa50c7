"""Write docs/hangview.1, docs/keys.md and docs/configuration.md from the command line, the settings and the table of keys.

``--check`` writes nothing and exits with 1 when a file is not what would be written.
"""

from __future__ import annotations

import re
import sys
import textwrap
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hangview._version import __version__
from hangview.cli import cli
from hangview.cli_options import reading_options
from hangview.config import VARIABLE
from hangview.keymap import all_actions
from hangview.setting_types import Flag
from hangview.settings import SETTINGS
from hangview.tui import actions
from hangview.tui.actions import Action, Where
from hangview.tui.compare.help import help_of as compare_help_of
from hangview.tui.live import USUAL
from hangview.tui.log.keys import LOG_ACTIONS
from hangview.tui.search import GRAMMAR
from hangview.tui.worksheet import keys as sheet

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hangview.settings import Setting

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
#: Shown at the foot of the manual; changed with a release.
DATE = "2026-11-29"

COMPARISON = "Comparison"
#: Where a key works, and its actions: the manual's and docs/keys.md's tables.
PLACES: tuple[tuple[str, tuple[Action, ...]], ...] = (
    ("Main screen", (*actions.actions_in(Where.EVERYWHERE), *actions.actions_in(Where.ALWAYS))),
    (
        "Moving in the grid, lists and texts",
        tuple(action for action in actions.ACTIONS if {Where.GRID, Where.LIST} & set(action.where)),
    ),
    ("While typing a search or a filter", actions.actions_in(Where.PROMPT)),
    ("Commands", actions.actions_in(Where.PALETTE)),
    ("Dialogs", actions.actions_in(Where.DIALOG)),
    ("On the question whether to quit", actions.actions_in(Where.QUESTION)),
    (COMPARISON, actions.actions_in(Where.COMPARE)),
    ("Log of a rank", LOG_ACTIONS),
    ("Worksheet, outside of fields", sheet.FORM_ACTIONS),
    ("Worksheet, also inside fields", sheet.EVERYWHERE_ACTIONS),
    ("Worksheet: a field of one line", sheet.LINE_ACTIONS),
    ("Worksheet: a line to tick", sheet.TICK_ACTIONS),
    ("Worksheet: a choice", sheet.CHOICE_ACTIONS),
    ("Worksheet: replacing a file", sheet.REPLACE_ACTIONS),
    ("Worksheet: dialogs and preview", (*sheet.DIALOG_ACTIONS, *sheet.PREVIEW_ACTIONS)),
    ("Worksheet: drafts", sheet.DRAFT_ACTIONS),
    ("Worksheet: what new evidence would change", sheet.CHANGE_ACTIONS),
)

EXIT = (
    ("0", "looked, and these files show no hang"),
    ("1", "a divergence was found: a call that is unfinished, or that differs between ranks"),
    ("2", "usage or configuration error, said in one line"),
    ("3", "nothing could be concluded: nothing to compare, or calls that are open and may be of a job that runs"),
    ("130, 128+n", "interrupted, ended by signal n"),
)

EXAMPLES = (
    ("hangview demo", "try the program on a bundled incident"),
    ("hangview /shared/dumps/run-4711", "open the screen over a folder; new dumps are read as they appear"),
    ("hangview report --format json run-4711", "the findings for a script"),
    ("hangview check run-4711", "which files were read, which ranks are missing, and why"),
    ("hangview worksheet run-4711 -o incident.md", "the incident worksheet, prefilled"),
    ("hangview compare run-4710 run-4711", "where two runs stop agreeing"),
)

GENERATED = "<!-- Written by scripts/make_docs.py. -->\n"


# --- the command line


def _no_op() -> None: ...


READING = {param.name for param in click.command()(reading_options(_no_op)).params}


def commands(group: click.Group, prefix: str = "hangview") -> Iterable[tuple[str, click.Command]]:
    """(full name, command) pairs, sub-commands after their group; hidden ones left out."""
    for name, command in group.commands.items():
        if command.hidden:
            continue
        yield f"{prefix} {name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{prefix} {name}")


def usage(name: str, command: click.Command) -> str:
    """``hangview report [OPTIONS] PATH...``"""
    pieces = command.collect_usage_pieces(click.Context(command))
    return " ".join([name, *(piece for piece in pieces if piece != "[OPTIONS]" or _options(command))])


def _options(command: click.Command) -> list[click.Option]:
    return [param for param in command.params if isinstance(param, click.Option) and not param.hidden]


def records(options: Iterable[click.Option]) -> list[tuple[str, str]]:
    """(option with its value, help) pairs as ``--help`` has them."""
    context = click.Context(click.Command("hangview"))
    return [record for option in options if (record := option.get_help_record(context)) is not None]


# --- the manual


def roff(text: str) -> str:
    """Text for the manual: signs that mean something there are escaped, those that are not ASCII get their names."""
    names = {"×": r"\[mu]", "…": "...", "→": r"\[->]", "≥": r"\[>=]"}
    text = text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\[aq]")
    text = "".join(names.get(char, char) for char in text)
    assert text.isascii(), text
    return text


def manual() -> str:
    lines = [f'.\\" Written by scripts/make_docs.py.\n.TH HANGVIEW 1 {DATE} "hangview {__version__}" "User Commands"']
    lines += [".SH NAME", "hangview \\- " + roff("which rank to look at first when a distributed PyTorch job hangs")]
    lines += [
        ".SH SYNOPSIS",
        ".B hangview",
        roff("[OPTIONS] [PATH]..."),
        ".br",
        ".B hangview",
        roff("COMMAND [OPTIONS] PATH..."),
    ]
    about = (cli.help or "").split("\n\n")[1]
    lines += [".SH DESCRIPTION", _prose(about)]
    lines += [_prose('"Look first" is where to start reading, not who did it. A rank without a record is never said to have '
                     "skipped a call.", ".PP")]  # fmt: skip
    lines += [_prose("Output is on stdout, everything else on stderr. The same files give the same bytes.", ".PP")]
    screen = cli.commands["(screen)"]
    lines += [".SH OPTIONS", *_listed(records([one for one in _options(screen) if one.name not in READING]))]
    lines += [".SS Options of the commands that read"]
    lines += _listed(records(one for one in _options(screen) if one.name in READING))
    lines += [".SH COMMANDS"]
    for name, command in commands(cli):
        lines += [f".SS {roff(usage(name, command))}"]
        paragraphs = (command.help or "").split("\n\n")
        lines += [_prose(paragraphs[0]), *(_prose(text, ".PP") for text in paragraphs[1:])]
        if command.epilog:
            lines += [_prose(command.epilog, ".PP")]
        lines += _listed(records(one for one in _options(command) if one.name not in READING))
    lines += [".SH KEYS", _prose("All keys are in docs/keys.md, and on the screen behind ?.")]
    for place, held in PLACES[:2]:
        lines += [f".SS {roff(place)}", *_listed((USUAL.shown(action), action.help) for action in held if action.keys)]
    lines += [".SH ENVIRONMENT", *_listed((one.variable, _variable_help(one)) for one in SETTINGS if one.variable)]
    lines += _listed([(VARIABLE, "The configuration file to read instead of the usual one."), *OTHER_VARIABLES])
    lines += [".SH FILES", *_listed(FILES)]
    lines += [
        ".SH EXIT STATUS",
        *_listed(EXIT),
        _prose("check and worksheet exit with 0 when something could be read, demo always.", ".PP"),
    ]
    lines += [".SH EXAMPLES", *_listed(EXAMPLES)]
    return "\n".join(lines) + "\n"


FILES = (
    ("~/.config/hangview/config.toml", "settings; hangview config path says which file is read"),
    ("~/.cache/hangview", "what was read once; hangview cache clear removes it"),
    ("~/.local/state/hangview", "drafts of worksheets, where each incident was left, and what was copied last; may be deleted"),
)
OTHER_VARIABLES = (
    ("HANGVIEW_DEBUG", "With 1, a fault of hangview shows its traceback."),
    ("NO_COLOR", "Not empty: no colour anywhere."),
    ("TORCH_FR_DUMP_TEMP_FILE, TORCH_NCCL_DEBUG_INFO_TEMP_FILE", "Where dumps are looked for when no PATH is given."),
    ("VISUAL, EDITOR", "What edits a field of the worksheet (F4)."),
)


def _prose(text: str, macro: str = "") -> str:
    """Filled text, in lines of the width that a manual's source should have."""
    lines = textwrap.wrap(roff(" ".join(text.split())), 78, break_long_words=False, break_on_hyphens=False)
    lines = [f"\\&{line}" if line.startswith((".", "\\[aq]")) else line for line in lines]
    return "\n".join([macro, *lines] if macro else lines)


def _listed(pairs: Iterable[tuple[str, str]]) -> list[str]:
    lines = []
    for term, text in pairs:
        lines += [".TP", f".B {roff(term)}", _prose(text)]
    return lines


def _variable_help(setting: Setting) -> str:
    option = setting.option.partition("/")[2] if setting.opposite else setting.option.partition("/")[0]
    if isinstance(setting.type, Flag):
        return f"With 1, the same as {option}; with 0 the opposite."
    return f"The same as {option}." if option else f"{setting.help} With a colon between two."


# --- markdown


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; a bar inside a cell is escaped."""
    lines = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def keys() -> str:
    missing = all_actions().keys() - {action.id for _, held in PLACES for action in held}
    assert not missing, f"PLACES leaves out {', '.join(sorted(missing))}"
    parts = [f"# Keys\n\n{GENERATED}", KEYS_INTRO]
    for place, held in PLACES:
        does = compare_help_of if place == COMPARISON else attrgetter("help")
        rows = [(_key_cell(action), does(action), f"`{action.id}`") for action in held]
        parts.append(f"## {place}\n\n" + table(("key", "does", "name in `[keys]`"), rows))
    grammar = table(
        ("typed", "finds"), [(f"`{typed}`" if typed != "anything else" else typed, what) for typed, what in GRAMMAR]
    )
    parts.append(f"## What can be searched for\n\nBehind `/`, and behind `:` to go there.\n\n{grammar}")
    return "\n".join(parts)


def _key_cell(action: Action) -> str:
    return USUAL.shown(action).replace("<", "&lt;").replace("^", "\\^") if action.keys else "behind `:`"


KEYS_INTRO = """\
`?` shows them on the screen, `:` finds one by its name. `^P` is ctrl and p.

Other keys are set in the [configuration file](configuration.md), by the action's name; what is said there replaces all keys of
the action, and `[]` leaves it without one:

```toml
[keys]
next_finding = ["n", "ctrl+n"]
copy = "c"
"sheet_section(1)" = "f6"
```

A key is a letter, a digit, a sign (`/`, or its name `slash`), `f1` to `f24`, `ctrl+n` or `^N`, `shift+tab`, or one of `escape`,
`enter`, `space`, `tab`, `backspace`, `insert`, `delete`, `up`, `down`, `left`, `right`, `home`, `end`, `pageup` and
`pagedown`. Two actions that can meet cannot share a key.
"""


def configuration() -> str:
    rows = []
    for one in SETTINGS:
        option = f"`{one.option.replace('/', '`, `')}`" if one.option else "—"
        default = one.decided or f"`{one.default_words}`"
        rows.append((f"`{one.name}`", one.type.words, default, f"`{one.variable}`" if one.variable else "—", option, one.help))
    example = "\n".join(f"{one.name} = {one.type.write(one.default)}" for one in SETTINGS if one.default not in (None, ()))
    head = ("key", "holds", "default", "variable", "option", "what it does")
    return f"# Configuration\n\n{GENERATED}\n{CONFIG_INTRO}\n{table(head, rows)}\n{CONFIG_REST.format(example=example)}"


CONFIG_INTRO = """\
An option wins over its environment variable, that over the file, the file over the default. The file is
`~/.config/hangview/config.toml` (`$XDG_CONFIG_HOME/hangview/config.toml`), or the one that `HANGVIEW_CONFIG` names; it need not
exist.

```sh
hangview config path        # which file is read
hangview config show        # every setting, and where its value comes from
hangview config validate    # exits with 0 when file and variables are right, else with 2
```

A wrong value or a file that is no TOML is one line with the file and the line number, and exit code 2, whichever command runs.
A key that is not known is said on stderr and passed over, so that one file serves two versions; `hangview config validate`
exits with 2 for it.
"""

CONFIG_REST = """\
A key with a dot stands in a table: `limits.entries` is `entries` below `[limits]`. A variable with `NO` in its name says the
opposite of its key: `HANGVIEW_NO_MOUSE=1` is `mouse = false`. A switch in a variable is 1 or 0; an empty variable is none.
`NO_COLOR=1` means no colour anywhere.

The defaults, as a file:

```toml
{example}
```

Keys of your own: [keys.md](keys.md).
"""


PAGES = {"hangview.1": manual, "keys.md": keys, "configuration.md": configuration}


def main() -> int:
    stale = []
    for name, make in PAGES.items():
        path = DOCS / name
        text = re.sub(r"[ \t]+$", "", make(), flags=re.MULTILINE)
        if "--check" not in sys.argv[1:]:
            path.write_text(text, "utf-8")
        elif not path.is_file() or path.read_text("utf-8") != text:
            stale.append(f"docs/{name}")
    if stale:
        print(f"not current: {', '.join(stale)}; run scripts/make_docs.py")
        return 1
    print("the documents are current" if "--check" in sys.argv[1:] else f"wrote {', '.join(PAGES)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
