"""Replicas of one endpoint: what would go to one that is out goes to the others.

A rollout keeps its replica, which has the beginning of its conversation cached, for as long as that
answers. No process alone decides which replicas are out: `failed` reports faults, and `move` says
which are out now.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from tui_eval.clients.base_urls import shown_url
from tui_eval.clients.causes import cause_of
from tui_eval.clients.faults import url_of
from tui_eval.clients.request_retries import is_refusal, reason_of
from tui_eval.errors import Error
from tui_eval.observer import SILENT
from tui_eval.open_files import is_out_of_files

if TYPE_CHECKING:
    from tui_eval.clients.base import Client

log = logging.getLogger("tui_eval.rollout")

Answer = TypeVar("Answer")

FAULTS_IN_A_ROW = 3
"""Number of faults, without an answer between them, that take a replica out."""
NOBODY_THERE = frozenset(("refused", "DNS", "TLS", "network"))
"""Kinds of causes that take it out at once."""
_BROKEN = frozenset((*NOBODY_THERE, "reset", "broke", "slow"))


class ReplicaSet:
    """The clients of the replicas of one endpoint. `out` are the places of those that are out.

    Args:
        clients: In their order.
        failed: Called where a replica is to be taken out; gets its place and why.
    """

    def __init__(
        self, clients: Sequence[Client[Any, Any, Any, Any]], failed: Callable[[int, str], None]
    ) -> None:
        self.out: frozenset[int] = frozenset()
        self._clients = clients
        self._failed = failed
        self._faults = Counter[int]()
        for place, client in enumerate(clients):
            client.join_replicas(self, place)

    def move(self, out: Iterable[int]) -> None:
        """Marks these as out, and no others."""
        before, self.out = self.out, frozenset(out)
        for place in before - self.out:
            self._faults[place] = 0

    def is_left(self, place: int) -> bool:
        """Whether requests are to leave a replica: it is out, and another one is not."""
        return place in self.out and len(self.out) < len(self._clients)

    def leaves(self, place: int, error: BaseException) -> bool:
        """Counts what a request met; returns whether it is to leave the replica."""
        kind = _kind_of_fault(error)
        if kind:
            self._faults[place] += 1
            is_down = kind in NOBODY_THERE or self._faults[place] >= FAULTS_IN_A_ROW
            if is_down and place not in self.out:
                self.out |= {place}
                self._failed(place, reason_of(error))
        return self.is_left(place)

    def place_of(self, place: int, row: int) -> int:
        """The replica that serves a rollout whose own is at a place."""
        if not self.is_left(place):
            return place
        others = [one for one in range(len(self._clients)) if one not in self.out]
        return others[row % len(others)]

    async def answer(
        self,
        place: int,
        state: Any,
        call: Callable[[Client[Any, Any, Any, Any]], Awaitable[Answer]],
    ) -> Answer:
        """The answer of a rollout's replica, or of another one where that is out."""
        observer = getattr(state, "observer", SILENT)
        moves = 0
        while True:
            now = self.place_of(place, observer.row or 0)
            client = self._clients[now]
            try:
                with observer.waits_for(f"POST {shown_url(client.endpoint_url())}"):
                    answer = await call(client)
            except Error as error:
                cause = error.__cause__
                if cause is None or not _kind_of_fault(cause) or moves > len(self._clients):
                    raise
                is_down = _kind_of_fault(cause) in NOBODY_THERE and self.leaves(now, cause)
                if not (is_down or self.is_left(now)):
                    raise
                log.warning("%s: %s; it goes to another replica", observer, error)
            else:
                self._faults[now] = 0
                return answer
            moves += 1


def _kind_of_fault(error: BaseException) -> str:
    """The kind of a fault for which the server is to blame; empty where it is not."""
    status = getattr(error, "status_code", None)
    if status is not None:
        return "status" if status >= 500 and not is_refusal(error) else ""
    if is_out_of_files(error):
        return ""
    found = cause_of(error, url_of(error))
    return found.kind if found is not None and found.kind in _BROKEN else ""
