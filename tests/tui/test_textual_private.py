"""Private names of Textual and Rich are used in one module, which does without each of them."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import os
import pkgutil
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
import rich
import textual
from compared_runs import two_runs
from program import Program
from terminal import Terminal

import tui_eval.tui
from tui_eval.tui.base import textual_private
from tui_eval.tui.base.terminal.browser import DRIVER
from tui_eval.tui.base.textual_private import NAMES, SEEN

OF_TUPLES = {"_replace", "_asdict", "_fields", "_make"}
MODULES = [
    importlib.import_module(one.name)
    for one in pkgutil.walk_packages(tui_eval.tui.__path__, "tui_eval.tui.")
]


def test_no_other_module_touches_a_private_name_of_textual_or_rich() -> None:
    used = {one.__name__: sorted(set(used_by(one))) for one in MODULES}
    assert used.pop(textual_private.__name__)
    assert {name: found for name, found in used.items() if found} == {}


def test_each_name_that_is_used_has_its_reason() -> None:
    used = {name.split()[-1] for name in used_by(textual_private)}
    assert used == {name.rpartition(".")[2] for name in NAMES}


def used_by(module: Any) -> Iterator[str]:
    """The private names that a module imports, overrides, sets, reads or calls."""
    tree = ast.parse(inspect.getsource(module))
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(of)) if is_private(of) or (
                is_theirs(of) and any(is_private(f"{of}.{one.name}") for one in node.names)
            ):
                yield from (f"{node.lineno} {one.name}" for one in node.names)
            case ast.Import():
                yield from (
                    f"{node.lineno} {one.name}" for one in node.names if is_private(one.name)
                )
            case ast.Attribute(attr=name) if name in every_name() and not is_own(node.value):
                yield f"{node.lineno} {name}"
            case ast.Call(
                func=ast.Name("import_module" | "_class"), args=[ast.Constant(str(of)), *to]
            ):
                if is_private(of):
                    named = ast.literal_eval(to[0]) if to else "load"
                    yield f"{node.lineno} {named}"
            case ast.Call(
                func=ast.Name("getattr" | "setattr" | "hasattr" | "delattr"),
                args=[_, ast.Constant(str(name)), *_],
            ) if name in every_name():
                yield f"{node.lineno} {name}"
    yield from (one for made in tree.body for one in used_in(made, module))


def used_in(node: ast.AST, place: Any) -> Iterator[str]:
    """Private names of their base classes that the classes in a place use."""
    if not isinstance(node, ast.ClassDef):
        return
    made = vars(place).get(node.name)
    theirs = names_within(made) if isinstance(made, type) else set()
    for inner in ast.walk(node):
        match inner:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name in theirs:
                yield f"{inner.lineno} {name}"
            case ast.Attribute(attr=name) if name in theirs and is_own(inner.value):
                yield f"{inner.lineno} {name}"
            case ast.Name(id=name, ctx=ast.Store()) if name in theirs:
                yield f"{inner.lineno} {name}"
    for below in node.body:
        yield from used_in(below, made)


def is_theirs(name: str) -> bool:
    return name.partition(".")[0] in ("textual", "rich")


def is_private(name: str) -> bool:
    return is_theirs(name) and any(one.startswith("_") for one in name.split("."))


def is_own(value: ast.expr) -> bool:
    return ast.unparse(value) in ("self", "cls", "super()")


def names_within(made: type) -> set[str]:
    """The private names that a class, or what it is mixed into, has of Textual's classes."""
    below = [made]
    for one in below:
        below += [more for more in type.__subclasses__(one) if more not in below]
    bases = {base for one in below for base in one.__mro__ if is_theirs(base.__module__)}
    return {name for base in bases for name in names_of(base)}


@cache
def names_of(made: type) -> set[str]:
    tree = ast.parse(textwrap.dedent(inspect.getsource(made)))
    set_here = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    names = {*vars(made), *(one[5:] for one in set_here if re.fullmatch(r"self\._\w+", one))}
    return {name for name in names if re.match(r"_[^_]", name)}


@cache
def every_name() -> set[str]:
    """All private names of attributes in the sources of Textual and Rich."""
    sources = (
        path.read_text()
        for package in (textual, rich)
        for path in Path(package.__file__).parent.rglob("*.py")
    )
    names = {name for one in sources for name in re.findall(r"(?:\.|def |class )(_[^\W_]\w*)", one)}
    return names - OF_TUPLES


