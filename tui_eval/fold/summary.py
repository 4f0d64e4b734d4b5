"""Summary of a run: the numbers that console, JSON, metadata and tables show.

All of them read a `Summary`, and nobody computes a number of their own: two places never show
different means of one run. It is a copy of what `RunState` held when it was made, so that a line
printed late, or a table of a hundred runs, needs no state any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tui_eval.fold.anytime import REWARD, anytime_means
from tui_eval.fold.mean_reward import held_mean, mean_reward
from tui_eval.stats.examples import ExampleFigures
from tui_eval.token_kinds import named

if TYPE_CHECKING:
    from tui_eval.events import RunFinished, RunStarted
    from tui_eval.fold.run_state import RunState


class AnytimeReward(NamedTuple):
    """The anytime interval of the reward, over so many of the first examples."""

    low: float
    high: float
    examples: int


class CodeRows(NamedTuple):
    """Numbers of the finished rollouts of one version of the code; `used` have a reward."""

    number: int
    finished: int
    used: int
    mean: float | None


class Summary:
    """Numbers of a run, finished or not, as they were when this was made.

    Raises:
        ValueError: The run has not started.
    """

    def __init__(self, state: RunState) -> None:
        if state.run is None:
            raise ValueError("a run that has not started has no summary")
        self.run, self.end = state.run, state.end
        self.threshold = state.threshold
        self.missing_columns = self.end.missing_columns if self.end is not None else {}
        """State columns that no rollout's state had, each with the likely key, or ""."""
        self.code_versions = code_versions(state)
        """The rows of each version of the code, where there are several."""
        self.seconds = _seconds(self.run, self.end)
        """Seconds of work on the run, over all its sessions."""
        self._count(state)
        self._measure(state)
        self._spend(state)

    def _count(self, state: RunState) -> None:
        self.total = state.expected
        """Rollouts of the whole run: the sum of the next four."""
        self.used, self.errored = state.reward_mean.n, state.errored
        self.no_number = len(state.details.no_number)
        """Rollouts whose reward is no number."""
        self.missing = self.total - self.used - self.errored - self.no_number
        """Rollouts that are not done, or done and not scored."""
        self.finished = state.finished
        outcomes = state.outcomes
        self.errors = dict(outcomes.errors.most_common())
        """Rollouts by the names of their exceptions."""
        self.error_classes = dict(outcomes.classes.most_common())
        """Errored rollouts by error class."""
        self.stop_conditions = dict(outcomes.stops.most_common())
        self.finish_reasons = dict(outcomes.finishes.most_common())
        """Rollouts by the finish reason of their last answers."""
        self.truncated = outcomes.truncated
        """Rollouts with an answer that was cut off."""
        self.failed_tools = outcomes.failed_tools
        """Rollouts with a tool call that went wrong."""
        self.tools = dict(sorted(outcomes.tools.items(), key=lambda item: -item[1][0]))
        """(calls, errors) by name."""
        self.models = dict(outcomes.models.most_common())
        """Calls by the model that answered, where it was another than was requested."""

    def _measure(self, state: RunState) -> None:
        self.reward = mean_reward(state)
        """Over all rollouts with one; of a run that may stop early with the anytime interval."""
        self.reward_anytime = _anytime_reward(state)
        self.metrics = {
            name: held_mean(state, name, metric.result()) for name, metric in state.metrics.items()
        }
        self.metrics_no_number = dict(state.details.metrics_no_number.most_common())
        """Rollouts with a metric that is no number, by its name."""
        examples = state.examples
        self.examples = state.total // state.per_example
        self.complete_examples = examples.complete
        """Examples of which every rollout has a reward."""
        self.example_mean, self.scored_examples = examples.mean_of_means, examples.scored
        """The mean of the examples' mean rewards, and how many there are."""
        self.equal_groups, self.groups = examples.equal, examples.with_several
        """Examples with two rewards at least: those with rewards that are all equal, and all."""
        self.pass_rates = state.pass_rates.result(self.examples)
        self.rollout_s = state.times.rollout_s.result()
        """Seconds of rollouts without an error."""
        self.model_call_s = state.times.model_call_s.result()
        """Seconds of answered model calls."""

    def _spend(self, state: RunState) -> None:
        usage = state.usage
        self.input_tokens, self.output_tokens = usage.tokens_in, usage.tokens_out
        """Tokens of all rollouts, in all their attempts."""
        self.lost_in, self.lost_out = usage.lost_in, usage.lost_out
        """Those of attempts that a later one replaced."""
        self.kinds = named(usage.kinds)
        """All tokens by the name of their kind, where there are any."""
        self.with_usage = usage.with_usage
        self.used_in, self.used_out = usage.used_in, usage.used_out
        """The finished rollouts whose endpoint reported tokens, and these."""
        self.prices = state.prices
        self.cost = state.cost if state.tokens or not state.finished else None
        """US dollars; None where a price is not known."""
        self.refused_requests = state.refused_requests
        """Requests retried after status 429 or 529; None where nobody counted them."""
        self.last_cause = state.last_cause if state.finished == state.errored else ""
        """Cause of the last retry in this session, where no rollout succeeded."""

    @property
    def known_tokens(self) -> tuple[int | None, int | None]:
        """Input and output tokens; None for what no finished rollout reported."""
        read, written = self.input_tokens, self.output_tokens
        if not self.finished:
            return read, written
        return read or None, written if read or written else None

    @property
    def reward_with_errors(self) -> float | None:
        """The mean reward with errored rollouts counted as 0."""
        return self.reward.with_zeros(self.errored)

    @property
    def stopped_early(self) -> str:
        """Reason of an early stop that is no failure; empty where there was none."""
        from tui_eval.events import STOPPED_EARLY  # which takes longer to load

        return self.end.text if self.end is not None and self.end.status == STOPPED_EARLY else ""

    @property
    def status(self) -> str:
        """`running`, or what `RunFinished` says."""
        return self.end.status if self.end is not None else "running"


def summarize(state: RunState) -> Summary:
    """Makes the summary of a run; a ValueError where it has not started."""
    return Summary(state)


def _anytime_reward(state: RunState) -> AnytimeReward | None:
    means = anytime_means(state)
    found = means.estimate(REWARD) if means is not None else None
    if means is None or found is None or found.low is None or found.high is None:
        return None
    return AnytimeReward(found.low, found.high, means.examples)


def code_versions(state: RunState) -> list[CodeRows]:
    """Numbers of each version of the code; empty where all rows are of the first."""
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
    """Seconds of work on the run, up to its last known moment."""
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
        most: Length of the list. Examples of which no rollout is finished are left out.
    """
    begun = begun_examples(state)
    begun.sort(key=lambda item: (item[1].mean is not None, item[1].mean or 0.0, -item[1].errored))
    return begun[:most]
