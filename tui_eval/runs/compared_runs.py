"""Runs on disk that are compared with the first of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from tui_eval.fold.compare.compared_side import Side
from tui_eval.fold.compare.comparison import Comparison, PairedExample, compare_runs
from tui_eval.fold.rollout_columns import DONE
from tui_eval.fold.run_state import RunState
from tui_eval.fold.saved_values import listing, mapping
from tui_eval.fold.trajectory import Rollout, content_text, from_row
from tui_eval.runs.layout import RunDir
from tui_eval.runs.saved_run import SavedRows, named_runs, read_rollout, read_run, size_of
from tui_eval.runs.versions import DATASET, read_versions
from tui_eval.text.figures import letter_of

ROWS_SHARE = 0.3
"""Share of the time of a run that its rows take; the rest is for contents of its examples."""


QUESTION_MOST = 600
"""Characters of a question that are kept: three lines of a wide screen."""


class ExampleContent(NamedTuple):
    """Content of one example: the system's messages, and the beginning of the last other one.

    `digest` is of prompt, answer and info, without the system's messages, which are a setting;
    empty where the row says nothing of all that.
    """

    digest: bytes
    system: str
    question: str


def read_contents(run: RunDir, state: RunState) -> Iterator[tuple[int, ExampleContent]]:
    """The place of every example of which a rollout can be read, and its content.

    One rollout of each is read, in the order of the file.
    """
    first: dict[int, int] = {}
    for row in range(state.total):
        place = row // state.per_example
        if state.stage[row] >= DONE and place not in first:
            first[place] = row
    try:
        with SavedRows(run, state) as saved:
            for place, row in sorted(first.items(), key=lambda item: state.offset[item[1]]):
                values = saved.values(row)
                if values is not None:
                    yield place, content_of(values)
    except OSError:
        return


def content_of(row: Mapping[str, Any]) -> ExampleContent:
    """Content of the example of a saved rollout."""
    rollout = from_row(0, {"prompt": row.get("prompt"), "answer": row.get("answer")})
    messages = [
        (str(message.get("role")), content_text(message.get("content")))
        for message in rollout.messages
    ]
    system = "\n".join(text for role, text in messages if role == "system")
    requested = [part for part in messages if part[0] != "system"] or messages
    parts: list[Any] = [
        requested,
        rollout.answer,
        mapping(row.get("info")) or listing(row.get("info")) or {},
        _media(row, rollout.messages),
    ]
    has_text = any(text for _, text in requested) or any(parts[1:])
    digest = _digest(parts) if has_text else b""
    return ExampleContent(digest, system, requested[-1][1][:QUESTION_MOST] if requested else "")


def _media(row: Mapping[str, Any], messages: Iterable[Mapping[str, Any]]) -> list[str]:
    """A digest of every picture or sound of a prompt: in it, or beside it as our rows have them."""
    contents = [message.get("content") for message in messages]
    beside = map(mapping, listing(mapping(row.get("tui_eval")).get("media")))
    contents += [one.get("parts") for one in beside if one.get("where") == "prompt"]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    is_media = (isinstance(part, Mapping) and part.get("type") != "text" for part in parts)
    return [_digest(part).hex() for part, wanted in zip(parts, is_media, strict=True) if wanted]


def _digest(value: Any) -> bytes:
    return blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=16).digest()


class Source(msgspec.Struct, frozen=True):
    """Source of the rollouts of a side, to read two of them beside each other.

    Args:
        name: Name of the run.
        read: Reads a finished rollout by its row, in a thread; None where it cannot be read.
    """

    letter: str
    name: str
    state: RunState
    read: Callable[[int], Rollout | None]


class ComparedRun(msgspec.Struct, frozen=True):
    """A run to compare, and how it differs from the first one; None for the first itself.

    Args:
        name: Its name for people: the last part of the path that they named.
        size: Bytes of its results when the reading began.
        questions: Beginning of each example's question, by the example's place.
    """

    run: RunDir
    side: Side
    letter: str
    comparison: Comparison | None = None
    name: str = ""
    size: int = 0
    questions: Mapping[int, str] = msgspec.field(default_factory=dict)

    @property
    def state(self) -> RunState:
        """The run's fold."""
        return self.side.state

    @property
    def beside(self) -> Comparison:
        """A run that is not the first, beside the first."""
        assert self.comparison is not None, "the first run is compared with nothing"
        return self.comparison

    def question(self, example: PairedExample) -> str:
        """Beginning of the question of an example; only the first run has them."""
        return self.questions.get(example.first_rows[0] // self.state.per_example, "")

    @property
    def source(self) -> Source:
        """Source of its rollouts: the files on disk."""

        def read(row: int) -> Rollout | None:
            return read_rollout(self.run, row, self.state.offset[row], self.state.length[row])

        return Source(self.letter, self.name, self.state, read)


def read_runs(
    paths: Sequence[Path], progressed: Callable[[int, float], None] = lambda place, share: None
) -> list[ComparedRun]:
    """Reads runs and compares all but the first with the first.

    Args:
        progressed: Called with the place of a run and the share of it that was read, often, and
            with the one after the last when all were; what it raises ends the reading.

    Raises:
        RefusedError: Something is no run; says all that is wrong.
    """
    runs: list[ComparedRun] = []
    for place, (path, run) in enumerate(zip(paths, named_runs(paths), strict=True)):
        progressed(place, 0.0)
        runs.append(_read_one(path, run, place, partial(progressed, place)))
    progressed(len(runs), 0.0)
    found = compare_runs([one.side for one in runs])
    return [runs[0], *(replace(a, comparison=b) for a, b in zip(runs[1:], found, strict=True))]


def _read_one(
    path: Path, run: RunDir, place: int, progressed: Callable[[float], None]
) -> ComparedRun:
    size = size_of(run.results)
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
    return ComparedRun(run, side, letter_of(place), name=name, size=size, questions=questions)


def side_of(run: RunDir, state: RunState, contents: Iterator[tuple[int, ExampleContent]]) -> Side:
    """A side from contents that were read, by an example's place."""
    digests: dict[int, bytes] = {}
    system: set[str] = set()
    id_only = 0
    for place, content in contents:
        own_id = f"id {state.example_id(place * state.per_example)}".encode()
        digests[place] = content.digest or own_id
        id_only += not content.digest
        system.add(content.system)
    versions = read_versions(run)
    code = {name: text for name, text in versions.parts.items() if name != DATASET}
    installed = versions.by_weight
    return Side(state, digests, frozenset(system - {""}), id_only, code, installed)
