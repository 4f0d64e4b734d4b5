"""Runs of a program: going on, being cancelled, several at once, and how they end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from program import Run, chat_answer, wait_until
from servers import FaultServer, Reply

import tui_eval as vf
from tui_eval.engine.execution import progress
from tui_eval.errors import RefusedError
from tui_eval.fold.run_state import RunState
from tui_eval.runs.layout import RunDir
from tui_eval.runs.opening import saved_events
from tui_eval.runs.summary_json import summary_object

CHAT = "/v1/chat/completions"
GOOD = Reply(body=chat_answer("yes"))
EXAMPLES = [{"question": f"q{n}"} for n in range(6)]


def one(completion: Any) -> float:
    return 1.0


def together(completions: Any) -> list[float]:
    return [float(len(completions))] * len(completions)


def environment(*funcs: Any, kind: type[vf.Environment] = vf.SingleTurnEnv, **kwargs: Any) -> Any:
    return kind(**{"dataset": EXAMPLES, "rubric": vf.Rubric(list(funcs or [one])), **kwargs})


def config(server: FaultServer) -> vf.ClientConfig:
    return vf.ClientConfig(api_base_url=f"{server.url}/v1", api_key_var="", max_retries=0)


def asked_of(server: FaultServer) -> Counter[str]:
    return Counter(request.json()["messages"][-1]["content"] for request in server.requests)


async def until(condition: Any) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.01)


class Tidy(vf.SingleTurnEnv):
    """Notes whose cleanup ran, slowly."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.tidied: list[int] = []

    @vf.cleanup
    async def tidy(self, state: vf.State) -> None:
        await asyncio.sleep(0.05)
        self.tidied.append(state["example_id"])


async def interrupted(env: Any, server: FaultServer, path: Path, **kwargs: Any) -> None:
    """A run that is cancelled with two answers in and two calls in flight."""
    server.script(CHAT, [GOOD, GOOD, Reply(hang=True)])
    run = env.evaluate(config(server), "m", max_concurrent=2, results_path=path, **kwargs)
    task = asyncio.create_task(run)
    await until(lambda: len(server.requests) == 4)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_cancelling_leaves_whole_files_and_cleans_up_what_was_in_flight(
    folder: Path, fault_server: FaultServer
) -> None:
    env = environment(kind=Tidy)
    await interrupted(env, fault_server, folder / "run")
    assert sorted(env.tidied) == [0, 1, 2, 3]
    run = Run(folder / "run")
    assert run.places() == [(0, 0), (1, 0)]
    assert run.metadata["status"] == "interrupted"
    assert not (run.path / "lock").exists()
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_second_cancellation_does_not_cut_the_cleanup_short(
    folder: Path, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [Reply(hang=True)])
    env = environment(kind=Tidy)
    task = asyncio.create_task(env.evaluate(config(fault_server), "m"))
    await until(lambda: len(fault_server.requests) == 6)
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sorted(env.tidied) == [0, 1, 2, 3, 4, 5]


async def test_a_run_goes_on_in_its_directory_and_does_nothing_twice(
    folder: Path, fault_server: FaultServer
) -> None:
    env = environment()
    await interrupted(env, fault_server, folder / "run")
    before = asked_of(fault_server)
    fault_server.script(CHAT, [GOOD])
    started: list[Any] = []
    heard: list[tuple[int, int]] = []
    got = await env.evaluate(
        config(fault_server),
        "m",
        results_path=str(folder / "run"),
        on_start=lambda *given: started.append([len(rows) for rows in given]),
        on_progress=lambda every, new, _: heard.append((len(every), len(new))),
    )
    assert asked_of(fault_server) - before == Counter([f"q{n}" for n in range(2, 6)])
    assert Run(folder / "run").places() == [(n, 0) for n in range(6)]
    assert [output["example_id"] for output in got["outputs"]] == list(range(6))
    assert started == [[6, 4]]
    assert heard == [(3, 1), (4, 1), (5, 1), (6, 1)]
    assert got["metadata"]["n_used"] == 6
    again = await env.evaluate(config(fault_server), "m", results_path=folder / "run")
    assert again["outputs"] == got["outputs"]
    assert len(fault_server.requests) == 8


