"""A project of OpenEnv in a folder, and rollouts of its environment."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from stub_client import StubClient, answer

import tui_eval as vf

SERVER = Path(__file__).parent / "openenv" / "server.py"


class Project:
    """An OpenEnv project with its `.build.json` and its server."""

    def __init__(self, folder: Path, game: str, **manifest: Any) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        shutil.copy(SERVER, folder / "server.py")
        contract = "mcp" if game == "tools" else "gym"
        fields = {
            "schema_version": 1,
            "environment_id": "a-test",
            "contract": contract,
            "port": 8000,
            "start_command": f"python server.py {game} --port 8000",
        }
        (folder / ".build.json").write_text(json.dumps({**fields, **manifest}))

    def lines(self, name: str) -> list[str]:
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []

    @property
    def pids(self) -> list[int]:
        """Every server process that was launched, in order."""
        return [int(line.split()[0]) for line in self.lines("starts")]

    @property
    def seeds(self) -> list[int]:
        """The seed of every episode that was begun, in order."""
        return [int(line.split()[1]) for line in self.lines("episodes")]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def render(observation: Any) -> list[dict[str, str]]:
    return [{"role": "user", "content": observation["text"]}]


Make = Callable[..., Awaitable[tuple[vf.OpenEnvEnv, Project]]]


async def play(env: vf.OpenEnvEnv, *answers: Any, seed: int = 0) -> vf.State:
    client = StubClient(*(answer(a) if isinstance(a, str) else a for a in answers))
    row = {"prompt": [{"role": "user", "content": "x"}], "example_id": 0, "task": "t"}
    state = await env.rollout({**row, "info": {"seed": seed}}, client, "m", {})
    if state["error"] is None:
        await env.rubric.score_rollout(state)
    state["asked"] = client.calls
    return state
