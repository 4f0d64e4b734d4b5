"""The health of replicas: taken out, probed at growing intervals, put back."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable

from tui_eval import clock
from tui_eval.clients.base_urls import shown_url
from tui_eval.clients.replica_set import ReplicaSet
from tui_eval.engine.setup.endpoint_checks import why_out
from tui_eval.engine.transport.hub import Hub
from tui_eval.events import ReplicaMoved
from tui_eval.text.figures import plural
from tui_eval.types import ClientConfig
from tui_eval.worker.replicas import Replicas
from tui_eval.worker.to_worker import ReplicasOut

FIRST_PROBE_S = 1.0
LONGEST_PROBE_S = 60.0
PROBED_WITHIN_S = 10.0
STEADY_S = 60.0
"""A replica that is taken out again sooner than this is probed at its last interval."""


class ReplicaHealth:
    """Looks after the replicas of a run; one that is alone is never out."""

    def __init__(self, replicas: Replicas, hub: Hub) -> None:
        self.send: Callable[[ReplicasOut], None] = lambda message: None
        """Sends a message to all workers."""
        self._replicas = replicas
        self._hub = hub
        self._set: ReplicaSet | None = None
        self._probing: dict[int, asyncio.Task[None]] = {}
        self._intervals: dict[int, float] = {}
        self._back_at: dict[int, float] = {}

    @property
    def _configs(self) -> list[ClientConfig]:
        """Their settings, where all can be probed."""
        configs = self._replicas.configs
        return configs if len(configs) == len(self._replicas) else []

    def look_after_calls_here(self) -> None:
        """Calls of this process leave a replica that is out, too."""
        if len(self._configs) > 1:
            self._set = ReplicaSet(self._replicas.clients, self.failed)

    def _moved(self) -> None:
        out = frozenset(self._probing)
        self._replicas.out = out
        if self._set is not None:
            self._set.move(out)
        self.send(ReplicasOut(sorted(out)))

    def failed(self, endpoint: int, why: str) -> None:
        """Takes one out, unless it is already."""
        if endpoint in self._probing or len(self._configs) < 2:
            return
        if clock.now() - self._back_at.get(endpoint, 0.0) > STEADY_S:
            self._intervals[endpoint] = FIRST_PROBE_S
        self._probing[endpoint] = asyncio.create_task(self._probe(endpoint, why))
        left = len(self._configs) - len(self._probing)
        rest = f"its calls go to {plural(left, 'other')}" if left else "no other one is left"
        self._hub.notice("warning", f"Replica {self._url(endpoint)} is taken out: {why}; {rest}.")
        self._moved()

    async def _probe(self, endpoint: int, why: str) -> None:
        """Probes it until it answers; a probe takes as long as a connection may."""
        since = clock.now()
        while why:
            wait = self._intervals[endpoint]
            self._intervals[endpoint] = min(wait * 2, LONGEST_PROBE_S)
            now = clock.now()
            self._hub.publish(
                ReplicaMoved(0, now, endpoint, self._url(endpoint), since, why, now + wait)
            )
            await asyncio.sleep(wait)
            why = await _answer_of(self._configs[endpoint])
        del self._probing[endpoint]
        self._back_at[endpoint] = now = clock.now()
        self._hub.publish(ReplicaMoved(0, now, endpoint, self._url(endpoint)))
        self._hub.notice(
            "info", f"Replica {self._url(endpoint)} answers again after {now - since:.0f} s."
        )
        self._moved()

    def _url(self, endpoint: int) -> str:
        return shown_url(self._configs[endpoint].api_base_url)

    def close(self) -> None:
        """Probes no longer."""
        for task in self._probing.values():
            task.cancel()


async def _answer_of(config: ClientConfig) -> str:
    """The result of `why_out`, within a time; its thread holds up nobody's end."""
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[str] = loop.create_future()

    def answer(why: str) -> None:
        if not answered.done():
            answered.set_result(why)

    def probe() -> None:
        why = why_out(config)
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(answer, why)

    threading.Thread(target=probe, name="tui-eval-probe", daemon=True).start()
    try:
        async with asyncio.timeout(PROBED_WITHIN_S):
            return await answered
    except TimeoutError:
        return f"no answer within {PROBED_WITHIN_S:.0f} s"
