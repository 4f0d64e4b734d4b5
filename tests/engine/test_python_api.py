"""Results of a program that runs an environment's rollouts itself."""

from __future__ import annotations

import json
import logging
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from evaluated_environments import CHAT, EXAMPLES, GOOD, config, environment, right
from program import Run, chat_answer
from servers import FaultServer, Reply

import tui_eval as vf
from tui_eval.environments.datasets.example_table import ExampleTable
from tui_eval.runs.layout import RunDir
from tui_eval.runs.saved_run import saved_events


def best(completions: Any) -> list[float]:
    return [float(place == 0) for place, _ in enumerate(completions)]


def questions(server: FaultServer) -> list[str]:
    return [request.json()["messages"][-1]["content"] for request in server.requests]


async def test_outputs_are_the_rows_on_disk_in_the_order_of_the_examples(
    folder: Path, fault_server: FaultServer
) -> None:
    slow_first = [Reply(body=chat_answer("yes"), delay=0.2), GOOD]
    fault_server.script(CHAT, slow_first)
    got = await environment().evaluate(
        config(fault_server), "m", rollouts_per_example=2, state_columns=["trajectory_id"]
    )
    outputs, metadata = got["outputs"], got["metadata"]
    assert [output["example_id"] for output in outputs] == [0, 0, 1, 1, 2, 2]
    assert [output["tui_eval"]["rollout"] for output in outputs] == [0, 1, 0, 1, 0, 1]
    rows = Run(Path(metadata["path_to_save"])).rows
    assert sorted(outputs, key=json.dumps) == sorted(rows, key=json.dumps)
    assert all(type(output) is vf.RolloutOutput for output in outputs)
    first = outputs[0]
    assert first["prompt"] == [{"role": "user", "content": "q0"}]
    assert first["completion"] == [{"role": "assistant", "content": "yes"}]
    assert (first["answer"], first["info"], first["task"]) == ("yes", {"n": 0}, "default")
    assert (first["reward"], first["right"], first["error"]) == (1.0, 1.0, None)
    assert first["token_usage"] == {"input_tokens": 10.0, "output_tokens": 5.0}
    assert len(first["trajectory_id"]) == 32


async def test_the_metadata_is_that_on_disk_and_says_where_the_run_is(
    folder: Path, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [GOOD])
    env = environment(env_id="org/my-env", env_args={"level": 2}, sampling_args={"top_p": 0.5})
    got = await env.evaluate(
        config(fault_server),
        "org/m",
        {"temperature": 0.0},
        num_examples=2,
        rollouts_per_example=2,
        state_columns=["x"],
        save_results=True,
    )
    metadata = got["metadata"]
    path = Path(metadata["path_to_save"])
    assert path.parent == folder / "outputs" / "evals" / "my-env--org--m"
    on_disk = Run(path).metadata
    returned = {**metadata, "path_to_save": None, "time_ms": None}
    assert returned == {**on_disk, "path_to_save": None, "time_ms": None}
    assert vf.GenerateMetadata.__required_keys__ <= metadata.keys()
    assert {
        "env_id": "org/my-env",
        "env_args": {"level": 2},
        "model": "org/m",
        "base_url": f"{fault_server.url}/v1",
        "num_examples": 2,
        "rollouts_per_example": 2,
        "sampling_args": {"n": 1, "extra_body": {}, "top_p": 0.5, "temperature": 0.0},
        "avg_reward": 1.0,
        "avg_metrics": {"right": 1.0, "num_turns": 1.0},
        "avg_error": 0.0,
        "pass_at_k": {"1": 1.0, "2": 1.0},
        "usage": {"input_tokens": 10.0, "output_tokens": 5.0},
        "state_columns": ["x"],
        "status": "finished",
    }.items() <= metadata.items()
    sent = fault_server.requests[0].json()
    assert (sent["top_p"], sent["temperature"]) == (0.5, 0.0)


