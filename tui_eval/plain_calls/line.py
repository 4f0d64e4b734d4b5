"""The queue of one event loop's jobs for threads, and the threads that take them."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Collection
from queue import SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_eval.plain_calls.call import Call


class GivenUp(SystemExit):
    """Raised inside a function that is given up."""


class Line:
    """Jobs in their order. Threads hold this alone, so that the loop can go.

    A thread that waits is woken for each job, but for a quick one only where no other thread is
    about to look for its next job: waking a thread costs more than most quick calls. A quick job
    that turns out to take its time is `demoted`, and those behind it get threads of their own.

    Args:
        name: Of the threads.
        before_thread: Called before a thread is started.
        is_single: Whether all jobs are for one and the same thread, as long as it is not lost.
    """

    def __init__(
        self, name: str, before_thread: Callable[[], object], is_single: bool = False
    ) -> None:
        self._is_single = is_single
        self._has_thread = False
        self._name = name
        self._before_thread = before_thread
        self._lock = threading.RLock()  # a loop may go, which closes this, at any allocation
        self._jobs: deque[Call] = deque()
        self._doors: list[SimpleQueue[None]] = []
        self._free = 0
        """Threads that will soon look for a job: awake, and in no slow call."""
        self._quick: set[Call] = set()
        self._is_over = False

    def add(self, job: Call) -> None:
        """Adds a job; a RuntimeError where the system gives no more threads."""
        with self._lock:
            self._jobs.append(job)
            if job.is_quick and self._free:
                return
            starts = self._wake()
        if starts:
            try:
                self._start_thread()
            except RuntimeError:
                with self._lock:
                    if job not in self._jobs:  # somebody takes care of it
                        return
                    self._jobs.remove(job)
                raise

    def quick_ones(self) -> set[Call]:
        """The quick jobs that run."""
        with self._lock:
            return set(self._quick)

    def demote(self, jobs: Collection[Call]) -> None:
        """Makes those of these jobs that still run slow ones."""
        with self._lock:
            for job in self._quick.intersection(jobs):
                self._demote(job)
            threads = 0 if self._free else sum(self._wake() for _ in range(len(self._jobs)))
        with contextlib.suppress(RuntimeError):  # those that there are have to do
            for _ in range(threads):
                self._start_thread()

    def close(self) -> None:
        """Has threads end once they are free, as the loop is gone."""
        with self._lock:
            self._is_over = True
            for door in self._doors:
                door.put(None)

    def _demote(self, job: Call) -> None:
        self._quick.discard(job)
        job.is_quick = False
        self._free -= 1

    def _wake(self) -> bool:
        """Has one more thread look for a job; returns whether one is to be started."""
        if self._doors:
            self._free += 1
            self._doors.pop().put(None)
            return False
        if self._is_single and self._has_thread:
            return False  # it has reported its last job, and will look for the next
        self._free += 1
        self._has_thread = True
        return True

    def lose_thread(self) -> None:
        """Notes that a thread does not come back from its job."""
        with self._lock:
            self._has_thread = False

    def _start_thread(self) -> None:
        self._before_thread()
        try:
            threading.Thread(target=_work, args=(self,), name=self._name, daemon=True).start()
        except RuntimeError:
            with self._lock:
                self._free -= 1
                self._has_thread = False
            raise

    def next(self, mine: list[Call], door: SimpleQueue[None]) -> bool:
        """Waits for the next job; False where there is no more. Called in a thread, at its `door`.

        `mine` has the last job, and gets the next one: a thread that waits keeps nothing alive.
        """
        while True:
            done = mine.pop() if mine else None
            with self._lock:
                if done is not None:
                    self._end(done)
                if self._jobs:
                    mine.append(self._jobs.popleft())
                    self._begin(mine[0])
                    return True
                self._free -= 1
                self._doors.append(door)
                if self._is_over:
                    return False
            done = None  # its loop may go with it, which closes this
            door.get()

    def _begin(self, job: Call) -> None:
        if job.is_quick:
            self._quick.add(job)
        else:
            self._free -= 1

    def _end(self, job: Call) -> None:
        if job.is_quick:
            self._quick.discard(job)
        else:
            self._free += 1


def _work(line: Line) -> None:
    door: SimpleQueue[None] = SimpleQueue()
    mine: list[Call] = []
    with contextlib.suppress(GivenUp):  # it may come when the function is over
        while line.next(mine, door):
            if not mine[0].work():
                return
