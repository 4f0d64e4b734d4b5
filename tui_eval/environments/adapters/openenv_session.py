"""One episode on an OpenEnv server: a websocket, and the frames that go over it."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from tui_eval import cuts
from tui_eval.environments.adapters.openenv_server import OpenEnvServer
from tui_eval.stats.rewards import is_number
from tui_eval.types import Tool

if TYPE_CHECKING:
    import aiohttp


_CONNECTS_WITHIN_S = 5.0
_RECONNECTS_AFTER_S = 0.05
_CLOSES_WITHIN_S = 1.0
_LARGEST_FRAME = 64 * 1024 * 1024


class InvalidActionError(Exception):
    """The model's answer is no action; the text says why, in words for the model."""


class _TakenError(Exception):
    """The server still has another session."""


class Outcome(msgspec.Struct, frozen=True):
    """The outcome of a reset or a step; `reward` is 0 where the server says none."""

    observation: Any
    reward: float
    done: bool


class OpenEnvSession:
    """A session of a server, which has an environment of its own on it.

    `is_clean` says whether every question has had its answer: the server can be used again.
    """

    def __init__(
        self,
        server: OpenEnvServer,
        http: aiohttp.ClientSession,
        socket: aiohttp.ClientWebSocketResponse,
        timeout: float,
    ) -> None:
        self.server = server
        self.is_clean = True
        self._http = http
        self._socket = socket
        self._timeout = timeout

    @classmethod
    async def begin(
        cls, server: OpenEnvServer, seed: int, timeout: float
    ) -> tuple[OpenEnvSession, Outcome]:
        """Opens a session and resets its environment.

        Raises:
            SandboxError: The server does not let us in, or cannot reset; says why.
        """
        deadline = time.monotonic() + _CONNECTS_WITHIN_S
        while True:
            session = await cls._connect(server, timeout)
            try:
                return session, await session.reset(seed)
            except _TakenError as taken:
                await session.close()
                if not server.is_alive or time.monotonic() >= deadline:
                    raise server.fault(f"it opens no session: {taken}") from None
                # It ends the session before this one only after the socket was closed.
                await asyncio.sleep(_RECONNECTS_AFTER_S)
            except BaseException:
                await session.close()
                raise

    @classmethod
    async def _connect(cls, server: OpenEnvServer, timeout: float) -> OpenEnvSession:
        import aiohttp

        http = aiohttp.ClientSession()
        try:
            async with asyncio.timeout(timeout):
                socket = await http.ws_connect(
                    f"{server.url}/ws",
                    timeout=aiohttp.ClientWSTimeout(ws_close=_CLOSES_WITHIN_S),
                    max_msg_size=_LARGEST_FRAME,
                )
        except BaseException as error:
            await http.close()
            if isinstance(error, (aiohttp.ClientError, TimeoutError)):
                raise server.fault(f"no connection to /ws: {error!r}") from error
            raise
        return cls(server, http, socket, timeout)

    async def reset(self, seed: int) -> Outcome:
        """Begins the episode of a seed; raises `SandboxError` as `step`."""
        return self._outcome(await self._request("reset", {"seed": seed}, "observation"))

    async def step(self, action: Mapping[str, Any]) -> Outcome:
        """Takes an action.

        Raises:
            InvalidActionError: The server says that this is no action.
            SandboxError: It cannot be taken: the environment raised, the server is gone or late.
        """
        return self._outcome(await self._request("step", action, "observation"))

    async def list_tools(self) -> list[Tool]:
        """The tools of the environment; `SandboxError` where it does not say them."""
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        answer = await self._request("mcp", request, "mcp")
        try:
            return [
                Tool(
                    name=tool["name"],
                    description=tool.get("description") or "",
                    parameters=tool.get("inputSchema") or tool["input_schema"],
                )
                for tool in answer["result"]["tools"]
            ]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            problem = answer.get("error") or f"{type(error).__name__}: {error}"
            raise self.server.fault(f"tools/list gave no tools: {problem}") from error

    async def close(self) -> None:
        """Closes the socket; the server ends the session."""
        try:
            await self._socket.close()
        finally:
            await self._http.close()

    async def _request(self, kind: str, data: Mapping[str, Any], answer: str) -> dict[str, Any]:
        """The data of the frame that comes back."""
        first, was_clean, self.is_clean = kind == "reset", self.is_clean, False
        try:
            async with asyncio.timeout(self._timeout):
                try:
                    await self._socket.send_str(json.dumps({"type": kind, "data": data}))
                except ConnectionError:
                    pass  # what we receive says why
                message = await self._socket.receive()
        except TimeoutError:
            hint = "A slow environment needs a higher message_timeout_seconds"
            what = f"no answer to {kind} within {self._timeout:g} s"
            raise self.server.fault(what, hint) from None
        if not isinstance(message.data, str) or message.type.name != "TEXT":
            what = f"it closed the session (code {self._socket.close_code}) before {kind} was done"
            if first and self.server.is_alive:
                raise _TakenError(what)
            await self._await_exit()
            raise self.server.fault(what)
        frame = self._read(message.data, kind)
        self.is_clean = was_clean
        if frame["type"] == "error":
            self._raise(kind, frame["data"])
        if frame["type"] != answer:
            raise self.server.fault(f"it answered {kind} by a frame of type {frame['type']!r}")
        found: dict[str, Any] = frame["data"]
        return found

    async def _await_exit(self) -> None:
        """A process that died is seen to be dead a moment after its socket."""
        for _ in range(10):
            if not self.server.is_alive:
                return
            await asyncio.sleep(0.01)

    def _read(self, text: str, kind: str) -> dict[str, Any]:
        try:
            frame = json.loads(text)
            if isinstance(frame["type"], str) and isinstance(frame["data"], dict):
                return dict(frame)
        except (ValueError, RecursionError, TypeError, KeyError):
            pass
        shown = cuts.head(text, 200)
        raise self.server.fault(f"it answered {kind} by something that is no frame: {shown!r}")

    def _raise(self, kind: str, data: Mapping[str, Any]) -> None:
        """Turns an error frame into the exception that it is."""
        code, message = data.get("code"), data.get("message")
        if code == "CAPACITY_REACHED":
            raise _TakenError(message)
        if code == "VALIDATION_ERROR" and kind == "step":
            raise InvalidActionError(_reasons(data))
        raise self.server.fault(f"{kind} failed: {message} ({code})")

    def _outcome(self, data: Mapping[str, Any]) -> Outcome:
        reward = data.get("reward")
        if reward is None:
            reward = 0.0
        if not isinstance(reward, (int, float)) or not is_number(reward):
            shown = cuts.head(repr(reward), 40)
            raise self.server.fault(f"its reward is {shown}, not a finite number")
        return Outcome(data.get("observation"), float(reward), bool(data.get("done")))


