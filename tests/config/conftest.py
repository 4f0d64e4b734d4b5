"""Fixtures of the tests of settings."""

from __future__ import annotations

from pathlib import Path

import pytest
from setting_places import REGISTRY, write

from tui_eval.config import local_servers


@pytest.fixture(autouse=True)
def _no_local_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever listens on this machine has no part in a test; a test's own server may be slow."""
    monkeypatch.setattr(local_servers, "LOCAL_SERVERS", [])
    monkeypatch.setattr(local_servers, "ANSWERS_WITHIN_S", 30.0)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a registry and the key that it names."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EXAMPLE_KEY", "k")
    write("configs/endpoints.toml", REGISTRY)
    return tmp_path