async def test_rows_of_one_id_are_a_group_of_any_size(
    folder: Path, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [GOOD])
    inputs = [
        {"question": "a", "example_id": 7},
        {"prompt": [{"role": "user", "content": "b"}], "example_id": 3},
        {"question": "c", "example_id": 7},
        {"question": "d"},
        {"question": "e", "example_id": 7},
    ]
    progress: list[list[str]] = []
    env = environment(best, system_prompt="s")
    got = await env.generate(
        inputs,
        config(fault_server),
        "m",
        on_progress=lambda every, new, meta: progress.append(
            [one["prompt"][-1]["content"] for one in new]
        ),
    )
    found = [(one["example_id"], one["prompt"][-1]["content"]) for one in got["outputs"]]
    assert found == [(0, "d"), (3, "b"), (7, "a"), (7, "c"), (7, "e")]
    prompts = {one["prompt"][-1]["content"]: one["prompt"] for one in got["outputs"]}
    assert [message["content"] for message in prompts["a"]] == ["s", "a"]
    assert [message["content"] for message in prompts["b"]] == ["b"]
    assert [one["reward"] for one in got["outputs"]] == [1.0, 1.0, 1.0, 0.0, 0.0]
    assert sorted(map(sorted, progress)) == [["a", "c", "e"], ["b"], ["d"]]
    metadata = got["metadata"]
    assert (metadata["num_examples"], metadata["rollouts_per_example"]) == (3, 3)
    assert metadata["n_total"] == 5
    *_, end = saved_events(RunDir(Path(metadata["path_to_save"])))
    assert end.status == "finished"


async def test_inputs_come_in_every_form_and_ids_that_are_no_numbers_are_kept(
    folder: Path, fault_server: FaultServer
) -> None:
    datasets = pytest.importorskip("datasets")
    fault_server.script(CHAT, [GOOD])
    env, client = environment(), config(fault_server)
    table = env.get_eval_dataset()
    assert isinstance(table, ExampleTable)
    repeated = datasets.Dataset.from_list([*EXAMPLES]).add_column("example_id", ["x", "y", "x"])
    for inputs, ids in ((table, [0, 1, 2]), (repeated, [0, 0, 1])):
        got = await env.generate(inputs, client, "m")
        assert [one["example_id"] for one in got["outputs"]] == ids
    assert [one["info"]["n"] for one in got["outputs"]] == [0, 2, 1]


async def test_replicas_take_turns_rollout_by_rollout_where_each_is_scored_alone(
    folder: Path, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [GOOD])
    with FaultServer() as other:
        other.script(CHAT, [GOOD])
        both = [{"api_base_url": f"{server.url}/v1"} for server in (fault_server, other)]
        client = vf.ClientConfig(api_key_var="", endpoint_configs=both)
        got = await environment().evaluate(
            client, "m", rollouts_per_example=2, independent_scoring=True
        )
        assert sorted(questions(fault_server)) == sorted(questions(other)) == ["q0", "q1", "q2"]
        assert got["metadata"]["base_url"] == f"{fault_server.url}/v1,{other.url}/v1"


@pytest.mark.parametrize("func", [best, right])
async def test_replicas_take_turns_group_by_group(
    folder: Path, fault_server: FaultServer, func: Any
) -> None:
    fault_server.script(CHAT, [GOOD])
    with FaultServer() as other:
        other.script(CHAT, [GOOD])
        both = [{"api_base_url": f"{server.url}/v1"} for server in (fault_server, other)]
        client = vf.ClientConfig(api_key_var="", endpoint_configs=both)
        await environment(func).evaluate(client, "m", rollouts_per_example=2)
        assert questions(fault_server) == ["q0", "q0", "q2", "q2"]
        assert questions(other) == ["q1", "q1"]


async def test_advantages_are_there_for_those_who_request_them(
    folder: Path, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [Reply(body=chat_answer("no")), GOOD])
    got = await environment().evaluate(
        config(fault_server), "m", None, 1, 2, max_concurrent=1, state_columns=["advantage"]
    )
    assert [(o["reward"], o["advantage"]) for o in got["outputs"]] == [(0.0, -0.5), (1.0, 0.5)]


async def test_independent_scoring_makes_group_functions_fail_visibly(
    folder: Path, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [GOOD])
    progress: list[int] = []
    got = await environment(best).evaluate(
        config(fault_server),
        "m",
        rollouts_per_example=2,
        independent_scoring=True,
        on_progress=lambda every, new, _: progress.append(len(new)),
    )
    assert progress == [1] * 6
    assert {one["error"]["error"] for one in got["outputs"]} == {"ScoringError"}
    assert got["metadata"]["avg_error"] == 1.0


