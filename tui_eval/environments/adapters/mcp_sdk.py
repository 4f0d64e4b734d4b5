"""The only imports of the `mcp` package, whose versions 1 and 2 differ in names."""

from __future__ import annotations

import json
import warnings
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from importlib import import_module
from inspect import signature
from typing import Any, Literal

import pydantic_core
from pydantic import BaseModel, ConfigDict, Field, model_validator

from tui_eval.environments.adapters.mcp_http import http_client, sse_streams
from tui_eval.environments.adapters.mcp_messages import MendedMessages, NotedMessages, Requests
from tui_eval.environments.adapters.mcp_process import PrintedLines, started_server
from tui_eval.errors import ToolError
from tui_eval.install_commands import extra_command
from tui_eval.process_guard import ProcessGuard
from tui_eval.types import Tool


class MCPToolError(ToolError):
    """A tool call failed: the server says so, or it could not be made.

    Args:
        text: The error.
        content: The server's answer: text, or text and image parts; None where it did not.
    """

    def __init__(self, text: str, content: Any = None) -> None:
        super().__init__(text)
        self.content = content


class MCPServerConfig(BaseModel):
    """The way to one MCP server: a command that is started, or a URL.

    Args:
        name: Its name in error messages.
        command, args, env, cwd: A program that speaks MCP on its standard input and output. `env`
            is added to the few variables that the SDK passes on (`PATH`, `HOME` and their like),
            and nothing else of this process's environment is seen.
        url, headers: A server that runs already.
        transport: The transport at that URL.
        description: For readers; not used.
        prefix: Put before the names of its tools.
        start_timeout: Seconds that starting and listing the tools may take.
    """

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    name: str
    command: str | None = None
    args: list[str] = Field(default_factory=list)
    env: dict[str, str] | None = None
    cwd: str | None = None
    url: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    transport: Literal["streamable_http", "sse"] = "streamable_http"
    description: str = ""
    prefix: str = ""
    start_timeout: float = Field(default=60.0, gt=0)

    def __init__(
        self,
        name: str | None = None,
        command: str | None = None,
        args: Sequence[str] | None = None,
        env: Mapping[str, str] | None = None,
        description: str = "",
        **kwargs: Any,
    ) -> None:
        """Takes the first five by position too.

        Raises:
            ValueError: Something is not as it should be; says all that is.
        """
        given = {"name": name, "command": command, "args": args, "env": env}
        given["description"] = description
        super().__init__(**{n: v for n, v in given.items() if v is not None}, **kwargs)

    @model_validator(mode="after")
    def _has_one_address(self) -> MCPServerConfig:
        if (self.command is None) == (self.url is None):
            raise ValueError("a server has either a 'command' or a 'url'")
        return self

    @property
    def speaks_http(self) -> bool:
        """Whether each call is a request of its own, in a session that it names."""
        return self.url is not None and self.transport == "streamable_http"

    @property
    def address(self) -> str:
        """The command or the URL; without arguments and headers, which may hold keys."""
        return self.command or self.url or ""


def require_mcp() -> None:
    """Makes sure that the package is there; the `ImportError` says how to install it."""
    try:
        import mcp  # noqa: F401
    except ImportError as error:
        raise ImportError(f"MCPEnv needs the package mcp: {extra_command('mcp')}") from error


@asynccontextmanager
async def open_session(
    config: MCPServerConfig,
    printed: PrintedLines,
    guard: ProcessGuard,
    requests: Requests,
) -> AsyncIterator[Any]:
    """A connected session; to be entered and left in the same task.

    Args:
        printed: Takes what a started server prints beside messages.
        guard: Ends a started server where this process dies.
        requests: Learns what the server says of a message that it cannot read; over HTTP each
            has an answer of its own.
    """
    import mcp

    async with AsyncExitStack() as stack:
        noted = None if config.speaks_http else requests
        transport = _mended(config.name, _transport(config, printed, guard), noted)
        if hasattr(mcp, "Client"):
            yield await stack.enter_async_context(mcp.Client(transport))
            return
        read, write = (await stack.enter_async_context(transport))[:2]
        session = await stack.enter_async_context(mcp.ClientSession(read, write))
        await session.initialize()
        yield session


@asynccontextmanager
async def _mended(
    name: str,
    transport: AbstractAsyncContextManager[Any],
    requests: Requests | None,
) -> AsyncIterator[Any]:
    async with transport as streams:
        if requests is None:
            yield (MendedMessages(name, streams[0]), *streams[1:])
            return
        read = MendedMessages(name, streams[0], requests.note_error)
        yield read, NotedMessages(streams[1], requests.note_notification)


