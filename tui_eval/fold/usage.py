"""Tokens of a run's rollouts: what finished ones used, and what was spent for nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tui_eval.stats.quantiles import RunningQuantiles

if TYPE_CHECKING:
    from tui_eval import events as ev


class Usage:
    """Running sums.

    `tokens_in` and `tokens_out` are those of all rollouts, running ones included, and `lost_in` and
    `lost_out` what of them went into attempts that a later one replaces; `lost` has those of
    rollouts without a row, by row. `used_in` and `used_out` are those of the `with_usage` finished
    ones that told any, `rollout_in` and `rollout_out` each of them, and `retried_in` and
    `retried_out` what finished ones lost.
    """

    def __init__(self) -> None:
        self.tokens_in = self.tokens_out = self.lost_in = self.lost_out = 0
        self.with_usage = self.used_in = self.used_out = 0
        self.retried_in = self.retried_out = 0
        self.lost: dict[int, tuple[int, int]] = {}
        self.rollout_in = RunningQuantiles()
        self.rollout_out = RunningQuantiles()

    def use(self, tokens_in: int, tokens_out: int) -> None:
        """So many more, or fewer."""
        self.tokens_in += tokens_in
        self.tokens_out += tokens_out

    def lose(self, row: int, tokens_in: int, tokens_out: int) -> None:
        """What the attempts of a rollout that came to no row have used, in all."""
        before = self.lost.pop(row, (0, 0))
        if tokens_in or tokens_out:
            self.lost[row] = tokens_in, tokens_out
        self._count_lost(tokens_in - before[0], tokens_out - before[1])

    def lose_only(self, lost: Mapping[int, tuple[int, int]]) -> None:
        """What attempts that came to no row have used, of all rollouts that have none."""
        for row in self.lost.keys() - lost.keys():
            self.lose(row, 0, 0)
        for row, tokens in lost.items():
            self.lose(row, *tokens)

    def _count_lost(self, tokens_in: int, tokens_out: int) -> None:
        self.lost_in += tokens_in
        self.lost_out += tokens_out
        self.use(tokens_in, tokens_out)

    def finish(self, event: ev.RolloutFinished) -> None:
        """A row tells what its attempts used; the last one is counted by `use`."""
        self.lose(event.row, 0, 0)
        self._count_lost(event.lost_input, event.lost_output)
        self.retried_in += event.lost_input
        self.retried_out += event.lost_output
        if event.input_tokens or event.output_tokens:
            self.with_usage += 1
            self.used_in += event.input_tokens
            self.used_out += event.output_tokens
            self.rollout_in.add(event.input_tokens)
            self.rollout_out.add(event.output_tokens)

    def take_back(self, was: ev.RolloutFinished) -> None:
        """The rollout of a row runs again: what it used was spent, and is lost."""
        self._count_lost(-was.lost_input, -was.lost_output)
        self.lose(was.row, was.input_tokens + was.lost_input, was.output_tokens + was.lost_output)
        self.retried_in -= was.lost_input
        self.retried_out -= was.lost_output
        if was.input_tokens or was.output_tokens:
            self.with_usage -= 1
            self.used_in -= was.input_tokens
            self.used_out -= was.output_tokens
            self.rollout_in.remove(was.input_tokens)
            self.rollout_out.remove(was.output_tokens)

    def projected(self, finished: int, total: int) -> tuple[float, float]:
        """Tokens of the whole run, if what is to come uses what is finished did.

        Args:
            finished: Rollouts that are; one at least.
            total: Rollouts of the whole run.
        """
        times = total / finished
        return (
            (self.used_in + self.retried_in) * times + self.lost_in - self.retried_in,
            (self.used_out + self.retried_out) * times + self.lost_out - self.retried_out,
        )
