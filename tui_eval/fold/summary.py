"""What a run came to, once: the numbers that console, JSON, metadata and tables show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from tui_eval.fold.anytime import REWARD, anytime_means
from tui_eval.fold.mean_reward import held_mean, mean_reward
from tui_eval.stats.cost import Prices
from tui_eval.stats.examples import ExampleFigures
from tui_eval.stats.mean import Mean
from tui_eval.stats.passk import PassRate
from tui_eval.stats.quantiles import Quantiles
from tui_eval.token_kinds import named

if TYPE_CHECKING:
    from tui_eval.events import RunFinished, RunStarted
    from tui_eval.fold.run_state import RunState


class AnytimeReward(NamedTuple):
    """The anytime interval of the reward, and of how many of the first examples it is."""

    low: float
    high: float
    examples: int


class CodeRows(NamedTuple):
    """The finished rollouts of one version of the code: those with a reward, and their mean."""

    number: int
    finished: int
    used: int
    mean: float | None


class Summary(msgspec.Struct, frozen=True):
    """The numbers of a run, finished or not.

    Args:
        total: Rollouts of the whole run: those with a reward (`used`), those that ended in an
            error, those whose reward is no number, and those that are missing: not done, or done
            and not scored.
        metrics_no_number: Rollouts with a metric that is no number, by its name.
        reward: The mean over all rollouts with a reward.
        example_mean: The mean of the examples' mean rewards, each of the `scored_examples` counted
            once; None where there are none.
        complete_examples: Examples of which every rollout has a reward.
        reward: With the anytime interval of a run that may stop early, see `mean_reward`.
        reward_anytime: Of such a run; None where there is none.
        equal_groups: How many of the `groups`, examples with two rewards at least, have rewards
            that are all equal.
        errors, error_classes: Rollouts by the names of their exceptions, or by what failed.
        stop_conditions, finish_reasons: Rollouts by why they, or their last answers, ended.
        truncated: Rollouts with an answer that was cut off.
        input_tokens, output_tokens: Of all rollouts, in all their attempts.
        lost_in, lost_out: What of them went into attempts that a later one replaced.
        kinds: What of all tokens was of which kind, by name, where there was any.
        used_in, used_out: Of the `with_usage` finished ones whose endpoint reported tokens.
        cost: US dollars; None where a price is not known.
        rollout_s: Seconds of rollouts without an error.
        model_call_s: Seconds of answered model calls.
        tools: (calls, errors) by name.
        failed_tools: Rollouts with a tool call that went wrong.
        models: Calls by the model that answered, where it was another than was requested.
        refused_requests: Those that were tried again after status 429 or 529; None where nobody
            counted them.
        last_cause: Why a rollout of this session was tried again last, where none succeeded.
        missing_columns: State columns that no rollout's state had, and which key may have been
            meant, as a sentence or nothing.
        code_versions: The rows of each version of the code, where there are several.
        seconds: How long the run was worked on, over all its sessions.
    """

    run: RunStarted
    end: RunFinished | None
    examples: int
    total: int
    finished: int
    used: int
    errored: int
    no_number: int
    missing: int
    complete_examples: int
    threshold: float
    reward: Mean
    reward_anytime: AnytimeReward | None
    example_mean: float | None
    scored_examples: int
    metrics: dict[str, Mean]
    metrics_no_number: dict[str, int]
    pass_rates: list[PassRate]
    equal_groups: int
    groups: int
    errors: dict[str, int]
    error_classes: dict[str, int]
    stop_conditions: dict[str, int]
    finish_reasons: dict[str, int]
    truncated: int
    input_tokens: int
    output_tokens: int
    kinds: dict[str, int]
    lost_in: int
    lost_out: int
    with_usage: int
    used_in: int
    used_out: int
    prices: Prices
    cost: float | None
    rollout_s: Quantiles
    model_call_s: Quantiles
    tools: dict[str, tuple[int, int]]
    failed_tools: int
    models: dict[str, int]
    refused_requests: int | None
    last_cause: str
    missing_columns: dict[str, str]
    code_versions: list[CodeRows]
    seconds: float

    @property
    def known_tokens(self) -> tuple[int | None, int | None]:
        """Input and output tokens; None for what no finished rollout reported."""
        read, written = self.input_tokens, self.output_tokens
        if not self.finished:
            return read, written
        return read or None, written if read or written else None

    @property
    def reward_with_errors(self) -> float | None:
        """What the mean reward would be with the rollouts that errored counted as 0."""
        return self.reward.with_zeros(self.errored)

    @property
    def stopped_early(self) -> str:
        """Why the run stopped before its end though nothing went wrong; empty where it did not."""
        from tui_eval.events import STOPPED_EARLY  # which takes longer to load

        return self.end.text if self.end is not None and self.end.status == STOPPED_EARLY else ""

    @property
    def status(self) -> str:
        """`running`, or what `RunFinished` says."""
        return self.end.status if self.end is not None else "running"


def summarize(state: RunState) -> Summary:
    """What a run came to so far; a ValueError where it has not started."""
    run, end = state.run, state.end
    if run is None:
        raise ValueError("a run that has not started has no summary")
    outcomes = state.outcomes
    examples, used = state.total // state.per_example, state.reward_mean.n
    return Summary(
        run=run,
        end=end,
        examples=examples,
        total=state.expected,
        finished=state.finished,
        used=used,
        errored=state.errored,
        no_number=len(state.facts.no_number),
        missing=state.expected - used - state.errored - len(state.facts.no_number),
        complete_examples=state.examples.complete,
        threshold=state.threshold,
        reward=mean_reward(state),
        reward_anytime=_anytime_reward(state),
        example_mean=state.examples.mean_of_means,
        scored_examples=state.examples.scored,
        metrics={
            name: held_mean(state, name, metric.result()) for name, metric in state.metrics.items()
        },
        metrics_no_number=dict(state.facts.metrics_no_number.most_common()),
        pass_rates=state.pass_rates.result(examples),
        equal_groups=state.examples.equal,
        groups=state.examples.with_several,
        errors=dict(outcomes.errors.most_common()),
        error_classes=dict(outcomes.classes.most_common()),
        stop_conditions=dict(outcomes.stops.most_common()),
        finish_reasons=dict(outcomes.finishes.most_common()),
        truncated=outcomes.truncated,
        input_tokens=state.usage.tokens_in,
        output_tokens=state.usage.tokens_out,
        kinds=named(state.usage.kinds),
        lost_in=state.usage.lost_in,
        lost_out=state.usage.lost_out,
        with_usage=state.usage.with_usage,
        used_in=state.usage.used_in,
        used_out=state.usage.used_out,
        prices=state.prices,
        cost=state.cost if state.tokens or not state.finished else None,
        rollout_s=state.rollout_s.result(),
        model_call_s=state.model_call_s.result(),
        tools=dict(sorted(outcomes.tools.items(), key=lambda item: -item[1][0])),
        failed_tools=outcomes.failed_tools,
        models=dict(outcomes.models.most_common()),
        refused_requests=state.refused_requests,
        last_cause=state.last_cause if state.finished == state.errored else "",
        missing_columns=end.missing_columns if end is not None else {},
        code_versions=code_versions(state),
        seconds=_seconds(run, end),
    )


def _anytime_reward(state: RunState) -> AnytimeReward | None:
    means = anytime_means(state)
    found = means.estimate(REWARD) if means is not None else None
    if means is None or found is None or found.low is None or found.high is None:
        return None
    return AnytimeReward(found.low, found.high, means.examples)


def code_versions(state: RunState) -> list[CodeRows]:
    """What the rows of each version of the code came to; empty where all are of the first."""
    later = state.outcomes.later_code
    if not later:
        return []
    reward = state.reward_mean.result()
    finished, used, total = state.finished, reward.n, (reward.mean or 0.0) * reward.n
    for one, with_reward, sum_of_rewards in later.values():
        finished, used, total = finished - one, used - with_reward, total - sum_of_rewards
    every = {1: (finished, used, total), **later} if finished else later
    return [
        CodeRows(number, one, with_reward, rewards / with_reward if with_reward else None)
        for number, (one, with_reward, rewards) in sorted(every.items())
    ]


def _seconds(run: RunStarted, end: RunFinished | None) -> float:
    """How long the run was worked on; a running one that is not over says no time."""
    now = end.at if end is not None else run.complete_at or run.at
    return max(now - run.at, 0.0) + run.worked_ms / 1000


def begun_examples(state: RunState) -> list[tuple[Any, ExampleFigures]]:
    """The examples of which a rollout is finished, by id, in the order of the run."""
    figures = ((place, state.examples.result(place)) for place in range(len(state.examples)))
    return [
        (state.example_id(place * state.per_example), one)
        for place, one in figures
        if one.n or one.errored
    ]


def worst_examples(state: RunState, most: int) -> list[tuple[Any, ExampleFigures]]:
    """The examples with the lowest mean rewards, by id; those without any reward come first.

    Args:
        most: So many at most. Examples of which no rollout is finished are left out.
    """
    begun = begun_examples(state)
    begun.sort(key=lambda item: (item[1].mean is not None, item[1].mean or 0.0, -item[1].errored))
    return begun[:most]
