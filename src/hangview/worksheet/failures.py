"""Why a worksheet, a draft or an editor did not work, in English, and so that a screen can say it in another language."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Sentences by name; what they are about stands in their places.
FAILURES: Mapping[str, str] = {
    "no_space": "no space left on the disk",
    "quota": "the disk quota is used up",
    "read_only": "the file system is read-only",
    "no_permission": "no permission to write there",
    "no_folder": "the folder does not exist",
    "part_no_folder": "a part of the path is no folder",
    "it_is_folder": "it is a folder",
    "long_name": "the name is too long",
    "stale": "the network file system lost it",
    "disk_error": "the disk reports an error",
    "circle": "its links lead in a circle",
    "not_written": "it could not be written",
    "no_file": "there is no such file",
    "not_regular": "it is no regular file",
    "open_elsewhere": "it is open in another hangview",
    "in_folder": "{why}: {folder}",
    "draft_elsewhere": "the draft is kept in {folder}; where it belongs, {why}",
    "draft_not_kept": "the draft is NOT kept, save the worksheet to another place: {why}",
    "is_folder": "{path} is a folder",
    "could_not_write": "{path} could not be written: {why}",
    "could_not_read": "{path} could not be read: {why}",
    "too_large": "{path} is too large to be a worksheet",
    "not_text": "{path} is not UTF-8 text: opening it would damage it",
    "no_section": "{path} has no section of a worksheet",
    "editor_setting": "${name} cannot be understood: {why}",
    "editor_file": "no temporary file for the editor: {why}",
    "editor_start": "{command} cannot be started: {why}",
    "editor_ended": "{command} ended with {code}; what it wrote is in {path}",
    "editor_gave_up": "{command} ended with {code}; the field is as it was",
    "editor_left": "what {command} left in {path} cannot be read",
}


class Said(str):
    """An English sentence that knows which one it is: its name among FAILURES, and what stands in its places."""

    __slots__ = ("key", "values")

    key: str
    values: Mapping[str, object]

    def __new__(cls, key: str, /, **values: object) -> Self:
        made = super().__new__(cls, FAILURES[key].format(**values))
        made.key, made.values = key, values
        return made
