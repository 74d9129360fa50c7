"""Documents: the generated ones are current, links lead somewhere, and every command in them is one that hangview takes."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from hangview.cli import cli
from hangview.cli import run as main
from hangview.demo import folder

ROOT = Path(__file__).parents[1]
MANUAL = ROOT / "docs/hangview.1"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_generated_documents_are_current():
    done = subprocess.run([sys.executable, str(ROOT / "scripts/make_docs.py"), "--check"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "the documents are current\n"), done.stderr


@pytest.mark.parametrize(
    "command", [["groff", "-man", "-ww", "-z", "-Tutf8"], ["mandoc", "-Tlint", "-Wall"]], ids=["groff", "mandoc"]
)
def test_the_manual_renders_without_a_warning(command):
    if shutil.which(command[0]) is None:
        pytest.skip(f"no {command[0]}")
    done = subprocess.run([*command, str(MANUAL)], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as forges make them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith("https://"):
            continue
        name, _, anchor = target.partition("#")
        there = page.parent / name if name else page
        assert there.is_file(), f"{page.name}: {target}"
        assert not anchor or anchor in anchors(there), f"{page.name}: {target}"


@pytest.mark.parametrize("page", ["README.md", "docs/library.md"])
def test_what_is_shown_of_python_runs(page, tmp_path):
    """All blocks of a page one after the other, on a job by the name that the page gives it."""
    shutil.copytree(ROOT / "fixtures/nccl-stuck", tmp_path / "run-4711")
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL)
    done = subprocess.run([sys.executable, "-c", "\n".join(blocks)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "divergence (" in done.stdout


def commands(page: Path) -> list[str]:
    """Every line of a shell block that runs hangview, without what stands before it, after a pipe, and its remark."""
    lines = []
    for block in re.findall(r"```sh\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
        for line in re.sub(r"\\\n\s*", "", block).splitlines():
            found = re.search(r"(?:^|[\s/(])(hangview(?:\s[^|;&>)]*|$))", re.sub(r"\s#.*", "", line))
            if found is not None and "pip" not in line.partition("hangview")[0]:
                lines.append(found[1].strip())
    return lines


def test_there_are_commands_to_check():
    assert len({line for page in PAGES for line in commands(page)}) > 14


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_are_taken(page, monkeypatch):
    """Their options and arguments are parsed; nothing is run. A path in them need not exist here."""
    ran = []

    def invoke(self, ctx):
        if not isinstance(self, click.Group):  # a group's own goes on to its command
            ran.append(self.name)

    monkeypatch.setattr(click.Command, "invoke", invoke)
    for line in commands(page):
        arguments = shlex.split(line)[1:]
        if arguments not in (["--version"], ["--help"]):
            before = len(ran)
            cli.main(arguments, prog_name="hangview", standalone_mode=False)
            assert len(ran) == before + 1, line


def test_what_the_tour_quotes_is_printed(capsys):
    text = (ROOT / "docs/ten-minutes.md").read_text("utf-8")
    quoted = [line for block in re.findall(r"```text\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    assert len(quoted) == 7
    for command in ("check", "explain"):
        main([command, "--no-cache", str(folder())])
    printed = capsys.readouterr().out.splitlines()
    assert [line for line in quoted if line not in printed] == []
