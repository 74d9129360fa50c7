"""Options that several commands share, and what they become."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from hangview.cli_errors import narrate
from hangview.setting_types import Choice, Flag, OnePath
from hangview.settings import BY_NAME, SETTINGS, WORKSHEET_LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.shell_completion import CompletionItem

    from hangview.config import Config
    from hangview.schema import ReadOptions
    from hangview.settings import Setting

    _ParamType = click.ParamType[Any]
else:
    _ParamType = click.ParamType  # takes no parameter before click 8.4

__all__ = ["PATH", "WORKSHEET_LANGUAGES"]

#: A path, completed as one. Whether it can be read is seen, and said in our words, when it is.
PATH = click.Path(readable=False)


class _SettingType(_ParamType):
    """Reads an option as the setting's own type does, so that options, variables and the file take the same values."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.name = setting.metavar.lower() or setting.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """A text becomes the setting's value; a value that is one already comes back as it is."""
        if not isinstance(value, str):
            return value
        try:
            return self.setting.type.read(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)

    def shell_complete(self, _ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The words of a choice; files where the setting is a path."""
        from click.shell_completion import CompletionItem

        if isinstance(self.setting.type, Choice):
            return [CompletionItem(word) for word in self.setting.type.values if word.startswith(incomplete)]
        return [CompletionItem(incomplete, type="file")] if isinstance(self.setting.type, OnePath) else []


def setting_option(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option of a setting; its default is what the environment or the file says, see :class:`Defaults`."""
    setting = BY_NAME[name]
    words = f"{setting.help}  [default: {option_default(setting)}]"
    if isinstance(setting.type, Flag):
        return click.option(setting.option, setting.param, default=setting.default, help=words)
    kind, metavar = _SettingType(setting), setting.metavar
    return click.option(setting.option, setting.param, type=kind, metavar=metavar, default=setting.default, help=words)


def option_default(setting: Setting) -> str:
    """The default as the help says it: for a switch the option that is on by itself."""
    if isinstance(setting.type, Flag) and setting.default is not None:
        on, off = setting.option.split("/")
        return (on if setting.default else off).lstrip("-")
    return setting.default_words.strip('"')


_READING: tuple[Callable[[Callable[..., Any]], Callable[..., Any]], ...] = (
    setting_option("prefix"),
    setting_option("rank_regex"),
    click.option(
        "--attempt",
        type=click.IntRange(min=0),
        metavar="N",
        help="Which start of a restarted job to read.  [default: the last]",
    ),
    click.option(
        "--group-world-size",
        type=click.IntRange(min=1),
        metavar="N",
        help="Ranks of one torchft replica, whose own groups count from 0.",
    ),
    setting_option("workers"),
    setting_option("follow_symlinks"),
    setting_option("cache"),
    setting_option("cache_size"),
    setting_option("limits.file_size"),
    setting_option("limits.entries"),
)

_SCREEN = tuple(setting_option(name) for name in ("theme", "ascii", "mouse"))

#: ``lang``: the language of the worksheet's own words; what the evidence says stays as the report words it.
language_option = setting_option("worksheet.language")
template_option = setting_option("worksheet.template")


paths_argument = click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=PATH)
output_option = click.option("-o", "--output", metavar="FILE", type=PATH, help="Write to FILE instead of stdout.")
format_option = click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "markdown", "json"]),
    default="text",
    show_default=True,
    help="Output format.",
)
all_option = click.option(
    "--all", "everything", is_flag=True, help="Every finding and every line of evidence in text and markdown."
)
no_logs_option = click.option("--no-logs", is_flag=True, help="Read dumps alone.")


class Defaults(Mapping[str, Any]):
    """What the environment and the configuration file say, as click's defaults: read when the first option is missed.

    So ``--version``, ``--help`` and completion read no file. One at the top, which gives the values to whatever command.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._config: Config | None = None

    @property
    def config(self) -> Config:
        """All settings; keys that are not known are said when it is read first. Raises :class:`Complaint`."""
        if self._config is None:
            from hangview.config import load

            self._config = load(self._environ)
            for trouble in self._config.troubles:
                narrate(trouble)
        return self._config

    def __getitem__(self, name: str) -> Any:
        return _Values(self)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


class _Values(Mapping[str, Any]):
    """The same for the options of one command."""

    def __init__(self, defaults: Defaults) -> None:
        self._defaults = defaults

    def __getitem__(self, name: str) -> Any:
        context = click.get_current_context(silent=True)
        if name not in _PARAMS or (context is not None and context.resilient_parsing):  # help asks for defaults too
            raise KeyError(name)
        return self._defaults.config.params()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


#: Arguments that a setting fills; paths are asked for by the screen alone.
_PARAMS = {setting.param for setting in SETTINGS if setting.option}


def config_of(ctx: click.Context) -> Config:
    """All settings but for the options. Raises :class:`Complaint`."""
    defaults: object = ctx.find_root().default_map
    return defaults.config if isinstance(defaults, Defaults) else Defaults({}).config


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of :func:`read_options` to a command."""
    for option in reversed(_READING):
        command = option(command)
    return command


def screen_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``theme``, ``ascii_`` and ``mouse`` to a command that opens the screen."""
    for option in reversed(_SCREEN):
        command = option(command)
    return command


def read_options(
    *,
    prefix: str | None = None,
    rank_regex: str | None = None,
    attempt: int | None = None,
    group_world_size: int | None = None,
    workers: int | None = None,
    follow_symlinks: bool = False,
    cache: bool = True,
    cache_size: int | None = None,
    limits_file_size: int | None = None,
    limits_entries: int | None = None,
    logs: bool = True,
) -> ReadOptions:
    """What was typed, as the reader wants it. A file limit that was raised raises that of unpacked files with it."""
    from hangview.schema import Limits, ReadOptions

    usual, options = Limits(), ReadOptions()
    file_bytes = usual.file_bytes if limits_file_size is None else limits_file_size
    return ReadOptions(
        prefix=prefix,
        rank_regex=rank_regex,
        attempt=attempt,
        group_world_size=group_world_size,
        logs=logs,
        workers=workers,
        cache=cache,
        cache_bytes=options.cache_bytes if cache_size is None else cache_size,
        follow_symlinks=follow_symlinks,
        limits=Limits(
            file_bytes=file_bytes,
            entries=usual.entries if limits_entries is None else limits_entries,
            unpacked_bytes=max(usual.unpacked_bytes, file_bytes),
        ),
    )
