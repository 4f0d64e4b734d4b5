"""The numbers of a run and of a rollout as words, for exports that people read."""

from __future__ import annotations

from collections.abc import Mapping

from tui_eval.fold.columns import Note, all_tokens_of, counts_of, note_key, seconds_of, tokens_of
from tui_eval.fold.mean_reward import held_mean
from tui_eval.fold.outcome_words import classes_text, endings_text
from tui_eval.fold.row_details import TOOLS_APART
from tui_eval.fold.summary import Summary, summarize
from tui_eval.fold.trajectory import Rollout
from tui_eval.runs.export.source import ExportSource
from tui_eval.runs.run_info import requested_values
from tui_eval.stats.cost import dollars_text
from tui_eval.stats.intervals import Interval
from tui_eval.stats.mean import Mean
from tui_eval.text.figures import plural
from tui_eval.token_kinds import in_words, named


def number_text(value: float | None) -> str:
    """A reward or a metric; a dash for none."""
    if value is None:
        return "–"
    return f"{value:.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.4g}"


def mean_text(mean: Mean) -> str:
    """A mean with its interval."""
    if mean.low is None or mean.high is None:
        return number_text(mean.mean)
    return f"{number_text(mean.mean)} {_interval_text((mean.low, mean.high))}"


def _interval_text(interval: Interval) -> str:
    return f"(95 %: {number_text(interval[0])} to {number_text(interval[1])})"


def _tokens_text(
    read: int | None, written: int | None, both: int | None, kinds: Mapping[str, int]
) -> str:
    of_kinds = f" ({in_words(kinds, '{:,}'.format)})" if kinds else ""
    if read is None:
        return "–" if both is None else f"{both:,}{of_kinds}"
    return f"{read:,} in, {written or 0:,} out{of_kinds}"


def summary_figures(source: ExportSource) -> dict[str, str]:
    """Settings and results of a run; `title` first."""
    state = source.state
    if state.run is None:
        return {"title": source.run.path.name}
    summary = summarize(state)
    run = summary.run
    errors = plural(summary.errored, "error")
    found = {
        "title": f"{run.env_id} with {run.model}",
        "status": summary.status,
        "reward": mean_text(summary.reward),
        **({"95 % interval": name} if (name := summary.reward.interval_name) else {}),
        **_left_out(summary),
        "rollouts": f"{summary.finished:,} of {summary.total:,}, {errors}",
        "examples": f"{summary.examples:,}, {run.rollouts_per_example} rollouts each",
    }
    if ended := endings_text(summary.truncated, summary.finish_reasons):
        found["answers"] = ended
    if summary.code_versions:
        found["code"] = "; ".join(
            f"version {one.number}: {one.finished:,} finished, mean reward {number_text(one.mean)}"
            for one in summary.code_versions
        )
    found |= _pass_rates(summary)
    read, written = summary.known_tokens
    found["tokens"] = _tokens_text(read, written, written, summary.kinds)
    if summary.cost is not None:
        listed = summary.prices.listed
        price = f" (list price of {listed})" if listed else ""
        found["cost"] = dollars_text(summary.cost) + price
    settings = requested_values({"env_args": run.env_args, "sampling_args": run.sampling_args})
    if settings:
        found["settings"] = ", ".join(f"{name}={value}" for name, value in settings.items())
    shown = len(source.finished)
    if source.where or shown < summary.finished:
        chosen = f" ({source.where})" if source.where else ""
        found["shown here"] = f"{shown:,} rollouts{chosen}"
    return found


def _left_out(summary: Summary) -> dict[str, str]:
    """Rollouts that the mean reward leaves out, and the mean with them."""
    found, of = {}, f"of {summary.finished:,}"
    if summary.errored:
        found["reward with errors as 0"] = number_text(summary.reward_with_errors)
        reported = f"{summary.errored:,} {of}: {classes_text(summary.error_classes)}"
        found["not in the mean"] = reported
    if summary.no_number:
        found["rewards that are no number"] = f"{summary.no_number:,} {of}, not in the mean"
    return found


def _pass_rates(summary: Summary) -> dict[str, str]:
    found = {}
    for rate in summary.pass_rates:
        of = rate.examples + rate.left_out
        over = f", over {rate.examples:,} of {of:,} examples" if rate.left_out else ""
        for name, value, interval in (
            (f"pass@{rate.k}", rate.any_passes, rate.any_interval),
            (f"pass^{rate.k}", rate.all_pass, rate.all_interval),
        ):
            found[name] = f"{number_text(value)} {_interval_text(interval)}{over}"
    return found


def metric_figures(source: ExportSource) -> dict[str, str]:
    """The mean of every metric with its interval, and what that is."""
    state = source.state
    found = {
        name: _named_mean_text(held_mean(state, name, mean.result()))
        for name, mean in state.metrics.items()
    }
    for name, count in state.details.metrics_no_number.items():
        found[name] = f"{found.get(name, number_text(None))}; {count:,} no number"
    return found


def _named_mean_text(mean: Mean) -> str:
    return f"{mean_text(mean)}, {mean.interval_name}".removesuffix(", ")


def rollout_figures(source: ExportSource, rollout: Rollout) -> dict[str, str]:
    """Description and results of a rollout; `title` first."""
    state, row = source.state, rollout.row
    example, number = note_key(state, row)
    found = {"title": f"example {example}, rollout {number}", "reward": number_text(rollout.reward)}
    ends = {
        "unreadable": rollout.doubt,
        "error": rollout.error,
        "failed": state.details.error_class.get(row),
        "stopped by": rollout.stop_condition,
        "last answer ended by": state.details.finish.get(row),
        "truncated": "yes" if rollout.is_truncated else "",
        "answered by": state.details.models.get(row).replace(TOOLS_APART, ", "),
    }
    found |= {name: text for name, text in ends.items() if text}
    turns, calls = counts_of(state, row)
    if turns is not None:
        found |= {"turns": str(turns), "tool calls": str(calls)}
    tokens = *tokens_of(state, row), all_tokens_of(state, row)
    found["tokens"] = _tokens_text(*tokens, named(rollout.kinds))
    if (seconds := seconds_of(state, row)) is not None:
        found["time"] = f"{seconds:.1f}s"
    for score in rollout.scores:
        if not score.weight and not score.error:
            continue  # a metric
        reported = (
            f"{number_text(score.raw)} × {score.weight:g} = {number_text(score.contribution)}"
        )
        found[score.name] = score.error or reported
    for name, value in rollout.metrics.items():
        found.setdefault(name, number_text(value))
    note = source.notes.get((example, number), Note())
    if note.tags:
        found["tags"] = " ".join(note.tags)
    if note.text:
        found["note"] = note.text
    return found
