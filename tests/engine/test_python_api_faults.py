"""Faults of runs that a program makes: what is data, what ends the run, what is refused."""

from __future__ import annotations

import asyncio
import errno
from pathlib import Path
from typing import Any

import pytest
from evaluated_environments import CHAT, EXAMPLES, GOOD, config, environment
from program import Run, chat_answer
from servers import FaultServer, Reply

import tui_eval as vf
from tui_eval.errors import RefusedError
from tui_eval.worker import rollout_retries


async def test_what_an_environment_raises_is_data(folder: Path, fault_server: FaultServer) -> None:
    class Foreign(vf.Environment):
        async def rollout(self, input: Any, client: Any, model: str, sampling_args: Any = None):
            if input["example_id"] == 0:
                raise SystemExit("gone")
            if input["example_id"] == 1:
                raise asyncio.CancelledError
            return {"no": "state"}

    got = await Foreign(dataset=EXAMPLES).evaluate(config(fault_server), "m")
    assert [one["error"]["error"] for one in got["outputs"]] == [
        "SystemExit",
        "InfraError",
        "TypeError",
    ]
    assert "gone" in got["outputs"][0]["tui_eval"]["traceback"]


@pytest.mark.parametrize("status", [401, 403])
async def test_a_key_that_is_refused_ends_the_run_at_once(
    folder: Path, fault_server: FaultServer, status: int
) -> None:
    fault_server.script(CHAT, [Reply(status, {"error": {"message": "who is it"}})])
    rows = [{"question": f"q{n}"} for n in range(40)]
    with pytest.raises(RuntimeError, match=f"{status} from .*who is it.*0 of 40") as raised:
        await environment(dataset=rows).evaluate(config(fault_server), "m", max_concurrent=2)
    assert getattr(raised.value.__cause__, "__cause__", None) is not None
    assert len(fault_server.requests) <= 3
    (run,) = (Run(path.parent) for path in folder.rglob("metadata.json"))
    assert run.rows == [] and run.metadata["status"] == "failed"


async def test_a_key_that_is_refused_later_is_the_error_of_its_rollout(
    folder: Path, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [GOOD, Reply(403, {"error": {"message": "not this one"}}), GOOD])
    got = await environment().evaluate(config(fault_server), "m", max_concurrent=1)
    assert [bool(output["error"]) for output in got["outputs"]] == [False, True, False]


async def test_attempts_without_a_free_file_descriptor_do_not_count_as_retries(
    folder: Path, fault_server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for longest in ("LONGEST_STARVING_S", "LONGEST_BACKOFF_S"):
        monkeypatch.setattr(rollout_retries, longest, 0.01)
    meets: list[Exception] = [OSError(errno.EMFILE, "Too many open files") for _ in range(2)]
    meets.append(vf.InfraError("not now"))

    class Starved(vf.SingleTurnEnv):
        async def setup_state(self, state: vf.State) -> vf.State:
            if meets:
                raise meets.pop(0)
            return state

    fault_server.script(CHAT, [GOOD])
    env = Starved(dataset=EXAMPLES[:1], rubric=vf.Rubric([lambda completion: 1.0]))
    got = await env.evaluate(config(fault_server), "m", max_retries=1)
    assert [(one["error"], one["tui_eval"]["attempt"]) for one in got["outputs"]] == [(None, 4)]


async def test_rollouts_that_fail_together_run_again_one_after_the_other(
    folder: Path,
    fault_server: FaultServer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(rollout_retries, "LONGEST_BACKOFF_S", 0.01)
    fault_server.script(CHAT, [*[Reply(500)] * 3, GOOD])
    got = await environment().evaluate(config(fault_server, max_retries=0), "m", max_retries=1)
    assert [one["error"] for one in got["outputs"]] == [None] * 3
    waits = [one.args[-1] for one in caplog.records if one.args and "runs again in" in one.msg]
    assert len(waits) == len({*waits}) == 3, "no two wait as long"


async def test_an_endpoint_that_does_not_answer_is_data(folder: Path) -> None:
    client = vf.ClientConfig(api_base_url="http://127.0.0.1:9/v1", api_key_var="", max_retries=0)
    got = await environment().evaluate(client, "m")
    assert {one["error"]["error"] for one in got["outputs"]} == {"ModelError"}


async def test_the_embedded_endpoint_is_there_for_programs_too(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TUI_EVAL_DEMO_SPEED", "0")
    client = vf.ClientConfig(api_base_url="embedded:demo", api_key_var="")
    got = await environment().evaluate(client, "demo-scripted-policy")
    assert [one["error"] for one in got["outputs"]] == [None] * 3
    assert got["metadata"]["base_url"] == "embedded:demo"


async def test_a_run_whose_results_alone_are_removed_is_kept_whole_elsewhere(
    folder: Path, fault_server: FaultServer
) -> None:
    def removes(info: Any) -> float:
        if info["n"] == 1:
            (folder / "run" / "results.jsonl").unlink()
        return 1.0

    fault_server.script(CHAT, [GOOD])
    settings: dict[str, Any] = {"results_path": folder / "run", "max_concurrent": 1}
    with pytest.raises(RuntimeError, match=r"removed results\.jsonl; all of it is in ") as raised:
        await environment(removes).evaluate(config(fault_server), "m", **settings)
    kept = str(raised.value).split(" is in ")[1].split()[0].rstrip(";.,")
    assert len(Run(Path(kept)).rows) == 2


async def test_keys_are_redacted(
    folder: Path, fault_server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-verysecret")
    fault_server.script(CHAT, [Reply(body=chat_answer("it is sk-verysecret"))])
    client = vf.ClientConfig(api_base_url=f"{fault_server.url}/v1", api_key_var="MY_KEY")
    got = await environment().evaluate(client, "m")
    assert got["outputs"][0]["completion"][0]["content"] == "it is *************"
    for path in Path(got["metadata"]["path_to_save"]).iterdir():
        assert b"verysecret" not in path.read_bytes()


async def test_faults_of_the_whole_run_are_refused_together_and_leave_nothing(
    folder: Path, fault_server: FaultServer
) -> None:
    client = config(fault_server)
    with pytest.raises(RefusedError, match=r"row 1.*neither 'prompt' nor 'question'"):
        await environment().generate([{"question": "x"}, {"answer": "x"}], client, "m")
    with pytest.raises(RefusedError, match="NO_SUCH_KEY"):
        absent = vf.ClientConfig(api_base_url="http://127.0.0.1:9", api_key_var="NO_SUCH_KEY")
        await environment().evaluate(absent, "m")
    with pytest.raises(RefusedError, match="rollouts_per_example"):
        await environment().evaluate(client, "m", rollouts_per_example=0)
    with pytest.raises(TypeError, match="a client is"):
        await environment().evaluate("http://127.0.0.1:9", "m")
    with pytest.raises(RefusedError, match="no dataset today"):
        await environment(dataset=_no_dataset).evaluate(client, "m")
    assert list(folder.iterdir()) == []


def _no_dataset() -> Any:
    raise OSError("no dataset today")
