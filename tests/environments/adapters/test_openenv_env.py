from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from program import Program, wait_until
from run_here import run_here
from stub_client import Recorder, StubClient, answer

import tui_eval as vf
from tui_eval.environments.adapters.openenv_actions import read_action
from tui_eval.environments.adapters.openenv_session import InvalidActionError
from tui_eval.errors import RefusedError

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


async def play(env: vf.OpenEnvEnv, *answers: Any, seed: int = 0) -> vf.State:
    client = StubClient(*(answer(a) if isinstance(a, str) else a for a in answers))
    row = {"prompt": [{"role": "user", "content": "x"}], "example_id": 0, "task": "t"}
    state = await env.rollout({**row, "info": {"seed": seed}}, client, "m", {})
    if state["error"] is None:
        await env.rubric.score_rollout(state)
    state["asked"] = client.asked
    return state


def texts(state: vf.State) -> list[Any]:
    return [message.content for message in state["completion"]]


# The gym contract


async def test_an_episode_is_reset_stepped_and_summed_up(make: Make, recorder: Recorder):
    env, project = await make("echo")
    state = await play(env, "hi", "hello", "bye", seed=7)
    assert state["error"] is None
    assert [m.content for m in state["prompt"]] == ["Say something. Seed 7."]
    assert texts(state) == [
        "hi", "You said 'hi'.", "hello", "You said 'hello'.", "bye", "You said 'bye'."
    ]  # fmt: skip
    assert state["stop_condition"] == "openenv_done"
    assert [step["reward"] for step in state["trajectory"]] == pytest.approx([0.2, 0.5, 0.3])
    assert state["reward"] == pytest.approx(1.0)
    assert state["metrics"]["sum_step_rewards"] == state["reward"]
    assert state["metrics"]["num_turns"] == 3.0
    assert [m.content for m in recorder.messages] == ["Say something. Seed 7.", *texts(state)]
    assert project.seeds == [7]


async def test_actions_are_json_objects(make: Make):
    env, _ = await make("guess")
    fenced = 'I think:\n```json\n{"number": 3}\n```\nLet us see.'
    state = await play(env, '{"number": 9, "why": "last"}', fenced, seed=13)
    assert texts(state)[1::2] == ["No, lower.", "Found."]
    assert state["reward"] == pytest.approx(1.25)


async def test_what_is_no_action_is_told_to_the_model_and_counts_nothing(make: Make):
    env, _ = await make("guess")
    state = await play(env, "three", '{"number": "3"}', '{"number": 3}', seed=3)
    assert texts(state)[1] == (
        "This is no action: it is not one JSON object. Answer with one JSON object with the "
        "fields: number (integer, required), why (string)"
    )
    assert texts(state)[3].startswith("This is no action: number: Input should be a valid integer.")
    assert [step["reward"] for step in state["trajectory"]] == [0.0, 0.0, 1.0]
    assert (state["error"], state["stop_condition"]) == (None, "openenv_done")


async def test_three_invalid_actions_in_a_row_end_the_rollout(make: Make):
    env, _ = await make("guess")
    state = await play(env, "a", "b", '{"number": 9}', "c", "d", "e", "never asked", seed=0)
    assert (state["error"], state["stop_condition"]) == (None, "too_many_invalid_actions")
    assert len(state["trajectory"]) == 6
    assert state["reward"] == 0.25


async def test_the_last_action_that_max_turns_allows_is_taken(make: Make):
    env, _ = await make("echo", max_turns=1)
    state = await play(env, "hi", "never asked")
    assert state["stop_condition"] == "max_turns_reached"
    assert texts(state) == ["hi", "You said 'hi'."]
    assert state["reward"] == pytest.approx(0.2)


async def test_the_renderer_gets_the_keywords_that_it_takes(make: Make):
    seen: list[dict[str, Any]] = []

    async def every(observation, **kwargs):
        seen.append(kwargs)
        return vf.UserMessage(content=observation["text"])

    class Some:
        def __call__(self, observation, *, context, seed=None):
            return f"{context} {seed}"

    env, _ = await make("echo", prompt_renderer=every, system_prompt="Be brief.")
    state = await play(env, "a", "b", "c", seed=4)
    assert [m.content for m in state["prompt"]] == ["Be brief.", "Say something. Seed 4."]
    assert [k["context"] for k in seen] == ["reset", "step", "step", "step"]
    assert {(k["contract"], k["seed"]) for k in seen} == {("gym", 4)}
    assert seen[0]["action_schema"]["required"] == ["message"]
    env, _ = await make("echo", prompt_renderer=Some())
    state = await play(env, "a", "b", "c", seed=5)
    assert state["prompt"][0].content == "reset 5"
    assert texts(state)[1] == "step 5"


@pytest.mark.parametrize("rendered", [[], None, ""])
async def test_a_renderer_without_messages_is_the_rollouts_error(make: Make, rendered: Any):
    env, _ = await make("echo", prompt_renderer=lambda observation: rendered)
    state = await play(env, "hi")
    assert "prompt_renderer gave no messages for the observation of a reset" in str(state["error"])


