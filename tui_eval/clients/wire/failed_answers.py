"""Failures inside a 200: an error where the answer should be, or in the middle of it.

Gateways answer 200 before the server behind them has, and put what it says into the body, into a
choice, or into the stream. Such a call failed with the status that it names, and is tried again
like any other of that status.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from types import ModuleType, SimpleNamespace
from typing import Any

import msgspec

from tui_eval import cuts
from tui_eval.clients.faults import error_in_answer, server_message, status_error
from tui_eval.clients.refused_prompts import is_refused
from tui_eval.clients.wire.answer_struct import AnswerStruct, decode_answer
from tui_eval.clients.wire.finish_reasons import failed_status
from tui_eval.errors import InvalidModelResponseError

_NAMES = {
    400: (
        *("invalid_request", "invalid_argument", "invalid_prompt", "bad_request"),
        *("content_filter", "content_policy_violation"),
        *("context_length_exceeded", "context_window_exceeded", "exceed_context_size"),
    ),
    401: ("authentication", "unauthenticated", "invalid_api_key"),
    402: ("billing",),
    403: ("permission", "permission_denied"),
    404: ("not_found", "model_not_found"),
    413: ("request_too_large",),
    429: (
        *("rate_limit", "rate_limit_exceeded", "rate_limit_reached", "too_many_requests"),
        *("resource_exhausted", "throttling", "insufficient_quota", "quota_exceeded"),
    ),
    500: ("api", "server", "internal", "internal_server"),
    502: ("bad_gateway", "upstream", "apiconnection"),
    503: (
        *("server_is_overloaded", "engine_overloaded", "model_overloaded"),
        *("unavailable", "service_unavailable"),
    ),
    504: ("timeout", "gateway_timeout", "deadline_exceeded"),
    529: ("overloaded",),
}
STATUSES = {name: status for status, names in _NAMES.items() for name in names}
"""The statuses of failures by their names, in small letters and without `error` at the end."""

_NAMED_BY = ("code", "status_code", "error_code", "type", "status")
"""Fields of an error that may name its status, by number or name."""
_IN_TEXT = re.compile(r"\s*(?:error(?: code)?:?\s*)?([45]\d\d)\b|(?:litellm\.)?(\w+Error)\b")
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_FAILURE_FIELDS = ("message", "detail", "msg")
_SHOWN = 200
"""Characters of an answer that are shown where it cannot be read."""


class ReportedError(Exception):
    """An error inside an answer, with the status that it would have had as an answer.

    It has the attributes that distinguish the SDKs' exceptions.
    """

    def __init__(self, status: int, error: Any) -> None:
        super().__init__(f"status {status} inside the answer: {server_message(error)}")
        self.status_code = status
        self.error = self.body = error
        self.code = error.get("code") if isinstance(error, Mapping) else None
        self.response = SimpleNamespace(headers=_headers_of(error))


def sdk_error(error: ReportedError, sdk: ModuleType, request: Any) -> Exception:
    """The SDK's exception for the answer that would have reported an error by its status."""
    from tui_eval.clients.http_types import httpx2

    content = json.dumps({"error": error.error}).encode()
    status, headers = error.status_code, error.response.headers
    response = httpx2.Response(status, headers=headers, content=content, request=request)
    return status_error(sdk, response)


def error_text(error: Any, status: int = 0) -> Exception:
    """The exception for an error that an endpoint says inside an answer.

    A `ReportedError` where it says a status, or is the refusal of a prompt; else an
    `InvalidModelResponseError`.

    Args:
        status: The status where the error itself says none.
    """
    found = reported_status(error) or (400 if is_refused(error) else status)
    return (
        ReportedError(found, error) if found else InvalidModelResponseError(error_in_answer(error))
    )


def reported_status(error: Any) -> int:
    """The status that an error names, by number, name or words; 0 where it names none."""
    if isinstance(error, Mapping):
        named = [error.get(name) for name in _NAMED_BY]
        texts = [server_message(error.get("message"))]
    else:
        named, texts = [], [server_message(error)]
    for name in named:
        status = _status_of_name(name)
        if status:
            return status
    found = _IN_TEXT.match(texts[0])
    return _status_of_name(found[1] or found[2]) if found else 0


def _status_of_name(name: Any) -> int:
    if isinstance(name, bool) or not isinstance(name, int | float | str):
        return 0
    text = str(name).strip()
    if text.removesuffix(".0").isdecimal():
        number = int(text.removesuffix(".0")[:4])
        return number if 400 <= number <= 599 else 0
    plain = _WORDS.sub("_", text).lower().replace("-", "_")
    return STATUSES.get(plain.removesuffix("_exception").removesuffix("_error"), 0)


