"""Tokens and times of a run: those of finished rollouts, of replaced attempts, and estimates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import zip_longest
from typing import TYPE_CHECKING

from tui_eval.stats.cost import cost_of
from tui_eval.stats.quantiles import RunningQuantiles
from tui_eval.token_kinds import Kinds, Tokens, minus, plus

if TYPE_CHECKING:
    from tui_eval import events as ev
    from tui_eval.fold.run_state import RunState


class Usage:
    """Running sums.

    `tokens_in` and `tokens_out` are those of all rollouts, running ones included, and `lost_in` and
    `lost_out` what of them went into attempts that a later one replaces; `lost` has those of
    rollouts without a row, by row. `used_in` and `used_out` are those of the `with_usage` finished
    ones that reported any, `rollout_in` and `rollout_out` each of them, and `retried_in` and
    `retried_out` what finished ones lost. `kinds`, `lost_kinds`, `used_kinds` and `retried_kinds`
    are what of each was of which kind, and `row_kinds` those of rollouts that run.
    """

    def __init__(self) -> None:
        self.tokens_in = self.tokens_out = self.lost_in = self.lost_out = 0
        self.with_usage = self.used_in = self.used_out = 0
        self.retried_in = self.retried_out = 0
        self.kinds: Kinds = ()
        self.lost_kinds: Kinds = ()
        self.used_kinds: Kinds = ()
        self.retried_kinds: Kinds = ()
        self.row_kinds: dict[int, Kinds] = {}
        self.lost: dict[int, Tokens] = {}
        self.rollout_in = RunningQuantiles()
        self.rollout_out = RunningQuantiles()

    def use(self, tokens_in: int, tokens_out: int) -> None:
        """Adds tokens; negative numbers take some away."""
        self.tokens_in += tokens_in
        self.tokens_out += tokens_out

    def use_kinds(self, row: int, kinds: Kinds) -> None:
        """Sets the tokens by kind that a running rollout has used in all."""
        before = self.row_kinds.pop(row, ())
        if kinds:
            self.row_kinds[row] = kinds
        if kinds != before:
            self.kinds = minus(plus(self.kinds, kinds), before)

    def lose(self, row: int, tokens_in: int, tokens_out: int, kinds: Kinds = ()) -> None:
        """Sets the tokens of a rollout's attempts that have no row."""
        before = self.lost.pop(row, (0, 0))
        if tokens_in or tokens_out:
            self.lost[row] = tokens_in, tokens_out, *kinds
        more = minus(kinds, before[2:]) if kinds or len(before) > 2 else ()
        self._count_lost(tokens_in - before[0], tokens_out - before[1], more)

    def lose_only(self, lost: Mapping[int, Tokens]) -> None:
        """Sets the tokens of attempts without a row, of all rollouts that have none."""
        for row in self.lost.keys() - lost.keys():
            self.lose(row, 0, 0)
        for row, (tokens_in, tokens_out, *kinds) in lost.items():
            self.lose(row, tokens_in, tokens_out, tuple(kinds))

    def _count_lost(self, tokens_in: int, tokens_out: int, kinds: Kinds) -> None:
        self.lost_in += tokens_in
        self.lost_out += tokens_out
        self.use(tokens_in, tokens_out)
        if kinds:
            self.lost_kinds = plus(self.lost_kinds, kinds)
            self.kinds = plus(self.kinds, kinds)

    def finish(self, event: ev.RolloutFinished) -> None:
        """Takes in a row's tokens of replaced attempts; `use` counts the last one."""
        if event.kinds or self.row_kinds:
            self.use_kinds(event.row, event.kinds)
            self.row_kinds.pop(event.row, None)
            self.used_kinds = plus(self.used_kinds, event.kinds)
        if self.lost:
            self.lose(event.row, 0, 0)
        if event.lost_input or event.lost_output:
            self._count_lost(event.lost_input, event.lost_output, event.lost_kinds)
            self.retried_in += event.lost_input
            self.retried_out += event.lost_output
            self.retried_kinds = plus(self.retried_kinds, event.lost_kinds)
        if event.input_tokens or event.output_tokens:
            self.with_usage += 1
            self.used_in += event.input_tokens
            self.used_out += event.output_tokens
            self.rollout_in.add(event.input_tokens)
            self.rollout_out.add(event.output_tokens)

    def take_back(self, was: ev.RolloutFinished) -> None:
        """The rollout of a row runs again: what it used was spent, and is lost."""
        kinds = plus(was.kinds, was.lost_kinds)
        if kinds:  # they count as lost ones from now on
            self.kinds = minus(self.kinds, kinds)
            self.lost_kinds = minus(self.lost_kinds, was.lost_kinds)
            self.used_kinds = minus(self.used_kinds, was.kinds)
            self.retried_kinds = minus(self.retried_kinds, was.lost_kinds)
        self._count_lost(-was.lost_input, -was.lost_output, ())
        tokens_in, tokens_out = (
            was.input_tokens + was.lost_input,
            was.output_tokens + was.lost_output,
        )
        self.lose(was.row, tokens_in, tokens_out, kinds)
        self.retried_in -= was.lost_input
        self.retried_out -= was.lost_output
        if was.input_tokens or was.output_tokens:
            self.with_usage -= 1
            self.used_in -= was.input_tokens
            self.used_out -= was.output_tokens
            self.rollout_in.remove(was.input_tokens)
            self.rollout_out.remove(was.output_tokens)

    def projected(self, finished: int, total: int) -> tuple[float, ...]:
        """Estimate of the whole run's tokens, from those of finished rollouts.

        Args:
            finished: Finished rollouts; one at least.
            total: Rollouts of the whole run.

        Returns:
            Tokens in and out, and those of each kind.
        """
        times = total / finished
        used = self.used_in + self.retried_in, self.used_out + self.retried_out
        lost = self.lost_in - self.retried_in, self.lost_out - self.retried_out
        used_kinds = plus(self.used_kinds, self.retried_kinds)
        lost_kinds = minus(self.lost_kinds, self.retried_kinds)
        repeated = tuple(times * count for count in (*used, *used_kinds))
        return tuple(a + b for a, b in zip_longest(repeated, (*lost, *lost_kinds), fillvalue=0))


