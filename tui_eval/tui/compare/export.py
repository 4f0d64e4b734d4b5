"""What is compared as a file: runs or two rollouts, as Markdown, a table, JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from tui_eval.printable import one_line
from tui_eval.runs.export.comparison_formats import FORMATS, USUAL
from tui_eval.runs.export.one_rollout import plain_json, saved_line
from tui_eval.runs.export.whole_text import WholeText
from tui_eval.text.stages import rollout_name

if TYPE_CHECKING:
    from tui_eval.fold.trajectory import Rollout
    from tui_eval.runs.comparing import ComparedRun
    from tui_eval.tui.compare.pairs import Source

Side: TypeAlias = "tuple[Source, int, Rollout]"
"""A rollout that is read beside another: where it comes from, its row, and itself."""


def whole_text_of(runs: Sequence[ComparedRun], only: str) -> WholeText:
    """A comparison of runs, with examples of one outcome `only`; all for the empty text."""
    which = "The examples that are listed" if only else "All examples"
    about = f"{which}. The ending says how: .md to read, .csv a table, .json."
    name = "-".join(one_line(one.name, 60).replace("/", "-") for one in runs)[:120]
    formats = {ending: partial(make, runs, only) for ending, make in FORMATS.items()}
    return WholeText("The comparison", about, name, formats, (USUAL, USUAL))


def whole_pair_of(sides: Sequence[Side]) -> WholeText:
    """Two rollouts that have finished."""
    names = (f"{source.letter}-{rollout_name(source.state, row)}" for source, row, _ in sides)
    made = {".md": _pair_markdown, ".json": _pair_object, ".jsonl": _pair_saved}
    name = one_line("-".join(names), 80).replace("#", "").replace("/", "-").replace(" ", "-")
    about = "Both rollouts, whole. The ending says how: .md to read, .json, .jsonl as saved."
    formats = {ending: partial(make, sides) for ending, make in made.items()}
    return WholeText("The pair", about, name, formats, (".md", ".json"))


def _pair_markdown(sides: Sequence[Side]) -> str:
    return "\n".join(_pair_lines(sides)) + "\n"


def _pair_lines(sides: Sequence[Side]) -> Iterator[str]:
    from tui_eval.runs.export.markdown import plain, rollout_lines
    from tui_eval.runs.export.source import ExportSource
    from tui_eval.runs.layout import RunDir

    for source, row, rollout in sides:
        state = source.state
        assert state.run is not None
        yield from (f"# {plain(' '.join(filter(None, (source.letter, source.name))))}", "")
        of_row = ExportSource(RunDir(Path(state.run.path)), state, {}, [row])
        yield from rollout_lines(of_row, rollout)
        yield ""


def _pair_object(sides: Sequence[Side]) -> str:
    rows: dict[str, Any] = {
        source.letter: json.loads(saved_line(source.state, row)) for source, row, _ in sides
    }
    return plain_json(rows) + "\n"


def _pair_saved(sides: Sequence[Side]) -> str:
    return "".join(saved_line(source.state, row) + "\n" for source, row, _ in sides)