def _headers_of(error: Any) -> dict[str, str]:
    """Headers of the failed call's answer, where a gateway passes them on."""
    metadata = error.get("metadata") if isinstance(error, Mapping) else None
    given = metadata.get("headers") if isinstance(metadata, Mapping) else None
    if not isinstance(given, Mapping):
        return {}
    return {k.lower(): v for k, v in given.items() if isinstance(v, str) and v.isascii()}


def check_sdk_answer(answer: Any) -> None:
    """Raises as `raise_if_failed` for an answer that was not read here, and thus not checked."""
    if not isinstance(answer, AnswerStruct):
        raise_if_failed(answer)


def raise_if_failed(answer: Any) -> None:
    """Raises where an answer of any protocol, ours or the SDK's, says that the call failed.

    Raises:
        ReportedError: It says so with a status, or by the reason why it ended.
        InvalidModelResponseError: It says so without one.
    """
    error = getattr(answer, "error", None)
    if error:
        _raise_reported(error)
    choices = getattr(answer, "choices", None)
    if not isinstance(choices, list):
        _raise_for_reason(getattr(answer, "stop_reason", None))
        return
    for choice in choices:
        reason = getattr(choice, "finish_reason", None)
        error = getattr(choice, "error", None)
        if error:
            _raise_reported(error, failed_status(reason))
        _raise_for_reason(reason)


def _raise_for_reason(reason: Any) -> None:
    status = 0 if reason is None else failed_status(reason)
    if status:
        raise ReportedError(status, f"the answer ended with the reason {reason!r}")


def _raise_reported(error: Any, status: int = 0) -> None:
    dump = getattr(error, "model_dump", None)
    reported = error if dump is None else dump()
    if isinstance(reported, str | Mapping | list):  # stand-ins for clients have all attributes
        raise error_text(reported, status)


def read_part(content: bytes, kind: type[msgspec.Struct], url: Any) -> Any:
    """An answer, or an event of one, that may be a failure in a shape of its own.

    Raises:
        ReportedError: It is a failure, with a status.
        InvalidModelResponseError: It is one without, no JSON, or not of that kind.
    """
    try:
        return decode_answer(content, kind)
    except (ValueError, RecursionError) as error:
        raise_if_reported_elsewhere(content)
        shown = cuts.head(content.decode(errors="replace"), _SHOWN) or "nothing at all"
        text = f"{url} answered with no usable JSON ({error}): {shown}"
        raise InvalidModelResponseError(text) from error


def read_whole(content: bytes, kind: type[msgspec.Struct], url: Any) -> Any:
    """An answer that came whole.

    Raises:
        ReportedError: It says in place of an answer, or beside it, that the call failed.
        InvalidModelResponseError: It is no JSON, or not of that kind; names the endpoint's `url`.
    """
    answer = read_part(content, kind, url)
    if not answer.is_sound():
        raise_if_failed(answer)
        if is_bare(answer):
            raise_if_reported_elsewhere(content)
    return answer


def is_bare(answer: Any) -> bool:
    """Whether there is nothing where the protocol has what the model said."""
    return not (
        getattr(answer, "choices", None)
        or getattr(answer, "content", None)
        or getattr(answer, "output", None)
    )


def raise_if_reported_elsewhere(content: bytes) -> None:
    """Raises where JSON without an answer is a failure in a shape that is not the protocol's."""
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        return
    reported = _reported_elsewhere(data[0] if isinstance(data, list) and data else data)
    if reported:
        raise error_text(reported)


def status_of_failure(content: bytes) -> int:
    """The status that a body reports a failure; 0 where it is no failure, or names none."""
    try:
        raise_if_reported_elsewhere(content)
    except ReportedError as error:
        return error.status_code
    except InvalidModelResponseError:
        pass
    return 0


def _reported_elsewhere(data: Any) -> Any:
    if not isinstance(data, dict):
        return None
    feedback = data.get("promptFeedback") or data.get("prompt_feedback")
    if isinstance(feedback, dict):
        blocked = feedback.get("blockReason") or feedback.get("block_reason")
        if blocked:
            return {"code": "content_filter", "message": f"the prompt was blocked: {blocked}"}
    if data.get("error"):
        return data["error"]
    base = data.get("base_resp")
    if isinstance(base, dict) and base.get("status_code"):
        return {"code": base["status_code"], "message": base.get("status_msg")}
    return data if any(isinstance(data.get(name), str) for name in _FAILURE_FIELDS) else None
