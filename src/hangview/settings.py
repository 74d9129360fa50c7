"""Every setting, once: the options of the command line, the configuration file, ``hangview config``, the manual and
docs/configuration.md are made from this table.

An option wins over its environment variable, that over the file, the file over the default. Imports nothing heavy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hangview.keymap import Keys
from hangview.setting_types import Bytes, Choice, Flag, Number, OnePath, Paths, Pattern, Type

#: Languages of the worksheet, as hangview.worksheet.languages has them; named here so that --help needs none of it.
WORKSHEET_LANGUAGES = ("en", "ko")
THEMES = ("dark", "light", "contrast")


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting.

    ``name`` is its key in the file, with a dot where it stands in a table. ``default`` None means that the program decides,
    as ``decided`` says. ``variable`` is its environment variable, "" for none; one with NO in its name says the opposite of
    the setting. ``option`` is its option as click takes it, "" for none.
    """

    name: str
    type: Type
    default: Any
    help: str
    variable: str = ""
    option: str = ""
    metavar: str = ""
    decided: str = ""
    argument: str = ""

    @property
    def param(self) -> str:
        """The name of its value as an argument of a command: ``limits.entries`` is ``limits_entries``."""
        return self.argument or self.name.replace(".", "_")

    @property
    def opposite(self) -> bool:
        """Whether its variable switches it off."""
        return self.variable.startswith("HANGVIEW_NO_")

    @property
    def default_words(self) -> str:
        """The default as it would be written in the file, or what is decided by itself."""
        return self.decided or self.type.write(self.default)


SETTINGS: tuple[Setting, ...] = (
    Setting(
        "paths",
        Paths(),
        (),
        "Folders and files to look at when hangview is started without PATH.",
        "HANGVIEW_PATHS",
        decided="where PyTorch writes dumps",
    ),
    Setting(
        "theme", Choice(*THEMES), "dark", "Colours of the screen.", "HANGVIEW_THEME", "--theme", "[dark|light|contrast]"
    ),
    Setting(
        "ascii",
        Flag(),
        None,
        "Draw with ASCII characters only.",
        "HANGVIEW_ASCII",
        "--ascii/--no-ascii",
        decided="by the locale",
        argument="ascii_",
    ),
    Setting(
        "mouse", Flag(), True, "Use the mouse, or leave it to the terminal.", "HANGVIEW_NO_MOUSE", "--mouse/--no-mouse"
    ),
    Setting("watch", Flag(), True, "Read dumps that appear later.", "HANGVIEW_NO_WATCH", "--watch/--no-watch"),
    Setting(
        "poll",
        Number(0.1, 3600, whole=False),
        None,
        "Seconds between looks where the system does not report changes.",
        "HANGVIEW_POLL",
        "--poll",
        "SECONDS",
        "2 on a local disk, 5 on a shared one",
    ),
    Setting(
        "prefix", Type(), None, "What comes before the rank in the dumps' file names.", "HANGVIEW_PREFIX", "--prefix", "TEXT",
        "found by itself",
    ),
    Setting(
        "rank_regex",
        Pattern(),
        None,
        "How to find the rank in a file name: a template like 'dump_{host}_{rank}', or a regular expression with a group named "
        "rank (and host). Wins over prefix.",
        "HANGVIEW_RANK_REGEX",
        "--rank-regex",
        "PATTERN",
        "found by itself",
    ),
    Setting(
        "follow_symlinks",
        Flag(),
        False,
        "Read what symbolic links inside a folder point to.",
        "HANGVIEW_FOLLOW_SYMLINKS",
        "--follow-symlinks/--no-follow-symlinks",
    ),
    Setting(
        "workers",
        Number(1, 1024),
        None,
        "Processes that read.",
        "HANGVIEW_WORKERS",
        "--workers",
        "N",
        "by size and cores",
    ),
    Setting(
        "cache",
        Flag(),
        True,
        "Keep what was read for the next time; without it every dump is read anew.",
        "HANGVIEW_NO_CACHE",
        "--cache/--no-cache",
    ),
    Setting(
        "cache_size",
        Bytes(),
        2 << 30,
        "So much may be kept for the next time; what was not used for longest goes first.",
        "HANGVIEW_CACHE_SIZE",
        "--cache-size",
        "SIZE",
    ),
    Setting(
        "limits.file_size",
        Bytes(),
        256 << 20,
        "Refuse files larger than this.",
        "HANGVIEW_MAX_FILE_SIZE",
        "--max-file-size",
        "SIZE",
    ),
    Setting(
        "limits.entries",
        Number(1, 1_000_000_000),
        5_000_000,
        "Refuse dumps with more entries than this.",
        "HANGVIEW_MAX_ENTRIES",
        "--max-entries",
        "N",
    ),
    Setting(
        "worksheet.language",
        Choice(*WORKSHEET_LANGUAGES),
        "en",
        "Language of a new worksheet.",
        "HANGVIEW_LANG",
        "--lang",
        "[en|ko]",
        argument="lang",
    ),
    Setting(
        "worksheet.template",
        OnePath(),
        None,
        "A worksheet in a layout of your own, in Jinja (docs/worksheet.md).",
        "HANGVIEW_TEMPLATE",
        "--template",
        "FILE",
        "none",
        "template",
    ),
    Setting("keys", Keys(), (), "Other keys for actions; docs/keys.md lists both.", decided="as docs/keys.md lists them"),
)  # fmt: skip

BY_NAME = {setting.name: setting for setting in SETTINGS}
