"""Loopback servers for tests: one whose answers are scripted, faults included."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import struct
import threading
import time
from collections.abc import Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from aiohttp import web
from multidict import CIMultiDict

CERTIFICATE = Path(__file__).with_name("loopback.pem")
"""Of the servers that speak TLS, with their key: it says nothing but 127.0.0.1."""
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


@dataclass(frozen=True)
class Reply:
    """One scripted answer.

    Args:
        status: HTTP status.
        body: Bytes as they are, anything else as JSON.
        headers: Sent beside those that HTTP needs.
        delay: Seconds before the answer.
        hang: Never answer.
        reset: Break the connection instead of an answer.
        drip: Seconds between any two bytes of the body.
        cut: Send only so many bytes of the body, then close the connection.
        hold: Send so many bytes of the body, and the rest once the event is set.
    """

    status: int = 200
    body: Any = b""
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    hang: bool = False
    reset: bool = False
    drip: float = 0.0
    cut: int | None = None
    hold: tuple[int, threading.Event] | None = None

    def content(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


@dataclass(frozen=True)
class Received:
    """One request that came in."""

    path: str
    query: str
    headers: CIMultiDict[str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class LoopbackServer:
    """An HTTP server on a free loopback port, in a thread of its own; `url` says where.

    Args:
        tls: Whether it speaks TLS, with `CERTIFICATE`.
        port: Where it listens; 0 for a free one.
    """

    def __init__(self, *, tls: bool = False, port: int = 0) -> None:
        self._tls = tls
        self._port = port
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name=type(self).__name__, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(60), f"{self._thread.name} did not start"
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join(60)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        self._stopped = asyncio.Event()
        app = web.Application(client_max_size=1 << 28)
        app.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        context = None
        if self._tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(CERTIFICATE)
        await web.TCPSite(runner, "127.0.0.1", self._port, ssl_context=context).start()
        host, port = runner.addresses[0][:2]
        self.url = f"http{'s' if self._tls else ''}://{host}:{port}"
        self._ready.set()
        await self._stopped.wait()
        await runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        raise NotImplementedError


class FaultServer(LoopbackServer):
    """A server that answers as a test says.

    Each path has its list of replies; when only one is left it is given again and again. A path
    without any answers 404. `at_once` tells when how many requests were being answered. `requests`
    holds what came in, `connections` how many were opened, both without questions for models where
    no list of them is scripted.
    """

    def __init__(self, *, tls: bool = False, port: int = 0) -> None:
        super().__init__(tls=tls, port=port)
        self.requests: list[Received] = []
        self.connections = 0
        self.most_at_once = 0
        self.at_once: list[tuple[float, int]] = []
        self.in_flight = 0
        self._scripts: dict[str, list[Reply]] = {}
        self._peers: set[Any] = set()
        self._full: tuple[int, int] | None = None
        self._one_answer = asyncio.Lock()

    def script(self, path: str, replies: Iterable[Reply]) -> None:
        """From now on requests of this path get these replies, in order."""
        self._scripts[path] = list(replies)

    def answer_when_full(self, limit: int, of: int) -> None:
        """From now on nothing is answered until `limit` requests wait, or all `of` have come.

        They are answered one by one: who does not ask anew after each answer waits for ever.
        """
        self._full = limit, of

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        if request.path.endswith("/models") and request.path not in self._scripts:
            return web.Response(status=404)  # requested before every run
        peer = request.transport.get_extra_info("peername") if request.transport else None
        if peer not in self._peers:
            self._peers.add(peer)
            self.connections += 1
        body = await request.read()
        received = Received(request.path, request.query_string, CIMultiDict(request.headers), body)
        self.requests.append(received)
        self.in_flight += 1
        self.at_once.append((time.monotonic(), self.in_flight))
        self.most_at_once = max(self.most_at_once, self.in_flight)
        async with AsyncExitStack() as until_it_has_left:
            if self._full is not None:
                await until_it_has_left.enter_async_context(self._one_answer)
                await self._until_full(*self._full)
            until_it_has_left.callback(self._leave)
            return await self._answer(request, self._next_reply(request.path))

    def _leave(self) -> None:
        self.in_flight -= 1
        self.at_once.append((time.monotonic(), self.in_flight))

    async def _until_full(self, limit: int, of: int) -> None:
        while self.in_flight < limit and len(self.requests) < of and not self._stopped.is_set():
            await asyncio.sleep(0.001)

    def _next_reply(self, path: str) -> Reply:
        script = self._scripts.get(path)
        if not script:
            return Reply(404, {"error": {"message": f"no script for {path}"}})
        return script.pop(0) if len(script) > 1 else script[0]

    async def _answer(self, request: web.Request, reply: Reply) -> web.StreamResponse:
        if reply.hang:
            await self._stopped.wait()
        if reply.delay:
            await asyncio.sleep(reply.delay)
        assert request.transport is not None
        if reply.reset:
            opened = request.transport.get_extra_info("socket")
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            request.transport.abort()
            return web.Response()
        content = reply.content()
        headers = {"Content-Type": "application/json", **reply.headers}
        if reply.cut is None and not reply.drip and reply.hold is None:
            return web.Response(status=reply.status, body=content, headers=headers)
        response = web.StreamResponse(status=reply.status, headers=headers)
        response.content_length = len(content)
        await response.prepare(request)
        if reply.hold is not None:
            held_at, resume = reply.hold
            await response.write(content[:held_at])
            while not (resume.is_set() or self._stopped.is_set()):
                await asyncio.sleep(0.005)
            await response.write(content[held_at:])
            return response
        for place in range(0, len(content) if reply.cut is None else reply.cut):
            await response.write(content[place : place + 1])
            await asyncio.sleep(reply.drip)
        if reply.cut is not None:
            request.transport.close()
        return response