async def test_errored_rollouts_run_again_when_a_run_goes_on(
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
        assert refusals_told(folder / "run") == (1, 3)[count]
    metadata = Run(folder / "run").metadata
    for unknown in ({}, {"refused_requests": "many"}, {"refused_requests": -1}):
        kept = {name: told for name, told in metadata.items() if name != "refused_requests"}
        (folder / "run" / "metadata.json").write_text(json.dumps(kept | unknown))
        assert refusals_told(folder / "run") is None


async def test_how_many_requests_were_let_through_is_kept_over_all_sessions(
    folder: Path, fault_server: FaultServer
) -> None:
    refused = Reply(429, {}, {"retry-after-ms": "1"})
    env, patient = environment(), config(fault_server).model_copy(update={"max_retries": 2})
    for most in (1, 2):
        fault_server.script(CHAT, [refused, Reply(400, {}), GOOD])
        await env.evaluate(patient, "m", results_path=folder / "run", max_concurrent=most)
    limits, last = limits_told(folder / "run")
    assert limits[0] == (1, 1) and {most for _, most in limits[1:]} == {2} and last == limits[-1]
    metadata = Run(folder / "run").metadata
    for unknown in (None, 3, {"a": 1}, [[1]], [[1, "2"]], [[1, 2, 3]], [[-1, 2]], [None]):
        told = json.dumps(metadata | {"concurrency_limits": unknown})
        (folder / "run" / "metadata.json").write_text(told)
        assert limits_told(folder / "run") == ([], (0, 0))


def saved_state(path: Path) -> RunState:
    state = RunState()
    for event in saved_events(RunDir(path)):
        state.apply(event)
    return state


def refusals_told(path: Path) -> int | None:
    told: int | None = summary_object(saved_state(path))["refused_requests"]
    return told


def limits_told(path: Path) -> tuple[list[tuple[int, int]], tuple[int, int]]:
    state = saved_state(path)
    return list(state.limits), state.at_a_time


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


async def test_groups_of_different_sizes_go_on_too(folder: Path, fault_server: FaultServer) -> None:
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
    assert asked_of(fault_server) == Counter({f"q{n}": 1 + (n == 4) for n in range(6)})
    with pytest.raises(RefusedError, match="other inputs, or groups of other sizes"):
        await env.generate(inputs[1:], client, "m", **settings)
    started, *rows, end = saved_events(RunDir(folder / "run"))
    assert (started.total, len(rows), end.status) == (6, 6, "finished")


async def test_a_run_does_not_go_on_with_other_settings(
    folder: Path, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [GOOD])
    env, client, path = environment(), config(fault_server), folder / "run"
    await env.evaluate(client, "m", {"top_p": 0.5}, num_examples=3, results_path=path)
    before = {file: file.read_bytes() for file in path.iterdir()}
    with pytest.raises(RefusedError) as refused:
        await env.evaluate(client, "n", {"top_p": 0.6}, 2, 2, results_path=path)
    told = str(refused.value)
    for part in ('model is "n"', "sampling_args", "num_examples is 2"):
        assert part in told
    assert told.count("results_path:") == 3
    with pytest.raises(RefusedError, match="inputs of the run"):
        await env.generate(EXAMPLES, client, "m", results_path=path)
    assert {file: file.read_bytes() for file in path.iterdir()} == before
    got = await env.evaluate(client, "m", num_examples=4, results_path=path)
    assert len(got["outputs"]) == 4
    assert fault_server.requests[-1].json()["top_p"] == 0.5


async def test_a_secret_that_a_run_does_not_keep_is_asked_for_again(
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


async def test_a_run_that_somebody_writes_is_refused(
    folder: Path, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [Reply(hang=True)])
    env, client, path = environment(), config(fault_server), folder / "run"
    task = asyncio.create_task(env.evaluate(client, "m", results_path=path))
    await until(lambda: len(fault_server.requests) == 6)
    with pytest.raises(RefusedError, match="is writing this run"):
        await env.evaluate(client, "m", results_path=path)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_runs_of_one_loop_do_not_meet(folder: Path, fault_server: FaultServer) -> None:
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"), delay=0.05)])
    env, client = environment(together), config(fault_server)
    first, second = await asyncio.gather(
        env.evaluate(client, "m", rollouts_per_example=2),
        env.generate([{"question": "x"}] * 3, client, "m"),
    )
    assert [o["reward"] for o in first["outputs"]] == [2.0] * 12
    assert [o["reward"] for o in second["outputs"]] == [1.0] * 3
    assert first["metadata"]["path_to_save"] != second["metadata"]["path_to_save"]
    assert fault_server.most_at_once > 12


def test_without_a_loop_the_sync_ones_wait(folder: Path, fault_server: FaultServer) -> None:
    fault_server.script(CHAT, [GOOD])
    env, client = environment(), config(fault_server)
    assert len(env.evaluate_sync(client, "m", num_examples=2)["outputs"]) == 2
    assert len(env.generate_sync(EXAMPLES, client, "m")["outputs"]) == 6


def test_a_run_imports_no_sdk_that_its_calls_do_not_need(
    folder: Path, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [GOOD])
    program = f"""
import sys
import tui_eval as vf
config = vf.ClientConfig(api_base_url="{fault_server.url}/v1", api_key_var="")
environment = vf.SingleTurnEnv(dataset=[{{"question": "q"}}])
for client in (config, vf.OpenAIChatCompletionsClient(config)):
    assert environment.evaluate_sync(client, "m")["outputs"][0]["error"] is None
assert "openai" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


async def test_below_a_loop_the_sync_ones_wait_too(folder: Path, fault_server: FaultServer) -> None:
    fault_server.script(CHAT, [GOOD])
    got = environment().evaluate_sync(config(fault_server), model="m", rollouts_per_example=2)
    assert len(got["outputs"]) == 12
    assert not [one for one in threading.enumerate() if one.name.startswith("tui-eval loop")]
    with pytest.raises(RefusedError):
        environment().generate_sync([], config(fault_server), "m")


async def test_files_that_cannot_be_written_end_the_run_with_what_is_finished_kept(
    folder: Path, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [GOOD])
    path = folder / "run"

    def spoil(every: list[Any], new: list[Any], metadata: Any) -> None:
        if len(every) == 2:
            (path / "results.jsonl").open("ab").write(b"\n")

    with pytest.raises(RuntimeError, match=r"results\.jsonl; 2 of 6 rollouts are done"):
        await environment().evaluate(
            config(fault_server), "m", max_concurrent=1, results_path=path, on_progress=spoil
        )
    assert not (path / "lock").exists()
    fault_server.script(CHAT, [GOOD])
    got = await environment().evaluate(config(fault_server), "m", results_path=path)
    assert len(got["outputs"]) == 6
    assert len(fault_server.requests) == 6, "the answer that had no row is in the journal"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
async def test_a_directory_that_nobody_may_write_is_refused(
    folder: Path, fault_server: FaultServer
) -> None:
    (folder / "closed").mkdir(mode=0o500)
    with pytest.raises(RefusedError, match="cannot be written here"):
        await environment().evaluate(
            config(fault_server), "m", results_path=folder / "closed" / "run"
        )


async def test_a_file_in_the_place_of_the_directory_is_refused(
    folder: Path, fault_server: FaultServer
) -> None:
    (folder / "run").write_text("mine")
    with pytest.raises(RefusedError, match="cannot be written here"):
        await environment().evaluate(config(fault_server), "m", results_path=folder / "run")
    assert (folder / "run").read_text() == "mine"


async def test_a_finished_rollout_costs_no_pass_over_earlier_ones(
    folder: Path, fault_server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault_server.script(CHAT, [GOOD])
    read: list[bytes] = []
    decode = progress.decode_row
    monkeypatch.setattr(progress, "decode_row", lambda line: read.append(line) or decode(line))
    lists: list[Any] = []
    await environment(dataset=[{"question": str(n)} for n in range(50)]).evaluate(
        config(fault_server), "m", on_progress=lambda every, new, _: lists.append(every)
    )
    assert len(read) == 2 * 50
    assert all(every is lists[0] for every in lists)


PROGRAM = """
    import asyncio, sys
    import tui_eval as vf

    class Env(vf.SingleTurnEnv):
        @vf.cleanup
        async def tidy(self, state):
            await asyncio.sleep(0.2)
            print("tidied", flush=True)

        @vf.teardown
        async def tear_down(self):
            await asyncio.sleep(0)
            print("torn down", flush=True)

    env = Env(dataset=[{"question": "a"}, {"question": "b"}], rubric=vf.Rubric([]))
    client = vf.ClientConfig(api_base_url=sys.argv[1], api_key_var="")
"""


def start(folder: Path, server: FaultServer, rest: str) -> subprocess.Popen[str]:
    source = textwrap.dedent(PROGRAM) + textwrap.dedent(rest)
    return subprocess.Popen(
        [sys.executable, "-c", source, f"{server.url}/v1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
    )


def test_teardown_runs_once_and_when_the_program_ends(
    folder: Path, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [GOOD])
    rest = """
        for _ in range(2):
            env.evaluate_sync(client, "m")
            print("evaluated", flush=True)
    """
    out, err = start(folder, fault_server, rest).communicate(timeout=60)
    assert out.splitlines() == [
        *["tidied", "tidied", "evaluated"] * 2,
        "torn down",
    ]
    assert err == ""


@pytest.mark.parametrize(
    "way",
    [
        "asyncio.run(env.evaluate(*asked))",
        "env.evaluate_sync(*asked)",
        "asyncio.new_event_loop().run_until_complete(below())",
    ],
    ids=["own-loop", "sync", "sync-below-a-loop"],
)
def test_ctrl_c_stops_a_program_cleanly(folder: Path, fault_server: FaultServer, way: str) -> None:
    fault_server.script(CHAT, [GOOD, Reply(hang=True)])
    rest = f"""
        asked = (client, "m", None, -1, 1, -1, "run")
        async def below():
            env.evaluate_sync(*asked)
        {way}
    """
    process = start(folder, fault_server, rest)
    run = Run(folder / "run")
    wait_until(lambda: len(fault_server.requests) == 2, "both are asked")
    wait_until(lambda: (run.path / "results.jsonl").exists() and run.rows, "one is answered")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    assert err.strip().endswith("KeyboardInterrupt")
    assert out.splitlines() == ["tidied", "tidied", "torn down"]
    assert len(run.rows) == 1
    assert run.metadata["status"] == "interrupted"
    assert not (run.path / "lock").exists()