async def test_callbacks_get_every_group_and_may_raise(
    folder: Path, fault_server: FaultServer, caplog: pytest.LogCaptureFixture
) -> None:
    fault_server.script(CHAT, [GOOD])
    started: list[tuple[int, int]] = []
    progress: list[tuple[int, int, float]] = []
    said: list[str] = []

    def on_start(raw: list[Any], filtered: list[Any]) -> None:
        started.append((len(raw), len(filtered)))
        raise RuntimeError("in on_start")

    def on_progress(every: list[Any], new: list[Any], metadata: Any) -> None:
        progress.append((len(every), len(new), metadata["avg_reward"]))

    def bad_progress(*args: Any) -> None:
        raise RuntimeError("in on_progress")

    got = await environment().evaluate(
        config(fault_server),
        "m",
        rollouts_per_example=2,
        on_start=on_start,
        on_progress=[bad_progress, on_progress],
        on_log=said.append,
    )
    assert started == [(6, 6)]
    assert progress == [(2, 2, 1.0), (4, 2, 1.0), (6, 2, 1.0)]
    assert any(got["metadata"]["path_to_save"] in text for text in said)
    assert "in on_start" in caplog.text
    assert "in on_progress" in caplog.text


async def test_all_that_is_logged_of_a_request_is_what_an_environment_sent(
    folder: Path, fault_server: FaultServer, caplog: pytest.LogCaptureFixture
) -> None:
    class Asking(vf.SingleTurnEnv):
        async def get_model_response(self, state: Any, prompt: Any, **given: Any) -> vf.Response:
            look = vf.Tool(name="look", description="", parameters={"type": "object"})
            return await super().get_model_response(
                state, prompt, model="another", sampling_args={"seed": 7}, tool_defs=[look]
            )

    fault_server.script(CHAT, [GOOD])
    caplog.set_level(logging.DEBUG, "tui_eval.rollout")
    got = await Asking(dataset=EXAMPLES[:1]).evaluate(config(fault_server), "m")
    assert got["outputs"][0]["error"] is None
    assert fault_server.requests[0].json()["model"] == "another"
    assert "requests another, sampling {'seed': 7}, tools look" in caplog.text


async def test_clients_that_are_given_stay_open(folder: Path, fault_server: FaultServer) -> None:
    import openai

    fault_server.script(CHAT, [GOOD])
    sdk_client = openai.AsyncOpenAI(base_url=f"{fault_server.url}/v1", api_key="sk-verysecret")
    ours = vf.OpenAIChatCompletionsClient(config(fault_server))
    for client in (sdk_client, ours, sdk_client, ours):
        got = await environment().evaluate(client, "m", num_examples=1)
        assert got["outputs"][0]["reward"] == 1.0
        assert got["metadata"]["base_url"] == f"{fault_server.url}/v1"
    await ours.close()
    await sdk_client.close()


async def test_nothing_is_printed_and_no_signal_handler_is_touched(
    folder: Path, fault_server: FaultServer, capfd: pytest.CaptureFixture[str]
) -> None:
    fault_server.script(CHAT, [GOOD])
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.getsignal(number) for number in numbers]
    during: list[Any] = []
    handlers = list(logging.getLogger().handlers)
    await environment().evaluate(
        config(fault_server),
        "m",
        on_progress=lambda *_: during.append([signal.getsignal(number) for number in numbers]),
    )
    assert during == [before] * 3
    assert logging.getLogger().handlers == handlers
    assert capfd.readouterr() == ("", "")


async def test_outputs_make_a_dataset(
    folder: Path, fault_server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    datasets = pytest.importorskip("datasets")
    fault_server.script(CHAT, [GOOD])
    got = await environment().evaluate(config(fault_server), "m", rollouts_per_example=2)
    dataset = vf.Environment.make_dataset(got)
    assert isinstance(dataset, datasets.Dataset)
    assert dataset["example_id"][:] == [0, 0, 1, 1, 2, 2]
    assert len(vf.Environment.make_dataset(got["outputs"][:1])) == 1
    monkeypatch.setitem(sys.modules, "datasets", None)
    table = vf.Environment.make_dataset(got)
    assert isinstance(table, ExampleTable)
    assert table["example_id"] == [0, 0, 1, 1, 2, 2]
