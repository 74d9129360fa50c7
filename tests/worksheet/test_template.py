"""A layout of one's own: every field by name, nothing but the fields, and one clear line for a slip."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hangview import cli
from hangview.worksheet import prefill
from hangview.worksheet.layout import LAYOUT, FieldKind
from hangview.worksheet.template import MOST_BYTES, Template, TemplateProblem, context, names
from tests.support.builder import Builder
from tests.support.incidents import four_ranks, healthy

FIXTURES = Path(__file__).parents[2] / "fixtures"
DOCS = (Path(__file__).parents[2] / "docs/worksheet.md").read_text("utf-8")


def filled(text: str, incident=None) -> str:
    incident = incident or four_ranks()
    return Template(text, "own.md").render(prefill(incident), incident)


def problem(text: str) -> str:
    with pytest.raises(TemplateProblem) as caught:
        filled(text)
    (line,) = str(caught.value).splitlines()
    return line


def test_fields_by_name():
    text = filled("{{ title }}|{{ verdict }}|{{ leads }}|{{ schema }}|{{ model }}|{{ paths | join(',') }}")
    assert text == "Incident worksheet: run-4711|divergence|3|2.10|____|run-4711\n"


def test_a_text_is_a_list_and_a_checklist_has_its_boxes():
    lines = filled("{{ trials }}").splitlines()
    assert lines[0] == "- devices known: 0 of 4 ranks"
    assert [line[:6] for line in lines[2:]] == ["- [ ] "] * 3


def test_what_is_known_can_be_asked_for():
    assert filled("{% if backend %}yes{% endif %}{% if model %}no{% endif %}") == "yes\n"
    assert (
        filled("{{ backend.value }}/{{ model.value }}/{{ backend.origins | length }}/{{ backend.label }}")
        == "nccl//1/Backend\n"
    )


def test_hypotheses_and_sections_can_be_gone_through():
    assert filled("{% for h in hypotheses %}{{ h.number }}: {{ h.lines.value }}{% endfor %}").startswith(
        "1: rank 3 did not request"
    )
    assert filled("{% for s in sections %}{{ s.number }}{% endfor %}") == "12345678\n"
    assert "1. " not in filled("{{ sections[0].title }}")


def test_every_name_is_there_and_in_the_documentation():
    incident = healthy()
    assert set(names()) == set(context(prefill(incident), incident))
    for name in names():
        assert f"`{name}`" in DOCS, name
        filled(f"{{{{ {name} }}}}", incident)
    for section in LAYOUT:
        for field in section.fields:
            many = field.kind in (FieldKind.TEXT, FieldKind.CHECKLIST)
            assert (f"`{field.key}`\\*" in DOCS) is many, field.key


def test_the_example_of_the_documentation_works():
    example = DOCS.partition("```jinja\n")[2].partition("```")[0]
    text = filled(example)
    assert text.startswith("# Incident worksheet: run-4711\n\nrank 3 did not request")
    assert "(look first: 3)" in text


def test_another_language_has_the_same_names():
    incident = four_ranks()
    text = Template("{{ backend.label }}: {{ backend }}", "own.md").render(prefill(incident, language="ko"), incident)
    assert text == "백엔드: nccl\n"


def test_names_from_files_stay_text():
    builder = Builder(2, path="run")
    builder.group("# title *x* <b>", (0, 1), name="0")
    text = filled("{{ groups.value }}\n{{ groups }}", builder.build())
    assert "\\*x\\* \\<b\\>" in text
    assert not any(line.startswith("#") for line in text.splitlines())


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("{{ nope }}", 1, "'nope' is undefined"),
        ("a\nb\n{% if %}", 3, "Expected an expression"),
        ("a\n{{ torch | nope }}", 2, "No filter named 'nope'"),
        ("a\n\n{{ torch.nope }}", 3, "no attribute 'nope'"),
        ("{{ 1 / 0 }}", 1, "division by zero"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", 1, "recursion"),
    ],
)
def test_a_slip_is_one_line_with_its_place(text, line, word):
    assert problem(text).startswith(f"own.md, line {line}: ")
    assert word in problem(text)


@pytest.mark.parametrize(
    "text",
    [
        "{{ torch.__class__ }}",
        "{{ torch.lines.__class__.__mro__ }}",
        "{{ ''.__class__.__base__.__subclasses__() }}",
        "{{ '{0.__class__}'.format(torch) }}",
        "{{ torch.__str__.__globals__ }}",
        "{% include '/etc/hostname' %}",
        "{% import 'os' as os %}",
        "{{ lipsum.__globals__ }}",
        "{{ self.__init__ }}",
        "{% for i in range(10 ** 9) %}{% endfor %}",
    ],
)
def test_nothing_but_the_fields_can_be_reached(text):
    problem(text)


def test_files_that_are_no_templates(tmp_path):
    (tmp_path / "latin1").write_bytes(b"caf\xe9")
    (tmp_path / "large").write_bytes(b" " * (MOST_BYTES + 1))
    for name, word in (
        ("latin1", "is not UTF-8"),
        ("large", "larger than 1 MB"),
        ("missing", "No such file"),
        (".", "directory"),
    ):
        with pytest.raises(TemplateProblem, match=word):
            Template.read(str(tmp_path / name))


def test_without_jinja_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(TemplateProblem, match=r"pip install 'hangview\[template\]'"):
        Template("x", "own.md")


def test_from_the_command_line(tmp_path, capsys):
    layout = tmp_path / "own.md"
    layout.write_text("{{ backend }} {{ leads }}", "utf-8")
    run = str(FIXTURES / "real-2.15.0-skip")
    assert cli.run(["worksheet", run, "--template", str(layout)]) == 0
    assert capsys.readouterr().out == "gloo 2\n"
    layout.write_text("{{ backend", "utf-8")
    target = tmp_path / "sheet.md"
    target.write_text("mine", "utf-8")
    assert cli.run(["worksheet", run, "--template", str(layout), "-o", str(target)]) == 2
    found = capsys.readouterr()
    assert (found.out, len(found.err.splitlines())) == ("", 1)
    assert found.err.startswith(f"hangview: {layout}, line 1: ")
    assert target.read_text("utf-8") == "mine"
    assert not (tmp_path / "sheet.md~").exists()
