"""Two rollouts as one text: to read, as one JSON object, or as lines of a results file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tui_eval.printable import one_line
from tui_eval.text.stages import rollout_name
from tui_eval.tui.copying.copyable import saved_line
from tui_eval.tui.copying.elsewhere import plain_json
from tui_eval.tui.copying.exporting import WholeText

if TYPE_CHECKING:
    from tui_eval.fold.trajectory import Rollout
    from tui_eval.tui.compare.pairs import Source


class Side(NamedTuple):
    """A rollout that is read beside another."""

    source: Source
    row: int
    rollout: Rollout


def whole_text_of(sides: Sequence[Side]) -> WholeText:
    """Two rollouts that have finished."""
    names = (f"{one.source.letter}-{rollout_name(one.source.state, one.row)}" for one in sides)
    made = {".md": _markdown, ".json": _object, ".jsonl": _lines}
    name = one_line("-".join(names), 80).replace("#", "").replace("/", "-").replace(" ", "-")
    about = "Both rollouts, whole. The ending says how: .md to read, .json, .jsonl as saved."
    formats = {ending: partial(make, sides) for ending, make in made.items()}
    return WholeText("The pair", about, name, formats, (".md", ".json"))


def _markdown(sides: Sequence[Side]) -> str:
    return "\n".join(_markdown_lines(sides)) + "\n"


def _markdown_lines(sides: Sequence[Side]) -> Iterator[str]:
    from tui_eval.runs.export.markdown import plain, rollout_lines
    from tui_eval.runs.export.source import ExportSource
    from tui_eval.runs.layout import RunDir

    for source, row, rollout in sides:
        state = source.state
        assert state.run is not None
        yield f"# {plain(' '.join(filter(None, (source.letter, source.name))))}"
        yield ""
        of_row = ExportSource(RunDir(Path(state.run.path)), state, {}, [row])
        yield from rollout_lines(of_row, rollout)
        yield ""


def _object(sides: Sequence[Side]) -> str:
    rows: dict[str, Any] = {
        one.source.letter: json.loads(saved_line(one.source.state, one.row).text) for one in sides
    }
    return plain_json(rows) + "\n"


def _lines(sides: Sequence[Side]) -> str:
    return "".join(saved_line(one.source.state, one.row).text + "\n" for one in sides)
