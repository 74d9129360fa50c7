"""What may import what, what is imported when, and which words the product does not use."""

from __future__ import annotations

import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import hangview

SOURCE = Path(hangview.__file__).parent

#: Everything left of the screen.
ENGINE = (
    "schema",
    "incident",
    "loading",
    "conclusions",
    "producers",
    "text",
    "replacing",
    "dumps",
    "logs",
    "engine",
    "compare",
    "watch",
    "report",
    "worksheet",
    "demo",
)

#: A lead is where to look, not who did it.
FORBIDDEN = re.compile(r"\b(culprits?|causes?|caused|guilty|blam(?:e|es|ed|ing))\b", re.IGNORECASE)
#: Words of others that have to be recognised or quoted: torchelastic's heading, and Python's name for a chained exception.
QUOTED = re.compile(r"root[ _\\s+]*cause|__cause__|direct cause of", re.IGNORECASE)


def modules() -> list[str]:
    """Every module of the engine side, by its full name."""
    names = []
    for name in ENGINE:
        path = SOURCE / name
        assert path.is_dir() or path.with_suffix(".py").is_file(), name
        names.append(f"hangview.{name}")
        if path.is_dir():
            names += [module.name for module in pkgutil.walk_packages([str(path)], f"hangview.{name}.")]
    return names


def imported(code: str) -> set[str]:
    """The top-level modules that a fresh interpreter holds after running ``code``."""
    script = f"import sys\n{code}\nprint('\\n'.join(sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return {line.split(".")[0] for line in done.stderr.splitlines()}


def test_the_engine_side_knows_no_terminal():
    code = "import importlib\n" + "\n".join(f"importlib.import_module({name!r})" for name in modules())
    assert not imported(code) & {"textual", "click", "torch"}


QUICK = (["--version"], ["--help"], ["report", "--help"], ["compare", "--help"], ["--no-such-option"], ["no-such-path"])


@pytest.mark.parametrize("arguments", QUICK)
def test_quick_answers_import_nothing_heavy(arguments):
    heavy = {"polars", "numpy", "textual", "rich", "watchdog", "torch", "multiprocessing", "asyncio"}
    assert not imported(f"from hangview import cli\ncli.run({arguments!r})") & heavy


def test_importing_the_package_is_cheap():
    assert not imported("import hangview\nhangview.__version__") & {"polars", "numpy", "textual", "rich", "click"}


def test_a_library_user_needs_no_screen():
    assert not imported("import hangview\nhangview.load\nhangview.Incident") & {"textual", "click", "rich"}


def test_the_first_screen_needs_nothing_that_reads():
    """It is drawn while other processes read: what reads and aligns is imported behind it."""
    assert not imported("import hangview.tui.app, hangview.tui.start") & {"polars", "numpy"}


def test_a_report_in_a_pipe_needs_neither_screen_nor_rich():
    lines = (
        "from hangview import cli",
        "from hangview.demo import folder",
        "code = cli.run(['report', '--no-cache', str(folder())])",
    )
    assert not imported("\n".join((*lines, "assert code == 1"))) & {"textual", "rich", "watchdog"}


def test_no_module_has_grown_too_long():
    longest = {path.name: path.read_text("utf-8").count("\n") for path in SOURCE.rglob("*.py")}
    assert {name: lines for name, lines in longest.items() if lines > 450} == {}


def test_no_word_of_guilt_in_the_product():
    found = []
    for path in sorted(SOURCE.rglob("*")):
        if path.suffix not in {".py", ".tcss", ".md"} or not path.is_file():
            continue
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            if FORBIDDEN.search(QUOTED.sub("", line)):
                found.append(f"{path.relative_to(SOURCE)}:{number}: {line.strip()}")
    assert found == []


def test_nothing_is_left_to_do():
    """An abstract method may raise NotImplementedError when its line says so."""
    unfinished = re.compile(r"\b(?:TODO|FIXME|XXX)\b|raise NotImplementedError(?!.*#)|\bbreakpoint\(")
    found = [
        f"{path.relative_to(SOURCE)}:{number}"
        for path in sorted(SOURCE.rglob("*.py"))
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if unfinished.search(line)
    ]
    assert found == []


def test_imports_are_absolute_and_pickle_is_not_among_them():
    for path in SOURCE.rglob("*.py"):
        text = path.read_text("utf-8")
        assert not re.search(r"^\s*from \.", text, re.MULTILINE), path
        assert not re.search(r"^\s*(?:import|from) (?:pickle|_pickle|marshal|shelve|dill)\b", text, re.MULTILINE), path
