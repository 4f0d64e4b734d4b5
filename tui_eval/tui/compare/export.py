"""What is compared as a file: runs or two rollouts, as Markdown, a table, JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from tui_eval.fold.comparison import Comparison
from tui_eval.printable import one_line
from tui_eval.runs.export.comparison import ComparedRun, comparison_object
from tui_eval.runs.export.csv import safe_cell
from tui_eval.runs.export.one_rollout import plain_json, saved_line
from tui_eval.runs.export.whole_text import WholeText
from tui_eval.runs.summary_json import json_line
from tui_eval.text.changes import judged_texts, lettered
from tui_eval.text.figures import EXACT, interval_text, reward_text, signed_text
from tui_eval.text.stages import rollout_name
from tui_eval.text.verdict_words import (
    figure_name,
    gate_sentence,
    method_text,
    tested_text,
    verdict_text,
)
from tui_eval.tui.compare.comparing import ComparedRuns
from tui_eval.tui.compare.pane_lines import value_text

if TYPE_CHECKING:
    from tui_eval.fold.trajectory import Rollout
    from tui_eval.tui.compare.pairs import Source

Side: TypeAlias = "tuple[Source, int, Rollout]"
"""A rollout that is read beside another: where it comes from, its row, and itself."""
TEXT_MOST = 400
USUAL = ".md"


def whole_text_of(found: ComparedRuns, only: str) -> WholeText:
    """A comparison of runs.

    Args:
        only: Which examples; all for the empty text.
    """
    which = "The examples that are listed" if only else "All examples"
    about = f"{which}. The ending says how: .md to read, .csv a table, .json."
    name = "-".join(one_line(one.name, 60).replace("/", "-") for one in found.runs)[:120]
    formats = {ending: partial(make, found, only) for ending, make in FORMATS.items()}
    return WholeText("The comparison", about, name, formats, (USUAL, USUAL))


def comparison_markdown(found: ComparedRuns, only: str) -> str:
    """Which runs, what of their settings differs, then each beside the first."""
    return "\n".join(_markdown(found, only)) + "\n"


def _markdown(found: ComparedRuns, only: str) -> Iterator[str]:
    first, letters = found.runs[0], [one.letter for one in found.runs]
    yield from (f"# {' and '.join(_cell(one.name) for one in found.runs)}", "")
    for one in found.runs:
        yield f"- **{one.letter}** {_cell(one.name)}: `{_cell(str(one.run.place))}`"
    if found.settings:
        yield from _table(
            "Settings that differ",
            ["setting", *letters],
            ([name, *map(value_text, values)] for name, values in found.settings.items()),
        )
    for run, compared in zip(found.runs[1:], found.comparisons, strict=True):
        yield from ("", f"## {first.letter} and {run.letter}", "")
        yield f"{len(compared.examples):,} examples in both."
        notes = [f"not paired: {count:,} {why}" for why, count in compared.unpaired.items()]
        notes_of = (lettered(note, run.letter) for note in (*compared.doubts, *notes))
        yield from (f"- {_cell(note)}" for note in notes_of)
        if compared.comparable:
            yield f"- reward {gate_sentence(compared.reward, run.letter)}"
            heads = [first.letter, run.letter, f"{run.letter} − {first.letter}"]
            yield from _numbers(compared, heads)
            yield from _examples(found, compared, only, heads)


def _numbers(compared: Comparison, heads: list[str]) -> Iterator[str]:
    yield from _table(
        "Numbers",
        ["", *heads, "95 %", "interval", "test", "verdict"],
        (
            [
                figure_name(one),
                reward_text(one.first, EXACT),
                reward_text(one.second, EXACT),
                signed_text(one.difference.mean, EXACT),
                interval_text(one.difference.low, one.difference.high, EXACT),
                method_text(one.difference),
                tested_text(one),
                verdict_text(one, compared),
            ]
            for one in compared.figures
        ),
    )


def _examples(
    found: ComparedRuns, compared: Comparison, only: str, heads: list[str]
) -> Iterator[str]:
    yield from _table(
        f"Examples that are {only.replace('-', ' ')}" if only else "Examples",
        ["example", "question", *heads, "outcome"],
        (
            [
                str(one.example_id),
                found.question(one),
                *judged_texts(compared, one),
                signed_text(one.difference),
                one.change.replace("-", " "),
            ]
            for one in compared.examples
            if not only or one.change == only
        ),
    )


def _table(title: str, heads: list[str], rows: Iterable[list[str]]) -> Iterator[str]:
    yield from ("", f"### {title}", "", f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}")
    yield from (f"| {' | '.join(map(_cell, row))} |" for row in rows)


def _cell(text: str) -> str:
    return one_line(text, TEXT_MOST).replace("|", "\\|")


def comparison_csv(found: ComparedRuns, only: str) -> str:
    """One example of one pair of runs a line; what a spreadsheet would calculate stays text."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    heads = "first second example_id question first_reward second_reward change"
    table.writerow(heads.split())
    first = found.runs[0].letter
    for run, compared in zip(found.runs[1:], found.comparisons, strict=True):
        for one in compared.examples:
            if not only or one.change == only:
                texts = [safe_cell(str(one.example_id)), safe_cell(found.question(one))]
                table.writerow([first, run.letter, *texts, one.first, one.second, one.change])
    return out.getvalue()


def comparison_json(found: ComparedRuns, only: str) -> str:
    """The object that `tui-eval compare --json` prints."""
    pairs = zip(found.runs, (None, *found.comparisons), strict=True)
    runs = [ComparedRun(one.run, one.side, one.letter, beside) for one, beside in pairs]
    compared = json.loads(json_line(comparison_object(runs, only or None)))
    return json.dumps(compared, indent=2) + "\n"


FORMATS: Mapping[str, Callable[[ComparedRuns, str], str]] = {
    USUAL: comparison_markdown,
    ".csv": comparison_csv,
    ".json": comparison_json,
}


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
