"""Lines with a style and a hanging indent: the same content plain for a pipe, wrapped and coloured for a terminal."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TextIO

#: What a line is, and how a terminal shows it. Bold and dim only where colour would carry nothing: the words say it all.
STYLES = {"": "", "answer": "bold", "head": "bold", "lead": "bold yellow", "warn": "yellow", "quiet": "dim"}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a report: ``indent`` columns before it, ``hang`` more before what is wrapped; ``style``: a key of STYLES."""

    text: str = ""
    style: str = ""
    indent: int = 0
    hang: int = 2


def plain(lines: Iterable[Line]) -> str:
    """The lines as text, one fact a line and never wrapped, so that a pipe gets the same bytes whatever the window."""
    return "".join(f"{' ' * line.indent}{line.text}".rstrip() + "\n" for line in lines)


def wrap(line: Line, width: int) -> list[str]:
    """A line folded at ``width`` columns; words longer than the line (paths) stay whole."""
    if not line.text:
        return [""]
    indent = " " * line.indent
    return textwrap.wrap(
        line.text,
        max(width, line.indent + line.hang + 20),
        initial_indent=indent,
        subsequent_indent=indent + " " * line.hang,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
        replace_whitespace=False,
    )


def show(lines: Iterable[Line], stream: TextIO) -> None:
    """Write the lines to a terminal: folded at its width, in colour where it has any (``NO_COLOR`` is heeded)."""
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, highlight=False, soft_wrap=True)
    for line in lines:
        for part in wrap(line, console.width):
            console.print(Text(part, STYLES[line.style]))
