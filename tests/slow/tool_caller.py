"""A chat endpoint on loopback that calls `roll` in every turn, whole or as a stream."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

from aiohttp import web
from servers import LoopbackServer

_HEAD = {"id": "chatcmpl-1", "created": 1_755_000_000, "model": "dice"}
_USAGE = {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30}

CONTEXT = 8000
"""Characters of a request that it takes."""
_TOO_LONG = {
    "message": "This model's maximum context length is 2000 tokens. However, you requested more.",
    "type": "BadRequestError",
    "code": 400,
}


class ToolCaller(LoopbackServer):
    """Calls a tool, whatever it is asked; what is too long it refuses as vLLM does."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers = count(1)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        if not request.path.endswith("/chat/completions"):
            return web.json_response({"error": {"message": "chat only"}}, status=404)
        if len(await request.text()) > CONTEXT:
            return web.json_response({"error": _TOO_LONG}, status=400)
        call = {
            "index": 0,
            "id": f"call_{next(self._numbers)}",
            "type": "function",
            "function": {"name": "roll", "arguments": '{"side": "left"}'},
        }
        if (await request.json()).get("stream"):
            return await self._stream(request, call)
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
        answer = {**_HEAD, "object": "chat.completion", "choices": [choice], "usage": _USAGE}
        return web.json_response(answer)

    async def _stream(self, request: web.Request, call: dict[str, Any]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        deltas = [
            ({"role": "assistant", "content": None, "tool_calls": [call]}, None),
            ({}, "tool_calls"),
        ]
        chunk = {**_HEAD, "object": "chat.completion.chunk"}
        sent: list[dict[str, Any]] = [
            {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
            for delta, reason in deltas
        ]
        for one in [*sent, {**chunk, "choices": [], "usage": _USAGE}]:
            await response.write(b"data: " + json.dumps(one).encode() + b"\n\n")
        await response.write(b"data: [DONE]\n\n")
        return response
