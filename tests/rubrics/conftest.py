"""Fixtures of the tests that score rollouts."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """An event for functions that hang until the test is over."""
    event = threading.Event()
    yield event
    event.set()
