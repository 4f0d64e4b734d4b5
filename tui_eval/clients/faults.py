"""Faults of a call: the SDK's exceptions for them, and the words for people."""

from __future__ import annotations

import json
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tui_eval import cuts
from tui_eval.clients.causes import cause_of

if TYPE_CHECKING:
    import httpx2

_STATUS_NAMES = {
    400: "BadRequestError",
    401: "AuthenticationError",
    402: "PaymentRequiredError",
    403: "PermissionDeniedError",
    404: "NotFoundError",
    408: "RequestTimeoutError",
    409: "ConflictError",
    413: "ContentTooLargeError",
    422: "UnprocessableEntityError",
    429: "RateLimitError",
    529: "OverloadedError",
}
_ADVICE = {
    401: "check the key",
    403: "check the key and what it may do",
    404: "check the model's name and the base URL, with or without /v1",
    407: "a proxy wants a user and password: put both into the variable that names it",
}
"""Advice after answers that say that the request itself is wrong."""
ABOUT_THE_KEY = (401, 403)
"""Statuses that say that the key is not accepted."""
_LONGEST_MESSAGE = 600


def status_error(sdk: ModuleType, response: httpx2.Response) -> Exception:
    """The SDK's exception for an answer that is no success.

    Args:
        sdk: The module `openai` or `anthropic`.
        response: The answer, its body read.
    """
    body: Any = response.text.strip()
    try:
        body = json.loads(body)
    except ValueError:
        pass
    status = response.status_code
    general = "InternalServerError" if status >= 500 else "APIStatusError"
    kind = getattr(sdk, _STATUS_NAMES.get(status, general), None) or getattr(sdk, general)
    text = f"Error code: {status}"
    reported = server_message(body)
    if reported:
        text += f" - {reported}"
    if sdk.__name__ == "openai" and isinstance(body, dict):
        body = body.get("error", body)
    error: Exception = kind(text, response=response, body=body)
    return error


def connection_error(sdk: ModuleType, request: httpx2.Request, error: Exception) -> Exception:
    """The SDK's exception for a request that brought no answer; `error` is httpx2's."""
    from tui_eval.clients.http_types import httpx2

    found: Exception
    if isinstance(error, TimeoutError | httpx2.TimeoutException) and not _is_broken(error):
        found = sdk.APITimeoutError(request=request)
    else:
        found = sdk.APIConnectionError(message=f"Connection error: {error}", request=request)
    return found


def _is_broken(error: BaseException | None) -> bool:
    """Whether a connection was refused or reset, which the aiohttp transport calls a timeout."""
    import aiohttp

    cause = error.__cause__ if error is not None else None
    return isinstance(cause, aiohttp.ClientConnectionError) and not isinstance(cause, TimeoutError)


def server_message(body: Any) -> str:
    """The server's error message, from the shapes that endpoints use; cut when very long."""
    if isinstance(body, dict):
        for key in ("error", "message", "detail"):
            if body.get(key):
                return server_message(body[key])
        body = json.dumps(body, ensure_ascii=False)
    elif isinstance(body, list):
        body = json.dumps(body, ensure_ascii=False)
    text = "" if body is None else str(body).strip()
    if text.startswith(("data:", "event:")):
        return server_message(_first_event(text))
    return text if len(text) <= _LONGEST_MESSAGE else cuts.head(text, _LONGEST_MESSAGE) + "…"


def _first_event(text: str) -> Any:
    """The message of a stream's first event, which came where no answer could begin."""
    lines = (line.removeprefix("data:").strip() for line in text.splitlines())
    for line in lines:
        try:
            return json.loads(line)
        except ValueError:
            continue
    return text.partition(":")[2]


def error_instead(answer: Any, wanted: str) -> str | None:
    """The message of an answer that is an error; None where it has none."""
    if isinstance(answer, str | bytes):
        text = answer if isinstance(answer, str) else answer.decode(errors="replace")
        return f"the answer is text, not a {wanted}: {cuts.head(text, 200)!r}"
    error = getattr(answer, "error", None)
    return error_in_answer(error) if error else None


def error_in_answer(error: Any) -> str:
    """The text for people of an error that came as an answer."""
    return f"the endpoint answered with an error: {server_message(error)}"


def describe(error: Exception, timeout: float | None) -> str:
    """One line on a failed call: status, endpoint and what the server or the network says.

    Args:
        timeout: Seconds that a request may take, for the message of one that took longer.
    """
    place = url_of(error)
    status = getattr(error, "status_code", None)
    tries = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
    if status is not None:
        text = f"{status} from {place or 'the endpoint'}: {_reported(error)}"
    elif "Timeout" in type(error).__name__ and place and not _is_broken(error.__cause__):
        text = _timeout_text(error, place, timeout)
    elif place:
        text = _connection_text(error, place)
    else:
        text = f"{type(error).__name__}: {error}"
    return text + tries


def advice(error: Exception, credential: str = "") -> str:
    """Advice after a failed call, to put behind its line; empty where nothing helps.

    Args:
        credential: The key that was sent, and how; for answers that refuse it.
    """
    status = getattr(error, "status_code", 0)
    known = _ADVICE.get(status)
    about = f" ({credential})" if credential and status in ABOUT_THE_KEY else ""
    return f"; {known}{about}" if known else ""


def _connection_text(error: Exception, place: str) -> str:
    cause = cause_of(error, place)
    if cause is not None and cause.kind == "broke":
        return f"the answer from {place} broke off: {_network_reason(error)}"
    return f"no connection to {place}: {cause.text if cause else _network_reason(error)}"


def _reported(error: Exception) -> str:
    response = getattr(error, "response", None)
    location = response.headers.get("location") if response is not None else None
    if location:
        return f"the endpoint moved to {location}; set its URL to that if you trust it"
    return server_message(getattr(error, "body", None)) or "no message"


def _timeout_text(error: Exception, place: str, timeout: float | None) -> str:
    if type(error.__cause__).__name__ == "ConnectTimeout":
        found = cause_of(error, place)
        return f"no connection to {place} in time: {found.text if found else ''}"
    limit = "in time" if timeout is None else f"within {timeout:g} s"
    return f"no answer from {place} {limit}; the client's `timeout` sets the limit"


def _network_reason(error: BaseException) -> str:
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error) or type(error).__name__


def url_of(error: BaseException) -> str:
    """The URL of the request, without user, password and query; empty where none is known."""
    try:
        request = getattr(error, "request", None)
    except RuntimeError:  # httpx2's exceptions raise it where they have no request
        request = None
    if request is None:
        return ""
    url = request.url
    return f"{url.scheme}://{url.netloc.decode('ascii', 'replace')}{url.path}"
