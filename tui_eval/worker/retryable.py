"""Which errors may be gone when a rollout is run again, and which every other would meet."""

from __future__ import annotations

from tui_eval.clients.causes import cause_of
from tui_eval.clients.faults import ABOUT_THE_KEY
from tui_eval.clients.request_retries import is_transient
from tui_eval.errors import Error, ErrorChain, InfraError, ModelError
from tui_eval.events import Stage
from tui_eval.state import State

_TYPES = (InfraError, ModelError, ConnectionError, TimeoutError)
# Base classes of httpx, aiohttp, requests, and of the SDKs of providers and sandboxes. They are
# known by name: none of these packages is loaded for the sake of an error that it did not raise.
_NAMES = frozenset(
    {
        *("TransportError", "ClientConnectionError", "ClientPayloadError", "ConnectionError"),
        *("Timeout", "APIError"),
    }
)


def is_retryable(error: object) -> bool:
    """Whether a rollout that ended with an error is worth another try.

    True for a failed model call and every `InfraError`, and for what else tells of a network, an
    API or a time-out, also as the cause of another exception: of a reward function's failure, for
    one. False where an endpoint answered with a status that it would answer with again: a wrong
    key, an unknown model, a bad request.
    """
    if not isinstance(error, BaseException):
        return False
    if isinstance(error, InfraError):
        return True
    links = [*ErrorChain(error)]
    if any(getattr(link, "status_code", None) and not is_transient(link) for link in links):
        return False
    if any((cause := cause_of(link)) and not cause.passes for link in links):
        return False
    if isinstance(error, Error):
        return isinstance(error, ModelError) or is_retryable(error.__cause__)
    return any(_is_of_network(link) for link in links)


def refuses_key(state: State) -> bool:
    """Whether a rollout ended as the endpoint did not let its model call in (401, 403)."""
    error = state.get("error")
    if error is None or state.failed_at is not Stage.MODEL:
        return False
    return any(getattr(link, "status_code", None) in ABOUT_THE_KEY for link in ErrorChain(error))


def _is_of_network(link: BaseException) -> bool:
    if isinstance(link, _TYPES):
        return True
    names = [kind.__name__ for kind in type(link).__mro__]
    return any(name in _NAMES or name.endswith("TimeoutError") for name in names)
