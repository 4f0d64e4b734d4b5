"""Files, and the floor of the screen, stay as small as CONTRIBUTING says."""

from __future__ import annotations

import ast
from pathlib import Path

import tui_eval

ROOT = Path(tui_eval.__file__).parent
LONGEST_FILE = 400
LONGEST_BODY = 40
SCREEN_LINES = 19_900


def lines_of(folder: Path) -> dict[str, int]:
    """The number of lines of each module below a folder."""
    return {
        path.relative_to(folder.parent).as_posix(): path.read_bytes().count(b"\n")
        for path in sorted(folder.rglob("*.py"))
    }


def bodies_of(path: Path) -> dict[str, int]:
    """The number of lines of each function of a module, without its head and its docstring."""
    lines = {}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[ast.get_docstring(node) is not None :]
            last = node.end_lineno or node.lineno
            where = f"{path.relative_to(ROOT).as_posix()}:{node.lineno} {node.name}"
            lines[where] = last - body[0].lineno + 1 if body else 0
    return lines


def test_no_file_is_longer_than_a_reader_takes_in() -> None:
    every = lines_of(ROOT) | lines_of(Path(__file__).parent)
    assert {path: lines for path, lines in every.items() if lines > LONGEST_FILE} == {}


def test_no_function_is_longer_than_a_reader_takes_in() -> None:
    every = [one for path in sorted(ROOT.rglob("*.py")) for one in bodies_of(path).items()]
    assert {where: lines for where, lines in every if lines > LONGEST_BODY} == {}


def test_the_floor_of_the_screen_does_not_grow() -> None:
    assert sum(lines_of(ROOT / "tui").values()) <= SCREEN_LINES
