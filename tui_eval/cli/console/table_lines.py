"""A table of evaluations: their differing settings and their results."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tui_eval.cli.console.summary_lines import WIDTH, mean_std
from tui_eval.fold.outcome_words import has_many_errors
from tui_eval.fold.summary import Summary
from tui_eval.printable import one_line
from tui_eval.stats.mean import Mean
from tui_eval.text.evaluation_words import unfinished_word
from tui_eval.text.figures import NONE, count_text, money_text, reward_text, took_text

NARROWEST = 8
"""Least characters of a cut name."""

WHOLE = 320
"""Columns that no table needs: names are cut at far fewer characters."""

_KEPT = "\u00a0"
"""A space at which no line ends."""
_LEFT = ("environment", "varies")


def table_lines(
    summaries: Sequence[Summary], varies: Sequence[str] | None = None, width: int = 80
) -> Iterator[str]:
    """One line an evaluation, under a line of titles; the widest names are cut where they must.

    Args:
        varies: Label of each evaluation, in their order; made here where None.
        width: Columns to keep to.
    """
    if not summaries:
        return
    found = what_varies(summaries) if varies is None else varies
    rows = [_cells(one, text) for one, text in zip(summaries, found, strict=True)]
    columns = [name for name in rows[0] if any(row[name] not in ("", NONE) for row in rows)]
    table = [dict(zip(columns, columns, strict=True)), *rows]
    widths = {name: max(len(row[name]) for row in table) for name in columns}
    same = len({row["environment"] for row in rows}) == 1
    if same and "varies" in widths and _columns(widths) > width:
        columns.remove("environment")
        del widths["environment"]
        yield f"environment: {rows[0]['environment']}"
    _narrow(widths, width)
    for row in table:
        cells = (
            f"{one_line(row[name], widths[name]):{'<' if name in _LEFT else '>'}{widths[name]}}"
            for name in columns
        )
        yield " ".join(cells).rstrip()
    yield from _notes(summaries, columns)


def _notes(summaries: Sequence[Summary], columns: Sequence[str]) -> Iterator[str]:
    """Notes on the columns of a table."""
    if estimators := {_estimator(one.reward) for one in summaries} - {""}:
        how = "; ".join(sorted(estimators, key=str.lower))
        yield f"reward: the mean and its 95% interval ({how})"
    if "pass@r" in columns:
        yield "pass@r: at least one of an example's rollouts passes"
    if "err=0" in columns:
        yield "err=0: the reward with errored rollouts counted as 0, which its mean leaves out"
    if "no number" in columns:
        yield "no number: rollouts with a reward that no mean can hold"
    if "cost" in columns and (listed := {s.prices.listed for s in summaries} - {""}):
        yield f"cost: with list prices of {'; '.join(sorted(listed))}"
    if "cost" not in columns:
        yield "cost: not known; the endpoints have no input_price and output_price"


def metric_lines(summaries: Sequence[Summary], names: Sequence[str]) -> Iterator[str]:
    """The metrics of each evaluation as mean ± standard deviation, wrapped; nothing without any."""
    first = "Metrics:"
    for summary, name in zip(summaries, names, strict=True):
        reported = [f"{one_line(n, 40)} {mean_std(one)}" for n, one in summary.metrics.items()]
        if not reported:
            continue
        if first:
            yield ""
            yield first
            first = ""
        yield f"  {one_line(name, WHOLE)}"
        whole = ", ".join(reported).replace(" ", _KEPT).replace(f",{_KEPT}", ", ")
        for line in textwrap.wrap(whole, WIDTH - 4, break_on_hyphens=False):
            yield f"    {line.replace(_KEPT, ' ')}"


def table_width() -> int:
    """Columns that a table on stdout may take; all that one can need where nothing says a width."""
    return max(shutil.get_terminal_size(fallback=(WHOLE, 24)).columns, 80)


def _estimator(reward: Mean) -> str:
    """Name of an interval's method, without its number."""
    return reward.estimator.partition(",")[0]


def _columns(widths: Mapping[str, int]) -> int:
    """Width of a whole line."""
    return sum(widths.values()) + len(widths) - 1


def _narrow(widths: dict[str, int], width: int) -> None:
    """Takes from the widest name until the line fits, or no name can be cut any more."""
    names = [name for name in _LEFT if name in widths]
    while names and _columns(widths) > width:
        widest = max(names, key=lambda name: widths[name])
        if widths[widest] <= NARROWEST:
            return
        widths[widest] -= 1


def _cells(summary: Summary, varies: str) -> dict[str, str]:
    reward = summary.reward
    interval = ""
    if reward.low is not None and reward.high is not None:
        interval = f" {reward_text(reward.low)}–{reward_text(reward.high)}"
    last = summary.pass_rates[-1] if summary.pass_rates else None
    whole = last is not None and last.k == summary.run.rollouts_per_example
    unknown = summary.known_tokens[1] is None
    doubtful = has_many_errors(summary.errored, summary.finished)
    return {
        "environment": one_line(summary.run.env_id, 60),
        "varies": one_line(varies, 200),
        "ex": count_text(summary.examples),
        "rolls": count_text(summary.total),
        "reward": reward_text(reward.mean) + interval,
        "err=0": reward_text(summary.reward_with_errors) if summary.errored else "",
        "pass@r": reward_text(last.any_passes if last is not None and whole else None),
        "tokens": NONE if unknown else count_text(summary.input_tokens + summary.output_tokens),
        "cost": money_text(summary.cost),
        "no number": count_text(summary.no_number) if summary.no_number else "",
        "err": count_text(summary.errored),
        "time": took_text(summary.seconds) if summary.seconds else NONE,
        "": unfinished_word(summary.status) or ("errored" if doubtful else ""),
    }


def what_varies(summaries: Sequence[Summary]) -> list[str]:
    """For each evaluation the settings in which they differ, as `name=value`."""
    settings = [_settings(one) for one in summaries]
    names = list(dict.fromkeys(name for one in settings for name in one))
    differing = [name for name in names if len({str(one.get(name)) for one in settings}) > 1]
    return [", ".join(_text(name, one) for name in differing if name in one) for one in settings]


def _settings(summary: Summary) -> dict[str, Any]:
    """Every setting that says what was evaluated; the environment and counts have own columns."""
    run = summary.run
    return {"model": run.model, **run.env_args, **run.sampling_args, "base_url": run.base_url}


def _text(name: str, settings: Mapping[str, Any]) -> str:
    value = settings[name]
    return str(value) if name == "model" else f"{name}={value}"
