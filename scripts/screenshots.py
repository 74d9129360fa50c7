"""Pictures of the screen for the README, driven by keys on the bundled incident, and checked against the program.

    python scripts/screenshots.py            write the pictures into screenshots/
    python scripts/screenshots.py --check    say which pictures no longer show what the program shows; exit 1 if any
    python scripts/screenshots.py --png DIR  also turn them into PNG, for looking at them (needs resvg-py and the DejaVu fonts)

The check compares the words, not the bytes: a new release of textual may draw the same screen with other markup.
"""

from __future__ import annotations

import argparse
import asyncio
import html
import os
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.app import App

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "screenshots"
FONTS = Path("/usr/share/fonts/truetype/dejavu")


@dataclass(frozen=True)
class Shot:
    """One picture. ``keys`` are pressed one after the other, each after the screen has come to rest."""

    name: str
    size: tuple[int, int]
    keys: str = ""
    theme: str = "dark"
    ascii_only: bool = False
    colours: bool = True
    large: bool = False
    tour: bool = False
    compare: bool = False


SHOTS = (
    Shot("overview", (120, 36)),
    Shot("finding", (120, 36), "enter enter"),
    Shot("findings", (120, 36), "4"),
    Shot("waits", (120, 36), "5"),
    Shot("worksheet", (120, 40), "w"),
    Shot("worksheet-80x24", (80, 24), "w"),
    Shot("worksheet-160x48", (160, 48), "w 4"),
    Shot("compare", (120, 36), compare=True),
    Shot("compare-80x24", (80, 24), "enter", compare=True),
    Shot("large", (160, 44), "minus minus minus minus minus", large=True),
    Shot("ascii-80x24", (80, 24), ascii_only=True, colours=False),
    Shot("light", (120, 36), theme="light"),
    Shot("contrast", (120, 36), "4", theme="contrast"),
    Shot("small-60x20", (60, 20)),
    Shot("wide-200x60", (200, 60)),
    Shot("tour", (100, 30), "enter", tour=True),
    Shot("search", (100, 30), "slash g r o u p space d p"),
)


async def take(shot: Shot) -> str:
    """The picture as SVG."""
    import hangview
    from hangview.tui import UiOptions
    from hangview.tui.app import HangviewApp

    if shot.colours:
        os.environ.pop("NO_COLOR", None)
    else:
        os.environ["NO_COLOR"] = "1"
    if shot.compare:
        return await _photograph(shot, _comparison(shot))
    if shot.large:
        from tests.support.incidents import large

        incident, demo = large(1024, 2000), False
    else:
        from hangview.demo import folder

        shutil.copytree(folder(), "dumps", dirs_exist_ok=True)  # a path of this machine must not get into a picture
        incident, demo = hangview.load("dumps"), True
    ui = UiOptions(demo=demo, theme=shot.theme, tour=shot.tour)
    app = HangviewApp(incident.paths, ui, ascii_only=shot.ascii_only, colours=shot.colours, incident=incident, rest=0)
    return await _photograph(shot, app)


def _comparison(shot: Shot) -> App[int]:
    """A healthy run and the same one hanging; by names of folders as a person types them."""
    import hangview
    from hangview.compare import compare
    from hangview.tui import UiOptions
    from hangview.tui.compare.app import CompareApp
    from hangview.tui.compare.reader import Both

    names = ("healthy", "seed-a")
    for name in names:
        shutil.copytree(ROOT / "fixtures" / name, name, dirs_exist_ok=True)
    a, b = (hangview.load(name) for name in names)
    ui = UiOptions(theme=shot.theme)
    return CompareApp(names, ui, ascii_only=shot.ascii_only, colours=shot.colours, both=Both(compare(a, b), a, b))


async def _photograph(shot: Shot, app: App[int]) -> str:
    async with app.run_test(size=shot.size) as pilot:
        await pilot.pause()
        for key in shot.keys.split():
            await pilot.press(key)
            await pilot.pause()
        await pilot.pause(0.2)
        picture = app.export_screenshot(title=f"hangview: {shot.name}", simplify=True)
    return re.sub(r"terminal-\d+-", "terminal-", picture)


def words(picture: str) -> list[str]:
    """What a picture says: its lines of text, blanks made equal."""
    found = re.findall(r"<text[^>]*>(.*?)</text>", picture, re.DOTALL)
    return [text for each in found if (text := " ".join(html.unescape(re.sub(r"<[^>]+>", "", each)).split()))]


def to_png(picture: str, path: Path) -> None:
    """Draw it with a font whose cells all have one width; without one resvg leaves all text out and says nothing."""
    import resvg_py

    if not FONTS.is_dir():
        raise SystemExit(f"{FONTS} is missing: install fonts-dejavu-core")
    image = resvg_py.svg_to_bytes(
        svg_string=picture, font_dirs=[str(FONTS)], monospace_family="DejaVu Sans Mono", font_family="DejaVu Sans Mono"
    )
    path.write_bytes(bytes(image))


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    parser.add_argument("--png", type=Path, metavar="DIR", help="also write PNG files there")
    parser.add_argument("--only", metavar="NAME", help="only this picture")
    args = parser.parse_args(argv)
    sys.path.insert(0, str(ROOT))
    os.environ |= {"TEXTUAL_ANIMATIONS": "none", "XDG_STATE_HOME": tempfile.mkdtemp(prefix="hangview-shots-")}
    os.chdir(tempfile.mkdtemp(prefix="hangview-shots-"))
    stale = []
    for shot in SHOTS:
        if args.only not in (None, shot.name):
            continue
        picture = asyncio.run(take(shot))
        path = FOLDER / f"{shot.name}.svg"
        if args.check:
            if not path.exists() or words(path.read_text(encoding="utf-8")) != words(picture):
                stale.append(shot.name)
        else:
            FOLDER.mkdir(exist_ok=True)
            path.write_text(picture, encoding="utf-8")
        if args.png is not None:
            args.png.mkdir(parents=True, exist_ok=True)
            to_png(picture, args.png / f"{shot.name}.png")
    for name in stale:
        print(f"screenshots/{name}.svg no longer shows what the program shows: run python scripts/screenshots.py")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
