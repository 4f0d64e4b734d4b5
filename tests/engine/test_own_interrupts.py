"""A KeyboardInterrupt that people's code raises is data like any other exception."""

from __future__ import annotations

import pytest
from program import Program, chat_answer, tool_call
from servers import FaultServer, Reply

CHAT = "/v1/chat/completions"

ENVIRONMENT = """
    import tui_eval as vf

    async def interrupts(state):
        if state["example_id"] == 0:
            raise KeyboardInterrupt("mine")
        return 1.0

    def ranks(completions):
        return [1.0 for _ in completions]

    async def breaks(x: int) -> int:
        raise KeyboardInterrupt("of a tool")

    async def works(x: int) -> int:
        return x

    def load_environment(tools=False):
        data = [{"question": "a"}, {"question": "b"}]
        if tools:
            return vf.ToolEnv(tools=[breaks, works], dataset=data, max_turns=2)
        return vf.SingleTurnEnv(dataset=data, rubric=vf.Rubric(funcs=[interrupts, ranks]))
"""


@pytest.fixture
def at(program: Program, fault_server: FaultServer) -> list[str]:
    program.environment("own", ENVIRONMENT)
    return ["-m", "m", "-b", f"{fault_server.url}/v1", "-n", "2", "-r", "2", "-s"]


def test_that_of_an_async_reward_function_in_a_group_is_a_scoring_error(
    program: Program, fault_server: FaultServer, at: list[str]
) -> None:
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"))])
    done = program.run("own", *at)
    assert done.code == 3, done
    rows = program.only_run().rows
    assert len(rows) == 4
    for row in rows:
        if row["example_id"] == 0:
            assert row["error"]["error"] == "ScoringError"
            assert "KeyboardInterrupt: mine" in row["tui_eval"]["scores"][0]["error"]
        else:
            assert (row["reward"], row["error"]) == (2.0, None)


@pytest.mark.slow
def test_that_of_one_of_several_tools_is_an_answer_to_the_model(
    program: Program, fault_server: FaultServer, at: list[str]
) -> None:
    calls = [tool_call("breaks", '{"x": 1}', "c1"), tool_call("works", '{"x": 2}', "c2")]
    fault_server.script(CHAT, [Reply(body=chat_answer("", tool_calls=calls))])
    done = program.run("own", *at, "-a", '{"tools": true}')
    assert done.code == 0, done
    for row in program.only_run().rows:
        results = [message["content"] for message in row["completion"] if message["role"] == "tool"]
        assert "KeyboardInterrupt" in results[0] or "of a tool" in results[0]
        assert results[1] == "2"
