"""A plan for showing a difference, as text and as one JSON object."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from tui_eval.fold.pilot import Plan
from tui_eval.fold.summary import Summary, summarize
from tui_eval.runs.compared_runs import ComparedRun
from tui_eval.runs.summary_json import VERSION
from tui_eval.stats.cost import dollars_text
from tui_eval.stats.power import MOST_EXAMPLES, Need
from tui_eval.text.figures import count_text, plural, reward_text


def plan_lines(runs: Sequence[ComparedRun], plan: Plan) -> Iterator[str]:
    """The pilots' spread, then the size and cost of each way."""
    summary = summarize(runs[0].side.state)
    for run, spread in zip(runs, plan.pilots, strict=True):
        state = run.side.state
        size = f"{plural(spread.groups, 'example')} x {plural(state.per_example, 'rollout')}"
        yield f"Pilot {run.letter}: {run.run.place}"
        yield f"  {plan.metric} {spread.mean:.3g}, {size}"
        within = "not known" if spread.within is None else f"{spread.within:.3g}"
        yield (
            f"  variance between examples {spread.between:.3g}, between rollouts of one {within}"
        )
    yield from _assumed(plan)
    yield ""
    yield f"To show a difference of {plan.detect:g} 8 times of 10 (95 %), each of two runs needs"
    yield f"{'rollouts each':>15}{'examples':>11}{'rollouts':>11}{'tokens':>9}{'cost':>11}"
    for need in plan.needs:
        mark = "  <- fewest rollouts" if need is plan.cheapest and len(plan.needs) > 1 else ""
        tokens, cost = _spent(summary, need)
        reported = NOT_KNOWN if tokens is None else count_text(tokens)
        dollars = NOT_KNOWN if cost is None else dollars_text(cost)
        numbers = f"{need.each:>15,}{need.examples:>11,}{need.rollouts:>11,}"
        yield f"{numbers}{reported:>9}{dollars:>11}{mark}"
    if not plan.needs:
        yield f"{'more than':>15} {MOST_EXAMPLES:,} examples: plan for a greater one"
    if plan.detectable is not None:
        shown = reward_text(plan.detectable, 3)
        yield f"Two runs of the pilot's size show differences of {shown} and more."
    else:
        yield "Two runs of the pilot's size can show no difference: 6 examples are the least."
    yield ""
    yield "How much two runs of one configuration differ by chance, the noise floor, is seen by"
    yield "running it twice and comparing the two, with the run that is changed beside them:"
    name = shlex.quote(str(runs[0].run.place))
    yield f"  tui-eval compare {name} AGAIN CHANGED"


NOT_KNOWN = "–"


def _assumed(plan: Plan) -> Iterator[str]:
    if plan.pilots[0].within is None:
        yield (
            "No example has two rollouts, so all of the spread counts as chance: run -r 2 for less"
        )
    elif plan.correlation is not None:
        yield (
            f"Assumed: examples are alike in both runs with a correlation of {plan.correlation:g} "
            "(--correlation; a second pilot measures it)"
        )


def _spent(summary: Summary, need: Need) -> tuple[float | None, float | None]:
    """Tokens and dollars of one run, as the pilot's rollouts that say theirs spent them."""
    read, written = summary.known_tokens
    if not summary.with_usage or written is None:
        return None, None
    share = need.rollouts / summary.with_usage
    cost = None if summary.cost is None else summary.cost * share
    return ((read or 0) + written) * share, cost


def plan_object(runs: Sequence[ComparedRun], plan: Plan) -> dict[str, Any]:
    """The whole plan; `docs/deciding.md` describes its keys."""
    summary = summarize(runs[0].side.state)
    return {
        "version": VERSION,
        "metric": plan.metric,
        "detect": plan.detect,
        "correlation": plan.correlation,
        "pilots": [
            {
                "path": str(run.run.place.absolute()),
                "mean": spread.mean,
                "examples": spread.groups,
                "rollouts_per_example": run.side.state.per_example,
                "variance_between": spread.between,
                "variance_within": spread.within,
            }
            for run, spread in zip(runs, plan.pilots, strict=True)
        ],
        "needs": [_need_object(summary, need) for need in plan.needs],
        "detectable": plan.detectable,
    }


def _need_object(summary: Summary, need: Need) -> dict[str, Any]:
    tokens, cost = _spent(summary, need)
    return {
        "rollouts_per_example": need.each,
        "examples": need.examples,
        "rollouts": need.rollouts,
        "tokens": tokens,
        "usd": cost,
    }
