"""Runs on disk as sides of a comparison."""

from __future__ import annotations

from collections.abc import Iterator

from tui_eval.fold.compared_side import Side
from tui_eval.fold.run_state import RunState
from tui_eval.runs.example_contents import ExampleContent, read_contents
from tui_eval.runs.layout import RunDir
from tui_eval.runs.versions import DATASET, read_versions


def read_side(run: RunDir, state: RunState) -> Side:
    """Reads what the examples of a run are; blocks as long as that takes."""
    return side_of(run, state, read_contents(run, state))


def side_of(run: RunDir, state: RunState, contents: Iterator[tuple[int, ExampleContent]]) -> Side:
    """A side from contents that were read, by an example's place."""
    digests: dict[int, bytes] = {}
    system: set[str] = set()
    untold = 0
    for place, content in contents:
        own_id = f"id {state.example_id(place * state.per_example)}".encode()
        digests[place] = content.digest or own_id
        untold += not content.digest
        system.add(content.system)
    versions = read_versions(run)
    code = {name: text for name, text in versions.parts.items() if name != DATASET}
    installed = versions.by_weight
    return Side(state, digests, frozenset(system - {""}), untold, code, installed)
