"""A comparison of runs as a file: Markdown to read, a table, or one JSON object."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from msgspec.structs import replace

from tui_eval.fold.comparison import Comparison
from tui_eval.printable import one_line
from tui_eval.runs.export.comparison import ComparedRun, comparison_object
from tui_eval.runs.export.csv import safe_cell
from tui_eval.runs.summary_json import json_line
from tui_eval.text.changes import judged_texts, lettered
from tui_eval.text.figures import EXACT, NONE, interval_text, reward_text, signed_text
from tui_eval.text.verdict_words import (
    figure_name,
    gate_sentence,
    method_text,
    tested_text,
    verdict_text,
)
from tui_eval.tui.compare.comparing import ComparedRuns
from tui_eval.tui.copying.exporting import WholeText

TEXT_MOST = 400
USUAL = ".md"


def shown_runs(found: ComparedRuns) -> list[ComparedRun]:
    """The runs as the command line tells of them."""
    runs = [ComparedRun(one.run, one.side, one.letter) for one in found.runs]
    beside = zip(runs[1:], found.comparisons, strict=True)
    return [runs[0], *(replace(one, comparison=compared) for one, compared in beside)]


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
    yield f"# {' and '.join(_cell(one.name) for one in found.runs)}"
    yield ""
    for one in found.runs:
        yield f"- **{one.letter}** {_cell(one.name)}: `{_cell(str(one.run.place))}`"
    if found.settings:
        yield from _table(
            "Settings that differ",
            ["setting", *letters],
            ([name, *map(_value, values)] for name, values in found.settings.items()),
        )
    for run, compared in zip(found.runs[1:], found.comparisons, strict=True):
        yield ""
        yield f"## {first.letter} and {run.letter}"
        yield ""
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
    yield ""
    yield f"### {title}"
    yield ""
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(map(_cell, row))} |"


def _cell(text: str) -> str:
    return one_line(text, TEXT_MOST).replace("|", "\\|")


def _value(value: object) -> str:
    return NONE if value is None else str(value)


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
    notes_of = json.loads(json_line(comparison_object(shown_runs(found), only or None)))
    return json.dumps(notes_of, indent=2) + "\n"


FORMATS: Mapping[str, Callable[[ComparedRuns, str], str]] = {
    USUAL: comparison_markdown,
    ".csv": comparison_csv,
    ".json": comparison_json,
}
