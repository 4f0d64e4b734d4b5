"""Files, and the floor of the screen, stay as small as CONTRIBUTING says."""

from __future__ import annotations

from pathlib import Path

import tui_eval

ROOT = Path(tui_eval.__file__).parent
LONGEST_FILE = 400
SCREEN_LINES = 19_900


def lines_of(folder: Path) -> dict[str, int]:
    """The number of lines of each module below a folder."""
    return {
        path.relative_to(folder.parent).as_posix(): path.read_bytes().count(b"\n")
        for path in sorted(folder.rglob("*.py"))
    }


def test_no_file_is_longer_than_a_reader_takes_in() -> None:
    every = lines_of(ROOT) | lines_of(Path(__file__).parent)
    assert {path: lines for path, lines in every.items() if lines > LONGEST_FILE} == {}


def test_the_floor_of_the_screen_does_not_grow() -> None:
    assert sum(lines_of(ROOT / "tui").values()) <= SCREEN_LINES
