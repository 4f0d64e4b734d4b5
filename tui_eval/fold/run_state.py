"""State of a run as its listeners see it: plain columns, one entry a rollout, and running sums.

Everything shown of a run is computed here, once: screen, console, reports and budgets read the same
numbers. Each event costs the same, whatever came before.
"""

from __future__ import annotations

from collections import deque
from copy import copy
from functools import cache
from typing import TYPE_CHECKING, Any

from tui_eval.fold.endpoint_limits import LIMITS_KEPT, EndpointLimits
from tui_eval.fold.rollout_columns import DONE, ERROR, NAN, WAITING, RolloutColumns, Wait
from tui_eval.fold.row_details import Outcomes, RowDetails
from tui_eval.fold.usage import Times, Usage
from tui_eval.stats.cost import Prices, cost_of, run_prices
from tui_eval.stats.examples import RunningExamples
from tui_eval.stats.mean import RunningMean
from tui_eval.stats.passk import RunningPassAtK, ks_up_to
from tui_eval.stats.rewards import is_number, passes
from tui_eval.stats.trend import Rate, RunningTrend
from tui_eval.token_kinds import Tokens, plus

if TYPE_CHECKING:
    from collections.abc import Callable

    from tui_eval import events as ev
    from tui_eval.fold.anytime import AnytimeMeans

OURS = ("", "tui-eval")
"""Formats of runs that an engine of this program can resume."""


