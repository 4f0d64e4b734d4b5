"""No module of the package is needed by one that it needs, imports within functions counted."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import tui_eval

ROOT = Path(tui_eval.__file__).parent
MODULES = {
    ".".join(("tui_eval", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(
        ".__init__"
    ): path
    for path in ROOT.rglob("*.py")
}


def test_there_is_no_circle_of_imports() -> None:
    graph = {name: set(imported(path)) for name, path in MODULES.items()}
    assert list(circles(graph)) == []


def imported(path: Path) -> Iterator[str]:
    """The modules of the package that a file imports while the program runs."""
    for node in running(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
            for one in node.names:
                submodule = f"{node.module}.{one.name}"
                yield submodule if submodule in MODULES else node.module


def running(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those that only a type checker sees."""
    for node in ast.iter_child_nodes(tree):
        yield node
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        yield from running(node)


def circles(graph: dict[str, set[str]]) -> Iterator[list[str]]:
    """The modules that need each other: strongly connected components of more than one."""
    reached = {name: everything_below(graph, name) for name in graph}
    seen: set[str] = set()
    for name in sorted(graph):
        circle = {other for other in reached[name] if name in reached[other]}
        if circle and name not in seen:
            seen |= circle
            yield sorted(circle)


def everything_below(graph: dict[str, set[str]], name: str) -> set[str]:
    found: set[str] = set()
    left = [name]
    while left:
        new = graph[left.pop()] - found
        found |= new
        left += new
    return found
