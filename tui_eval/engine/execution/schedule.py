"""Which rollouts wait to begin, and the tasks of those that have.

Which rollout begins next is kept apart from what a rollout does. A rollout that is cancelled, run
again or parked by a budget then changes one queue, and a stop has one set of tasks to end.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any

from tui_eval.engine.limits.limits import Held
from tui_eval.worker.rollouts import BEGIN_IN_ONE_TURN


class Schedule:
    """Begins one rollout after the other; more may be put before those that wait at any time.

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
        self.tasks: set[asyncio.Task[None]] = set()
        self._guarded = guarded
        self._changed = asyncio.Event()
        self.parked: Callable[[], int] = lambda: 0
        """How many of the tasks wait for good: nobody waits for those."""

    def put_first(self, rows: Iterable[int]) -> None:
        """Rollouts that begin before all others, in this order."""
        self.todo.extendleft(reversed(list(rows)))
        self._changed.set()

    def drop(self, row: int) -> bool:
        """Takes a rollout out that waits; returns whether it did."""
        if row not in self.todo:
            return False
        self.todo.remove(row)
        return True

    def start(self, work: Coroutine[Any, Any, None], held: Held) -> None:
        """Begins a task; its slots are given back when it ends, however it does."""
        task = asyncio.create_task(self._guarded(work))
        self.tasks.add(task)
        # A task that is cancelled before it begins never comes to a `finally` of its own.
        task.add_done_callback(lambda done: self._ended(done, held))

    def _ended(self, task: asyncio.Task[None], held: Held) -> None:
        self.tasks.discard(task)
        held.release()
        if len(self.tasks) <= self.parked():
            self._changed.set()

    def more_are_parked(self) -> None:
        """More of the tasks wait for good."""
        self._changed.set()

    async def work_off(
        self, begin: Callable[[], Awaitable[bool]], all_begun: Callable[[], object]
    ) -> None:
        """Begins what waits, until nothing waits and no task is left but those that are parked.

        Args:
            begin: Begins the first one that waits; False where nothing new may begin any more.
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
