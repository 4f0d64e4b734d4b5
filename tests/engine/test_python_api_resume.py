"""A run of a program is resumed in its directory, with its settings or refused."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from api_runs import CHAT, EXAMPLES, GOOD, config, environment, interrupted, together
from program import Run
from servers import FaultServer, Reply

from tui_eval.errors import RefusedError
from tui_eval.fold.run_state import RunState
from tui_eval.runs.layout import RunDir
from tui_eval.runs.saved_run import saved_events
from tui_eval.runs.summary_json import summary_object


def prompts_sent(server: FaultServer) -> Counter[str]:
    return Counter(request.json()["messages"][-1]["content"] for request in server.requests)


async def test_a_run_is_resumed_in_its_directory_and_does_nothing_twice(
    folder: Path, fault_server: FaultServer
) -> None:
    env = environment()
    await interrupted(env, fault_server, folder / "run")
    before = prompts_sent(fault_server)
    fault_server.script(CHAT, [GOOD])
    started: list[Any] = []
    progress: list[tuple[int, int]] = []
    got = await env.evaluate(
        config(fault_server),
        "m",
        results_path=str(folder / "run"),
        on_start=lambda *given: started.append([len(rows) for rows in given]),
        on_progress=lambda every, new, _: progress.append((len(every), len(new))),
    )
    assert prompts_sent(fault_server) - before == Counter([f"q{n}" for n in range(2, 6)])
    assert Run(folder / "run").places() == [(n, 0) for n in range(6)]
    assert [output["example_id"] for output in got["outputs"]] == list(range(6))
    assert started == [[6, 4]]
    assert progress == [(3, 1), (4, 1), (5, 1), (6, 1)]
    assert got["metadata"]["n_used"] == 6
    again = await env.evaluate(config(fault_server), "m", results_path=folder / "run")
    assert again["outputs"] == got["outputs"]
    assert len(fault_server.requests) == 8


async def test_errored_rollouts_run_again_when_a_run_is_resumed(
    folder: Path, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [Reply(400, {"error": {"message": "no"}}), GOOD])
    env = environment()
    first = await env.evaluate(config(fault_server), "m", results_path=folder / "run")
    assert first["metadata"]["n_errored"] == 1
    second = await env.evaluate(config(fault_server), "m", results_path=folder / "run")
    assert second["metadata"]["n_errored"] == 0
    assert len(fault_server.requests) == 7


async def test_refused_requests_are_kept_with_the_run_over_all_its_sessions(
    folder: Path, fault_server: FaultServer
) -> None:
    refused = Reply(429, {}, {"retry-after-ms": "1"})
    env, patient = environment(), config(fault_server).model_copy(update={"max_retries": 2})
    for count, script in enumerate(([refused, Reply(400, {}), GOOD], [refused, refused, GOOD])):
        fault_server.script(CHAT, script)
        await env.evaluate(patient, "m", results_path=folder / "run", max_concurrent=1)
        assert refusals_recorded(folder / "run") == (1, 3)[count]
    metadata = Run(folder / "run").metadata
    for unknown in ({}, {"refused_requests": "many"}, {"refused_requests": -1}):
        kept = {name: value for name, value in metadata.items() if name != "refused_requests"}
        (folder / "run" / "metadata.json").write_text(json.dumps(kept | unknown))
        assert refusals_recorded(folder / "run") is None


async def test_how_many_requests_were_let_through_is_kept_over_all_sessions(
    folder: Path, fault_server: FaultServer
) -> None:
    refused = Reply(429, {}, {"retry-after-ms": "1"})
    env, patient = environment(), config(fault_server).model_copy(update={"max_retries": 2})
    for most in (1, 2):
        fault_server.script(CHAT, [refused, Reply(400, {}), GOOD])
        await env.evaluate(patient, "m", results_path=folder / "run", max_concurrent=most)
    limits, last = limits_recorded(folder / "run")
    assert limits[0] == (1, 1) and {most for _, most in limits[1:]} == {2} and last == limits[-1]
    metadata = Run(folder / "run").metadata
    for unknown in (None, 3, {"a": 1}, [[1]], [[1, "2"]], [[1, 2, 3]], [[-1, 2]], [None]):
        text = json.dumps(metadata | {"concurrency_limits": unknown})
        (folder / "run" / "metadata.json").write_text(text)
        assert limits_recorded(folder / "run") == ([], (0, 0))


def saved_state(path: Path) -> RunState:
    state = RunState()
    for event in saved_events(RunDir(path)):
        state.apply(event)
    return state


def refusals_recorded(path: Path) -> int | None:
    refused: int | None = summary_object(saved_state(path))["refused_requests"]
    return refused


def limits_recorded(path: Path) -> tuple[list[tuple[int, int]], tuple[int, int]]:
    state = saved_state(path)
    return list(state.limits), state.concurrency_limits


async def test_an_unfinished_group_is_scored_with_the_members_that_were_there(
    folder: Path, fault_server: FaultServer
) -> None:
    env = environment(together)
    await interrupted(env, fault_server, folder / "run", rollouts_per_example=3)
    fault_server.script(CHAT, [GOOD])
    got = await env.evaluate(
        config(fault_server), "m", rollouts_per_example=3, results_path=folder / "run"
    )
    assert {output["reward"] for output in got["outputs"]} == {3.0}
    assert len(fault_server.requests) == 4 + 16


async def test_answers_of_what_has_its_row_are_not_kept_on(
    folder: Path, fault_server: FaultServer
) -> None:
    env, journal = environment(), folder / "run" / "journal.jsonl"
    await interrupted(env, fault_server, folder / "run")
    place = {"row": 0, "number": 0, "attempt": 1, "input": {"example_id": 0}}
    record = {**place, "request": {"model": "m"}, "ms": 1.0, "response": {"message": {}}}
    journal.write_text(json.dumps(record) + "\n")  # as where the engine is killed just then
    fault_server.script(CHAT, [GOOD])
    got = await env.evaluate(config(fault_server), "m", results_path=folder / "run")
    assert len(got["outputs"]) == 6
    assert not journal.exists()


async def test_groups_of_different_sizes_are_resumed_too(
    folder: Path, fault_server: FaultServer
) -> None:
    ids = [5, 5, 5, 2, 9, 9]
    inputs = [{"question": f"q{n}", "example_id": id_} for n, id_ in enumerate(ids)]
    env = environment(together)
    fault_server.script(CHAT, [*[GOOD] * 4, Reply(400, {"error": {"message": "no"}}), GOOD])
    client = config(fault_server)
    settings: dict[str, Any] = {"max_concurrent": 1, "results_path": folder / "run"}
    first = await env.generate(inputs, client, "m", **settings)
    assert first["metadata"]["n_errored"] == 1
    got = await env.generate(inputs, client, "m", **settings)
    assert [(o["example_id"], o["prompt"][0]["content"]) for o in got["outputs"]] == [
        *[(2, "q3"), (5, "q0"), (5, "q1"), (5, "q2"), (9, "q4"), (9, "q5")]
    ]
    assert prompts_sent(fault_server) == Counter({f"q{n}": 1 + (n == 4) for n in range(6)})
    with pytest.raises(RefusedError, match="other inputs, or groups of other sizes"):
        await env.generate(inputs[1:], client, "m", **settings)
    started, *rows, end = saved_events(RunDir(folder / "run"))
    assert (started.total, len(rows), end.status) == (6, 6, "finished")


async def test_a_run_is_not_resumed_with_other_settings(
    folder: Path, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [GOOD])
    env, client, path = environment(), config(fault_server), folder / "run"
    await env.evaluate(client, "m", {"top_p": 0.5}, num_examples=3, results_path=path)
    before = {file: file.read_bytes() for file in path.iterdir()}
    with pytest.raises(RefusedError) as refused:
        await env.evaluate(client, "n", {"top_p": 0.6}, 2, 2, results_path=path)
    text = str(refused.value)
    for part in ('model is "n"', "sampling_args", "num_examples is 2"):
        assert part in text
    assert text.count("results_path:") == 3
    with pytest.raises(RefusedError, match="inputs of the run"):
        await env.generate(EXAMPLES, client, "m", results_path=path)
    assert {file: file.read_bytes() for file in path.iterdir()} == before
    got = await env.evaluate(client, "m", num_examples=4, results_path=path)
    assert len(got["outputs"]) == 4
    assert fault_server.requests[-1].json()["top_p"] == 0.5


async def test_a_secret_that_a_run_does_not_keep_is_requested_again(
    folder: Path, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [GOOD])
    env, client, path = environment(), config(fault_server), folder / "run"
    given = {"top_p": 0.5, "extra_body": {"search_api_key": "sk-abcdef1234567890"}}
    await env.evaluate(client, "m", given, num_examples=2, results_path=path)
    with pytest.raises(RefusedError) as refused:
        await env.evaluate(client, "m", num_examples=3, results_path=path)
    assert str(refused.value) == (
        "results_path: the value of sampling_args.extra_body.search_api_key is not kept with the "
        "run. Give sampling_args again, with all that was given then"
    )
    assert len(fault_server.requests) == 2
    got = await env.evaluate(client, "m", given, num_examples=3, results_path=path)
    assert len(got["outputs"]) == 3
    assert fault_server.requests[-1].json()["search_api_key"] == "sk-abcdef1234567890"


async def test_an_endpoint_that_moved_and_more_rollouts_extend_a_run_and_are_kept(
    folder: Path, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [GOOD])
    env, path = environment(), folder / "run"
    await env.evaluate(config(fault_server), "m", num_examples=2, results_path=path)
    with FaultServer() as moved:
        moved.script(CHAT, [GOOD])
        await env.evaluate(config(moved), "m", None, 3, 2, results_path=path)
        assert len(moved.requests) == 4
    assert Run(path).places() == [(n, r) for n in range(3) for r in range(2)]
    (kept,) = tomllib.loads((path / "run.toml").read_text())["changes"]
    assert (kept["name"], fault_server.url in kept["before"]) == ("base_url", True)


async def test_the_command_line_leaves_runs_alone_whose_inputs_a_program_gave(
    folder: Path, fault_server: FaultServer, program: Any
) -> None:
    fault_server.script(CHAT, [GOOD])
    await environment().generate(EXAMPLES, config(fault_server), "m", results_path=folder / "run")
    done = program.run("run", "--resume", str(folder / "run"))
    assert done.code == 2, done
    assert "a program gave the inputs of this run" in done.err
