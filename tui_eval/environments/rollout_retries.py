"""Rollouts of a program's own that begin again after a passing fault."""

from __future__ import annotations

import logging
import random
from asyncio import sleep
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

from tui_eval.errors import ErrorChain, InfraError, InvalidModelResponseError

T = TypeVar("T")
logger = logging.getLogger(__name__)


def maybe_retry(
    func: Callable[..., Coroutine[Any, Any, T]],
    max_retries: int = 0,
    initial: float = 1.0,
    max_wait: float = 60.0,
    error_types: tuple[type[Exception], ...] = (InfraError, InvalidModelResponseError),
) -> Callable[..., Coroutine[Any, Any, T]]:
    """A function that runs again where the state that it returns has an error of these types.

    Args:
        func: Returns a state, or a list of states.
        max_retries: How often; 0 gives `func` itself. After the last one its result is returned,
            whatever it holds.
        initial, max_wait: Seconds before the second try, doubled with each and up to a second
            longer by chance, and at most.
    """
    if max_retries <= 0:
        return func
    name = getattr(func, "__name__", "unknown")

    async def retried(*args: Any, **kwargs: Any) -> T:
        result: Any = None
        for attempt in range(max_retries + 1):
            try:
                result = await func(*args, **kwargs)
                error = _first_error(result, error_types)
            except error_types as raised:
                error = raised
            if error is None or attempt == max_retries:
                break
            wait = min(initial * 2**attempt + random.uniform(0, 1), max_wait)
            logger.warning(
                "%s: %r; again in %s (%s of %s)",
                *(name, ErrorChain(error), f"{wait:.1f} s", attempt + 1, max_retries),
            )
            await sleep(wait)
        returned: T = result
        return returned

    retried.__name__ = name
    retried.__qualname__ = getattr(func, "__qualname__", name)
    return retried


def _first_error(result: Any, error_types: tuple[type[Exception], ...]) -> Exception | None:
    states: Iterable[Any] = (result,) if isinstance(result, dict) else result
    if not isinstance(result, dict | list):
        return None
    errors = (state.get("error") for state in states)
    return next((error for error in errors if isinstance(error, error_types)), None)
