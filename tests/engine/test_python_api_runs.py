"""Runs of a program: several at once, below a loop, and in directories that cannot be written."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from api_runs import CHAT, EXAMPLES, GOOD, config, environment, together, until
from program import chat_answer
from servers import FaultServer, Reply

from tui_eval.config.plan import read_plan
from tui_eval.engine import in_process
from tui_eval.errors import RefusedError
from tui_eval.runs.rescue import note_continued


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

    with pytest.raises(RuntimeError, match=r"results\.jsonl; 1 row .*; 2 of 6 rollouts are done"):
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


async def test_a_directory_that_its_run_has_left_for_another_one_is_refused(
    folder: Path, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [GOOD])
    for name in "old", "new":
        await environment().evaluate(config(fault_server), "m", results_path=folder / name)
    note_continued(read_plan(folder / "old" / "run.toml").session, folder / "new")
    with pytest.raises(RefusedError, match=r"saved as .*new and continued there.*results_path"):
        await environment().evaluate(config(fault_server), "m", results_path=folder / "old")
    await environment().evaluate(config(fault_server), "m", results_path=folder / "new")


async def test_a_finished_rollout_costs_no_pass_over_earlier_ones(
    folder: Path, fault_server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault_server.script(CHAT, [GOOD])
    read: list[bytes] = []
    decode = in_process.decode_row
    monkeypatch.setattr(in_process, "decode_row", lambda line: read.append(line) or decode(line))
    lists: list[Any] = []
    await environment(dataset=[{"question": str(n)} for n in range(50)]).evaluate(
        config(fault_server), "m", on_progress=lambda every, new, _: lists.append(every)
    )
    assert len(read) == 2 * 50
    assert all(every is lists[0] for every in lists)
