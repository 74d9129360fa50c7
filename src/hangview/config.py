"""Where settings come from: the environment over a TOML file over the defaults; options are laid over them by the command line.

The file is ``config.toml`` in the user's configuration folder (``~/.config/hangview``), or the one that ``HANGVIEW_CONFIG``
names. Wrong values and a file that is no TOML end the program with one line; a key that is not known is said and passed over,
so that one file serves two versions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hangview.cli_errors import Complaint
from hangview.keymap import all_actions
from hangview.settings import BY_NAME, SETTINGS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hangview.settings import Setting

#: The variable that names another file.
VARIABLE = "HANGVIEW_CONFIG"
#: Larger than any configuration: something else was named by mistake.
_MOST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Value:
    """What a setting is, and where that was said: ``default``, a variable, or a file with its line."""

    setting: Setting
    value: Any
    origin: str


@dataclass(frozen=True, slots=True)
class Config:
    """All settings in the order of the table. ``troubles`` are lines on keys that are not known."""

    values: tuple[Value, ...]
    troubles: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Any:
        """The value of a setting by its name in the file."""
        return next(value.value for value in self.values if value.setting.name == name)

    def params(self) -> dict[str, Any]:
        """What was said somewhere, by the names of commands' arguments."""
        return {value.setting.param: value.value for value in self.values if value.origin != "default"}


def config_path(environ: Mapping[str, str]) -> Path:
    """The file that is read; it need not exist unless ``HANGVIEW_CONFIG`` names it."""
    named = environ.get(VARIABLE)
    if named:
        return Path(named).expanduser()
    import platformdirs

    return Path(platformdirs.user_config_dir("hangview")) / "config.toml"


def load(environ: Mapping[str, str]) -> Config:
    """All settings but for the options. Raises :class:`Complaint`: one line that names the file or variable, and the reason."""
    path = config_path(environ)
    text = _text(path, must=bool(environ.get(VARIABLE)))
    told: dict[str, Value] = {}
    troubles: list[str] = []
    if text is not None:
        table = _parse(path, text)
        for name, what in list(_unknown(table)):
            troubles.append(f"{path}:{_line(text, name)}: {what}")
            if name.startswith("keys."):
                del table["keys"][name.removeprefix("keys.")]
        for name, raw in _flat(table):
            if name in BY_NAME:
                place = f"{path}:{_line(text, name)}"
                told[name] = Value(BY_NAME[name], _checked(BY_NAME[name], raw, place), place)
    for setting in SETTINGS:
        raw = environ.get(setting.variable, "") if setting.variable else ""
        if raw:
            told[setting.name] = Value(setting, _from_variable(setting, raw), setting.variable)
    values = (told.get(setting.name) or Value(setting, setting.default, "default") for setting in SETTINGS)
    return Config(tuple(values), tuple(troubles))


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """A line for each ``HANGVIEW_`` variable that means nothing here."""
    known = {VARIABLE, "HANGVIEW_DEBUG", *(setting.variable for setting in SETTINGS)} - {""}
    strange = sorted(name for name in environ if name.startswith("HANGVIEW_") and name not in known)
    return [f"{name} is no setting{_meant(name, known)}" for name in strange]


def _text(path: Path, *, must: bool) -> str | None:
    """The file's text; None when there is none."""
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        if must:
            raise Complaint(f"{path}: no such file ({VARIABLE} names it)") from None
        return None
    except (OSError, ValueError) as error:
        raise Complaint(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > _MOST_BYTES:
        raise Complaint(f"{path}: is larger than 1 MB, so it is no configuration")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Complaint(f"{path}:{line}: is not UTF-8") from None


def _parse(path: Path, text: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        reason, line = _where(str(error), text)
        raise Complaint(f"{path}:{line}: {_in_words(reason, text, line)}") from None
    except RecursionError:
        raise Complaint(f"{path}: is nested too deeply") from None


def _where(message: str, text: str) -> tuple[str, int]:
    """tomllib's message without its "(at line 3, column 5)", and the line; at the end of the document it is the last one."""
    found = re.fullmatch(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", message, re.DOTALL)
    if found is None:
        return message, 1
    return found[1], int(found[2] or len(text.splitlines()) or 1)


def _in_words(reason: str, text: str, line: int) -> str:
    """tomllib's "Invalid value" with the key that has it, and what is wrong: there is none, or text without its quotes."""
    written = re.match(r"""\s*["']?([\w.-]+)["']?\s*=\s*([^#]*)""", text.split("\n")[line - 1] if text else "")
    if reason != "Invalid value" or written is None:
        return reason
    key, value = written[1], written[2].strip()
    if not value:
        return f'{key}: nothing stands after the "="'
    return f'{key}: text stands in quotes, {key} = "{value}"' if re.fullmatch(r"[\w./~-]+", value) else f"{key}: {reason}"


_TABLES = {name.partition(".")[0] for name in BY_NAME if "." in name}


def _flat(table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """(name, value) pairs with a dot where a setting stands in a table."""
    for key, value in table.items():
        if key in _TABLES and isinstance(value, dict):
            yield from ((f"{key}.{inner}", held) for inner, held in value.items())
        else:
            yield key, value


def _unknown(table: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(name, what is wrong) of keys that are no setting."""
    for name, value in _flat(table):
        if name == "keys" and isinstance(value, dict):
            actions = all_actions()
            yield from ((f"keys.{key}", f'unknown action "{key}"{_meant(key, actions)}') for key in value if key not in actions)
        if name in BY_NAME:
            continue
        if name in _TABLES:
            yield name, f'"{name}" is a table: write [{name}], or {name}.key = value'
        elif isinstance(value, dict) and "." not in name:
            yield name, f"unknown table [{name}]{_meant(name, {*_TABLES, 'keys'})}"
        else:
            yield name, f'unknown key "{name}"{_meant(name, BY_NAME)}'


def _meant(name: str, known: Any) -> str:
    """The nearest known name: spelt alike, or the same without its table."""
    names = sorted(known)
    last = name.rpartition(".")[2]
    near = get_close_matches(name, names, n=1) or [one for one in names if one.rpartition(".")[2] == last]
    if not near:
        lasts = {one.rpartition(".")[2]: one for one in names}
        near = [lasts[one] for one in get_close_matches(last, lasts, n=1)]
    return f"; did you mean {near[0]}?" if near else ""


def _checked(setting: Setting, raw: Any, place: str) -> Any:
    try:
        return setting.type.check(raw)
    except ValueError as error:
        raise Complaint(f"{place}: {setting.name}: {error}") from None


def _from_variable(setting: Setting, raw: str) -> Any:
    try:
        value = setting.type.read(raw)
    except ValueError as error:
        raise Complaint(f"{setting.variable}: {error}") from None
    return not value if setting.opposite else value


def _line(text: str, name: str) -> int:
    """The line on which a key stands, counted from 1; that of its table, or 1, where it cannot be found."""
    table, found = "", 1
    wanted, _, _ = name.rpartition(".")
    for number, line in enumerate(text.splitlines(), 1):
        heading = re.match(r"\s*\[\s*([^\]]+?)\s*\]", line)
        if heading is not None:
            table = heading[1].strip("\"'")
            found = number if table in (wanted, name) and table else found
            if table == name:
                return number
            continue
        inner = re.match(r"""\s*["']?([\w.-]+?)["']?\s*=""", line)
        if inner is not None and (f"{table}.{inner[1]}" if table else inner[1]) in (name, wanted or name):
            return number
    return found
