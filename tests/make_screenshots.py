"""Writes screenshots/*.svg and *.png of the app: `python tests/make_screenshots.py [NAME…]`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import resvg_py
from scenes import SCENES, Scene, act

FOLDER = Path(__file__).parent.parent / "screenshots"
FONT = "DejaVu Sans Mono"
FONT_FOLDERS = ["/usr/share/fonts/truetype/dejavu"]


async def picture(scene: Scene, size: tuple[int, int], theme: str) -> str:
    """The scene's last frame as SVG."""
    app = scene.make()
    app.theme = theme
    async with app.run_test(size=size) as pilot:
        await act(scene)(pilot)
        return app.export_screenshot(title="tui-eval", simplify=True)


def write(name: str, svg: str) -> None:
    """Writes the SVG and, where the font is there, the PNG."""
    (FOLDER / f"{name}.svg").write_text(svg, encoding="utf-8")
    drawable = svg.replace("Fira Code, monospace", FONT).replace("Fira Code", FONT)
    drawable = drawable.replace("arial", FONT)
    png = resvg_py.svg_to_bytes(
        svg_string=drawable, font_dirs=FONT_FOLDERS, font_family=FONT, monospace_family=FONT
    )
    (FOLDER / f"{name}.png").write_bytes(bytes(png))


def main(wanted: list[str]) -> None:
    """Makes every picture whose name begins with one of those wanted; all without any."""
    FOLDER.mkdir(exist_ok=True)
    for theme in ("dark", "light"):
        for key, scene in SCENES.items():
            for width, height in scene.sizes:
                name = f"{key}-{width}x{height}" + ("" if theme == "dark" else "-light")
                if theme == "light" and key not in ("running", "finished-story", "error"):
                    continue
                if wanted and not any(name.startswith(part) for part in wanted):
                    continue
                write(name, asyncio.run(picture(scene, (width, height), f"tui-eval-{theme}")))


if __name__ == "__main__":
    main(sys.argv[1:])
