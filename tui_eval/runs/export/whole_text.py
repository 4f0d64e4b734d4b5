"""Texts that are exported as a whole, in one of several formats: what is compared."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tui_eval.errors import Fault, RefusedError
from tui_eval.fold.run_state import RunState
from tui_eval.fold.trajectory import Rollout
from tui_eval.printable import one_line
from tui_eval.runs.comparing import ComparedRun
from tui_eval.runs.export.comparison_formats import FORMATS, USUAL
from tui_eval.runs.export.markdown import plain
from tui_eval.runs.export.one_rollout import plain_json, rollout_markdown, saved_line
from tui_eval.runs.file_writing import is_replaceable
from tui_eval.text.stages import rollout_name


class WholeText(NamedTuple):
    """What a screen shows as one text, for a file in one of several formats or another program.

    Args:
        what: It is, with its article, as a sentence begins.
        about: Which part of it, as a sentence.
        name: Of the file, without an ending, unless somebody names it.
        formats: Makes it, by the ending of a file's name; in a thread.
        read: The endings of what the pager and the editor get.
    """

    what: str
    about: str
    name: str
    formats: Mapping[str, Callable[[], str]]
    read: tuple[str, str]

    def write(self, path: Path) -> None:
        """Writes it as the ending of the file's name says.

        Raises:
            RefusedError: The file is there already, its name says no format, or the text cannot
                be made.
            OSError: It cannot be written.
            ValueError: The text cannot be made.
        """
        made = self.formats.get(path.suffix.lower())
        if made is None:
            hint = f"End it with {', '.join(self.formats)}"
            raise RefusedError([Fault(str(path), "its name says no format", hint)])
        text = made()
        try:
            mode = "x" if is_replaceable(path) else "w"
            target = path.resolve() if mode == "x" else path
            with target.open(mode, encoding="utf-8", newline="", errors="backslashreplace") as file:
                file.write(text)
        except FileExistsError:
            there = Fault(str(path), "it is there already", "Name another file")
            raise RefusedError([there]) from None


def whole_comparison(runs: Sequence[ComparedRun], only: str) -> WholeText:
    """A comparison of runs, with examples of one outcome `only`; all for the empty text."""
    which = "The examples that are listed" if only else "All examples"
    about = f"{which}. The ending says how: .md to read, .csv a table, .json."
    name = "-".join(one_line(one.name, 60).replace("/", "-") for one in runs)[:120]
    formats = {ending: partial(make, runs, only) for ending, make in FORMATS.items()}
    return WholeText("The comparison", about, name, formats, (USUAL, USUAL))


class LetteredRollout(NamedTuple):
    """A finished rollout that is read beside another, with the letter and name of its run."""

    letter: str
    run: str
    state: RunState
    row: int
    rollout: Rollout


def whole_pair(sides: Sequence[LetteredRollout]) -> WholeText:
    """Two rollouts that have finished."""
    names = "-".join(f"{one.letter}-{rollout_name(one.state, one.row)}" for one in sides)
    made = {".md": _pair_markdown, ".json": _pair_object, ".jsonl": _pair_saved}
    name = one_line(names, 80).replace("#", "").replace("/", "-").replace(" ", "-")
    about = "Both rollouts, whole. The ending says how: .md to read, .json, .jsonl as saved."
    formats = {ending: partial(make, sides) for ending, make in made.items()}
    return WholeText("The pair", about, name, formats, (".md", ".json"))


def _pair_markdown(sides: Sequence[LetteredRollout]) -> str:
    return "".join(
        f"# {plain(f'{one.letter} {one.run}'.rstrip())}\n\n"
        f"{rollout_markdown(one.state, one.row, one.rollout, {})}\n"
        for one in sides
    )


def _pair_object(sides: Sequence[LetteredRollout]) -> str:
    return (
        plain_json({one.letter: json.loads(saved_line(one.state, one.row)) for one in sides}) + "\n"
    )


def _pair_saved(sides: Sequence[LetteredRollout]) -> str:
    return "".join(saved_line(one.state, one.row) + "\n" for one in sides)
