"""How a terminal's lines and columns are shared out, as plain arithmetic."""

from __future__ import annotations

from dataclasses import dataclass

#: Below this the screen says that it is too small instead of drawing half a grid.
SMALLEST = (40, 12)
#: Lines between banner and status from which on the grid and the call stand both on the screen: below it one of them would be
#: a frame around one line, or around none.
BOTH = 9


def too_small(width: int, height: int) -> str:
    """What stands on the screen then."""
    return f"{width} × {height} is too small for this screen, which needs {SMALLEST[0]} × {SMALLEST[1]}"


@dataclass(frozen=True, slots=True)
class Layout:
    """Sizes of the panes, frames included. A size of 0 hides the pane."""

    fits: bool
    middle: bool  #: what is above the bottom is on the screen
    groups: int  #: columns of the groups pane
    bottom: int  #: lines of the panes below
    finding: bool  #: the finding stands beside the call
    map: int  #: lines of the map, its ruler included
    short_banner: bool


def plan(
    width: int, height: int, *, banner: int, rows: int, lanes: int, drilled: bool, alone: bool = False, chooses: bool = False,
    reads: bool = False,
) -> Layout:  # fmt: skip
    """``rows``, ``lanes``: lines that the grid and the list of groups would like; ``drilled``: the user reads details;
    ``chooses``: from a list, whose text below is what is read; ``reads``: the focus is below, which gets all lines where there
    are not enough for both."""
    fits = width >= SMALLEST[0] and height >= SMALLEST[1]
    main = max(0, height - banner - 2)  # status and keys
    tall = 0 if height < 22 else 2 if height < 24 else 3 if height < 40 else 5 if height < 56 else 7
    least = 6 + tall  # frame, header, two rows
    lowest = 5 if height < 22 else 7 if height < 30 else 10
    groups = 0 if width < 76 else 30 if width < 110 else 34 if width < 180 else 44
    wanted = max(4 + rows + tall, 2 + min(lanes, 14) if groups else 0)
    bottom = max(lowest, main - min(wanted, main * 11 // 20 if height >= 30 else main))
    if drilled:  # room to read, but no other size where there is room already: that would repaint everything
        bottom = max(bottom, min(main * 3 // 5, 16))
    if chooses:
        bottom, least = max(bottom, min(main * 2 // 3, 16)), 6  # there is no map in the middle
    bottom = 0 if alone else max(3, min(bottom, main - least))
    if main < BOTH and not alone:
        bottom = main if reads else 3 if chooses else 0
    return Layout(
        fits=fits,
        middle=bottom < main,
        groups=groups,
        bottom=bottom,
        finding=width >= 116 and height >= 28,
        map=tall,
        short_banner=height < 20,
    )
