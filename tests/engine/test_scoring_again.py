"""Scoring that fails for infrastructure is tried again, as generation is."""

from __future__ import annotations

import pytest
from program import Program, chat_answer
from run_here import run_here
from servers import FaultServer, Reply

SHAKY = """
    import tui_eval as vf

    calls = {}

    def times(name):
        calls[name] = calls.get(name, 0) + 1
        return calls[name]

    RAISED = {
        "infra": vf.InfraError("the sandbox is away"),
        "sandbox": vf.SandboxError("the sandbox is away"),
        "timeout": TimeoutError("too slow"),
        "connection": ConnectionResetError("reset"),
        "bug": KeyError("answer"),
    }

    def load_environment(kind="infra", grouped=False, always=False, weight=1.0):
        def shaky(completion, task):
            if always or times("shaky") == 1:
                raise RAISED[kind]
            return 1.0

        def together(completions):
            return [0.5] * len(completions)

        funcs = [shaky, together] if grouped else [shaky]
        weights = [weight] * len(funcs)
        rows = [{"question": "?"}]
        return vf.SingleTurnEnv(dataset=rows, rubric=vf.Rubric(funcs=funcs, weights=weights))
"""


@pytest.fixture
def shaky(program: Program, fault_server: FaultServer) -> Program:
    program.environment("shaky", SHAKY)
    fault_server.script("/v1/chat/completions", [Reply(body=chat_answer("yes"))])
    return program


def at(server: FaultServer, args: str, *more: str) -> list[str]:
    return ["shaky", "-m", "m", "-b", f"{server.url}/v1", "-n", "1", "-s", "-a", args, *more]


def log_of(program: Program) -> str:
    return (program.only_run().path / "engine.log").read_text()


@pytest.mark.parametrize("kind", ["infra", "sandbox", "timeout", "connection"])
def test_a_reward_function_that_fails_for_infrastructure_is_called_again(
    shaky: Program, fault_server: FaultServer, kind: str
) -> None:
    args = at(fault_server, f'{{"kind": "{kind}"}}', "-r", "1", "--max-retries", "1")
    done = run_here(shaky, *args)
    assert done.code == 0, done
    (row,) = shaky.only_run().rows
    assert (row["reward"], row["error"], row["metrics"]["shaky"]) == (1.0, None, 1.0)
    assert [one["name"] for one in row["tui_eval"]["scores"]].count("shaky") == 1
    assert len(fault_server.requests) == 1  # the answer was good


def test_a_group_is_scored_again_as_a_whole(shaky: Program, fault_server: FaultServer) -> None:
    args = at(fault_server, '{"grouped": true}', "-r", "3", "--max-retries", "1")
    done = run_here(shaky, *args)
    assert done.code == 0, done
    assert [row["reward"] for row in shaky.only_run().rows] == [1.5, 1.5, 1.5]
    assert len(fault_server.requests) == 3


def test_a_mistake_of_a_reward_function_is_not_tried_again(
    shaky: Program, fault_server: FaultServer
) -> None:
    args = at(fault_server, '{"kind": "bug"}', "-r", "1", "--max-retries", "3")
    done = run_here(shaky, *args)
    assert done.code == 3, done
    (row,) = shaky.only_run().rows
    assert "KeyError" in row["error_chain"]


def test_retries_come_to_an_end(shaky: Program, fault_server: FaultServer) -> None:
    args = at(fault_server, '{"always": true}', "-r", "1", "--max-retries", "1")
    done = run_here(shaky, *args)
    assert done.code == 3, done
    (row,) = shaky.only_run().rows
    assert "the sandbox is away" in row["error_chain"]
    assert log_of(shaky).count("runs again in") == 1


def test_a_metric_that_counts_nothing_is_tried_again_as_well(
    shaky: Program, fault_server: FaultServer
) -> None:
    args = at(fault_server, '{"weight": 0.0}', "-r", "1", "--max-retries", "1")
    done = run_here(shaky, *args)
    assert done.code == 0, done
    (row,) = shaky.only_run().rows
    assert (row["metrics"]["shaky"], row["tui_eval"]["scores"][0]["error"]) == (1.0, None)
    assert len(fault_server.requests) == 1


def test_a_metric_that_fails_to_the_end_leaves_the_reward(
    shaky: Program, fault_server: FaultServer
) -> None:
    args = at(fault_server, '{"weight": 0.0, "always": true}', "-r", "1", "--max-retries", "1")
    done = run_here(shaky, *args)
    assert done.code == 0, done
    (row,) = shaky.only_run().rows
    assert (row["metrics"]["shaky"], row["error"], row["reward"]) == (None, None, 0.0)
    assert log_of(shaky).count("runs again in") == 1
