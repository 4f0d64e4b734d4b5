"""Tries a request again after a passing fault, as long as the server asks to wait."""

from __future__ import annotations

import asyncio
import email.utils
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from tui_eval.observer import CLOCK, SILENT, Observer

if TYPE_CHECKING:
    from tenacity import RetryCallState

Answer = TypeVar("Answer")

sleep = asyncio.sleep

FIRST_WAIT = 0.5
LONGEST_BACKOFF = 60.0
LONGEST_ASKED = 600.0
_TRANSIENT_STATUSES = (408, 409, 429)


async def send_with_retries(
    send: Callable[[], Awaitable[Answer]], max_retries: int, state: Any = None
) -> Answer:
    """The answer of `send`, which is called up to `max_retries` times more after passing faults.

    Args:
        send: Sends the request once.
        max_retries: 0 for one attempt only.
        state: A rollout's state; its observer gives the rollout's slot back during each wait.

    Raises:
        Exception: What the last attempt raised, with a note on how many there were.
    """
    try:
        return await send()
    except Exception as error:
        if max_retries < 1 or not is_transient(error):
            raise
        first = error
    observer = getattr(state, "observer", SILENT)
    return await _send_again(send, first, max_retries, observer)


async def _send_again(
    send: Callable[[], Awaitable[Answer]], first: Exception, max_retries: int, observer: Observer
) -> Answer:
    import tenacity

    failed: list[Exception] = [first]
    clock = CLOCK.get(None)

    async def wait(seconds: float) -> None:
        async with observer.request_sleeps(seconds, reason_of(failed[-1])):
            await sleep(seconds)
        if clock is not None:
            clock.begin()

    attempts = tenacity.AsyncRetrying(
        retry=tenacity.retry_if_exception(is_transient),
        stop=tenacity.stop_after_attempt(max_retries + 1),
        wait=_wait_for,
        sleep=wait,
        reraise=True,
    )

    async def attempt() -> Answer:
        # The first attempt was made before there was any need for tenacity; this replays it.
        if attempts.statistics["attempt_number"] == 1:
            raise first
        try:
            return await send()
        except Exception as error:
            failed.append(error)
            raise

    try:
        return await attempts(attempt)
    except Exception as error:
        error.add_note(f"tried {len(failed)} times")
        raise


def _wait_for(call: RetryCallState) -> float:
    import tenacity

    error = call.outcome.exception() if call.outcome is not None else None
    asked = asked_wait(_headers_of(error))
    if asked is not None:
        return asked
    backoff = tenacity.wait_exponential(FIRST_WAIT, LONGEST_BACKOFF)
    jitter = tenacity.wait_random(0, FIRST_WAIT)
    return backoff(call) + jitter(call)


def asked_wait(headers: Mapping[str, str]) -> float | None:
    """Seconds that an answer's headers ask to wait, at most ten minutes; None without such.

    Reads `retry-after-ms`, and `retry-after` as seconds or as an HTTP date. Times of zero or in
    the past ask for nothing.
    """
    waits = (
        _number(headers.get("retry-after-ms"), 1000),
        _number(headers.get("retry-after"), 1),
        _until(headers.get("retry-after")),
    )
    asked = next((wait for wait in waits if wait is not None), None)
    if asked is None or asked <= 0:
        return None
    return min(asked, LONGEST_ASKED)


def _number(text: str | None, a_second: int) -> float | None:
    try:
        value = float(text or "") / a_second
    except ValueError:
        return None
    return None if math.isnan(value) else value


def _until(text: str | None) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(text or "").timestamp() - time.time()
    except (TypeError, ValueError, OverflowError):
        return None


def is_transient(error: BaseException) -> bool:
    """Whether the same request may succeed later.

    True for connections that could not be made or broke, statuses 408, 409, 429 and from 500 on,
    and Anthropic's overload; False for a request that took longer than its time, a spent quota, a
    wrong certificate, and where the server says `x-should-retry: false`.
    """
    status = getattr(error, "status_code", None)
    if status is None:
        return _is_transient_connection_fault(error)
    told = _headers_of(error).get("x-should-retry")
    if told in ("true", "false"):
        return told == "true"
    if getattr(error, "code", None) == "insufficient_quota":
        return False
    overloaded = getattr(error, "type", None) == "overloaded_error"
    return bool(status in _TRANSIENT_STATUSES or status >= 500 or overloaded)


def _is_transient_connection_fault(error: BaseException) -> bool:
    import aiohttp
    import httpx2

    cause = error.__cause__
    if not isinstance(cause, httpx2.TransportError):
        return False
    if isinstance(cause.__cause__, aiohttp.ClientConnectorCertificateError):
        return False
    if isinstance(cause, httpx2.ConnectTimeout):
        return True
    return not isinstance(cause, httpx2.TimeoutException | httpx2.UnsupportedProtocol)


def reason_of(error: BaseException) -> str:
    """Why a request waits, in a few words for the screen."""
    status = getattr(error, "status_code", None)
    return f"status {status}" if status is not None else "no connection"


def _headers_of(error: BaseException | None) -> Mapping[str, str]:
    response = getattr(error, "response", None)
    headers: Mapping[str, str] = response.headers if response is not None else {}
    return headers
