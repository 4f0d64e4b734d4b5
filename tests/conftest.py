"""Fixtures that several parts of the suite share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from program import Program
from servers import FaultServer


@pytest.fixture
def fault_server() -> Iterator[FaultServer]:
    """A server whose answers the test scripts."""
    with FaultServer() as server:
        yield server


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    """The program in a folder of its own."""
    program = Program(tmp_path)
    yield program
    program.end_all()
