"""OpenEnv servers as child processes: each for one rollout at a time, kept for the next one."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from typing import IO, TYPE_CHECKING, Any

import msgspec

from tui_eval import cuts
from tui_eval.environments.adapters.openenv_project import OpenEnvProject
from tui_eval.errors import SandboxError
from tui_eval.process_guard import ENDS_WITHIN_S, ProcessGuard
from tui_eval.processes import signal_group

if TYPE_CHECKING:
    import aiohttp

_PORTS_TRIED = 3
_TAIL_LINES = 8
_TAIL_BYTES = 4096
_FIRST_POLL_S = 0.05


class StartSettings(msgspec.Struct, frozen=True):
    """Settings of a server's start, times in seconds.

    Args:
        timeout: From its launch until it is healthy.
        poll_interval: Longest pause between two questions whether it is.
        health_timeout, schema_timeout: For one request of that kind.
        variables: Environment variables for the server.
    """

    timeout: float = 30.0
    poll_interval: float = 1.0
    health_timeout: float = 2.0
    schema_timeout: float = 5.0
    variables: Mapping[str, str] = msgspec.field(default_factory=dict)


class OpenEnvServer:
    """One server process, in a process group of its own.

    `action_schema` is the JSON schema of an action, once `start` has come back.
    """

    def __init__(
        self, project: OpenEnvProject, port: int, variables: Mapping[str, str], guard: ProcessGuard
    ) -> None:
        """Launches the process; `SandboxError` where that cannot be."""
        self.project = project
        self.url = f"http://127.0.0.1:{port}"
        self.action_schema: dict[str, Any] = {}
        self._guard = guard
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        command = project.command(port)
        try:
            self._process = subprocess.Popen(
                command,
                cwd=project.folder,
                env=project.environment(port, variables),
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            self._log.close()
            what = f"{command[0]!r} cannot be launched: {error.strerror}"
            raise SandboxError(f"OpenEnv server of {project.folder}: {what}") from error
        guard.watch(self._process.pid)

    @property
    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def fault(self, what: str, hint: str = "") -> SandboxError:
        """An error that says what happened to this server, and what it printed last."""
        code = self._process.poll()
        ended = "" if code is None else f" (it ended with exit code {code})"
        text = f"OpenEnv server of {self.project.folder}: {what}{ended}"
        if hint:
            text += f". {hint}"
        tail = self.last_lines()
        return SandboxError(f"{text}\nIts last lines:\n{tail}" if tail else text)

    def last_lines(self) -> str:
        """The last output of the process, on either stream."""
        if self._log.closed:
            return ""
        fd = self._log.fileno()
        size = os.fstat(fd).st_size
        most = 5 * _TAIL_BYTES  # characters have up to four
        text = os.pread(fd, most, max(0, size - most)).decode("utf-8", "replace")
        return "\n".join(cuts.tail(text, _TAIL_BYTES).strip().splitlines()[-_TAIL_LINES:])

    async def end(self) -> None:
        """Ends the process and whatever it started: politely, then not."""
        try:
            self._signal(signal.SIGTERM)
            deadline = time.monotonic() + ENDS_WITHIN_S
            while self.is_alive and time.monotonic() < deadline:
                await asyncio.sleep(0.02)
        finally:
            self.kill()

    def kill(self) -> None:
        """Ends the process and whatever it started, at once."""
        if self._log.closed:
            return
        self._signal(signal.SIGKILL)
        self._process.wait()
        self._guard.watch(-self._process.pid)
        self._log.close()

    def _signal(self, number: int) -> None:
        if not self._log.closed:
            signal_group(self._process.pid, number)


async def start_server(
    project: OpenEnvProject, settings: StartSettings, guard: ProcessGuard
) -> OpenEnvServer:
    """Launches a server; `SandboxError` where it is not healthy, or of another contract."""
    for tries_left in reversed(range(_PORTS_TRIED)):
        server = OpenEnvServer(project, _free_port(), settings.variables, guard)
        try:
            await _make_ready(server, settings)
            return server
        except SandboxError:
            # Somebody else took the port between our look and its bind.
            taken = not server.is_alive and "address already in use" in server.last_lines().lower()
            server.kill()
            if not (taken and tries_left):
                raise
        except BaseException:
            server.kill()
            raise
    raise AssertionError("the last try either returns or raises")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def _make_ready(server: OpenEnvServer, settings: StartSettings) -> None:
    import aiohttp

    async with aiohttp.ClientSession() as http:
        await _await_health(server, http, settings)
        path, timeout = "/schema", aiohttp.ClientTimeout(settings.schema_timeout)
        status, body = await _get(http, f"{server.url}{path}", timeout)
    schema = body.get("action") if isinstance(body, dict) else None
    if not isinstance(schema, dict):
        raise server.fault(f"GET {path} gave no action schema: {status}")
    server.action_schema = schema
    found = "mcp" if _is_tool_call(schema) else "gym"
    if found != server.project.contract:
        raise server.fault(
            f"its .build.json has the contract {server.project.contract!r}, and its actions "
            f"are those of {found!r}",
            "Set the right one",
        )


async def _await_health(
    server: OpenEnvServer, http: aiohttp.ClientSession, settings: StartSettings
) -> None:
    import aiohttp

    timeout = aiohttp.ClientTimeout(settings.health_timeout)
    deadline = time.monotonic() + settings.timeout
    pause = _FIRST_POLL_S
    while True:
        status, body = await _get(http, f"{server.url}/health", timeout)
        if not server.is_alive:
            hint = f"It was launched with {server.project.python}, which needs its packages"
            raise server.fault("it did not start", hint)
        if status == "HTTP 200" and isinstance(body, dict) and body.get("status") == "healthy":
            return
        if time.monotonic() >= deadline:
            raise server.fault(
                f"it was not healthy within {settings.timeout:g} s; GET /health: {status}",
                "A slow one needs a higher startup_timeout_seconds",
            )
        await asyncio.sleep(min(pause, settings.poll_interval))
        pause *= 2


async def _get(
    http: aiohttp.ClientSession, url: str, timeout: aiohttp.ClientTimeout
) -> tuple[str, Any]:
    """The outcome of a request, in words, and the JSON that came back, if any did."""
    import aiohttp

    try:
        async with http.get(url, timeout=timeout) as response:
            status = f"HTTP {response.status}"
            return status, await response.json(content_type=None) if response.ok else None
    except TimeoutError:
        return f"no answer within {timeout.total:g} s", None
    except aiohttp.ClientError as error:
        return f"{type(error).__name__}: {error}", None
    except ValueError:
        return f"{status}, which is not JSON", None


def _is_tool_call(schema: Mapping[str, Any]) -> bool:
    """Whether actions of this schema call tools by name."""
    kind = schema.get("properties", {}).get("type", {})
    return "call_tool" in (kind.get("const"), kind.get("default"), *kind.get("enum", ()))


class OpenEnvServers:
    """Servers of one project, each lent to one rollout at a time.

    Args:
        most: Most of them at once; who comes when all are lent waits.
    """

    def __init__(self, project: OpenEnvProject, settings: StartSettings, most: int) -> None:
        self._project = project
        self._settings = settings
        self._most = most
        self._all: set[OpenEnvServer] = set()
        self._idle: list[OpenEnvServer] = []
        self._guard: ProcessGuard | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._slots = asyncio.Semaphore(most)
        self._starts = asyncio.Semaphore(1)

    async def acquire(self) -> OpenEnvServer:
        """A server for the caller alone, idle or new; `SandboxError` where it did not start."""
        self._enter_loop()
        slots = self._slots
        await slots.acquire()
        try:
            while self._idle:
                server = self._idle.pop()
                if server.is_alive:
                    return server
                await self._end(server)
            # Importing takes a whole CPU for seconds: more at once would only all be late.
            async with self._starts:
                self._guard = self._guard or ProcessGuard()
                server = await start_server(self._project, self._settings, self._guard)
            self._all.add(server)
            return server
        except BaseException:
            slots.release()
            raise

    async def release(self, server: OpenEnvServer, reusable: bool) -> None:
        """Takes a server back; one that is not reusable ends."""
        try:
            if reusable and server.is_alive and server in self._all:
                self._idle.append(server)
            else:
                await self._end(server)
        finally:
            self._slots.release()

    async def end_all(self) -> None:
        """Ends every server, lent ones too."""
        self._idle.clear()
        try:
            await asyncio.gather(*(self._end(server) for server in list(self._all)))
        finally:
            if self._guard is not None:
                self._guard.close()
                self._guard = None

    async def _end(self, server: OpenEnvServer) -> None:
        self._all.discard(server)
        await server.end()

    def _enter_loop(self) -> None:
        """Semaphores belong to one event loop; servers do not, and are kept for the next."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop = loop
            self._slots = asyncio.Semaphore(self._most)
            self._starts = asyncio.Semaphore(os.cpu_count() or 1)
