"""Connections to MCP servers, kept open on a thread and an event loop of their own."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from pydantic import ValidationError

from tui_eval.environments.adapters import mcp_sdk
from tui_eval.environments.adapters.mcp_messages import NO_SUCH_METHOD, Requests, error_text
from tui_eval.environments.adapters.mcp_process import PrintedLines
from tui_eval.environments.adapters.mcp_sdk import MCPServerConfig, MCPToolError
from tui_eval.errors import InfraError
from tui_eval.process_guard import ProcessGuard
from tui_eval.types import Tool

Result = TypeVar("Result")

logger = logging.getLogger(__name__)

_PING_S = 5.0
"""Limit of the check of a server at which a call failed."""
_OF_THIS_SIDE = (None, -32000, -32700)
"""Codes of what is no answer: the connection is closed, or nothing could be sent."""
_MAX_FAILED_CONNECTIONS = 3
"""Connections in a row of which none brought a result, before a server is given up.

It is given up for the tools that were called meanwhile. Another one may work: it has a try.
"""


class MCPServerError(InfraError):
    """A server could not be started or reached, or went away."""


class Connections:
    """Connections to MCP servers that any thread and any event loop may use.

    They are opened when they are first needed, and again after `close` and after a loss.
    """

    def __init__(self, configs: Sequence[MCPServerConfig]) -> None:
        self._configs = configs
        # The garbage collector may close at any place, on any thread.
        self._lock = threading.RLock()
        self._running: _Running | None = None

    def open(self) -> list[list[Tool]]:
        """Connects to every server, and returns the tools of each. Blocks until all answered.

        Raises:
            MCPServerError: One of them failed; the others are closed again.
        """
        try:
            return self._submit(lambda running: running.tools()).result()
        except BaseException:
            self.close()
            raise

    async def call(self, server: int, tool: str, arguments: dict[str, Any]) -> Any:
        """Calls a tool; connects to its server where there is no connection.

        Args:
            server: The place of the server among the configs.

        Returns:
            The SDK's result object.

        Raises:
            MCPToolError: The call failed, and the connection is there.
            MCPServerError: It could not be reached, went away during the call, or was given up.
        """
        calling = self._submit(lambda running: running.connections[server].call(tool, arguments))
        return await asyncio.wrap_future(calling)

    def close(self) -> None:
        """Closes every connection, and ends the servers that were started."""
        running = self._taken()
        if running is None:
            return
        closing = asyncio.run_coroutine_threadsafe(running.close(), running.loop)
        if running.thread is threading.current_thread():
            closing.add_done_callback(lambda _: running.loop.stop())
            return
        closing.result()
        running.end()

    async def aclose(self) -> None:
        """The same, for a running event loop; needs no thread of its own."""
        running = self._taken()
        if running is not None:
            closing = asyncio.run_coroutine_threadsafe(running.close(), running.loop)
            await asyncio.wrap_future(closing)
            running.end()

    def _taken(self) -> _Running | None:
        """Takes the running task, if any; later callers get connections of their own."""
        with self._lock:
            taken, self._running = self._running, None
            return taken

    def _submit(self, work: Callable[[_Running], Coroutine[Any, Any, Result]]) -> Future[Result]:
        """Begins work on the connections' loop, which runs then; `close` comes after it."""
        with self._lock:
            if self._running is None:
                self._running = _Running(self._configs)
            return asyncio.run_coroutine_threadsafe(work(self._running), self._running.loop)


