"""Texts that are exported as a whole, in one of several formats: what is compared."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeAlias

from tui_eval.errors import Fault, RefusedError
from tui_eval.fold.trajectory import Rollout
from tui_eval.printable import one_line
from tui_eval.runs.compared_runs import ComparedRun, Source
from tui_eval.runs.export.comparison_formats import FORMATS, USUAL
from tui_eval.runs.export.markdown import plain
from tui_eval.runs.export.one_rollout import plain_json, rollout_markdown, saved_line
from tui_eval.runs.file_writing import is_replaceable
from tui_eval.text.stages import rollout_name

SourcedRollout: TypeAlias = tuple[Source, int, Rollout]
"""A rollout that is read beside another: where it comes from, its row, and itself."""


class WholeText(NamedTuple):
    """Text of a whole screen, for a file in one of several formats or another program.

    Args:
        what: It is, with its article, as a sentence begins.
        about: Sentence on which part of it this is.
        name: Name of the file, without an ending, unless somebody names it.
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


def whole_pair(sides: Sequence[SourcedRollout]) -> WholeText:
    """Two rollouts that have finished."""
    names = "-".join(
        f"{source.letter}-{rollout_name(source.state, row)}" for source, row, _ in sides
    )
    made = {".md": _pair_markdown, ".json": _pair_object, ".jsonl": _pair_saved}
    name = one_line(names, 80).replace("#", "").replace("/", "-").replace(" ", "-")
    about = "Both rollouts, whole. The ending says how: .md to read, .json, .jsonl as saved."
    formats = {ending: partial(make, sides) for ending, make in made.items()}
    return WholeText("The pair", about, name, formats, (".md", ".json"))


def _pair_markdown(sides: Sequence[SourcedRollout]) -> str:
    return "".join(
        f"# {plain(f'{source.letter} {source.name}'.rstrip())}\n\n"
        f"{rollout_markdown(source.state, row, rollout, {})}\n"
        for source, row, rollout in sides
    )


def _pair_object(sides: Sequence[SourcedRollout]) -> str:
    rows = {source.letter: json.loads(saved_line(source.state, row)) for source, row, _ in sides}
    return plain_json(rows) + "\n"


def _pair_saved(sides: Sequence[SourcedRollout]) -> str:
    return "".join(saved_line(source.state, row) + "\n" for source, row, _ in sides)
