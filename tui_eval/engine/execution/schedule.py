"""The queue of rollouts that wait to begin, the tasks of those that have, and early stops.

The order of rollouts is kept apart from the work of one. A rollout that is cancelled, run again or
parked by a budget then changes one queue, and a stop has one set of tasks to end.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any

from tui_eval.engine.limits.limits import Held
from tui_eval.engine.transport.hub import Hub
from tui_eval.engine.workers.engine_parts import PendingWork
from tui_eval.errors import nearest
from tui_eval.fold.anytime import REWARD, AnytimeMeans, anytime_means
from tui_eval.fold.run_state import RunState
from tui_eval.printable import one_line
from tui_eval.worker.ports import BEGIN_IN_ONE_TURN


class Schedule:
    """Begins one rollout after the other; others may be put first at any time.

    Args:
        todo: Places of the rollouts to begin, in order.
        guarded: Put around everything that becomes a task.
    """

    def __init__(
        self,
        todo: Iterable[int],
        guarded: Callable[[Coroutine[Any, Any, None]], Coroutine[Any, Any, None]],
    ) -> None:
        self.todo = deque(todo)
        self.tasks: set[asyncio.Future[None]] = set()
        self._guarded = guarded
        self._changed = asyncio.Event()
        self.parked: Callable[[], int] = lambda: 0
        """Number of tasks that are parked for good: nobody waits for those."""

    def put_first(self, rows: Iterable[int]) -> None:
        """Has rollouts begin before all others, in this order."""
        self.todo.extendleft(reversed(list(rows)))
        self._changed.set()

    def drop(self, row: int) -> bool:
        """Removes a rollout that waits; returns whether it did."""
        if row not in self.todo:
            return False
        self.todo.remove(row)
        return True

    def start(self, work: PendingWork, held: Held) -> None:
        """Begins a task, where one is needed; its slots are released when it ends."""
        if isinstance(work, asyncio.Future):
            task = work
        else:
            task = asyncio.create_task(self._guarded(work))
            task.add_done_callback(lambda _: work.close())  # where it was cancelled before
        self.tasks.add(task)
        # A task that is cancelled before it begins never comes to a `finally` of its own.
        task.add_done_callback(lambda done: self._ended(done, held))

    def _ended(self, task: asyncio.Future[None], held: Held) -> None:
        self.tasks.discard(task)
        held.release()
        if len(self.tasks) <= self.parked():
            self._changed.set()

    def more_are_parked(self) -> None:
        """Notes that more of the tasks are parked for good."""
        self._changed.set()

    async def work_off(
        self, begin: Callable[[], Awaitable[bool]], all_begun: Callable[[], object]
    ) -> None:
        """Begins rollouts until none waits and no task is left but those that are parked.

        Args:
            begin: Begins the first one that waits; False where none may begin any more.
            all_begun: Called whenever none waits.
        """
        may_begin, begun = True, 0
        while True:
            while self.todo and may_begin:
                may_begin = await begin()
                begun += 1
                if begun % BEGIN_IN_ONE_TURN == 0:
                    await asyncio.sleep(0)
            all_begun()
            if len(self.tasks) <= self.parked():
                return
            self._changed.clear()
            await self._changed.wait()

    async def give_up(self, within_s: float) -> None:
        """Cancels every task and waits a while for their ends."""
        for task in self.tasks:
            task.cancel()
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=within_s)


class EarlyStop:
    """Checks after every example whether the condition holds; `why` says how, once it does."""

    def __init__(self, hub: Hub) -> None:
        self.why = ""
        self._hub = hub
        self._seen = -1
        self._warned: set[str] = set()

    def check(self, waiting: deque[int]) -> None:
        """Removes examples that need not begin from `waiting`, once the condition holds.

        Examples of which a rollout has begun are completed: they count as a whole, and a rubric
        that scores the rollouts of an example together waits for all of them.
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
            text = f"--until has no interval of {shown}: {why}. The run continues to its end"
            self._hub.notice("warning", text)
