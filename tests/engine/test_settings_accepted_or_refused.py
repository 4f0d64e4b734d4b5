"""Settings of an environment that cannot act: accepted and said, or refused before a call."""

from __future__ import annotations

import json

import pytest
from program import Program, chat_answer
from run_here import run_here
from servers import FaultServer, Reply

CHAT = "/v1/chat/completions"

SINGLE_TURN = """
    import tui_eval as vf

    def together(completions):
        return [1.0] * len(completions)

    def load_environment(grouped=False):
        rows = [{"question": "one?", "answer": "1"}, {"question": "two?", "answer": "2"}]
        funcs = [together] if grouped else [lambda completion: 1.0]
        return vf.SingleTurnEnv(dataset=rows, rubric=vf.Rubric(funcs=funcs))
"""

MIXED = """
    import tui_eval as vf

    class Talk(vf.MultiTurnEnv):
        async def env_response(self, messages, state):
            return [{"role": "user", "content": "and?"}]

    def load_environment():
        rubric = vf.Rubric(funcs=[lambda completion: 1.0])
        rows = [{"question": "?"}]
        once = vf.SingleTurnEnv(dataset=rows, rubric=rubric)
        return vf.EnvGroup([once, Talk(dataset=rows, rubric=rubric)], env_names=["once", "talk"])
"""


@pytest.fixture
def served(program: Program, fault_server: FaultServer) -> Program:
    program.environment("asks-once", SINGLE_TURN)
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"))])
    return program


def at(server: FaultServer, env: str, *args: str) -> list[str]:
    return [env, "-m", "m", "-b", f"{server.url}/v1", "-r", "1", "-s", *args]


def test_a_limit_of_turns_has_no_effect_where_the_model_is_called_once(
    served: Program, fault_server: FaultServer
) -> None:
    turns = json.dumps({"max_turns": 20})
    done = run_here(served, *at(fault_server, "asks-once", "-n", "2", "-x", turns))
    assert done.code == 0, done
    assert "max_turns has no effect on asks-once, which calls the model once" in done.err
    assert len(fault_server.requests) == 2


def test_a_limit_of_turns_acts_in_those_of_a_group_that_have_turns(
    served: Program, fault_server: FaultServer
) -> None:
    served.environment("mixed", MIXED)
    turns = json.dumps({"max_turns": 3})
    done = run_here(served, *at(fault_server, "mixed", "-n", "-1", "-x", turns))
    assert done.code == 0, done
    assert "max_turns has no effect on once" in done.err
    assert len(fault_server.requests) == 1 + 3


def test_a_group_function_is_refused_where_each_rollout_is_scored_alone(
    served: Program, fault_server: FaultServer
) -> None:
    grouped = json.dumps({"grouped": True})
    done = run_here(served, *at(fault_server, "asks-once", "-a", grouped, "-i"))
    assert done.code == 2, done
    assert "reward function together needs all rollouts of an example" in done.err
    assert "Leave -i/--independent-scoring out" in done.err
    assert not fault_server.requests
    assert not served.runs()


def test_a_file_of_evaluations_is_refused_for_it_too(
    served: Program, fault_server: FaultServer
) -> None:
    (served.folder / "two.toml").write_text(
        f'model = "m"\napi_base_url = "{fault_server.url}/v1"\n[[eval]]\nenv_id = "asks-once"\n'
        "independent_scoring = true\nenv_args = { grouped = true }\n"
    )
    done = run_here(served, "two.toml")
    assert done.code == 2, done
    assert "together needs all rollouts of an example" in done.err
    assert not fault_server.requests


def test_the_question_and_the_answer_are_columns_by_those_names(
    served: Program, fault_server: FaultServer
) -> None:
    columns = ("-C", "query,completion,expected_answer,reward,error")
    done = run_here(served, *at(fault_server, "asks-once", "-n", "2", *columns))
    assert done.code == 0, done
    assert "warning" not in done.err
    rows = {row["query"]: row["expected_answer"] for row in served.only_run().rows}
    assert rows == {"one?": "1", "two?": "2"}
