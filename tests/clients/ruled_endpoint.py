"""A chat endpoint that refuses what it does not know, in the words of real ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from aiohttp import web
from endpoint_scripts import ANSWERS, PATHS
from servers import LoopbackServer

Rule: TypeAlias = Callable[[dict[str, Any]], tuple[int, Any] | None]
"""Status and body of a refusal of a request; None where there is nothing to refuse."""


class RuledEndpoint(LoopbackServer):
    """Answers every request of every protocol unless its rule refuses it.

    Args:
        rule: What it refuses.
        answer: What it says in place of the usual; told in the protocol of the path.
    """

    def __init__(self, rule: Rule, answer: Any = None) -> None:
        super().__init__()
        self._rule = rule
        self._answer = answer
        self.bodies: list[dict[str, Any]] = []

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.bodies.append(body)
        refusal = self._rule(body)
        if refusal is not None:
            return web.json_response(refusal[1], status=refusal[0])
        usual = next(ANSWERS[kind] for kind, path in PATHS.items() if path == request.path)
        return web.json_response(self._answer or usual)


def openai_refusal(name: str, message: str) -> tuple[int, Any]:
    """A parameter refused as OpenAI does it."""
    error = {"message": message, "type": "invalid_request_error", "param": name, "code": None}
    return 400, {"error": error}


def pydantic_refusal(*places: tuple[Any, ...]) -> tuple[int, Any]:
    """Properties refused as Mistral and everything built on FastAPI does it."""
    what = {"type": "extra_forbidden", "msg": "Extra inputs are not permitted", "input": 1}
    return 422, {"detail": [{**what, "loc": ["body", *place]} for place in places]}


def groq_refusal(place: int, name: str) -> tuple[int, Any]:
    """A property of a message refused as Groq does it."""
    message = (
        f"'messages.{place}' : for 'role:assistant' the following must be satisfied"
        f"[('messages.{place}' : property '{name}' is unsupported)]"
    )
    return 400, {"error": {"message": message, "type": "invalid_request_error"}}
