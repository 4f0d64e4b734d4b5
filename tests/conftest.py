"""Fixtures that several parts of the suite share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from servers import FaultServer


@pytest.fixture
def fault_server() -> Iterator[FaultServer]:
    """A server whose answers the test scripts."""
    with FaultServer() as server:
        yield server
