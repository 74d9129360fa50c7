"""What a fresh clone promises: two commands in the README, a demo in the package, documents that keep up with the code."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from hangview import __version__
from hangview.cli import cli
from hangview.config import VARIABLE
from hangview.demo import folder
from hangview.report.as_json import to_json
from hangview.report.recording import RECORDING
from hangview.schema import SourceStatus
from hangview.settings import SETTINGS
from hangview.terms import Kind, Role, Side, Verdict
from tests.report.build import healthy, one_lead

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
JSON_DOCUMENT = (ROOT / "docs/json.md").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def shell_lines() -> list[str]:
    """Every line of a shell block of the README."""
    return [line for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) for line in block.splitlines()]


def test_readme_has_one_command_for_the_demo_and_one_for_the_tests():
    demo, tests = (line for line in shell_lines() if "python3 -m venv" in line)
    assert demo.endswith("hangview demo")
    assert "-m pytest" in tests
    for line in (demo, tests):
        assert "activate" not in line
        assert not line.endswith("\\")


def test_ci_runs_the_commands_of_the_readme():
    script = (ROOT / ".ci/run").read_text("utf-8")
    assert "set -euo pipefail" in script
    assert script.rstrip().endswith('bash -c "$test_command"')
    assert (ROOT / ".ci/run").stat().st_mode & 0o111
    subprocess.run(["bash", "-n", str(ROOT / ".ci/run")], check=True)


def test_commands_in_the_readme_exist():
    named = {match[1] for line in shell_lines() if (match := re.match(r"hangview ([a-z]+) ", line))}
    assert named
    assert named <= set(cli.commands)


def test_variables_in_the_documents_are_those_of_the_settings():
    known = {setting.variable for setting in SETTINGS} | {VARIABLE, "HANGVIEW_DEBUG"}
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        assert set(re.findall(r"\bHANGVIEW_[A-Z_]+", page.read_text("utf-8"))) <= known, page.name


def test_the_recording_settings_are_in_the_readme_and_in_full_in_their_document():
    rows = [line for line in (ROOT / "docs/recording.md").read_text("utf-8").splitlines() if line.startswith("| 2.")]
    for entry, row in zip(RECORDING, rows, strict=True):
        assert entry.settings in README
        assert entry.file_variable in README
        releases, settings, files, variable = (cell.strip().replace("`", "") for cell in row.strip("| ").split(" | "))
        assert releases == entry.releases
        assert settings == (entry.settings or "nothing, it is on")
        assert (files, variable) == (entry.file, entry.file_variable)


def test_files_that_the_readme_points_to_exist():
    for target in re.findall(r"\]\(([^)]+)\)", README):
        if not target.startswith(("http", "screenshots/")):
            assert (ROOT / target).is_file(), target


def test_json_document_names_every_key_and_value():
    report = json.loads(to_json(one_lead()))
    keys = {*report, *report["coverage"], *report["sources"][0], *report["groups"][0], *report["findings"][0]}
    keys |= {*json.loads(to_json(healthy()))["coverage"]["missing_reasons"][0], *report["findings"][0]["group"]}
    values = {value for enum in (Kind, Role, Side, Verdict, SourceStatus) for value in enum}
    values -= {SourceStatus.GROWING, SourceStatus.UNFINISHED}  # while watching only: no report has them
    for word in keys | {str(value) for value in values}:
        assert re.search(rf"[`.\"]{word}[`.\"]", JSON_DOCUMENT), word


def test_changelog_keeps_its_form():
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert "keepachangelog.com" in text
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert headings[0] == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", heading) for heading in headings[1:])
    sections = set(re.findall(r"^### (.*)$", text, re.MULTILINE))
    assert sections <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_version_is_in_one_place():
    assert "version" in PROJECT["project"]["dynamic"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", __version__)


def test_demo_is_small_and_what_its_script_writes():
    files = [path for path in folder().rglob("*") if path.is_file()]
    assert len(files) == 16
    assert sum(path.stat().st_size for path in files) < 300_000
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts/make_demo.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "the demo's files are current\n")


def test_demo_says_where_it_comes_from():
    origin = (folder().parent / "ORIGIN.md").read_text("utf-8")
    assert "no GPU ran" in origin
    assert "What happened" in origin


def test_python_in_the_readme_runs(capsys):
    block = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert block is not None
    exec(block[1].replace("run-4711", str(folder())), {})
    assert capsys.readouterr().out.startswith("divergence (6,)\nlead rank 6 did not request")
