"""Fixtures of the tests of adapters."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from openenv_projects import Make, Project, is_alive, render

import tui_eval as vf


@pytest.fixture
async def make(tmp_path: Path) -> AsyncIterator[Make]:
    """Makes environments; what they started has ended when the test has."""
    made: list[tuple[vf.OpenEnvEnv, Project]] = []

    async def make_env(game: str, fault: str = "", **kwargs: Any):
        project = Project(tmp_path / f"project-{len(made)}", game, **kwargs.pop("manifest", {}))
        kwargs = {"prompt_renderer": render, "startup_poll_interval_seconds": 0.1, **kwargs}
        if fault:
            kwargs["environment_vars"] = {"FAULT": fault}
        env = vf.OpenEnvEnv(project.folder, **kwargs)
        made.append((env, project))
        return made[-1]

    yield make_env
    for env, project in made:
        assert await env.run_teardown() == []
        assert not any(map(is_alive, project.pids))
