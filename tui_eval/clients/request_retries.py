"""Tries a request again after a passing fault, at the pace that its endpoint allows.

Two rules say when it is enough. A *refusal* (429, 529, a 503 that names a time) says that there is
too much to do: it is no fault of the request, which is tried until the endpoint has answered nobody
for `rate_limit_timeout` seconds. Any other passing fault counts, up to `max_retries`.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, TypeVar

import msgspec

from tui_eval.call_limits import uncounted
from tui_eval.clients import pacing
from tui_eval.clients.causes import cause_of
from tui_eval.clients.faults import server_message, url_of
from tui_eval.clients.pacing import Pace, pace_of
from tui_eval.clients.retry_after import requested_wait
from tui_eval.clients.secrets import Secrets
from tui_eval.observer import CLOCK, SILENT, Observer
from tui_eval.open_files import REASON, is_out_of_files
from tui_eval.printable import one_line
from tui_eval.types import ClientConfig

Answer = TypeVar("Answer")

FIRST_WAIT = 0.5
LONGEST_BACKOFF = 60.0
NOT_SHOWN_S = 0.25
"""Seconds; for a turn that comes sooner no slot is given back, and nobody is notified."""
STARVES_MOST = 4
"""Number of waits of a request for a file that it may open: about ten seconds."""
WORDS = 160
"""Characters of a server's own words in the reason for a wait."""
_TRANSIENT_STATUSES = (408, 409, 429)
_REFUSALS = (429, 529)


class Retries(msgspec.Struct, frozen=True):
    """The retry policy of one client.

    Args:
        most: How often one is, after passing faults that are no refusals; 0 for never, also
            after refusals.
        pace: The endpoint's.
        secrets: Hidden in the reason of a wait.
        leaves: Whether a request is to leave its endpoint; gets what it met, None after a wait.
    """

    most: int = 0
    pace: Pace = msgspec.field(default_factory=Pace)
    secrets: Secrets = msgspec.field(default_factory=Secrets)
    leaves: Callable[[Exception | None], bool] = lambda error: False

    @classmethod
    def of(cls, config: ClientConfig, key: str, secrets: Secrets) -> Retries:
        """The retries of a config."""
        pace = pace_of(config.api_base_url.rstrip("/"), key, config.rate_limit_timeout)
        return cls(config.max_retries, pace, secrets)


async def send_with_retries(
    send: Callable[[], Awaitable[Answer]], retries: Retries, state: Any = None
) -> Answer:
    """The answer of `send`, which is called again after passing faults.

    Args:
        state: A rollout's state; its observer gives the rollout's slot back during each wait.

    Raises:
        Exception: What the last attempt raised, with a note on how many there were.
    """
    if retries.pace.is_limited:
        return await _Request(send, retries, state).answer()
    try:
        return await send()
    except Exception as error:
        if not is_transient(error):
            raise
        request = _Request(send, retries, state)
        request.failed(error)
    return await request.answer()


class _Request(Generic[Answer]):
    """A request that has failed before, or that waits for its turn."""

    def __init__(self, send: Callable[[], Awaitable[Answer]], retries: Retries, state: Any) -> None:
        self._send = send
        self._retries = retries
        self._pace = retries.pace
        self._observer: Observer = getattr(state, "observer", SILENT)
        self._clock = CLOCK.get(None)
        self._sent_at = -math.inf  # before anything was refused
        self._tries = self._faults = self._starved = 0
        self._error: Exception | None = None
        self._wait = 0.0
        self._reason = ""
        self._is_paced = False

    async def answer(self) -> Answer:
        """The result of the last try, after as many as it takes; raises as `send_with_retries`."""
        while True:
            await self._until_turn()
            self._sent_at = pacing.now()
            try:
                answer = await self._send()
            except Exception as error:
                self.failed(error)
            else:
                self._pace.let_through()
                self._error = None
                return answer

    def failed(self, error: Exception) -> None:
        """Notes what a try met and how long to wait for the next; raises it where there is none."""
        self._tries += 1
        self._error = error
        if self._retries.leaves(error) or not is_transient(error):
            self._give_up()
        if is_out_of_files(error):
            self._starve()
            return
        requested = requested_wait(headers_of(error), getattr(error, "body", None))
        self._reason = self._retries.secrets.hide(reason_of(error))
        self._is_paced = requested is not None
        if is_refusal(error):
            self._pace.refuse(self._sent_at, requested, self._reason)
            self._wait = _backoff(self._tries) if requested is None else 0.0
            if self._retries.most < 1 or self._pace.is_given_up:
                self._give_up()
        else:
            self._faults += 1
            self._wait = _backoff(self._tries) if requested is None else requested
            if self._faults > self._retries.most:
                self._give_up()

    def _starve(self) -> None:
        """No file could be opened: the endpoint has no part in it.

        Raises:
            Exception: The error, where none is closed for long. The rollout may be the one that
                has them open; it gives them back as it ends, and runs again.
        """
        self._starved += 1
        self._reason, self._is_paced = REASON, False
        self._wait = _backoff(self._starved)
        if self._starved > STARVES_MOST:
            self._give_up()

    def _give_up(self) -> None:
        # The error's traceback leads here: one that is kept would hold itself alive.
        error, self._error = self._error, None
        assert error is not None
        if self._tries > 1:
            error.add_note(f"tried {self._tries} times")
        try:
            raise error
        finally:
            del error

    async def _until_turn(self) -> None:
        pace = self._pace
        seconds = max(self._wait, pace.expected_s)
        if self._error is None:
            if seconds > NOT_SHOWN_S:
                with uncounted():
                    async with self._observer.request_queues(seconds, pace.reason):
                        await pace.turn()
            elif pace.expected_s:
                await pace.turn()
        else:
            with uncounted():
                async with self._observer.request_sleeps(seconds, self._reason, self._is_paced):
                    if self._wait:
                        await pacing.sleep(self._wait)
                    await pace.turn()
            is_given_up = pace.is_given_up and is_refusal(self._error)
            if is_given_up or self._retries.leaves(None):
                self._give_up()
        if self._clock is not None:
            self._clock.begin()