class RunState(RolloutColumns, EndpointLimits):
    """The fold of a run's events.

    `changed` grows with every event that changed anything, so that a screen can say whether to
    draw. Errored rollouts have no reward and no part in means and pass rates; they are counted in
    `by_stage[ERROR]`. `reward_most` is the greatest reward, 1 at least. `usage` has the tokens of
    all rollouts, `times` how long they took, and `outcomes` counts what became of them. `trend` has
    the rewards in the order in which they came. `max_concurrent_changed` is the last change of that
    limit, `taken_back` how many rows were taken back to run again. `workers` has those of a run at
    work, where it has any. `last_cause` is why the last sleeping one does. `details` has what
    filters and sorting need of every finished rollout. `refusal` says why the disk takes nothing.
    `read` is how much of a saved run's file is read, in bytes of bytes. `unreadable` has the first
    lines of it that were no rows, of `unreadable_lines`, `doubtful` rows with a fault; `unfinished`
    is the number of its last line where that is not whole. `anytime` is for `anytime_means` alone.

    Args:
        keeps_texts: `details` keeps more of each row than its metrics, above all how questions and
            answers begin. This takes half of a finished rollout's time and most of its memory; only
            lists, filters and exports of rows need it.
    """

    def __init__(self, *, keeps_texts: bool = True) -> None:
        super().__init__()
        self._keeps_texts = keeps_texts
        self.refused: list[tuple[str, str, str]] = []
        self.notices: list[tuple[str, str]] = []
        self.read = (0, 0)
        self.unreadable: list[ev.LineUnreadable] = []
        self.doubtful: list[ev.LineUnreadable] = []
        self.unreadable_lines = self.unfinished = 0
        self.in_flight = 0
        self.refusal: ev.WritingMoved | None = None
        self.max_concurrent_changed: ev.MaxConcurrentChanged | None = None
        self.workers: ev.WorkersSeen | None = None
        self.taken_back = 0
        self.changed = 0
        self._reset(0, 1, 0.5)

    def _reset(self, total: int, per_example: int, threshold: float) -> None:
        self._make_columns(total, per_example)
        self.threshold = threshold
        self.usage = Usage()
        self.example_ids: dict[int, Any] = {}
        self.last_cause = ""
        self.errors: dict[int, str] = {}
        self.outcomes = Outcomes()
        self.details = RowDetails()
        self.times = Times()
        self.reward_mean = RunningMean()
        self.anytime: AnytimeMeans | None = None
        self.trend = RunningTrend()
        self.reward_most = 1.0
        self.metrics: dict[str, RunningMean] = {}
        self.pass_rates = RunningPassAtK(ks_up_to(self.per_example))
        self.examples = RunningExamples(total // self.per_example, self.per_example)
        self.rate = Rate()

    @property
    def expected(self) -> int:
        """Rollouts of the whole run; where that is not known, those found so far.

        A last line that is not whole counts.
        """
        if self.run is None or self.run.total_known:
            return self.total
        is_torn = bool(self.unreadable) and not self.unreadable[-1].ends
        return self.total - self.by_stage[WAITING] + is_torn

    @property
    def waiting(self) -> int:
        """Rollouts that have not begun, or have no row that can be read once the run is over."""
        missing = self.by_stage[WAITING] - (self.total - self.expected)
        begun = self.unreadable_lines if self.end is None else 0
        return max(missing - begun, 0)

    @property
    def is_read(self) -> bool:
        """Whether the file of a saved run was read to its end."""
        return self.read[0] >= self.read[1]

    @property
    def is_loading(self) -> bool:
        """Whether more of the run is about to be reported: nothing counts as missing yet."""
        return self.run is None or not self.is_read

    @property
    def is_foreign(self) -> bool:
        """Whether another program wrote the run: no engine of ours can resume it."""
        return self.run is not None and self.run.format not in OURS

    @property
    def prices(self) -> Prices:
        """Prices of the endpoint's tokens."""
        run = self.run
        return run_prices(run) if run is not None else Prices()

    @property
    def tokens(self) -> int:
        """Input and output tokens of all rollouts."""
        return self.usage.tokens_in + self.usage.tokens_out

    @property
    def cost(self) -> float | None:
        """US dollars for them; None where a price is not known."""
        usage = self.usage
        return cost_of(usage.tokens_in, usage.tokens_out, self.prices, usage.kinds)

    @property
    def is_settled(self) -> bool:
        """Whether no rollout will begin any more: its run is over and another program's."""
        return self.is_foreign and self.end is not None

    @property
    def has_gaps(self) -> bool:
        """Whether some places never had a rollout: they only make groups of one size."""
        total_unknown = self.run is not None and not self.run.total_known and self.is_read
        return total_unknown and self.by_stage[WAITING] > 0

    def passes(self, reward: float) -> bool:
        """Whether a rollout or an example with this reward passes; NaN, which is none, does not."""
        return passes(reward, self.threshold)

    def used_by(self, row: int) -> Tokens:
        """Tokens of a rollout without a row, in all its attempts."""
        own = self.input_tokens[row], self.output_tokens[row], *self.usage.row_kinds.get(row, ())
        return plus(own, self.usage.lost.get(row, (0, 0)))

    def example_id(self, row: int) -> Any:
        """The example's id as the dataset has it; its position until a rollout of it finished."""
        position = row // self.per_example
        return self.example_ids.get(position, position)

    def apply(self, event: ev.Event) -> None:
        """Takes in one event; those of a connection, the engine itself or one text are ignored."""
        handler = _handler_of(type(event))
        if handler is not None:
            handler(self, event)
            self.changed += 1

    def _on_run(self, event: ev.RunStarted) -> None:
        before, self.run = self.run, event
        shape = (event.total, event.rollouts_per_example, event.pass_threshold)
        again = before is not None and event.reading != before.reading
        self.end = None
        if again:
            self.notices, self.unreadable, self.doubtful, self.unfinished = [], [], [], 0
        if again or shape[1:] != (self.per_example, self.threshold) or event.total < self.total:
            self._reset(*shape)
        elif event.total > self.total:
            self._grow_columns(event.total - self.total)
            self.examples.reach(self.total // self.per_example - 1)
        if before is None or again or event.at != before.at:
            self.rate = Rate(event.at)  # a session's own
        lost = {row: tokens for row, tokens in event.lost.items() if self.stage[row] < DONE}
        for row in lost:
            self._use(row, 0, 0, 0, 0)
            self.usage.use_kinds(row, ())
        self.usage.lose_only(lost)
        if not self.concurrency:
            self.limits = deque(event.limits, LIMITS_KEPT)

    def _on_stage(self, event: ev.RolloutStaged) -> None:
        row = event.row
        before = self.stage[row]
        if before >= DONE:
            return
        begins = before == WAITING
        if begins:
            self.rate.begin(event.at)
        stands = not begins and self._stands_still(event.stage, event.again_at)
        if stands or row in self._held_at:
            self._pass_time(row, event.at, stands)
        if begins or event.attempt != self.attempt[row]:
            self.since[row] = event.at
        if event.stage != before:
            self._move(row, event.stage)
        self.waits[row] = Wait(event.waits_for, event.since, event.worker)
        self.attempt[row] = event.attempt
        if event.note:
            self.notes[row] = event.note
            self.last_cause = event.note.rpartition(", ")[0]
            if event.again_at:
                self.again_at[row] = event.again_at
            else:
                self.again_at.pop(row, None)
        elif self.notes:
            self._woke(row)
        self._use(row, event.turns, event.tool_calls, event.input_tokens, event.output_tokens)
        if event.kinds or self.usage.row_kinds:
            self.usage.use_kinds(row, event.kinds)
        if event.lost_input or event.lost_output or row in self.usage.lost:
            self.usage.lose(row, event.lost_input, event.lost_output, event.lost_kinds)

    def _use(self, row: int, turns: int, tools: int, tokens_in: int, tokens_out: int) -> None:
        self.turns[row] = turns
        self.tool_calls[row] = tools
        more_in = tokens_in - self.input_tokens[row]
        more_out = tokens_out - self.output_tokens[row]
        if more_in or more_out:
            self.usage.use(more_in, more_out)
            self.input_tokens[row] = tokens_in
            self.output_tokens[row] = tokens_out

    def _on_done(self, event: ev.RolloutFinished) -> None:
        row = event.row
        if self.stage[row] >= DONE:  # reported again, where its line is at another place now
            self.offset[row], self.length[row] = event.offset, event.length
            return
        self._move(row, DONE if event.error is None else ERROR)
        if self.notes:
            self._woke(row)
        self.waits.pop(row, None)
        self._held_at.pop(row, None)
        self._use(row, event.turns, event.tool_calls, event.input_tokens, event.output_tokens)
        self.usage.finish(event)
        self.attempt[row] = event.attempt
        self.offset[row] = event.offset
        self.length[row] = event.length
        self.total_ms[row] = event.total_ms
        self.since[row] = event.started_at
        if self._keeps_texts:
            self.details.add(event, self.per_example)
        example = row // self.per_example
        if event.example_id != example:
            self.example_ids[example] = event.example_id
        if self.run is None or event.at >= self.run.at:  # an earlier session's says no speed
            self.rate.add(event.at, event.started_at)
        self.outcomes.add(event)
        self.times.add(event)
        if event.error is not None:
            self.examples.add_error(example)
            self.errors[row] = event.error
        else:
            self._score(row, example, event)

    def _score(self, row: int, example: int, event: ev.RolloutFinished) -> None:
        reward = event.reward
        if reward is None:
            pass
        elif is_number(reward):
            self.reward[row] = reward
            self.reward_mean.add(example, reward)
            self.trend.add(reward)
            self.reward_most = max(self.reward_most, reward)
            passed = self.passes(reward)
            self.pass_rates.add(example, passed)
            self.examples.add(example, reward, passed)
        else:
            self.details.no_number.add(row)
        for name, value in event.metrics.items():
            if not is_number(value):
                self.details.metrics_no_number[name] += 1
                continue
            self.details.add_metric(row, name, value)
            mean = self.metrics.get(name)
            if mean is None:
                mean = self.metrics[name] = RunningMean(is_share=False)
            mean.add(example, value)

    def _on_back(self, event: ev.RowsTakenBack) -> None:
        for was in event.rows:
            self._take_back(was)

    def _take_back(self, was: ev.RolloutFinished) -> None:
        """Takes an errored rollout back to run again: all but its tokens goes, at constant cost.

        Nothing happens where its row was not reported, or a later one was already.
        """
        row = was.row
        if self.stage[row] != ERROR or self.since[row] != was.started_at:
            return
        self.taken_back += 1
        self._move(row, WAITING)
        self._use(row, 0, 0, 0, 0)
        self.usage.take_back(was)
        self.attempt[row], self.offset[row], self.length[row] = 0, -1, 0
        self.total_ms[row] = self.since[row] = NAN
        self.details.remove(row)
        self.outcomes.remove(was)
        self.times.remove(was)
        self.examples.remove_error(row // self.per_example)
        del self.errors[row]

    def _on_max_concurrent(self, event: ev.MaxConcurrentChanged) -> None:
        self.max_concurrent_changed = event
        if self.run is not None:
            self.run = copy(self.run)
            self.run.max_concurrent = event.max_concurrent

    def _on_gate(self, event: ev.GateMoved) -> None:
        if event.open and not self.gate_open:
            self.rate = Rate(event.at)  # a pause says no speed
        self.in_flight = event.in_flight
        self._move_gate(event.open, event.at)

    def _on_workers(self, event: ev.WorkersSeen) -> None:
        self.workers = event

    def _on_moved(self, event: ev.RunMoved) -> None:
        if self.run is not None:
            self.run = copy(self.run)
            self.run.path, self.run.saved = event.path, event.saved

    def _on_write(self, event: ev.WritingMoved) -> None:
        self.refusal = event if event.why else None

    def _on_read(self, event: ev.ReadingMoved) -> None:
        self.read = (event.done, event.total)
        if event.unfinished != self.unfinished or event.unreadable < self.unreadable_lines:
            self._take_back_line(self.unfinished)
        self.unreadable_lines, self.unfinished = event.unreadable, event.unfinished

    def _on_bad(self, event: ev.LineUnreadable) -> None:
        if event.line == self.unfinished:
            self._take_back_line(event.line)
        (self.doubtful if event.shown else self.unreadable).append(event)
        self.notices.append(("warning", line_text(event)))

    def _take_back_line(self, line: int) -> None:
        """A last line that was not whole when it was reported is longer now."""
        for reported in [one for one in self.unreadable if one.line == line and not one.ends]:
            self.unreadable.remove(reported)
            self.notices.remove(("warning", line_text(reported)))

    def _on_note(self, event: ev.Noticed) -> None:
        self.notices.append((event.level, event.text))

    def _on_end(self, event: ev.RunFinished) -> None:
        self.end = event
        self.again_at.clear()
        self.waits.clear()
        for row, stage in enumerate(self.stage):
            if WAITING < stage < DONE:  # it begins again if the run is resumed
                self._move(row, WAITING)

    def _on_refused(self, event: ev.Refused) -> None:
        self.refused = event.faults


@cache
def _handler_of(kind: type[ev.Event]) -> Callable[[RunState, Any], None] | None:
    """The method for a class of events, by its tag: `_on_run` for `run`."""
    return getattr(RunState, f"_on_{kind.__struct_config__.tag}", None)


def line_text(line: ev.LineUnreadable) -> str:
    """A sentence on a line of a file that is no row or has a fault."""
    return f"{line.file}, line {line.line}: {line.why}"
