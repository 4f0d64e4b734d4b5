"""Runs on disk that are compared with the first of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tui_eval.fold.compared_side import Side
from tui_eval.fold.comparison import Comparison, PairedExample, compare_runs
from tui_eval.fold.run_state import RunState
from tui_eval.fold.trajectory import Rollout
from tui_eval.runs.example_contents import ExampleContent, read_contents
from tui_eval.runs.layout import RunDir
from tui_eval.runs.naming import named_runs
from tui_eval.runs.opening import read_rollout, read_run
from tui_eval.runs.versions import DATASET, read_versions
from tui_eval.text.figures import letter_of

ROWS_SHARE = 0.3
"""Of the time that a run takes: its rows, before what its examples ask."""


class ComparedRun(msgspec.Struct, frozen=True):
    """A run to compare, and how it differs from the first one; None for the first itself.

    Args:
        name: What people call it: the last part of the path that they named.
        questions: How the question of each example begins, by the example's place.
    """

    run: RunDir
    side: Side
    letter: str
    comparison: Comparison | None = None
    name: str = ""
    questions: Mapping[int, str] = msgspec.field(default_factory=dict)

    @property
    def state(self) -> RunState:
        """The run's fold."""
        return self.side.state

    def question(self, example: PairedExample) -> str:
        """How the question of an example of this run, the first one, begins."""
        return self.questions.get(example.first_rows[0] // self.state.per_example, "")

    def read(self, row: int) -> Rollout | None:
        """A rollout from disk, for a thread; None where it cannot be read."""
        return read_rollout(self.run, row, self.state.offset[row], self.state.length[row])


def read_runs(paths: Sequence[Path]) -> list[ComparedRun]:
    """Reads runs and compares all but the first with the first.

    Raises:
        RefusedError: Something is no run; says all that is wrong.
    """
    named = zip(paths, named_runs(paths), strict=True)
    return compared([read_one(path, run, at) for at, (path, run) in enumerate(named)])


def read_one(
    path: Path, run: RunDir, place: int, progressed: Callable[[float], None] = lambda share: None
) -> ComparedRun:
    """Reads a run at a place among those that are compared.

    Args:
        path: By which it was named.
        progressed: Called with the share that was read, often; what it raises ends the reading.
    """
    state, _ = read_run(run, lambda share: progressed(ROWS_SHARE * share))
    examples = max(state.total // state.per_example, 1)
    questions: dict[int, str] = {}

    def contents() -> Iterator[tuple[int, ExampleContent]]:
        for at, content in read_contents(run, state):
            progressed(ROWS_SHARE + (1 - ROWS_SHARE) * len(questions) / examples)
            questions[at] = content.question
            yield at, content

    side = side_of(run, state, contents())
    is_own = path.is_dir() or run.place != run.path
    name = path.name if path.name and is_own else run.path.resolve().name
    return ComparedRun(run, side, letter_of(place), name=name, questions=questions)


def compared(runs: Sequence[ComparedRun]) -> list[ComparedRun]:
    """The same runs, each but the first beside the first."""
    found = compare_runs([one.side for one in runs])
    return [runs[0], *(replace(a, comparison=b) for a, b in zip(runs[1:], found, strict=True))]


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