class Times:
    """Times of finished rollouts, at constant cost a rollout.

    `rollout_s` has the seconds of every one without an error, `model_call_s` those of every
    answered model call.
    """

    def __init__(self) -> None:
        self.rollout_s = RunningQuantiles()
        self.model_call_s = RunningQuantiles()
        self._parted = 0
        self._generation_ms = self._scoring_ms = 0.0

    def add(self, event: ev.RolloutFinished) -> None:
        """Takes in a finished rollout."""
        for ms in event.model_ms:
            self.model_call_s.add(ms / 1000)
        if event.error is not None:
            return
        self.rollout_s.add(event.total_ms / 1000 or math.nan)
        if event.generation_ms:  # 0 is a time that is not known
            self._parted += 1
            self._generation_ms += event.generation_ms
            self._scoring_ms += event.scoring_ms

    def remove(self, was: ev.RolloutFinished) -> None:
        """Takes out an errored rollout that was added."""
        for ms in was.model_ms:
            self.model_call_s.remove(ms / 1000)

    @property
    def mean_ms(self) -> tuple[float, float] | None:
        """Milliseconds of generating and of scoring a rollout, on average; None if not known."""
        count = self._parted
        return (self._generation_ms / count, self._scoring_ms / count) if count else None


def projected_cost(state: RunState) -> float | None:
    """US dollars for the whole run.

    None where a price is not known, before a rollout has finished, and where what runs has cost
    more than that already.
    """
    if not state.finished:
        return None
    read, written, *kinds = state.usage.projected(state.finished, state.total)
    return _if_enough(state, cost_of(read, written, state.prices, kinds), state.cost)


def projected_tokens(state: RunState) -> float | None:
    """Input and output tokens of the whole run, and None, as with its cost."""
    if not state.finished:
        return None
    projected = state.usage.projected(state.finished, state.total)
    return _if_enough(state, sum(projected[:2]), state.tokens)


def _if_enough(state: RunState, whole: float | None, spent: float | None) -> float | None:
    """An estimate of the whole run; None where it is below what is spent."""
    if whole is None or spent is None:
        return None
    return whole if whole >= spent or state.finished == state.total else None