# What the sources of Textual and Rich hold is something else, as in another version.
ANOTHER_VERSION = """
import json, os, re, sys
from importlib.machinery import PathFinder, SourceFileLoader
from importlib.util import spec_from_file_location

CHANGES = json.loads(os.environ["CHANGES"])

def changed(text):
    for was, now in CHANGES:
        text = re.sub(was, now, text)
    return text

class Loader(SourceFileLoader):
    def get_code(self, fullname):
        source = self.get_data(self.path).decode()
        if changed(source) == source:
            return super().get_code(fullname)
        return compile(changed(source), self.path, "exec", dont_inherit=True)

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in ("textual", "rich"):
            return None
        if changed(name) != name:
            raise ModuleNotFoundError(name, name=name)
        spec = PathFinder.find_spec(name.replace("_moved", ""), path)
        if spec is None or not isinstance(spec.loader, SourceFileLoader):
            return spec
        places, loader = spec.submodule_search_locations, Loader(name, spec.origin)
        return spec_from_file_location(
            name, spec.origin, loader=loader, submodule_search_locations=places
        )

sys.meta_path.insert(0, Finder())
"""
NEWER = "8.99.0"


def moved(name: str) -> tuple[str, str]:
    """A change of sources that has a private name moved away."""
    module, last = name.split(".")[-2:]
    word = module if last == "load" else last
    return rf"(?<!\w){word}(?!\w)", f"{word}_moved"


def by_loss(name: str) -> str:
    return NAMES[name].without


IN_BROWSERS = "WebDriver._write"
GROUPS = [
    names
    for _, by in groupby(sorted(NAMES, key=by_loss), by_loss)
    if (names := list(by)) != [IN_BROWSERS]
]
IN_TERMINALS = [name for name in NAMES if name != IN_BROWSERS]


def missing(name: str) -> str:
    """The log of a missing name."""
    package, newer = ("Rich", version("rich")) if name.startswith("rich") else ("Textual", NEWER)
    seen, without = f"{package} {SEEN[package]}", NAMES[name].without
    return f"{package} {newer} has no {name} as {seen} had it: {without}."


@contextmanager
def another_version(
    program: Program, changes: list[tuple[str, str]]
) -> Iterator[tuple[list[str], list[str]]]:
    """Sets another version up; the command that is then run, and what its log said at the end."""
    program.happens_at_start(ANOTHER_VERSION)
    metadata = program.folder / f"textual-{NEWER}.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text(f"Metadata-Version: 2.1\nName: textual\nVersion: {NEWER}\n")
    log = program.folder / "textual.log"
    program.env |= {"CHANGES": json.dumps(changes), "TEXTUAL_LOG": str(log)}
    said: list[str] = []
    yield ["compare", *map(str, two_runs(program.folder))], said
    said += [line for line in log.read_text().splitlines() if " has no " in line]


def log_on_a_terminal(program: Program, changes: list[tuple[str, str]]) -> list[str]:
    """Opens, uses and leaves a screen; returns what its log said."""
    with (
        another_version(program, changes) as (command, said),
        closing(Terminal(program.folder, program.env, *command)) as on,
    ):
        on.wait_for("greatest difference first")
        on.type("?")
        on.wait_for("esc closes")
        on.type("\x1b")
        on.wait_for(lambda: "esc closes" not in on.text)
        on.type("q")
        assert on.finish() == 0
        assert on.is_whole()
    return said


def test_nothing_is_missed_in_the_version_that_was_seen(program: Program) -> None:
    assert log_on_a_terminal(program, []) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "names", [*GROUPS, IN_TERMINALS], ids=lambda names: f"{len(names)}{names[0]}"
)
def test_without_them_the_screen_is_drawn_as_public_textual_does(
    program: Program, names: list[str]
) -> None:
    said = log_on_a_terminal(program, [moved(name) for name in names])
    assert {missing(name) for name in names} <= set(said)  # with a module all that is in it goes
    assert len(said) == len(set(said))


@pytest.mark.slow
def test_a_name_of_another_kind_counts_as_missing(program: Program) -> None:
    change = (r"(def _display\(self, screen: Screen, renderable: [\w |]+)", r"\1, at: int = 0")
    assert log_on_a_terminal(program, [change]) == [missing("App._display")]


@pytest.mark.slow
def test_without_them_a_browser_is_drawn_for_as_public_textual_does(program: Program) -> None:
    with another_version(program, [moved(IN_BROWSERS)]) as (command, said):
        program.env["TEXTUAL_DRIVER"] = DRIVER
        with subprocess.Popen(
            [sys.executable, "-m", "tui_eval", *command],
            cwd=program.folder,
            env=program.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as shown:
            assert shown.stdin is not None
            assert shown.stdout is not None
            seen = b""
            while b"greatest difference first" not in seen:
                seen += (read := os.read(shown.stdout.fileno(), 1 << 16))
                assert read, seen
            leave = json.dumps({"type": "quit"}).encode()
            os.write(shown.stdin.fileno(), b"M" + len(leave).to_bytes(4, "big") + leave)
            shown.communicate()
        assert shown.returncode == 0
    assert said == [missing(IN_BROWSERS)]
