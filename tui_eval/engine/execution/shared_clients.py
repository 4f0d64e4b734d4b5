"""Clients that the runs of one process have in common."""

from __future__ import annotations

from tui_eval.engine.execution.replicas import Replicas
from tui_eval.types import ClientConfig


class SharedClients:
    """Makes the clients of a config once; their connections and the embedded endpoint are shared.

    Where the embedded endpoint ends by itself all runs that use it are notified, and the next one
    gets another.
    """

    def __init__(self) -> None:
        self._open: dict[str, tuple[Replicas, list[Replicas]]] = {}
        self._over: list[Replicas] = []

    async def of(self, config: ClientConfig) -> Replicas:
        """The clients of a config, for one run to take turns with.

        Raises:
            RefusedError, TypeError, RuntimeError: See `Replicas.open`.
        """
        key = config.model_dump_json()
        if key not in self._open:
            made, used = Replicas([config]), list[Replicas]()
            await made.open()
            made.failed = lambda why: self._failed(key, why)
            self._open[key] = made, used
        made, used = self._open[key]
        own = Replicas(made.clients)
        used.append(own)
        return own

    def _failed(self, key: str, why: str) -> None:
        made, used = self._open.pop(key)
        self._over.append(made)
        for one in used:
            one.failed(why)

    async def close(self) -> None:
        """Closes all of them."""
        for made in [*self._over, *(made for made, _ in self._open.values())]:
            await made.close()
