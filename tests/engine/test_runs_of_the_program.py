"""Whole runs through the command line: what is printed, the exit code, what is on disk."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from command_here import command_here
from program import Program, chat_answer, tool_call
from run_here import run_here
from servers import FaultServer, Reply

CHAT = "/v1/chat/completions"

ECHO = """
    import tui_eval as vf

    def load_environment(n=4):
        def right(completion, answer):
            return float(completion[-1]["content"] == answer)

        return vf.SingleTurnEnv(
            dataset=[{"question": f"Say {i}", "answer": "yes"} for i in range(n)],
            rubric=vf.Rubric(funcs=[right]),
        )
"""


@pytest.fixture
def echo(program: Program, fault_server: FaultServer) -> list[str]:
    """Arguments that run a small environment on the scripted server."""
    program.environment("echo", ECHO)
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"))])
    return ["echo", "-m", "m", "-b", f"{fault_server.url}/v1", "-n", "4", "-r", "2"]


@pytest.mark.parametrize("environment", ["reverse-text", "calculator", "word-guess"])
def test_bundled_environments_run_on_the_embedded_endpoint(
    program: Program, environment: str
) -> None:
    done = run_here(program, environment, "-m", "demo", "-n", "4", "-r", "2", "-s")
    assert done.code == 0, done
    run = program.only_run()
    assert run.path.is_relative_to(program.folder / "outputs" / "evals")
    assert run.places() == [(i, j) for i in range(4) for j in range(2)]
    assert run.metadata["n_used"] == 8
    assert run.metadata["model"] == "demo-scripted-policy"
    for row in run.rows:
        assert isinstance(row["completion"][-1]["content"], str)


def test_a_run_prints_what_begins_how_far_it_is_and_what_it_came_to(program: Program) -> None:
    done = program.run("reverse-text", "-m", "demo", "-n", "4", "-r", "2", "-s")
    assert done.code == 0, done
    run = program.only_run()
    lines = done.out.splitlines()
    assert lines[0] == "Loading environment: reverse-text"
    assert lines[1] == "Dataset: 4 examples, 2 rollouts per example = 8 total rollouts"
    assert lines[2] == "Model: demo-scripted-policy"
    assert "Progress: ████████████████████ 8/8 (100%)" in lines
    reward = run.metadata["reward"], run.metadata["reward_std"]
    assert f"  Reward: {reward[0]:.2f} ± {reward[1]:.2f}" in lines
    assert lines[-1] == f"Results saved to: {run.path}"
    assert done.err == ""


def test_an_unsaved_run_lives_in_the_state_directory_and_can_be_saved(
    program: Program, echo: list[str]
) -> None:
    done = run_here(program, *echo)
    assert done.code == 0, done
    assert not (program.folder / "outputs").exists()
    run = program.only_run()
    assert run.path.is_relative_to(program.state)
    assert f"Unsaved, kept 14 days: {run.path}" in done.out
    saved = command_here(program, "save", str(run.path))
    assert saved.code == 0, saved
    assert not run.path.exists()
    moved = program.only_run()
    assert moved.path.is_relative_to(program.folder / "outputs")
    assert len(moved.rows) == 8


def test_a_run_of_a_local_folder_is_saved_beside_its_environment(
    program: Program, echo: list[str]
) -> None:
    program.environment("echo/echo", "")
    package = program.folder / "environments" / "echo"
    (program.folder / "environments" / "echo.py").replace(package / "echo.py")
    assert run_here(program, *echo, "-s").code == 0
    assert len(list((package / "outputs" / "evals").glob("echo--m/*/results.jsonl"))) == 1


def test_an_errored_rollout_does_not_end_the_run(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment(
        "fragile",
        """
        import tui_eval as vf

        class Fragile(vf.SingleTurnEnv):
            async def setup_state(self, state):
                if state["example_id"] == 1:
                    raise KeyError("lost")
                if state["example_id"] == 2:
                    raise SystemExit(7)
                return state

        def load_environment():
            return Fragile(
                dataset=[{"question": str(i)} for i in range(4)],
                rubric=vf.Rubric(funcs=[lambda completion: 1.0]),
            )
        """,
    )
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"))])
    base = ["-m", "m", "-b", f"{fault_server.url}/v1", "-n", "4", "-r", "1", "-s"]
    done = program.run("fragile", *base)
    assert done.code == 3, done
    run = program.only_run()
    rows = {row["example_id"]: row for row in run.rows}
    assert rows[1]["error"]["error"] == "KeyError"
    assert rows[1]["reward"] == 0.0
    assert "setup_state" in rows[1]["tui_eval"]["traceback"]
    assert rows[2]["error"]["error"] == "SystemExit"
    assert rows[0]["reward"] == rows[3]["reward"] == 1.0
    assert (run.metadata["n_used"], run.metadata["n_errored"]) == (2, 2)
    assert run.metadata["avg_reward"] == 1.0
    said = "error: example 1, rollout 0: KeyError('lost') (environments/fragile.py:"
    assert said in done.err


def test_group_functions_score_complete_groups(program: Program, fault_server: FaultServer) -> None:
    program.environment(
        "ranked",
        """
        import tui_eval as vf

        def longest(completions):
            lengths = [len(c[-1]["content"]) for c in completions]
            return [float(n == max(lengths)) for n in lengths]

        def load_environment():
            return vf.SingleTurnEnv(
                dataset=[{"question": str(i)} for i in range(3)],
                rubric=vf.Rubric(funcs=[longest]),
            )
        """,
    )
    words = ["a", "bb", "ccc"] * 3
    fault_server.script(CHAT, [Reply(body=chat_answer(word)) for word in words])
    url = f"{fault_server.url}/v1"
    done = run_here(program, "ranked", "-m", "m", "-b", url, "-n", "3", "-r", "3", "-c", "1", "-s")
    assert done.code == 0, done
    run = program.only_run()
    for row in run.rows:
        assert row["reward"] == float(row["completion"][-1]["content"] == "ccc")
    assert not (run.path / "journal.jsonl").exists()


def test_no_more_rollouts_are_in_flight_than_requested(
    program: Program, echo: list[str], fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"), delay=0.05)])
    assert run_here(program, *echo, "-c", "3").code == 0
    assert fault_server.most_at_once == 3


def test_sampling_arguments_reach_the_endpoint(
    program: Program, echo: list[str], fault_server: FaultServer
) -> None:
    done = run_here(
        program,
        *echo,
        "-T",
        "0.7",
        "-t",
        "99",
        "-S",
        '{"top_p": 0.9, "temperature": 0.1, "top_k": 3}',
    )
    assert done.code == 0, done
    body = fault_server.requests[0].json()
    assert body["temperature"] == 0.1
    assert body["max_tokens"] == 99
    assert (body["top_p"], body["top_k"]) == (0.9, 3)
    assert program.only_run().metadata["sampling_args"]["temperature"] == 0.1


def test_environment_arguments_and_state_columns(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment(
        "columns",
        """
        import tui_eval as vf

        class Env(vf.SingleTurnEnv):
            async def setup_state(self, state):
                state["level"] = self.level
                state["strange"] = {1, 2}, object()
                return state

        def load_environment(level="easy"):
            return Env(dataset=[{"question": "?"}], rubric=vf.Rubric(), level=level)
        """,
    )
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"))])
    done = run_here(
        program,
        *("columns", "-m", "m", "-b", f"{fault_server.url}/v1", "-n", "1", "-r", "1"),
        *("-a", '{"level": "hard"}', "-C", "level, strange,reward,absent"),
    )
    assert done.code == 0, done
    run = program.only_run()
    (row,) = run.rows
    assert row["level"] == "hard"
    assert row["absent"] is None
    assert row["reward"] == 0.0
    assert "is not JSON" in json.dumps(row["strange"])
    assert any("strange" in place for place in row["tui_eval"]["replaced"])
    assert run.metadata["state_columns"] == ["level", "strange", "reward", "absent"]
    assert run.metadata["env_args"] == {"level": "hard"}


def test_prints_of_an_environment_go_to_the_log_and_not_to_the_terminal(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment(
        "loud",
        """
        import logging
        import os
        import sys
        import tui_eval as vf

        log = logging.getLogger("my_env")
        print("imported loudly")
        log.info("imported as well")

        def noisy(completion):
            print("scored loudly")
            log.info("scored as well")
            print("to stderr", file=sys.stderr)
            os.write(1, b"raw bytes\\n")
            return 1.0

        def load_environment():
            return vf.SingleTurnEnv(
                dataset=[{"question": "?"}], rubric=vf.Rubric(funcs=[noisy])
            )
        """,
    )
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"))])
    done = program.run("loud", "-m", "m", "-b", f"{fault_server.url}/v1", "-n", "1", "-r", "1")
    assert done.code == 0, done
    assert "loudly" not in done.out + done.err
    log = program.only_run().log
    for said in ("imported loudly", "scored loudly", "to stderr", "raw bytes"):
        assert said in log
    for said in ("my_env: imported as well", "my_env[0]: scored as well"):
        assert f"INFO {said}\n" in log


def test_verbose_logs_requests_tools_and_rewards(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment(
        "tools",
        """
        import tui_eval as vf

        def add(x: int, y: int) -> int:
            "Add."
            return x + y

        def good(completion, state):
            state["parsed_answer"] = completion[-1]["content"][-1]
            return 1.0

        def load_environment():
            return vf.ToolEnv(
                tools=[add], dataset=[{"question": "1 + 2?"}], rubric=vf.Rubric(funcs=[good])
            )
        """,
    )
    calls = [tool_call("add", '{"x": 1, "y": 2}')]
    fault_server.script(
        CHAT, [Reply(body=chat_answer("", tool_calls=calls)), Reply(body=chat_answer("it is 3"))]
    )
    url = f"{fault_server.url}/v1"
    done = program.run("tools", "-m", "m", "-b", url, "-n", "1", "-r", "1", "-v")
    assert done.code == 0, done
    log = program.only_run().log
    for said in ("1 + 2?", "tool add", "it is 3", "good", "state parsed_answer = '3'"):
        assert said in log
    assert set(re.findall(r"(\w+ \d+) #0", log)) == {"example 0"}
    (row,) = program.only_run().rows
    (record,) = row["tui_eval"]["tool_calls"]
    assert (record["id"], record["name"], record["error"]) == ("call_1", "add", None)
    assert [step["finish_reason"] for step in row["tui_eval"]["steps"]] == ["tool_calls", "stop"]
    assert json.loads(row["completion"][0]["tool_calls"][0])["name"] == "add"


def test_a_key_never_reaches_the_disk_or_the_terminal(
    program: Program, echo: list[str], fault_server: FaultServer
) -> None:
    secret = "sk-very-secret-0123456789"
    program.env["MY_KEY"] = secret
    fault_server.script(
        CHAT, [Reply(body=chat_answer(f"your key is {secret}")), Reply(400, body=secret.encode())]
    )
    done = program.run(*echo, "-k", "MY_KEY", "-v")
    assert done.code == 3, done
    assert fault_server.requests[0].headers["Authorization"] == f"Bearer {secret}"
    assert secret not in done.out + done.err
    run = program.only_run()
    for file in run.path.iterdir():
        assert secret.encode() not in file.read_bytes(), file.name
    assert "your key is " + "*" * len(secret) in json.dumps(run.rows)


def test_command_words_win_over_environments_and_run_names_one(program: Program) -> None:
    program.environment("open", ECHO)
    as_command = command_here(program, "open", "nowhere")
    assert as_command.code == 2
    assert "nowhere: there is no such file or directory" in as_command.err
    as_environment = program.run("run", "open", "-m", "demo", "-n", "1", "-r", "1")
    assert as_environment.code == 0, as_environment
    assert program.only_run().metadata["env_id"] == "open"


def test_open_without_a_terminal_prints_the_summary(program: Program, echo: list[str]) -> None:
    run = run_here(program, *echo, "-s")
    path = str(program.only_run().path)
    opened = command_here(program, "open", path)
    assert opened.code == 0, opened
    results = run.out[run.out.index("Results:") :]
    assert opened.out[opened.out.index("Results:") :] == results


def test_a_reader_that_goes_away_is_no_error(program: Program, echo: list[str]) -> None:
    shell = f"{sys.executable} -m tui_eval {' '.join(echo)} -s | head -1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", shell],
        cwd=program.folder,
        env=program.env,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "Traceback" not in done.stderr
    assert len(program.only_run().rows) == 8


@pytest.mark.slow
def test_an_anthropic_endpoint_is_spoken_to_in_its_own_protocol(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment("echo", ECHO)
    program.env["MY_KEY"] = "sk-ant-0123456789"
    (program.folder / "configs").mkdir()
    (program.folder / "configs" / "endpoints.toml").write_text(
        f"""
        [[endpoint]]
        endpoint_id = "claude"
        model = "claude-x"
        url = "{fault_server.url}"
        key = "MY_KEY"
        api_client_type = "anthropic_messages"
        """
    )
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-x",
        "content": [{"type": "text", "text": "yes"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 7, "output_tokens": 2},
    }
    fault_server.script("/v1/messages", [Reply(body=message)])
    done = run_here(program, "echo", "-m", "claude", "-n", "2", "-r", "1", "-t", "50")
    assert done.code == 0, done
    request = fault_server.requests[0]
    assert request.headers["x-api-key"] == "sk-ant-0123456789"
    assert request.json()["max_tokens"] == 50
    run = program.only_run()
    assert [row["reward"] for row in run.rows] == [1.0, 1.0]
    assert run.metadata["usage"] == {"input_tokens": 7.0, "output_tokens": 2.0}
