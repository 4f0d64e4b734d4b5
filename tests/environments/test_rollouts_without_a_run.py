"""`run_rollout` and `run_group`: states after a semaphore, outputs without one."""

from __future__ import annotations

import json
from unittest.mock import AsyncMock

import pytest
from stub_client import StubClient, answer

import tui_eval as vf
from tui_eval.environments import direct_rollouts
from tui_eval.environments.outputs import make_serializable

ROWS = [{"question": "2 + 2?", "answer": "4"}, {"question": "3 + 3?", "answer": "6"}]


def same(completion, answer):
    return float(completion[0]["content"] == answer)


def single_turn() -> vf.SingleTurnEnv:
    return vf.SingleTurnEnv(dataset=ROWS, rubric=vf.Rubric([same]))


async def test_a_row_first_gives_an_output():
    env = single_turn()
    row = env.get_dataset()[0]
    output = await env.run_rollout(row, StubClient(answer("4")), "m", {"temperature": 0})
    assert not isinstance(output, vf.State)
    assert (output["reward"], output["metrics"]["same"]) == (1.0, 1.0)
    assert json.loads(json.dumps(output, default=make_serializable))["completion"] == [
        {"role": "assistant", "content": "4"}
    ]


async def test_names_say_which_form_is_meant():
    env = single_turn()
    row = env.get_dataset()[0]
    output = await env.run_rollout(input=row, client=StubClient(answer("4")), model="m")
    assert output["reward"] == 1.0 and not isinstance(output, vf.State)
    arguments = {"sem": None, "input": row, "client": StubClient(answer("5")), "model": "m"}
    state = await env.run_rollout(**arguments)
    assert isinstance(state, vf.State) and state["reward"] == 0.0


async def test_further_keys_of_the_state_are_columns():
    env = single_turn()
    row = env.get_dataset()[0]
    output = await env.run_rollout(
        row, StubClient(answer("4")), "m", {}, state_columns=["trajectory_id"]
    )
    assert isinstance(output["trajectory_id"], str)


async def test_a_group_gives_outputs_where_they_are_described():
    env = single_turn()
    rows = [env.get_dataset()[0]] * 2
    client = StubClient(answer("4"), answer("5"))
    outputs = await env.run_group(rows, client, "m", {}, state_columns=["advantage"])
    assert sorted((one["reward"], one["advantage"]) for one in outputs) == [(0.0, -0.5), (1.0, 0.5)]


@pytest.mark.parametrize("together", [False, True])
async def test_a_fault_of_infrastructure_begins_again(together, monkeypatch):
    monkeypatch.setattr(direct_rollouts, "sleep", AsyncMock())

    class Shaky(vf.SingleTurnEnv):
        tries = 0

        async def setup_state(self, state):
            self.tries += 1
            if self.tries == 1:
                raise vf.InfraError("the sandbox went away")
            return state

    env = Shaky(dataset=ROWS, rubric=vf.Rubric([same]))
    row = env.get_dataset()[0]
    if together:
        [output] = await env.run_group([row], StubClient(answer("4")), "m", {}, max_retries=1)
    else:
        output = await env.run_rollout(row, StubClient(answer("4")), "m", {}, max_retries=1)
    assert (env.tries, output["reward"], output["error"]) == (2, 1.0, None)


class Server:
    """A stand-in for an environment that runs elsewhere."""

    def __init__(self):
        self.calls = []

    async def run_rollout(self, *args):
        self.calls.append(args)
        return {"reward": 0.25}

    async def run_group(self, *args):
        self.calls.append(args)
        return [{"reward": 0.25}]


async def test_an_environment_that_runs_elsewhere_is_given_the_rows():
    env, server = single_turn(), Server()
    row = env.get_dataset()[0]
    replicas = [{"api_base_url": f"http://127.0.0.1:{port}/v1"} for port in (7001, 7002)]
    config = vf.ClientConfig(client_idx=1, endpoint_configs=replicas)
    assert await env.run_rollout(row, config, "m", {"n": 1}, env_client=server) == {"reward": 0.25}
    env.env_client = server
    assert await env.run_group([row], config, "m", {}, 2, ["task"]) == [{"reward": 0.25}]
    (of_one, of_group) = server.calls
    assert of_one[1].api_base_url == of_group[1].api_base_url == "http://127.0.0.1:7002/v1"
    assert of_one[2:] == ("m", {"n": 1}, 0, None)
    assert of_group[2:] == ("m", {}, 2, ["task"])


async def test_an_environment_that_runs_elsewhere_needs_a_config():
    env = single_turn()
    env.env_client = Server()
    row = env.get_dataset()[0]
    with pytest.raises(ValueError, match="ClientConfig"):
        await env.run_rollout(row, StubClient(), "m", {})
    with pytest.raises(ValueError, match="ClientConfig"):
        await env.run_group([row], StubClient(), "m", {})
    with pytest.raises(vf.RefusedError, match="env_client"):
        await env.generate([row], StubClient(), "m")


async def test_servers_are_refused_by_name():
    env = single_turn()
    for call in (env.start_server, env.stop_server):
        with pytest.raises(vf.RefusedError, match=call.__name__):
            await call()


async def test_the_error_of_a_rollout_that_no_run_logs_is_logged(caplog):
    class Broken(vf.SingleTurnEnv):
        async def setup_state(self, state):
            raise vf.ToolCallError("no such tool")

    env = Broken(dataset=ROWS)
    await env.run_rollout(env.get_dataset()[0], StubClient(), "m", {})
    assert "ToolCallError" in caplog.text
