"""Fixtures of the tests that run rollouts here, or evaluations in an engine."""

from __future__ import annotations

from pathlib import Path

import pytest
from program import Program
from servers import FaultServer
from suites import NUMBERED, Suites


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of the test, with a state directory of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TUI_EVAL_STATE_DIR", str(tmp_path / "state"))
    return tmp_path


@pytest.fixture
def suite(program: Program, fault_server: FaultServer) -> Suites:
    program.environment("numbered", NUMBERED)
    program.environment("other", NUMBERED)
    return Suites(program, fault_server)
