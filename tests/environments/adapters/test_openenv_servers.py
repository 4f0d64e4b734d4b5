"""Servers of OpenEnv projects: when they are started, shared, given up and ended."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from openenv_projects import Make, Project, is_alive, play, render
from program import wait_until
from tiers import first_always

import tui_eval as vf


async def test_servers_are_reused_and_there_are_no_more_than_allowed(make: Make):
    env, project = await make("echo", max_servers=2)
    assert project.pids == []
    states = await asyncio.gather(*(play(env, "a", "b", "c", seed=n) for n in range(6)))
    assert [s["error"] for s in states] == [None] * 6
    assert len(project.pids) == 2
    assert sorted(project.seeds) == list(range(6))
    assert {line.split()[0] for line in project.lines("episodes")} == set(map(str, project.pids))


def test_servers_serve_event_loops_one_after_the_other(tmp_path: Path):
    project = Project(tmp_path / "proj", "echo")
    env = vf.OpenEnvEnv(project.folder, prompt_renderer=render)
    for _ in range(2):
        assert asyncio.run(play(env, "a", "b", "c"))["error"] is None
    assert len(project.pids) == 1
    asyncio.run(env.run_teardown())
    assert not is_alive(project.pids[0])


async def test_a_server_sees_no_keys_and_what_it_is_given(make: Make, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.setenv("MY_SECRET", "s")
    monkeypatch.setenv("ANYTHING_ELSE", "e")
    env, project = await make("echo", environment_vars={"GAME_LEVEL": "3"})
    await play(env, "a", "b", "c")
    seen = set(project.lines("starts")[0].split()[1:])
    assert {"PATH", "PORT", "GAME_LEVEL"} <= seen
    assert not seen & {"OPENAI_API_KEY", "MY_SECRET", "ANYTHING_ELSE"}


async def test_the_app_is_served_by_the_projects_own_python(make: Make):
    env, project = await make("echo", manifest={"app": "server.app:app", "start_command": "false"})
    python = project.folder / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(
        '#!/bin/sh\necho "$@" > arguments\n'
        f'shift 5; exec {sys.executable} server.py echo --port "$2"\n'
    )
    python.chmod(0o755)
    state = await play(env, "a", "b", "c")
    assert state["error"] is None
    (arguments,) = project.lines("arguments")
    assert arguments.startswith("-m uvicorn server.app:app --host 127.0.0.1 --port ")


@pytest.mark.parametrize(
    ("fault", "says"),
    first_always(
        [
            ("no start", ["did not start (it ended with exit code 3)", "there is no database"]),
            ("sick", ["not healthy within 5 s", "HTTP 503", "startup_timeout_seconds"]),
            ("no schema", ["GET /schema gave no action schema: HTTP 404"]),
            ("close", ["closed the session (code 1011) before step", "closing for no reason"]),
            ("die", ["before step was done (it ended with exit code 7)", "dying for no reason"]),
            ("hang", ["no answer to step within 1.5 s", "message_timeout_seconds"]),
            ("babble", ["answered step by something that is no frame: 'no json'"]),
            ("raise", ["step failed: the game broke (EXECUTION_ERROR)"]),
            ("odd reward", ["its reward is 'plenty', not a finite number"]),
        ],
        3,
    ),
)
async def test_a_servers_fault_is_the_rollouts_error(make: Make, fault: str, says: list[str]):
    late = {"startup_timeout_seconds": 5.0} if fault == "sick" else {}
    slow = {"message_timeout_seconds": 1.5} if fault == "hang" else {}
    env, project = await make("echo", fault, **late, **slow)
    state = await play(env, "hi", "hi")
    assert isinstance(state["error"], vf.SandboxError)
    for part in [str(project.folder), *says]:
        assert part in str(state["error"])
    assert state["stop_condition"] == "has_error"
    if fault not in ("raise", "odd reward"):
        wait_until(lambda: not is_alive(project.pids[0]), "the faulty server ends")


async def test_a_program_that_is_not_there_is_named(make: Make):
    env, _ = await make("echo", manifest={"start_command": "no-such-program --port 8000"})
    state = await play(env, "hi")
    assert "'no-such-program' cannot be launched: No such file" in str(state["error"])


@pytest.mark.parametrize(("game", "contract"), [("echo", "mcp"), ("tools", "gym")])
async def test_the_contract_must_be_that_of_the_server(make: Make, game: str, contract: str):
    env, _ = await make(game, manifest={"contract": contract})
    state = await play(env, "hi")
    assert isinstance(state["error"], vf.SandboxError)
    assert f"its .build.json has the contract {contract!r}" in str(state["error"])


async def test_a_cancelled_rollout_ends_its_server(make: Make):
    env, project = await make("echo", "hang")
    rollout = asyncio.create_task(play(env, "hi"))
    while not project.seeds:
        await asyncio.sleep(0.02)
    rollout.cancel()
    with pytest.raises(asyncio.CancelledError):
        await rollout
    assert not is_alive(project.pids[0])


async def test_a_rollout_cancelled_while_its_server_starts_leaves_none(make: Make):
    env, project = await make("echo", "sick")
    rollout = asyncio.create_task(play(env, "hi"))
    while not project.pids:
        await asyncio.sleep(0.02)
    rollout.cancel()
    with pytest.raises(asyncio.CancelledError):
        await rollout
    assert not is_alive(project.pids[0])


def test_servers_end_with_a_process_that_is_killed(tmp_path: Path):
    project = Project(tmp_path / "proj", "echo")
    script = f"""
        import asyncio
        from tui_eval import OpenEnvEnv
        env = OpenEnvEnv({str(project.folder)!r}, prompt_renderer=lambda o: o["text"])
        async def main():
            await env._servers.acquire()
            print("ready", flush=True)
            await asyncio.sleep(600)
        asyncio.run(main())
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        (pid,) = project.pids
        assert is_alive(pid)
        process.send_signal(signal.SIGKILL)
    wait_until(lambda: not is_alive(pid), "the orphan ends")