async def test_a_renderer_may_fail_at_the_end_of_an_episode_only(make: Make):
    def picky(observation):
        if "Found" in observation["text"] or "higher" in observation["text"]:
            raise RuntimeError("nothing to say")
        return observation["text"]

    env, _ = await make("guess", prompt_renderer=picky)
    state = await play(env, '{"number": 5}', seed=5)
    assert (state["error"], state["reward"]) == (None, 1.0)
    state = await play(env, '{"number": 4}', seed=5)
    assert "nothing to say" in str(state["error"])


# The contract of tools


def use(name: str, arguments: str = "{}", call: str = "c0") -> Any:
    return answer(calls=[(call, name, arguments)])


async def test_tools_come_from_the_server_and_are_called_there(make: Make, recorder: Recorder):
    env, _ = await make("tools")
    state = await play(env, use("price_of", '{"item": "pear"}'), use("picture"), "0.5")
    assert state["error"] is None
    offered = state["asked"][0]["tools"]
    assert [tool.name for tool in offered] == ["price_of", "picture", "fail", "hand_in"]
    assert offered[0].parameters["required"] == ["item"]
    assert texts(state)[1] == "pear costs 0.5"
    assert [part["type"] for part in texts(state)[3]] == ["text", "image_url"]
    assert texts(state)[3][1]["image_url"]["url"] == "data:image/png;base64,AAAA"
    assert state["stop_condition"] == "mcp_no_tool_calls"
    assert state["reward"] == 0.0
    assert [(r["name"], r["error"]) for r in state.tool_log] == [
        ("price_of", None), ("picture", None)
    ]  # fmt: skip
    assert recorder.tools[0] == ("c0", "price_of", None, "pear costs 0.5")


async def test_an_episode_of_tools_ends_when_the_server_says_so(make: Make):
    env, _ = await make("tools")
    calls = [("a", "hand_in", '{"answer": "x"}'), ("b", "fail", "{}")]
    state = await play(env, answer(calls=calls), "never asked")
    assert state["stop_condition"] == "openenv_done"
    assert texts(state)[1:] == ["thanks"]
    assert state["reward"] == 1.0


@pytest.mark.parametrize(
    ("name", "arguments", "content", "error"),
    [
        ("fail", "{}", "out of stock", "out of stock"),
        ("nope", "{}", "Unknown tool: 'nope'", "tool_not_found: Unknown tool: 'nope'"),
        ("price_of", "{", "are not JSON", "ToolParseError"),
    ],
)
async def test_a_failing_call_is_told_to_the_model(make: Make, name, arguments, content, error):
    env, _ = await make("tools")
    state = await play(env, use(name, arguments), "well")
    assert content in texts(state)[1]
    assert error in state.tool_log[0]["error"]
    assert state["error"] is None


# Servers


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


# What is refused at once


def refusal(*args: Any, **kwargs: Any) -> list[str]:
    with pytest.raises(RefusedError) as refused:
        vf.OpenEnvEnv(*args, **kwargs)
    return [str(fault) for fault in refused.value.faults]


def test_every_fault_of_a_project_is_told_at_once(tmp_path: Path):
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


# Texts as actions

TEXT = {"properties": {"code": {"type": "string"}, "metadata": {}}, "required": ["code"]}
TWO = {"properties": {"code": {"type": "string"}, "slow": {"type": "boolean"}}}


@pytest.mark.parametrize(
    ("text", "schema", "action"),
    [
        ("print(1)", TEXT, {"code": "print(1)"}),
        ("```python\nprint(1)\n```", TEXT, {"code": "print(1)"}),
        ('{"code": "x"}', TEXT, {"code": "x"}),
        ('So:\n```json\n{"code": "x"}\n```', TEXT, {"code": "x"}),
        ('{"a": 1}', TEXT, {"code": '{"a": 1}'}),
        ('```\n{"slow": true}\n```', TWO, {"slow": True}),
        ('```json\n{"code": "1"}\n```\nor\n```json\n{"code": "2"}\n```', TWO, {"code": "2"}),
        ("x", {**TWO, "required": ["code"]}, {"code": "x"}),
    ],
)
def test_a_text_is_read_as_an_action(text: str, schema: dict[str, Any], action: dict[str, Any]):
    assert read_action(text, schema) == action


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.none()), st.booleans())
def test_any_json_object_is_read_whole(action: dict[str, Any], fenced: bool):
    text = json.dumps(action, indent=2)
    assert read_action(f"Here:\n```json\n{text}\n```" if fenced else text, TWO) == action


@given(st.text(alphabet='`{}[]":a1 \n') | st.text(), st.sampled_from([TEXT, TWO, {}]))
def test_any_text_is_an_action_or_is_none(text: str, schema: dict[str, Any]):
    try:
        assert isinstance(read_action(text, schema), dict)
    except InvalidActionError as error:
        assert str(error)


# The whole program

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
