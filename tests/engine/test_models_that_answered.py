"""Another model than was requested answers: kept in the row, counted and reported."""

from __future__ import annotations

import json
from typing import Any

import pytest
from command_here import command_here
from program import Program, chat_answer
from run_here import run_here
from servers import FaultServer, Reply

ECHO = """
    import tui_eval as vf

    def load_environment():
        rows = [{"question": str(n), "answer": "b"} for n in range(3)]
        return vf.SingleTurnEnv(dataset=rows, rubric=vf.Rubric())
"""
CHAT = "/v1/chat/completions"


def answered_by(*names: str) -> list[Reply]:
    return [Reply(body={**chat_answer("yes"), "model": name}) for name in names]


def run(program: Program, server: FaultServer, *more: str) -> Any:
    program.environment("echo", ECHO)
    url = ("-b", f"{server.url}/v1")
    return run_here(program, "echo", "-m", "gpt-4o", *url, "-n", "3", "-r", "1", "-c", "1", *more)


def test_another_model_is_reported_once_in_log_and_summary_and_counted(
    program: Program, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, answered_by("gpt-4o", "gpt-3.5-turbo"))
    done = run(program, fault_server)
    assert done.code == 0, done
    assert "Answered by other models than requested: gpt-3.5-turbo 2 calls" in done.out
    found = program.only_run()
    log = (found.path / "engine.log").read_text()
    assert log.count("gpt-4o was requested, and gpt-3.5-turbo answered") == 1
    rows = found.rows
    assert [row["tui_eval"].get("models") for row in rows] == [None, *[{"gpt-3.5-turbo": 1}] * 2]
    assert [row["tui_eval"]["steps"][0].get("model") for row in rows] == [
        None, "gpt-3.5-turbo", "gpt-3.5-turbo",
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gpt-4o-2024-08-06"])
def test_a_snapshot_of_the_model_is_reported_without_alarm(
    program: Program, fault_server: FaultServer, name: str
) -> None:
    fault_server.script(CHAT, answered_by(name))
    done = run(program, fault_server, "--json")
    assert done.code == 0, done
    assert json.loads(done.out)["models"] == {name: 3}
    again = command_here(program, "report", str(program.only_run().path))
    assert f"Answered under the name: {name} 3 calls" in again.out
    assert "other model" not in again.out + done.err
