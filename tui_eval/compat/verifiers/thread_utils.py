"""`verifiers.utils.thread_utils`: one value for each thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

THREAD_LOCAL_STORAGE = threading.local()
"""Holds the values of the calling thread as attributes."""


def get_thread_local_storage() -> threading.local:
    """Where the values of the calling thread are."""
    return THREAD_LOCAL_STORAGE


def get_or_create_thread_attr(
    key: str, factory: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    """The calling thread's value of a name; what `factory` makes where it has none."""
    value = getattr(THREAD_LOCAL_STORAGE, key, None)
    if value is None:
        value = factory(*args, **kwargs)
        setattr(THREAD_LOCAL_STORAGE, key, value)
    return value


def get_or_create_thread_loop() -> asyncio.AbstractEventLoop:
    """The event loop of the calling thread, the same one at every call."""
    loop: asyncio.AbstractEventLoop = get_or_create_thread_attr("loop", asyncio.new_event_loop)
    asyncio.set_event_loop(loop)
    return loop
