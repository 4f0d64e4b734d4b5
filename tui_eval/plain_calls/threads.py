"""Daemon threads for plain functions, off the event loop.

A reward function that sleeps or computes for a second would hold up every rollout on the loop. In a
pool a function that never returns would keep the process from ending. So each runs in a daemon
thread, is waited for as long as the rollout may take, and is left behind then.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

from tui_eval.plain_calls import main_thread
from tui_eval.plain_calls.call import Call, Outcome
from tui_eval.plain_calls.line import Line

MOST_AT_ONCE = 32
MOST_LEFT_BEHIND = 500
LOOK_S = 0.01
"""Seconds between checks whether a call holds up the others."""
HANDED_OVER_S = 0.005
"""Seconds for which the event loop waits for quick calls at most: about as long as Python lets a
thread run before another one."""
_GROWS_AFTER_S = 0.05
_ENDLESS_S = 5.0
_BUSY = 0.5
"""Share of a processor from which running functions count as computing, not waiting."""


class TooManyLeftBehindError(RuntimeError):
    """A function was not called, as too many abandoned ones still run."""


class Threads:
    """Runs plain functions in daemon threads, so that neither the event loop nor the end of the
    process waits for one that hangs; the loop waits for quick ones, for five milliseconds at most.

    Each event loop has threads of its own; those of a loop that is gone end. A thread whose
    function is given up is left behind: a `SystemExit` is raised inside, which reaches Python code
    at its next step, but no call that waits in the system.

    Args:
        most: How many functions run at once for one event loop; others wait, and their limit
            begins with their call.
        at_most: The same where those that run only wait, or do not end.
    """

    def __init__(self, most: int = MOST_AT_ONCE, at_most: int = 0) -> None:
        self._most = most
        self._at_most = at_most
        self._crews: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Crew] = (
            weakref.WeakKeyDictionary()
        )
        self._latest: tuple[weakref.ref[asyncio.AbstractEventLoop], Crew] | None = None

    async def run(self, call: Callable[[], Any], limit_s: float = math.inf) -> Any:
        """Returns the value of `call`; raises what `attempt` raises or reports."""
        outcome = await self.attempt(call, limit_s)
        if outcome.error is not None:
            raise outcome.error
        return outcome.value

    async def attempt(
        self, call: Callable[[], Any], limit_s: float = math.inf, is_quick: bool = False
    ) -> Outcome:
        """Runs `call` in a thread, where it sees the caller's context variables.

        A cancelled caller continues at once; its call is given up.

        Args:
            limit_s: Seconds that the call may take.
            is_quick: Whether it is expected to take less than a millisecond. It may share a
                thread then, until it turns out to take longer.

        Returns:
            The value, or the exception: a `TimeoutError` where it ran out of time, whose note
            says where it was; a `NeedsMainThreadError` where it set a signal handler, whatever it
            made of the refusal.

        Raises:
            TooManyLeftBehindError: Too many functions that were given up are still running.
            RuntimeError: The system gives no more threads.
        """
        loop = asyncio.get_running_loop()
        job = self._crew(loop).take(loop.create_future(), call, limit_s, is_quick)
        try:
            return await job.future
        except asyncio.CancelledError:
            job.abandon()
            raise

    def is_free(self) -> bool:
        """Whether nothing runs or waits here for this event loop."""
        return self._crew(asyncio.get_running_loop()).is_free

    def _crew(self, loop: asyncio.AbstractEventLoop) -> Crew:
        latest = self._latest
        if latest is not None and latest[0]() is loop:
            return latest[1]
        crew = self._crews.get(loop)
        if crew is None:
            crew = self._crews[loop] = Crew(self._most, self._at_most)
            weakref.finalize(loop, crew.line.close).atexit = False
        self._latest = (weakref.ref(loop), crew)
        return crew


class Crew:
    """The threads of one event loop."""

    def __init__(self, most: int, at_most: int) -> None:
        name, is_single = "tui-eval plain function", most == 1 and at_most <= 1
        self.line = Line(name, main_thread.notice_refusals, is_single)
        self._most = most
        self._at_most = at_most
        self._waiting: deque[Call] = deque()
        self._running = 0
        self._quick = 0
        self._seen: set[Call] = set()
        self._looks = False
        self._left_behind: list[threading.Thread] = []
        self._done: deque[tuple[Call, Outcome]] = deque()
        self._reported = False
        self._together: list[Call] = []
        self._expected = 0
        self._all_done = threading.Event()
        self._ended_at = self._since = self._cpu = 0.0

    @property
    def is_free(self) -> bool:
        return not self._running and not self._quick and not self._waiting

    def take(
        self,
        future: asyncio.Future[Outcome],
        call: Callable[[], Any],
        limit_s: float,
        is_quick: bool,
    ) -> Call:
        if self._left_behind:
            self._left_behind = [thread for thread in self._left_behind if thread.is_alive()]
            if len(self._left_behind) >= MOST_LEFT_BEHIND:
                left = len(self._left_behind)
                raise TooManyLeftBehindError(
                    f"Not called: {left} functions that ran out of time still run"
                )
        job = Call(self, call, limit_s, is_quick, future)
        if is_quick:
            self._quick += 1
            self._together.append(job)
            if len(self._together) == 1:
                asyncio.get_running_loop().call_soon(self._hand_over)
        else:
            self._waiting.append(job)
            self._begin_those_that_may()
        if (self._quick or self._waiting) and not self._looks:
            self._look_later()
        return job

    def _begin_those_that_may(self) -> None:
        while self._waiting and self._running < self._most:
            job = self._waiting.popleft()
            if not job.future.cancelled():
                self._running += 1
                self._begin(job)

    def _begin(self, job: Call) -> bool:
        """Gives a job to a thread; returns whether one takes it."""
        job.start()
        try:
            self.line.add(job)
        except RuntimeError as error:
            self._never_begins(job, error)
            return False
        return True

    def _never_begins(self, job: Call, error: BaseException) -> None:
        job.never_begins()
        self._leave(job)
        if not job.future.done():
            job.future.set_exception(error)

    def _hand_over(self) -> None:
        """Begins the quick jobs of one turn of the loop, and waits a moment until they are done.

        A thread would wait as long for this one to release the interpreter, more than once. While
        an earlier job is not done it does not wait: that one may not be quick any more.
        """
        jobs, self._together = deque(self._together), []
        waits = self._quick == len(jobs)
        self._all_done.clear()
        self._expected, self._reported = len(jobs), True
        try:
            while jobs:
                if jobs[0].future.cancelled():
                    self._leave(jobs[0])
                    self._expected -= 1
                elif not self._begin(jobs[0]):
                    self._expected -= 1
                jobs.popleft()
            if waits and len(self._done) < self._expected:
                self._all_done.wait(HANDED_OVER_S)
        except BaseException as error:
            for job in jobs:
                self._never_begins(job, error)
            raise
        finally:
            self._expected = 0
            self._settle()

    def _leave(self, job: Call) -> None:
        if job.has_place:
            self._running -= 1
        else:
            self._quick -= 1

    def deliver(self, job: Call, outcome: Outcome) -> bool:
        """Delivers an outcome; False where the loop is gone. Called in a thread.

        One wake-up of the loop serves all until it is awake.
        """
        self._done.append((job, outcome))
        if self._expected and len(self._done) >= self._expected:
            self._all_done.set()
        if not self._reported:
            self._reported = True
            try:
                job.future.get_loop().call_soon_threadsafe(self._settle)
            except RuntimeError:  # it is closed
                self._done.clear()
                return False
        return True

    def _settle(self) -> None:
        self._reported = False
        if self._done:
            self._ended_at = time.monotonic()
        while self._done:
            job, outcome = self._done.popleft()
            job.settle(outcome)
            self._leave(job)
        self._begin_those_that_may()

    def leave_behind(self, job: Call, thread: threading.Thread | None) -> None:
        """Gives up a job, and its thread with it."""
        self.line.demote([job])
        self._leave(job)
        if thread is not None:
            self._left_behind.append(thread)
            self.line.lose_thread()
        self._begin_those_that_may()

    # Nobody holds up the others

    def _look_later(self) -> None:
        self._looks = True
        asyncio.get_running_loop().call_later(LOOK_S, self._look)

    def _look(self) -> None:
        self._looks = False
        quick = self.line.quick_ones()
        slow = self._seen & quick
        for job in slow:
            job.begin_time()
        self.line.demote(slow)
        self._seen = quick - slow
        if self._waiting:
            self._grow()
        else:
            self._since = 0.0
        if self._quick or self._waiting:
            self._look_later()
        else:
            self._seen = set()

    def _grow(self) -> None:
        """Raises the number of threads where those that run only wait, or do not end."""
        now, cpu = time.monotonic(), time.process_time() - time.thread_time()
        if not self._since:
            self._since, self._cpu, self._ended_at = now, cpu, now
        passed = now - self._since
        if passed < _GROWS_AFTER_S:
            return
        if cpu - self._cpu < _BUSY * passed or now - self._ended_at > _ENDLESS_S:
            self._ended_at = now
            self._most = max(self._most, min(2 * self._most, self._at_most))
            self._begin_those_that_may()
        self._since, self._cpu = now, cpu
