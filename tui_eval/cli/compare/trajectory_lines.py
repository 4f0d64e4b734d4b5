"""Two trajectories beside each other, turn by turn, as text and as one JSON object."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tui_eval.errors import Fault, RefusedError
from tui_eval.fold.columns import number_of_row
from tui_eval.fold.compare.alignment import Alignment, beside
from tui_eval.fold.rollout_columns import DONE
from tui_eval.fold.trajectory import Entry, Rollout
from tui_eval.printable import one_line
from tui_eval.runs.layout import RunDir
from tui_eval.runs.saved_run import named_run, read_rollout, read_run
from tui_eval.runs.summary_json import VERSION

TEXT_MOST = 66
TEXT_BEFORE = 20
"""Characters that are shown before the first difference of two texts."""


def find_two(
    paths: Sequence[Path], example: str, numbers: Sequence[int]
) -> tuple[Rollout, Rollout]:
    """Two rollouts of an example: of one run, or one of each of two.

    Args:
        numbers: Their numbers; without them the first one of each run, or the first two of one;
            beside one number of one run its first other one.

    Raises:
        RefusedError: There are no such rollouts.
    """
    if len(paths) > 2 or len(numbers) > 2:
        raise RefusedError([Fault("--example", "two trajectories are compared, not more")])
    same = len(paths) == 1
    wanted = [*(numbers or [0]), *([1] if same and not any(numbers) else [0])][:2]
    sides = [paths[0], paths[-1]]
    faults: list[Fault] = []
    found: list[Rollout] = []
    for path, number in zip(sides, wanted, strict=True):
        try:
            found.append(_find(named_run(path), example, number))
        except RefusedError as error:
            faults += error.faults
    if faults:
        raise RefusedError(dict.fromkeys(faults))
    return found[0], found[1]


def _find(run: RunDir, example: str, number: int) -> Rollout:
    state, _ = read_run(run)
    for row in range(state.total):
        if str(state.example_id(row)) == example and number_of_row(state, row) == number:
            if state.stage[row] >= DONE:
                rollout = read_rollout(run, row, state.offset[row], state.length[row])
                if rollout is not None:
                    return rollout
            break
    what = f"there is no finished rollout {number} of an example {example}"
    raise RefusedError(
        [Fault(str(run.path), what, f"See them: tui-eval ls {shlex.quote(str(run.path))}")]
    )


def alignment_lines(found: Alignment) -> Iterator[str]:
    """Every turn: once where both are equal, else both sides from where they differ."""
    for place, turn in enumerate(found.turns):
        title = f"turn {turn.turn}" if turn.turn else "prompt"
        if turn.differs_at is None:
            yield f"= {title}"
            yield from (f"    {text}" for entry in turn.first for text in _texts(entry))
            continue
        first_time = "  <- they part here" if place == found.divergence else ""
        yield f"≠ {title}{first_time}"
        for entry in turn.first[: turn.differs_at]:
            yield from (f"    {text}" for text in _texts(entry))
        pairs = list(beside(turn.first[turn.differs_at :], turn.second[turn.differs_at :]))
        for letter, side in (("A", pairs), ("B", [(theirs, ours) for ours, theirs in pairs])):
            own = [(ours, theirs) for ours, theirs in side if ours is not None]
            yield from (f"  {letter} {text}" for two in own for text in _texts(*two))
            if not own:
                yield f"  {letter} (nothing)"
    if found.divergence is None:
        yield "both are the same"


def _texts(entry: Entry, other: Entry | None = None) -> Iterator[str]:
    """Lines of an entry, from where it differs from another one beside it."""
    others = {} if other is None else dict(_parts(other))
    for name, text in _parts(entry):
        yield f"{name} {_cut(text, others.get(name, text))}"


def _parts(entry: Entry) -> Iterator[tuple[str, str]]:
    if entry.tool is not None:
        yield "tool:", f"{entry.tool.name} {entry.tool.arguments}"
        yield "   ->", entry.tool.result or ""
        return
    if entry.reasoning:
        yield "reasoning:", entry.reasoning
    yield f"{entry.role}:", entry.text


def _cut(text: str, other: str) -> str:
    """The part of a text that fits a line, without a begin that another text shares."""
    lengths = (len(text), len(other))
    pairs = enumerate(zip(text, other, strict=False))
    alike = next((at for at, (ours, theirs) in pairs if ours != theirs), min(lengths))
    if text == other or max(lengths) <= TEXT_MOST or alike < TEXT_MOST - TEXT_BEFORE:
        return one_line(text, TEXT_MOST)
    return f"…{one_line(text[alike - TEXT_BEFORE :], TEXT_MOST - 1)}"


def alignment_object(found: Alignment) -> dict[str, Any]:
    """Every turn of both sides, whole."""
    return {
        "version": VERSION,
        "divergence": found.divergence,
        "turns": [
            {
                "turn": one.turn,
                "differs_at": one.differs_at,
                "first": [_entry_object(entry) for entry in one.first],
                "second": [_entry_object(entry) for entry in one.second],
            }
            for one in found.turns
        ],
    }


def _entry_object(entry: Entry) -> dict[str, Any]:
    found: dict[str, Any] = {"role": entry.role, "text": entry.text}
    if entry.reasoning:
        found["reasoning"] = entry.reasoning
    if entry.tool is not None:
        tool = entry.tool
        found["tool"] = {"name": tool.name, "arguments": tool.arguments, "result": tool.result}
    return found