def _backoff(tries: int) -> float:
    grown: float = min(FIRST_WAIT * 2.0 ** min(tries - 1, 10), LONGEST_BACKOFF)
    return grown + random.uniform(0, FIRST_WAIT)


def is_transient(error: BaseException) -> bool:
    """Whether the same request may succeed later.

    True for connections that could not be made or broke, too many open files, statuses 408, 409,
    429 and from 500 on, and Anthropic's overload; False for a request that took longer than its
    time, a spent quota, a wrong certificate, a port without TLS, a proxy that wants a password,
    and where the server says `x-should-retry: false`.
    """
    status = getattr(error, "status_code", None)
    if status is None:
        return is_out_of_files(error) or _is_transient_connection_fault(error)
    if is_quota_spent(error):
        return False
    reported = headers_of(error).get("x-should-retry")
    if reported in ("true", "false"):
        return reported == "true"
    return bool(status in _TRANSIENT_STATUSES or status >= 500 or _is_overload(error))


def is_refusal(error: BaseException) -> bool:
    """Whether a passing fault says that the endpoint has too much to do, or too many requests."""
    status = getattr(error, "status_code", None)
    if status in _REFUSALS or _is_overload(error):
        return True
    return (
        status == 503
        and requested_wait(headers_of(error), getattr(error, "body", None)) is not None
    )


def _is_overload(error: BaseException) -> bool:
    return getattr(error, "type", None) == "overloaded_error"


def _is_transient_connection_fault(error: BaseException) -> bool:
    from tui_eval.clients.http_types import httpx2

    cause = error.__cause__
    if not isinstance(cause, httpx2.TransportError):
        return False
    if isinstance(cause, httpx2.ConnectTimeout):
        return True
    if isinstance(cause, httpx2.TimeoutException | httpx2.UnsupportedProtocol):
        return False
    found = cause_of(error)
    return found is None or found.passes


def reason_of(error: BaseException) -> str:
    """The reason why a request waits: the status and the server's own words, on one line."""
    status = getattr(error, "status_code", None)
    if status is None:
        found = cause_of(error, url_of(error))
        if found is None:
            return "no connection"
        return found.text if found.kind == "broke" else f"no connection: {found.text}"
    words = one_line(server_message(getattr(error, "body", None)), WORDS).rstrip(" .")
    return f"status {status}: {words}" if words else f"status {status}"


def headers_of(error: BaseException | None) -> Mapping[str, str]:
    """The headers of the answer that an error was made of."""
    response = getattr(error, "response", None)
    headers: Mapping[str, str] = response.headers if response is not None else {}
    return headers


_SPENT = re.compile(
    r"insufficient[_ ](?:quota|balance|credits?|funds)"
    r"|billing[_ ]hard[_ ]limit|credit balance is too low|out of credits|credits? exhausted"
    r"|budget[_ ](?:has been )?exceeded|exceeded ?budget|over budget"
    r"|quotaid\W{1,8}\w*perday",
    re.IGNORECASE,
)
"""Codes and words that mean it, wherever a gateway puts them: as a code or in its message."""
_DOUBTFUL = re.compile(r"exceeded your current quota", re.IGNORECASE)
"""OpenAI's words for it; Google says the same for a minute's limit, and names the wait beside."""


def is_quota_spent(error: BaseException) -> bool:
    """Whether a refusal says that quota, credit or balance is used up.

    Args:
        error: Of an SDK, or of the same shape: its body is that of the answer.
    """
    status = getattr(error, "status_code", None)
    if status == 402:
        return True
    if status is None or status < 400:
        return False
    body = getattr(error, "body", None)
    text = f"{getattr(error, 'code', None)} {_as_text(body) if body else error}"
    if _SPENT.search(text):
        return True
    return bool(_DOUBTFUL.search(text)) and requested_wait({}, body) is None


def _as_text(body: Any) -> str:
    return body if isinstance(body, str) else json.dumps(body, ensure_ascii=False, default=str)