def _reasons(data: Mapping[str, Any]) -> str:
    """The reason why an action is refused, field by field where the server says so."""
    reasons = [
        f"{'.'.join(map(str, fault.get('loc') or ())) or 'action'}: {fault.get('msg')}"
        for fault in data.get("errors") or ()
        if isinstance(fault, Mapping)
    ]
    return "; ".join(reasons) or str(data.get("message"))


_FENCE = re.compile(r"```[\w+-]*[ \t]*\n(.*?)\n?[ \t]*```", re.DOTALL)


def read_action(text: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The action that a text is.

    That is a JSON object: the whole text, or else the last fenced block in it; or, where an action
    has a single field to fill and that is a text, the text itself, without a fence around it.

    Raises:
        InvalidActionError: It is neither.
    """
    text = text.strip()
    blocks: list[str] = _FENCE.findall(text)
    fields = _fields(schema)
    single = _single_text_field(schema)
    for candidate in (text, *blocks[-1:]):
        found = _json_object(candidate)
        if found is not None and (single is None or found.keys() <= fields.keys()):
            return found
    if single is None:
        raise InvalidActionError("it is not one JSON object")
    if not text:
        raise InvalidActionError("it is empty")
    whole = _FENCE.fullmatch(text)
    return {single: whole[1].strip() if whole else text}


def wanted_action(schema: Mapping[str, Any]) -> str:
    """The form of an action, in a sentence for the model."""
    required = schema.get("required") or ()
    fields = [
        f"{name} ({_type_of(field)}{', required' if name in required else ''})"
        for name, field in _fields(schema).items()
    ]
    return f"Answer with one JSON object with the fields: {', '.join(fields) or 'none'}"


def _fields(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an action without the one that every action has."""
    return {k: v for k, v in (schema.get("properties") or {}).items() if k != "metadata"}


def _single_text_field(schema: Mapping[str, Any]) -> str | None:
    fields = _fields(schema)
    required = [name for name in fields if name in (schema.get("required") or ())]
    for names in (list(fields), required):
        if len(names) == 1 and _type_of(fields[names[0]]) == "string":
            return names[0]
    return None


def _type_of(field: Any) -> str:
    kind = field.get("type") if isinstance(field, Mapping) else None
    return kind if isinstance(kind, str) else "any"


def _json_object(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
