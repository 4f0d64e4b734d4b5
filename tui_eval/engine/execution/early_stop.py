"""Stops a run early once its rewards are known well enough, as its condition says."""

from __future__ import annotations

from collections import Counter, deque

from tui_eval.engine.transport.hub import Hub
from tui_eval.errors import nearest
from tui_eval.fold.anytime import REWARD, AnytimeMeans, anytime_means
from tui_eval.fold.run_state import RunState
from tui_eval.printable import one_line


class EarlyStop:
    """Looks after every example whether the condition holds; `why` says how, once it does."""

    def __init__(self, hub: Hub) -> None:
        self.why = ""
        self._hub = hub
        self._seen = -1
        self._warned: set[str] = set()

    def check(self, waiting: deque[int]) -> None:
        """Takes out of what waits to begin all examples that need not, once the condition holds.

        Examples of which a rollout has begun are completed: they count as a whole, and what scores
        the rollouts of an example together waits for all of them.
        """
        if self.why or (run := self._hub.state.run) is None or not run.until:
            return
        self._hub.flush()
        state = self._hub.state
        means = anytime_means(state)
        if means is None or means.examples == self._seen:
            return
        self._seen = means.examples
        self._warn_unusable(means, state)
        truth, reason = means.judge()
        if not truth:
            return
        each = state.per_example
        self.why = f"{reason} after {means.examples:,} of {state.total // each:,} examples"
        left = Counter(row // each for row in waiting)
        begun = [row for row in waiting if left[row // each] < each]
        waiting.clear()
        waiting.extend(begun)
        self._hub.notice("info", f"No further examples begin: {self.why}")

    def _warn_unusable(self, means: AnytimeMeans, state: RunState) -> None:
        for name in {one.name for one in means.condition.measures()} - self._warned:
            shown = one_line(name, 60)
            if name in means.unusable:
                why = f"a {shown} of {means.unusable[name]}"
            elif name != REWARD and state.reward_mean.n and name not in state.metrics:
                why = f"no rollout has a metric {shown}. {nearest(name, state.metrics)}".rstrip()
            else:
                continue
            self._warned.add(name)
            text = f"--until has no interval of {shown}: {why}. The run goes on to its end"
            self._hub.notice("warning", text)
