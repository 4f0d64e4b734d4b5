"""The body of a chat completion request, checked."""

from __future__ import annotations

from typing import Any

import msgspec

MODEL = "demo-scripted-policy"
ALIAS = "demo"
"""Its name in the endpoint registry, for requests without the registry."""

_ROLES = {"system", "developer", "user", "assistant", "tool"}


class BadRequestError(Exception):
    """A request that cannot be answered.

    Args:
        message: The fault and what to do.
        param: The key at fault, where there is one.
        code: OpenAI's word for the fault, where there is one.
        status: HTTP status, 400 to 499.
    """

    def __init__(
        self, message: str, param: str | None = None, code: str | None = None, status: int = 400
    ) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.code = code
        self.status = status


class ChatRequest(msgspec.Struct, frozen=True):
    """Checked fields of one request; `max_tokens` is None where there is no limit."""

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]
    temperature: float
    seed: int | None
    max_tokens: int | None
    stop: tuple[str, ...]
    stream: bool
    include_usage: bool


def read_request(body: bytes) -> ChatRequest:
    """A request from its JSON text; a `BadRequestError` where that is none."""
    try:
        data = msgspec.json.decode(body)
    except msgspec.DecodeError as error:
        raise BadRequestError(f"The body is not valid JSON: {error}") from None
    if not isinstance(data, dict):
        raise BadRequestError("The body must be a JSON object.")
    _check_model(data.get("model"))
    if data.get("n") not in (None, 1):
        raise BadRequestError("Only n = 1 is served; send one request for each answer.", "n")
    temperature = _number(data, "temperature", 0, 2)
    limit = _whole(data, "max_completion_tokens") or _whole(data, "max_tokens")
    options = data.get("stream_options")
    return ChatRequest(
        messages=_messages(data.get("messages")),
        tools=_tools(data.get("tools")) if data.get("tool_choice") != "none" else [],
        temperature=1.0 if temperature is None else temperature,
        seed=_whole(data, "seed", least=None),
        max_tokens=limit,
        stop=_stop(data.get("stop")),
        stream=bool(data.get("stream")),
        include_usage=isinstance(options, dict) and bool(options.get("include_usage")),
    )


def _check_model(model: Any) -> None:
    if not isinstance(model, str):
        raise BadRequestError(f"'model' must be a string, such as {MODEL!r}.", "model")
    if model not in (MODEL, ALIAS):
        raise BadRequestError(
            f"The model {model!r} does not exist here; this endpoint serves {MODEL!r}.",
            "model",
            "model_not_found",
            404,
        )


def _number(data: dict[str, Any], key: str, low: float, high: float) -> float | None:
    value = data.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise BadRequestError(f"'{key}' must be a number from {low} to {high}.", key)
    return float(value)


def _whole(data: dict[str, Any], key: str, least: int | None = 1) -> int | None:
    value = data.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadRequestError(f"'{key}' must be a whole number.", key)
    if least is not None and value < least:
        raise BadRequestError(f"'{key}' must be {least} or more.", key)
    return value


def _stop(value: Any) -> tuple[str, ...]:
    stops = [value] if isinstance(value, str) else value or []
    if not isinstance(stops, list) or not all(isinstance(stop, str) and stop for stop in stops):
        raise BadRequestError("'stop' must be a string or a list of strings.", "stop")
    return tuple(stops)


def _messages(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not value:
        raise BadRequestError("'messages' must be a list with at least one message.", "messages")
    for place, message in enumerate(value):
        _check_message(message, f"messages[{place}]")
    return value


def _check_message(message: Any, where: str) -> None:
    if not isinstance(message, dict) or message.get("role") not in _ROLES:
        roles = ", ".join(sorted(_ROLES))
        raise BadRequestError(f"'{where}' must be an object whose role is one of {roles}.", where)
    content = message.get("content")
    if isinstance(content, list):
        for part in content:
            is_part = isinstance(part, dict) and isinstance(part.get("type"), str)
            if not is_part or (part["type"] == "text" and not isinstance(part.get("text"), str)):
                raise BadRequestError(f"'{where}.content' has a part without type or text.", where)
    elif content is None:
        if message["role"] != "assistant":
            raise BadRequestError(f"'{where}.content' is missing.", where)
    elif not isinstance(content, str):
        raise BadRequestError(f"'{where}.content' must be a string or a list of parts.", where)
    if message["role"] == "tool" and not isinstance(message.get("tool_call_id"), str):
        raise BadRequestError(f"'{where}.tool_call_id' must be a string.", where)
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list) or not all(_is_call(call) for call in calls):
        raise BadRequestError(
            f"'{where}.tool_calls' must be a list of objects with id and function.", where
        )


def _is_call(call: Any) -> bool:
    if not isinstance(call, dict) or not isinstance(call.get("id"), str):
        return False
    function = call.get("function")
    return isinstance(function, dict) and isinstance(function.get("name"), str)


def _tools(value: Any) -> list[dict[str, Any]]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise BadRequestError("'tools' must be a list.", "tools")
    for place, tool in enumerate(value):
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise BadRequestError(
                f"'tools[{place}]' must be an object with a function that has a name.", "tools"
            )
        if not isinstance(function.get("parameters"), dict | None):
            raise BadRequestError(f"'tools[{place}].function.parameters' is no object.", "tools")
    return value
