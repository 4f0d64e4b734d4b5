"""OpenEnv projects: their manifests, their rows, and their runs by the program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from openenv_projects import Make, Project, is_alive, render
from program import Program
from run_here import run_here
from stub_client import StubClient

import tui_eval as vf
from tui_eval.errors import RefusedError


def refusal(*args: Any, **kwargs: Any) -> list[str]:
    with pytest.raises(RefusedError) as refused:
        vf.OpenEnvEnv(*args, **kwargs)
    return [str(fault) for fault in refused.value.faults]


def test_every_fault_of_a_project_is_reported_at_once(tmp_path: Path):
    manifest = {"schema_version": 2, "contract": "rest", "app": "server", "port": "8000"}
    project = Project(tmp_path / "proj", "echo", **manifest, start_command="'open")
    faults = refusal(project.folder)
    assert len(faults) == 6
    place = str(project.folder / ".build.json")
    assert all(fault.startswith(place) for fault in faults[:5])
    for part in ("schema_version", "'contract' is 'rest'", "'app'", "'start_command'", "'port'"):
        assert sum(part in fault for fault in faults) == 1
    assert faults[5].startswith("prompt_renderer: it is None")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "it cannot be read: No such file"),
        ("{", "it is not JSON"),
        ("[]", "it is a list"),
        ("{}", "it has no 'contract'"),
        ('{"contract": "gym"}', "it has neither 'app' nor 'start_command'"),
    ],
)
def test_a_manifest_that_is_none_is_refused(tmp_path: Path, content: str | None, says: str):
    if content is not None:
        (tmp_path / ".build.json").write_text(content)
    faults = refusal(tmp_path, prompt_renderer=render)
    assert str(tmp_path / ".build.json") in faults[0]
    assert says in " ".join(faults)


def test_the_project_stands_beside_the_caller_by_default():
    (fault,) = refusal(prompt_renderer=render)
    assert fault.startswith(f"{Path(__file__).parent / 'proj'}: there is no such folder")


def test_rows_are_seeds(tmp_path: Path):
    project = Project(tmp_path / "proj", "echo")
    env = vf.OpenEnvEnv(
        project.folder, 3, 2, seed=10, prompt_renderer=render, wait_for_creation_max_attempts=5
    )
    assert [row["info"] for row in env.get_dataset()] == [{"seed": n} for n in (10, 11, 12)]
    assert [row["info"] for row in env.get_eval_dataset()] == [{"seed": 13}, {"seed": 14}]
    assert "seed 13" in env.get_eval_dataset()[0]["prompt"][0]["content"]
    assert project.pids == []


async def test_a_row_without_a_seed_is_an_error(make: Make):
    env, project = await make("echo")
    row = {"prompt": [{"role": "user", "content": "x"}], "example_id": 0, "task": "t"}
    state = await env.rollout(row, StubClient(), "m", {})
    assert "no whole number as its 'seed'" in str(state["error"])
    assert project.pids == []


MODULE = """
import verifiers as vf
from verifiers.types import Messages, UserMessage


class Renderer:
    def __call__(self, observation: object) -> Messages:
        return [UserMessage(content=observation["text"])]


def load_environment(num_eval_examples: int = 50, **kwargs):
    return vf.OpenEnvEnv(
        num_eval_examples=num_eval_examples, prompt_renderer=Renderer(), **kwargs
    )
"""


@pytest.mark.slow
@pytest.mark.parametrize("game", ["echo", "tools"])
def test_both_contracts_run_through_the_program(program: Program, game: str):
    program.environment("my-openenv", MODULE)
    project = Project(program.folder / "environments" / "proj", game)
    done = run_here(
        program, "my-openenv", "-m", "demo", "-n", "4", "-r", "2", "-c", "3", "-d", "-s"
    )
    assert done.code == 0, done
    run = program.only_run()
    assert len(run.rows) == 8
    assert sorted(project.seeds) == sorted([100, 101, 102, 103] * 2)
    for row in run.rows:
        assert f"Seed {row['info']['seed']}." in row["prompt"][0]["content"]
        assert row["error"] is None
    if game == "echo":
        assert {row["stop_condition"] for row in run.rows} == {"openenv_done"}
        assert all(row["reward"] > 0 for row in run.rows)
    else:
        assert {tool["name"] for tool in run.rows[0]["tool_defs"]} >= {"price_of", "hand_in"}
        assert "tool" in {message["role"] for row in run.rows for message in row["completion"]}
    assert 1 <= len(project.pids) <= 3
    assert not any(map(is_alive, project.pids))
