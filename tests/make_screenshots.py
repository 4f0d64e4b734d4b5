"""Draws the app: `python tests/make_screenshots.py [FOLDER]`.

Without a folder the pictures that the README shows go to screenshots/; with one, every scene at
every size goes there in both themes and in the terminal's own colours, a few in those of a light
terminal too, to be looked at.
"""

from __future__ import annotations

import argparse
import asyncio
import os
from pathlib import Path

import pytest
import resvg_py
from rich.terminal_theme import DEFAULT_TERMINAL_THEME
from scenes import SCENES, Scene, act

KEPT = (
    "running-80x24",
    "watching-120x40",
    "running-200x60",
    "home-120x40",
    "form-ready-120x40",
    "compare-120x40",
    "suite-120x40",
    "finished-trajectory-120x40-light",
    "error-80x24",
)
THEMES = {"": "tui-eval-dark", "-light": "tui-eval-light", "-terminal": "ansi-dark"}
"""Themes by how the names of their pictures end."""
LIGHT_TERMINAL = ("running", "error", "trajectories")
"""Scenes that are drawn in the colours of a light terminal too."""
FONT = "DejaVu Sans Mono"
FONT_FOLDERS = ["/usr/share/fonts/truetype/dejavu"]


async def picture(scene: Scene, size: tuple[int, int], theme: str) -> str:
    """The scene's last frame as SVG."""
    app = scene.make()
    app.theme = theme
    async with app.run_test(size=size) as pilot:
        await act(scene)(pilot)
        with pytest.MonkeyPatch.context() as patch:
            if theme == "ansi-light":  # Rich draws a dark terminal
                patch.setattr("rich.console.SVG_EXPORT_THEME", DEFAULT_TERMINAL_THEME)
            return app.export_screenshot(title="tui-eval", simplify=True)


def write(folder: Path, name: str, svg: str) -> None:
    """Writes the SVG and the PNG."""
    (folder / f"{name}.svg").write_text(svg, encoding="utf-8")
    drawable = svg.replace("Fira Code, monospace", FONT).replace("Fira Code", FONT)
    drawable = drawable.replace("arial", FONT)
    png = resvg_py.svg_to_bytes(
        svg_string=drawable, font_dirs=FONT_FOLDERS, font_family=FONT, monospace_family=FONT
    )
    (folder / f"{name}.png").write_bytes(bytes(png))


def themes(key: str) -> dict[str, str]:
    """The themes that a scene is drawn in."""
    return THEMES | ({"-terminal-light": "ansi-light"} if key in LIGHT_TERMINAL else {})


def main(folder: Path, kept_only: bool) -> None:
    """Draws the pictures that the repository keeps, or every scene in every theme."""
    folder.mkdir(exist_ok=True)
    os.environ |= {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
    for key, scene in SCENES.items():
        for width, height in scene.sizes:
            for ending, theme in themes(key).items():
                name = f"{key}-{width}x{height}{ending}"
                if name in KEPT or not kept_only:
                    svg = asyncio.run(picture(scene, (width, height), theme))
                    write(folder, name, svg)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("folder", nargs="?", type=Path, help="where every scene goes")
    chosen: Path | None = parser.parse_args().folder
    main(chosen or Path(__file__).parent.parent / "screenshots", kept_only=chosen is None)
