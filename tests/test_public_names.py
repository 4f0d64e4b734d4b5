"""The names of `import tui_eval as vf`, as Python and as a type checker see them."""

from __future__ import annotations

import ast
from pathlib import Path

import tui_eval


def test_every_public_name_loads() -> None:
    assert all(getattr(tui_eval, name) is not None for name in tui_eval.__all__)


def test_type_checkers_see_the_same_names() -> None:
    stub = ast.parse(Path(tui_eval.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    seen = {
        f"{node.module}.{alias.asname}"
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == {f"{home}.{name}" for name, home in tui_eval._HOME_OF.items()}
