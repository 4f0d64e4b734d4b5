"""The providers' SDKs as an interpreter has them: the current one, one of another time, or none.

Rollouts need none, since the requests are ours; what an SDK gives them are the exceptions that
people's code knows, and where there is none, ours have the same names and attributes.
"""

from __future__ import annotations

import importlib
from functools import cache
from types import ModuleType
from typing import Any

from tui_eval.install_commands import install_command

_USED = ("APIStatusError", "APIConnectionError", "APITimeoutError", "APIResponseValidationError")
"""Exceptions that an SDK has if it is of the kind that is known here."""


class APIError(Exception):
    """A call failed; see the SDKs' own."""

    code: str | None = None
    param: str | None = None
    type: str | None = None

    def __init__(self, message: str, request: Any, *, body: Any) -> None:
        super().__init__(message)
        self.message = message
        self.request = request
        self.body = body
        if isinstance(body, dict):
            code = body.get("code")
            self.code = None if code is None else str(code)
            self.param, self.type = body.get("param"), body.get("type")


class APIStatusError(APIError):
    """The answer is no success."""

    def __init__(self, message: str, *, response: Any, body: Any) -> None:
        super().__init__(message, response.request, body=body)
        self.response = response
        self.status_code = response.status_code
        self.request_id = response.headers.get("x-request-id")


class APIConnectionError(APIError):
    """There is no answer."""

    def __init__(self, *, message: str = "Connection error.", request: Any) -> None:
        super().__init__(message, request, body=None)


class APITimeoutError(APIConnectionError):
    """There is no answer in time."""

    def __init__(self, request: Any) -> None:
        super().__init__(message="Request timed out.", request=request)


class APIResponseValidationError(APIError):
    """The answer is not what was expected."""


_OF_STATUS = (
    "BadRequestError", "AuthenticationError", "PermissionDeniedError", "NotFoundError",
    "ConflictError", "UnprocessableEntityError", "RateLimitError", "InternalServerError",
)  # fmt: skip


@cache
def exceptions_of(name: str) -> ModuleType:
    """An SDK, for its exceptions; a module with some of the same names where it cannot be used."""
    sdk = _sdk(name)
    if sdk is not None and all(hasattr(sdk, one) for one in _USED):
        return sdk
    made = ModuleType(name)
    for kind in (APIError, APIStatusError, APIConnectionError, APITimeoutError,
                 APIResponseValidationError):  # fmt: skip
        setattr(made, kind.__name__, kind)
    for one in _OF_STATUS:
        setattr(made, one, type(one, (APIStatusError,), {"__module__": __name__}))
    return made


@cache
def is_current(name: str) -> bool:
    """Whether an SDK is there and sends with the http library that is used here."""
    from tui_eval.clients.http_types import httpx2

    sdk = _sdk(name)
    own = getattr(httpx2, "AsyncClient", None)
    theirs = getattr(sdk, "DefaultAsyncHttpxClient", None)
    return own is not None and isinstance(theirs, type) and issubclass(theirs, own)


def needed_sdk(name: str) -> ModuleType:
    """An SDK, for calls that only it makes; `ModuleNotFoundError` that says what installs it."""
    sdk = _sdk(name)
    if sdk is not None:
        return sdk
    what = f"the SDK {name} is not installed where the environment runs, and this call needs it"
    raise ModuleNotFoundError(f"{what}: {install_command([name])}", name=name)


def _sdk(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None