class _Running:
    """A loop on a thread of its own, and on it one connection to each server."""

    def __init__(self, configs: Sequence[MCPServerConfig]) -> None:
        self._guard = ProcessGuard()
        self.connections = [_Connection(config, self._guard) for config in configs]
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(
            target=self.loop.run_forever, name="mcp connections", daemon=True
        )
        self.thread.start()

    async def tools(self) -> list[list[Tool]]:
        found = await asyncio.gather(
            *(connection.tools() for connection in self.connections), return_exceptions=True
        )
        for tools in found:
            if isinstance(tools, BaseException):
                raise tools
        return [tools for tools in found if not isinstance(tools, BaseException)]

    async def close(self) -> None:
        await asyncio.gather(*(connection.close() for connection in self.connections))
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        if rest:  # calls that now have it as their error
            await asyncio.wait(rest, timeout=1.0)
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    def end(self) -> None:
        """Ends the loop after `close`, from another thread."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()
        self._guard.close()


class _Connection:
    """The connection to one server; lives on the loop of `_Running`."""

    def __init__(self, config: MCPServerConfig, guard: ProcessGuard) -> None:
        self._config = config
        self._guard = guard
        self._current: _Held | None = None
        self._held: set[asyncio.Task[None]] = set()
        self._failed_connections = 0
        self._failed_tools: set[str] = set()
        """Tools that were called on failed connections."""

    async def tools(self) -> list[Tool]:
        held = self._connect()
        session = await held.session()
        try:
            async with asyncio.timeout(self._config.start_timeout):
                return await held.finish(mcp_sdk.list_tools(session))
        except Exception as error:
            why = (
                _late(self._config) if isinstance(error, TimeoutError) else _call_error_text(error)
            )
            raise MCPServerError(
                f"The MCP server {self._config.name!r} did not list its tools: {why}"
            ) from error

    async def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        mcp_sdk.check_sendable(arguments)
        held = self._connect(tool)
        held.tools.add(tool)
        session = await held.session()
        try:
            calling = session.call_tool(tool, arguments)
            result = await held.finish(calling, may_be_unreadable=True)
        except Exception as error:
            cause = _innermost(error)
            if await _is_alive(held, session, is_http=self._config.speaks_http):
                raise MCPToolError(_call_error_text(cause)) from error
            self._leave(held)
            raise MCPServerError(
                f"The MCP server {self._config.name!r} went away during the call ({_text(cause)}). "
                "The next call connects to it again"
            ) from error
        self._failed_connections, held.has_answered = 0, True
        self._failed_tools.clear()
        return result

    async def close(self) -> None:
        if self._current is not None:
            self._leave(self._current)
        await asyncio.gather(*self._held, return_exceptions=True)

    def _connect(self, tool: str | None = None) -> _Held:
        if self._current is not None and self._current.task.done():
            self._leave(self._current)
        held = self._current
        if held is None:
            failed = self._failed_connections
            if failed >= _MAX_FAILED_CONNECTIONS and tool in self._failed_tools:
                raise MCPServerError(
                    f"The MCP server {self._config.name!r} is given up for {tool!r}: it went away "
                    f"{failed} times in a row before it gave a result"
                )
            held = self._current = _Held(self._config, self._guard)
            self._held.add(held.task)
            held.task.add_done_callback(self._held.discard)
        return held

    def _leave(self, held: _Held) -> None:
        held.end()
        if self._current is held:
            self._current = None
            if not held.has_answered:
                self._failed_connections += 1
                self._failed_tools |= held.tools


class _Held:
    """One connection from its opening to its end, in a task that opens and closes it."""

    def __init__(self, config: MCPServerConfig, guard: ProcessGuard) -> None:
        self._config = config
        self._guard = guard
        self.has_answered = False
        self.tools: set[str] = set()
        """The calls on it."""
        self._requests = Requests()
        self._opened: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._closing = asyncio.Event()
        self.task = asyncio.create_task(self._hold())
        self.task.add_done_callback(self._settle)

    async def session(self) -> Any:
        """The open session; `MCPServerError` where it could not be opened."""
        return await asyncio.shield(self._opened)

    async def finish(
        self, request: Coroutine[Any, Any, Result], *, may_be_unreadable: bool = False
    ) -> Result:
        """The result of a request while the connection is there; raises as `Requests.finish`."""
        return await self._requests.finish(request, self.task, may_be_unreadable=may_be_unreadable)

    def end(self) -> None:
        """Closes the connection, or gives up opening it."""
        self._closing.set()
        if not self._opened.done():
            self.task.cancel()

    async def _hold(self) -> None:
        async with contextlib.AsyncExitStack() as stack:
            printed = await stack.enter_async_context(PrintedLines(self._config.name))
            try:
                await self._open_and_wait(printed)
            except BaseException as error:
                if self._opened.done():
                    logger.debug("MCP server %r: %s", self._config.name, _text(_innermost(error)))
                else:
                    self._fail(error, await printed.last_lines())
                if isinstance(error, asyncio.CancelledError):
                    raise

    async def _open_and_wait(self, printed: PrintedLines) -> None:
        async with contextlib.AsyncExitStack() as stack:
            async with asyncio.timeout(self._config.start_timeout):
                opening = mcp_sdk.open_session(self._config, printed, self._guard, self._requests)
                session = await stack.enter_async_context(opening)
            printed.file.close()
            self._opened.set_result(session)
            await self._closing.wait()

    def _settle(self, task: asyncio.Task[None]) -> None:
        """A task that is cancelled before its first step says nothing by itself."""
        if not self._opened.done():
            self._fail(asyncio.CancelledError(), [])

    def _fail(self, error: BaseException, printed: Sequence[str]) -> None:
        config, cause = self._config, _innermost(error)
        why = _text(cause)
        if isinstance(cause, TimeoutError):
            why = _late(config)
        elif isinstance(cause, asyncio.CancelledError):
            why = "it was closed before it answered"
        elif isinstance(cause, FileNotFoundError):
            why = f"there is no command {config.address!r}"
        where, advice = "started", "Run its command by hand to see what it needs."
        if config.url is not None:
            where, advice = "reached", f"Is it running at {config.url}, and is that its path?"
        output = " It printed:" + "".join(f"\n  {line}" for line in printed) if printed else ""
        failure = MCPServerError(
            f"The MCP server {config.name!r} could not be {where}: {why}. {advice}{output}"
        )
        failure.__cause__ = error
        self._opened.set_exception(failure)
        self._opened.exception()  # nobody may be waiting for it any more


async def _is_alive(held: _Held, session: Any, is_http: bool) -> bool:
    """Whether a server still answers after a call that failed: then only that call did.

    One that is too busy to answer is there too, and so is one that refuses the check, unless it
    may be its session that it refuses.
    """
    try:
        async with asyncio.timeout(_PING_S):
            await held.finish(mcp_sdk.ping(session))
    except TimeoutError:
        return not held.task.done()
    except Exception as error:
        code = mcp_sdk.code_of(_innermost(error))
        return code == NO_SUCH_METHOD if is_http else code not in _OF_THIS_SIDE
    return True


def _late(config: MCPServerConfig) -> str:
    return f"no answer within {config.start_timeout:g} s, its 'start_timeout'"


def _innermost(error: BaseException) -> BaseException:
    """The first exception of a group of groups that is none itself."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _call_error_text(error: BaseException) -> str:
    """The error text of a call, from the server or the SDK; or else from the exception."""
    has_words = mcp_sdk.code_of(error) is not None or type(error) is RuntimeError
    return str(error) if has_words else _text(error)


def _text(error: BaseException) -> str:
    if isinstance(error, ValidationError):
        faults = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:3])
        return f"its answer is not of the protocol: {'; '.join(faults)}"
    return error_text(error)