def _transport(
    config: MCPServerConfig, printed: PrintedLines, guard: ProcessGuard
) -> AbstractAsyncContextManager[Any]:
    if config.url is None:
        from mcp.client.stdio import get_default_environment

        assert config.command is not None
        command = [config.command, *config.args]
        variables = get_default_environment() | (config.env or {})
        return started_server(command, variables, config.cwd, printed, guard)
    if config.transport == "sse":
        return sse_streams(config.name, config.url, config.headers)
    from mcp.client import streamable_http

    if hasattr(streamable_http, "streamablehttp_client"):
        connect: AbstractAsyncContextManager[Any] = streamable_http.streamablehttp_client(
            config.url,
            httpx_client_factory=lambda **_: http_client(import_module("httpx"), config.headers),
        )
        return connect
    return _streamable_http(config)


@asynccontextmanager
async def _streamable_http(config: MCPServerConfig) -> AsyncIterator[Any]:
    """Version 2 takes an HTTP client, which it leaves open.

    From 2.3 on it bounds an event at 1 MiB by default.
    """
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    async with http_client(httpx2, config.headers) as http:
        assert config.url is not None
        options: dict[str, Any] = {"http_client": http}
        if "max_sse_event_size" in signature(streamable_http_client).parameters:
            options["max_sse_event_size"] = None
        async with streamable_http_client(config.url, **options) as streams:
            yield streams


async def list_tools(session: Any) -> list[Tool]:
    """All tools of a server, under their own names; of two with one name the first."""
    tools: dict[str, Tool] = {}
    cursors: list[str | None] = [None]
    while True:
        page = await session.list_tools(cursor=cursors[-1])
        for tool in page.tools:
            schema = _field(tool, "input_schema", "inputSchema")
            made = Tool(name=tool.name, description=tool.description or "", parameters=schema)
            tools.setdefault(tool.name, made)
        cursor = _field(page, "next_cursor", "nextCursor")
        if not cursor or cursor in cursors:  # some servers give the same page for ever
            return list(tools.values())
        cursors.append(cursor)


def ping(session: Any) -> Coroutine[Any, Any, Any]:
    """Checks whether the server is there; newer protocols know no ping, which is an answer too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that they know none
        request: Coroutine[Any, Any, Any] = session.send_ping()
    return request


def check_sendable(arguments: Mapping[str, Any]) -> None:
    """Makes sure that arguments can be written.

    The SDK writes them in a task that serves all calls, and breaks at those that cannot be.

    Raises:
        MCPToolError: They hold half of a character, or are nested too deep; says which.
    """
    try:
        written = pydantic_core.to_json({"params": {"arguments": arguments}})
        pydantic_core.from_json(written)  # what is too deep cannot be read
    except (ValueError, RecursionError) as error:
        why = str(error).removeprefix("Error serializing to JSON: ")
        raise MCPToolError(f"the arguments cannot be sent: {why}") from None


def code_of(error: BaseException) -> int | None:
    """The code of an error that came as an answer; None for any other."""
    code: int | None = getattr(getattr(error, "error", None), "code", None)
    return code


def is_error(result: Any) -> bool:
    """Whether the server says that the call failed."""
    return bool(_field(result, "is_error", "isError"))


def content_of(result: Any) -> str | list[dict[str, Any]]:
    """The result of a call: text, or text and image parts where there is an image.

    Structured content without any other becomes JSON. What a model cannot be shown in a tool's
    result, such as sound, is named in brackets, and so is that there is nothing.
    """
    parts = [_part(block) for block in result.content]
    structured = _field(result, "structured_content", "structuredContent")
    if not parts:
        return "[nothing]" if structured is None else json.dumps(structured, ensure_ascii=False)
    if all(part["type"] == "text" for part in parts):
        return "\n".join(part["text"] for part in parts)
    return parts


def text_of(content: str | list[dict[str, Any]]) -> str:
    """A content as text; an image is named in brackets."""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "[image]") for part in content)


def _part(block: Any) -> dict[str, Any]:
    if block.type == "text":
        return {"type": "text", "text": block.text}
    if block.type == "image":
        return _image(block, block.data)
    if block.type == "resource":
        resource = block.resource
        if hasattr(resource, "text"):
            return {"type": "text", "text": resource.text}
        if str(_mime_type(resource)).startswith("image/"):
            return _image(resource, resource.blob)
        return _named(str(resource.uri), resource)
    if block.type == "resource_link":
        return _named(f"{block.name}: {block.uri}", block)
    return _named(block.type, block)


def _named(name: str, owner: Any) -> dict[str, Any]:
    """A text in the place of what cannot be shown."""
    kind = _mime_type(owner)
    return {"type": "text", "text": f"[{name} ({kind})]" if kind else f"[{name}]"}


def _image(owner: Any, data: str) -> dict[str, Any]:
    url = f"data:{_mime_type(owner)};base64,{data}"
    return {"type": "image_url", "image_url": {"url": url}}


def _mime_type(owner: Any) -> Any:
    return _field(owner, "mime_type", "mimeType")


def _field(owner: Any, name: str, old_name: str) -> Any:
    """A field under its name in version 2, or else in version 1."""
    return getattr(owner, name) if hasattr(owner, name) else getattr(owner, old_name, None)
