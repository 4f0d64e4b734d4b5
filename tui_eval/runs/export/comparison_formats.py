"""A comparison of runs as a file: Markdown to read, a table, JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from tui_eval.fold.compare.compared_side import differing_settings
from tui_eval.fold.compare.comparison import Comparison
from tui_eval.printable import one_line
from tui_eval.runs.compared_runs import ComparedRun
from tui_eval.runs.export.comparison import comparison_object
from tui_eval.runs.export.rows import safe_cell
from tui_eval.runs.summary_json import json_line
from tui_eval.text.changes import judged_texts, lettered
from tui_eval.text.figures import EXACT, interval_text, reward_text, signed_text, value_text
from tui_eval.text.verdict_words import (
    figure_name,
    gate_sentence,
    method_text,
    tested_text,
    verdict_text,
)

TEXT_MOST = 400
USUAL = ".md"


def comparison_markdown(runs: Sequence[ComparedRun], only: str) -> str:
    """The runs, their settings that differ, then each run beside the first."""
    return "\n".join(_markdown(runs, only)) + "\n"


def _markdown(runs: Sequence[ComparedRun], only: str) -> Iterator[str]:
    first, letters = runs[0], [one.letter for one in runs]
    yield from (f"# {' and '.join(_cell(one.name) for one in runs)}", "")
    for one in runs:
        yield f"- **{one.letter}** {_cell(one.name)}: `{_cell(str(one.run.place))}`"
    if settings := differing_settings([one.side for one in runs]):
        yield from _table(
            "Settings that differ",
            ["setting", *letters],
            ([name, *map(value_text, values)] for name, values in settings.items()),
        )
    for run in runs[1:]:
        compared = run.beside
        yield from ("", f"## {first.letter} and {run.letter}", "")
        yield f"{len(compared.examples):,} examples in both."
        notes = [f"not paired: {count:,} {why}" for why, count in compared.unpaired.items()]
        notes_of = (lettered(note, run.letter) for note in (*compared.doubts, *notes))
        yield from (f"- {_cell(note)}" for note in notes_of)
        if compared.comparable:
            yield f"- reward {gate_sentence(compared.reward, run.letter)}"
            heads = [first.letter, run.letter, f"{run.letter} − {first.letter}"]
            yield from _numbers(compared, heads)
            yield from _examples(runs[0], compared, only, heads)


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
    first: ComparedRun, compared: Comparison, only: str, heads: list[str]
) -> Iterator[str]:
    yield from _table(
        f"Examples that are {only.replace('-', ' ')}" if only else "Examples",
        ["example", "question", *heads, "outcome"],
        (
            [
                str(one.example_id),
                first.question(one),
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


def comparison_csv(runs: Sequence[ComparedRun], only: str) -> str:
    """One example of one pair of runs a line; what a spreadsheet would calculate stays text."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    heads = "first second example_id question first_reward second_reward change"
    table.writerow(heads.split())
    first = runs[0].letter
    for run in runs[1:]:
        compared = run.beside
        for one in compared.examples:
            if not only or one.change == only:
                texts = [safe_cell(str(one.example_id)), safe_cell(runs[0].question(one))]
                table.writerow([first, run.letter, *texts, one.first, one.second, one.change])
    return out.getvalue()


def comparison_json(runs: Sequence[ComparedRun], only: str) -> str:
    """The object that `tui-eval compare --json` prints."""
    compared = json.loads(json_line(comparison_object(runs, only or None)))
    return json.dumps(compared, indent=2) + "\n"


FORMATS: Mapping[str, Callable[[Sequence[ComparedRun], str], str]] = {
    USUAL: comparison_markdown,
    ".csv": comparison_csv,
    ".json": comparison_json,
}
