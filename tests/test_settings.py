"""What a setting may hold, and that options, variables, file and documents are of one table."""

from __future__ import annotations

import tomllib

import pytest

from hangview.cli import cli
from hangview.keymap import key_name
from hangview.settings import BY_NAME, SETTINGS, WORKSHEET_LANGUAGES
from hangview.worksheet.languages import LANGUAGES

#: A value of each setting that is not its default, as text and as TOML.
OTHER = {
    "paths": ("/a:/b c", '["/a", "/b c"]'),
    "theme": ("light", '"light"'),
    "ascii": ("1", "true"),
    "mouse": ("1", "true"),
    "watch": ("1", "true"),
    "poll": ("7.5", "7.5"),
    "prefix": ("dump_", '"dump_"'),
    "rank_regex": (r"r(?P<rank>\d+)", r'"r(?P<rank>\\d+)"'),
    "follow_symlinks": ("yes", "true"),
    "workers": ("2", "2"),
    "cache": ("on", "true"),
    "cache_size": ("512M", '"512M"'),
    "limits.file_size": ("512M", '"512M"'),
    "limits.entries": ("10", "10"),
    "worksheet.language": ("ko", '"ko"'),
    "worksheet.template": ("/t.j2", '"/t.j2"'),
    "keys": ("", '{next_finding = ["n", "ctrl+n"]}'),
}


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_text_and_toml_are_read_alike_and_written_back(setting):
    text, toml = OTHER[setting.name]
    checked = setting.type.check(tomllib.loads(f"value = {toml}")["value"])
    if text:
        assert setting.type.read(text) == checked
    written = setting.type.write(checked)
    assert written == toml
    assert setting.type.check(tomllib.loads(f"value = {written}")["value"]) == checked


@pytest.mark.parametrize("setting", [one for one in SETTINGS if one.default is not None], ids=lambda setting: setting.name)
def test_defaults_are_values_of_their_type(setting):
    written = setting.type.write(setting.default)
    assert setting.type.check(tomllib.loads(f"value = {written}")["value"]) == setting.default


WRONG = [
    ("theme", '"blue"', "'blue' is none of dark, light"),
    ("theme", "1", "1 is no text"),
    ("ascii", '"yes"', "'yes' is neither true nor false"),
    ("poll", "0", "0 is not a number from 0.1 to 3600"),
    ("poll", "nan", "nan is not a number from 0.1 to 3600"),
    ("poll", "true", "true is not a number"),
    ("workers", "2.0", "2.0 is not a whole number from 1 to 1024"),
    ("workers", "0", "0 is not a whole number from 1 to 1024"),
    ("limits.file_size", '"12Q"', "'12Q' is no size like 256M"),
    ("limits.file_size", "-1", "no size"),
    ("rank_regex", '"("', "is no regular expression"),
    ("rank_regex", '"x"', "has neither {rank} nor a group"),
    ("paths", "3", "3 is no list of paths"),
    ("paths", "[1]", "1 is no text"),
    ("prefix", '""', "is empty"),
    ("keys", "1", "is no table"),
    ("keys", "{next_finding = 1}", "next_finding: is neither a key nor a list of keys"),
    ("keys", '{next_finding = "nn"}', "next_finding: 'nn' is no key"),
    ("keys", '{next_finding = "^S"}', "never arrives"),
    ("keys", '{next_finding = "w"}', "next_finding: the key 'w' is that of worksheet too"),
    ("keys", "{leave = [], quit = []}", "one of them needs a key"),
]


@pytest.mark.parametrize(("name", "toml", "says"), WRONG)
def test_wrong_values_are_told_apart(name, toml, says):
    with pytest.raises(ValueError) as told:
        BY_NAME[name].type.check(tomllib.loads(f"value = {toml}")["value"])
    assert says in str(told.value)
    assert "\n" not in str(told.value)


def test_keys_may_change_places_and_share_a_key_where_they_never_meet():
    keys = BY_NAME["keys"].type
    assert keys.check({"worksheet": "n", "next_finding": "w"}) == (("next_finding", ("w",)), ("worksheet", ("n",)))
    assert keys.check({"sheet_save": "n"}) == (("sheet_save", ("n",)),)  # n is next_finding, on another screen


@pytest.mark.parametrize(
    ("typed", "name"),
    [("N", "N"), ("/", "slash"), ("slash", "slash"), ("^N", "ctrl+n"), ("Ctrl+N", "ctrl+n"), ("F5", "f5"), ("esc", "escape")],
)
def test_names_of_keys(typed, name):
    """Asked for one key, as most of these are those of another action."""
    assert key_name(typed, "copy") == name


def test_signs_have_the_names_that_the_screen_library_gives_them():
    from textual.keys import _character_to_key

    from hangview.keymap import _SIGNS

    assert {sign: _character_to_key(sign) for sign in _SIGNS} == _SIGNS


def test_keys_of_the_program_itself_can_be_said_in_the_file():
    from hangview.keymap import all_actions

    for action in all_actions().values():
        assert BY_NAME["keys"].type.check({action.id: list(action.keys)}) == ((action.id, action.keys),)


def test_options_are_those_of_the_table():
    options = {name: param for command in cli.commands.values() for param in command.params for name in param.opts}
    for setting in SETTINGS:
        if setting.option:
            on, _, off = setting.option.partition("/")
            assert options[on].name == setting.param
            assert options[on].default == setting.default
            assert options[on].secondary_opts == ([off] if off else [])
    assert not [name for name, param in options.items() if getattr(param, "envvar", None)]


def test_variables_are_named_after_their_options():
    for setting in SETTINGS:
        options = [name.lstrip("-").replace("-", "_").upper() for name in setting.option.split("/")]
        if setting.option:
            assert setting.variable.removeprefix("HANGVIEW_") in options
    assert len({setting.variable for setting in SETTINGS}) == len(SETTINGS)


def test_languages_are_those_of_the_worksheet():
    assert tuple(LANGUAGES) == WORKSHEET_LANGUAGES
