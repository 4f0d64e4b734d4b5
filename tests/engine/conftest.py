"""Fixtures of the tests that run rollouts here, or evaluations in an engine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from program import Program
from servers import FaultServer
from steered_runs import GROUPED, PLAIN
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


@pytest.fixture
def request_of(
    program: Program, fault_server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., dict[str, Any]]:
    program.environment("plain", PLAIN)
    program.environment("grouped", GROUPED)
    monkeypatch.chdir(program.folder)
    for name, value in program.env.items():
        monkeypatch.setenv(name, value)

    def make(env_id: str = "plain", **raw: str) -> dict[str, Any]:
        base = {"model": "m", "api_base_url": f"{fault_server.url}/v1", "save_results": True}
        return {"env_id": env_id, "raw": {"rollouts_per_example": "1", **base, **raw}}

    return make
