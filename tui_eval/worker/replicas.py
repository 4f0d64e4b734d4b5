"""The clients of a run, which take turns."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import msgspec

from tui_eval.clients import AnyClient, resolve_client
from tui_eval.clients.base import key_of_client
from tui_eval.config.endpoints import EMBEDDED
from tui_eval.types import ClientConfig

STARTS_WITHIN_S = 20.0

_NO_CERTIFICATES = {"SSL_CERT_FILE": os.devnull, "SSL_CERT_DIR": os.devnull}
"""Keeps its server from reading the machine's certificates at its import: it connects to nobody."""


class EmbeddedEndpoint:
    """A scripted policy behind a real HTTP server on a free loopback port."""

    def __init__(self, process: asyncio.subprocess.Process, url: str) -> None:
        self._process = process
        self.url = url

    @classmethod
    async def start(cls) -> EmbeddedEndpoint:
        """Starts the server and waits until it listens.

        `TUI_EVAL_DEMO_SPEED` sets its speed: 0 answers at once, 2 twice as fast as usual.

        Raises:
            RuntimeError: It did not start; has its output.
        """
        speed = os.environ.get("TUI_EVAL_DEMO_SPEED", "1")
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "tui_eval.demo.endpoint", "--speed", speed),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, **_NO_CERTIFICATES},
        )
        assert process.stdout is not None
        try:
            async with asyncio.timeout(STARTS_WITHIN_S):
                line = await process.stdout.readline()
            port = msgspec.json.decode(line)["port"]
        except BaseException as error:
            if process.returncode is None:
                process.kill()
            await process.wait()
            if isinstance(error, (TimeoutError, msgspec.DecodeError, KeyError, TypeError)):
                raise RuntimeError("the embedded endpoint did not start; see engine.log") from None
            raise
        return cls(process, f"http://127.0.0.1:{port}/v1")

    async def ended(self) -> int:
        """Waits until the server ends by itself; returns its exit code."""
        return await self._process.wait()

    async def stop(self) -> None:
        """Ends the server."""
        if self._process.returncode is None:
            self._process.terminate()
            await self._process.wait()


Source: TypeAlias = ClientConfig | Any
"""A config, or a client that is there already: ours, one of an SDK, or anything that answers."""


class ClientElsewhere:
    """A client that workers make from its config."""

    def __init__(self, config: ClientConfig) -> None:
        self.config = config

    async def close(self) -> None:
        """Does nothing."""


class Replicas:
    """One client for each endpoint.

    Clients that are made here are closed here, and the embedded endpoint, where a config names
    it, is started and ended; where it ends by itself `failed` is called with a sentence.

    Args:
        sources: Of the clients; a config with several endpoints gives several.
        make: Makes a client of a source that is none yet.
    """

    def __init__(
        self, sources: Sequence[Source], make: Callable[[Source], Any] = resolve_client
    ) -> None:
        self._make = make
        self._sources = [one for source in sources for one in _per_endpoint(source)]
        self._clients: list[AnyClient] = []
        self._made: list[AnyClient] = []
        self._endpoint: EmbeddedEndpoint | None = None
        self._watching: asyncio.Task[None] | None = None
        self._turn = -1
        self._group: int | None = None
        self.out: frozenset[int] = frozenset()
        """Places of replicas that are out: no call goes there while another one is in."""
        self.failed: Callable[[str], None] = lambda text: None

    async def open(self) -> None:
        """Makes the clients, unless they are there.

        Raises:
            RefusedError: A config cannot be used.
            TypeError: Something is no client.
            RuntimeError: The embedded endpoint did not start.
        """
        if self._clients:
            return
        for source in self._sources:
            if isinstance(source, ClientConfig):
                client = self._make(await self._with_url(source))
                self._made.append(client)
            else:
                client = source if hasattr(source, "get_response") else self._make(source)
            self._clients.append(client)

    @property
    def urls(self) -> list[str]:
        """The URLs of the endpoints, in order; empty where a client has none."""
        return [_url_of(source) for source in self._sources]

    @property
    def keys(self) -> list[str]:
        """The secrets that the clients send."""
        return [key for client in self._clients if (key := key_of_client(client))]

    @property
    def clients(self) -> list[AnyClient]:
        """The clients, in order; there are none before `open`."""
        return list(self._clients)

    @property
    def configs(self) -> list[ClientConfig]:
        """The settings of the clients, in order, as workers need them."""
        found = [getattr(one, "config", None) for one in self._clients]  # a program's may have none
        return [config for config in found if isinstance(config, ClientConfig)]

    def __len__(self) -> int:
        return len(self._clients)

    def endpoints(self, group: int | None = None) -> list[int]:
        """Places of the clients that may serve the next rollout, the one whose turn it is first.

        Args:
            group: Rollouts of the same group that follow each other get the same client.
        """
        every = len(self._clients)
        out = self.out if len(self.out) < every else frozenset()
        if group is not None and group == self._group and self._turn not in out:
            return [self._turn]
        found = ((self._turn + step) % every for step in range(1, every + 1))
        return [endpoint for endpoint in found if endpoint not in out]

    def take(self, endpoint: int, group: int | None = None) -> AnyClient:
        """The client of an endpoint; passes the turn to the next one."""
        self._turn = endpoint
        self._group = group
        return self._clients[endpoint]

    async def close(self) -> None:
        """Closes the clients that were made here."""
        made, self._made, self._clients = self._made, [], []
        for client in made:
            await client.close()
        if self._watching is not None:
            self._watching.cancel()
        if self._endpoint is not None:
            endpoint, self._endpoint = self._endpoint, None
            await endpoint.stop()

    async def _with_url(self, config: ClientConfig) -> ClientConfig:
        if config.api_base_url != EMBEDDED:
            return config
        if self._endpoint is None:
            self._endpoint = await EmbeddedEndpoint.start()
            self._watching = asyncio.create_task(self._watch(self._endpoint))
        return config.model_copy(update={"api_base_url": self._endpoint.url})

    async def _watch(self, endpoint: EmbeddedEndpoint) -> None:
        self.failed(f"the embedded endpoint ended with exit code {await endpoint.ended()}")


def _per_endpoint(source: Source) -> Sequence[Source]:
    return source.per_endpoint() if isinstance(source, ClientConfig) else [source]


def _url_of(source: Source) -> str:
    config = source if isinstance(source, ClientConfig) else getattr(source, "config", None)
    if config is not None:
        return str(getattr(config, "api_base_url", ""))
    sdk_client = getattr(source, "client", source)
    return str(getattr(sdk_client, "base_url", "") or "").rstrip("/")


class SharedClients:
    """The clients of runs whose workers make them; the embedded endpoint is shared.

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
            made, used = Replicas([config], ClientElsewhere), list[Replicas]()
            await made.open()
            made.failed = lambda why: self._failed(key, why)
            self._open[key] = made, used
        made, used = self._open[key]
        own = Replicas(made.clients, lambda client: client)
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
