"""A server written with openenv-core: played here as the class itself is."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest
from stub_client import StubClient, answer
from third_party_packages import Package

import tui_eval as vf

OPENENV = Package("openenv", ("openenv-core==0.3.0",))
GUESSES = [5, None, 7, 2, 8, 1, 9, 3, 4, 6]
STARTS_WITHIN_S = 180.0
"""None stands for what is no action."""


def rewards(seed: int) -> list[float]:
    """What the guesses of a seed get, up to the right one; the one that is none gets nothing."""
    secret, found = random.Random(seed).randint(1, 9), []
    steps = 0
    for guess in GUESSES:
        if guess is None:
            found.append(0.0)
            continue
        steps += 1
        if guess == secret:
            return [*found, 1.0 / steps]
        found.append(-0.125)
    return found


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / ".venv").symlink_to(OPENENV.installed().parent)
    shutil.copy(Path(__file__).with_name("openenv_number.py"), tmp_path / "number.py")
    manifest = {"schema_version": 1, "contract": "gym", "app": "number:app"}
    (tmp_path / ".build.json").write_text(json.dumps(manifest))
    return tmp_path


@pytest.mark.xdist_group("openenv")
async def test_episodes_get_the_rewards_of_their_seed(project: Path) -> None:
    env = vf.OpenEnvEnv(
        project,
        num_train_examples=4,
        max_turns=len(GUESSES),
        prompt_renderer=lambda seen: [{"role": "user", "content": seen["text"]}],
        startup_timeout_seconds=STARTS_WITHIN_S,
    )
    said = [f'{{"number": {guess}}}' if guess else "I think so." for guess in GUESSES]
    try:
        for row in env.get_dataset():
            state = await env.rollout(dict(row), StubClient(*map(answer, said)), "m", {})
            await env.rubric.score_rollout(state)
            assert state["error"] is None, state["error"]
            wanted = rewards(row["info"]["seed"])
            assert [step["reward"] for step in state["trajectory"]] == wanted
            assert state["reward"] == sum(wanted)
    finally:
        await env.run_teardown()
