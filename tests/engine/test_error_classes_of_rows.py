"""Error classes of rows: by where people's code raised and by what a time-out cut short."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import math
import os
import resource
from pathlib import Path
from typing import Any

import pytest
from program import Program, Run, chat_answer, tool_call
from servers import FaultServer, Reply

import tui_eval as vf
from tui_eval.fold.summary import summarize
from tui_eval.runs.layout import RunDir
from tui_eval.runs.saved_run import read_run

CHAT = "/v1/chat/completions"
TALKS = Reply(body=chat_answer("yes"))
CALLS = Reply(body=chat_answer("", tool_calls=[tool_call("look", "{}")]))

NOTHING = KeyError("nothing")


def config(server: FaultServer) -> vf.ClientConfig:
    return vf.ClientConfig(api_base_url=f"{server.url}/v1", api_key_var="", max_retries=0)


async def row_of(env: vf.Environment, server: FaultServer, **more: Any) -> dict[str, Any]:
    got = await env.evaluate(config(server), "m", **more)
    rows: list[dict[str, Any]] = Run(Path(got["metadata"]["path_to_save"])).rows
    return rows[0]


class Breaks(vf.ToolEnv):
    """Raises at the place of a setting."""

    def __init__(self, where: str, what: BaseException = NOTHING) -> None:
        self.where, self.what = where, what
        super().__init__(
            dataset=[{"question": "?"}],
            tools=[self.look],
            stop_errors=[Exception],
            rubric=vf.Rubric(funcs=[self.judge]),
        )

    async def breaks(self, where: str) -> None:
        if where == self.where:
            raise self.what

    async def setup_state(self, state: Any) -> Any:
        await self.breaks("setup")

    async def env_response(self, messages: Any, state: Any, **kwargs: Any) -> Any:
        said = await super().env_response(messages, state, **kwargs)
        await self.breaks("response")
        return said

    async def judge(self, completion: Any) -> float:
        await self.breaks("scoring")
        return 1.0

    @vf.cleanup
    async def tidy(self, state: Any) -> None:
        await self.breaks("cleanup")

    async def look(self) -> str:
        """Looks."""
        await self.breaks("tool")
        return "seen"


@pytest.mark.parametrize(
    ("where", "what", "kind"),
    [
        ("setup", KeyError("x"), "environment"),
        ("response", KeyError("x"), "environment"),
        ("cleanup", KeyError("x"), "environment"),
        ("tool", KeyError("x"), "tool"),
        ("scoring", KeyError("x"), "scoring"),
        ("scoring", vf.JudgeError("x"), "judge"),
        ("setup", vf.SandboxError("x"), "sandbox"),
        ("setup", OSError(errno.EDQUOT, "Disk quota exceeded"), "engine"),
        ("tool", OSError(errno.ENOSPC, "No space left on device"), "engine"),
    ],
)
async def test_what_peoples_code_raises_has_the_class_of_where_it_did(
    folder: Path, fault_server: FaultServer, where: str, what: BaseException, kind: str
) -> None:
    fault_server.script(CHAT, [CALLS, TALKS])
    row = await row_of(Breaks(where, what), fault_server)
    assert row["error"]["class"] == kind


HANGS = """
    import asyncio

    import tui_eval as vf

    PLACES = ["setup", "model", "tool", "response"]

    class Hangs(vf.StatefulToolEnv):
        async def hangs(self, where, state):
            if PLACES[state["example_id"]] == where:
                await asyncio.sleep(60)

        async def setup_state(self, state):
            await self.hangs("setup", state)

        def update_tool_args(self, tool_name, tool_args, messages, state, **kwargs):
            return {**tool_args, "state": state}

        async def env_response(self, messages, state, **kwargs):
            said = await super().env_response(messages, state, **kwargs)
            await self.hangs("response", state)
            return said

        async def look(self, state) -> str:
            '''Looks.'''
            await self.hangs("tool", state)
            return "seen"

    def load_environment():
        env = Hangs(
            dataset=[{"question": place} for place in PLACES],
            rubric=vf.Rubric(funcs=[lambda completion: 1.0]),
        )
        env.add_tool(env.look, args_to_skip=["state"])
        return env
"""


def test_a_time_out_has_the_class_of_what_was_running(
    program: Program, fault_server: FaultServer
) -> None:
    # One rollout after the other: setup makes no request, the second is never answered.
    fault_server.script(CHAT, [Reply(hang=True), CALLS, CALLS])
    program.environment("hangs", HANGS)
    limits = ("-r", "1", "-n", "4", "-c", "1", "--timeout", "0.7")
    program.run("hangs", "-m", "m", "-b", f"{fault_server.url}/v1", *limits)
    rows = sorted(program.only_run().rows, key=lambda row: row["example_id"])
    assert {row["error"]["error"] for row in rows} == {"RolloutTimeoutError"}
    kinds = [row["error"]["class"] for row in rows]
    assert kinds == ["environment", "endpoint", "tool", "environment"]


class SpendsDescriptors(vf.SingleTurnEnv):
    """Leaves none for the first try of a model call."""

    async def setup_state(self, state: Any) -> Any:
        self.before = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.kept = [os.open(os.devnull, os.O_RDONLY)]
        resource.setrlimit(resource.RLIMIT_NOFILE, (self.kept[0] + 8, self.before[1]))
        with contextlib.suppress(OSError):
            while True:
                self.kept.append(os.open(os.devnull, os.O_RDONLY))
        asyncio.get_running_loop().call_later(0.2, self.give_back)

    def give_back(self) -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, self.before)
        for one in self.kept:
            os.close(one)


async def test_a_call_for_which_no_descriptor_is_left_waits_for_one(
    folder: Path, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [TALKS])
    rubric = vf.Rubric(funcs=[lambda completion: 1.0])
    env = SpendsDescriptors(dataset=[{"question": "?"}], rubric=rubric)
    row = await row_of(env, fault_server)
    assert (row["error"], row["reward"], row["tui_eval"]["attempt"]) == (None, 1.0, 1)


class OwnClientFails(vf.OpenAIChatCompletionsClient):
    """An exception of people's own client is no error of ours."""

    async def get_response(self, *args: Any, **kwargs: Any) -> Any:
        raise LookupError("own way to the model")


async def test_what_a_client_of_peoples_own_raises_is_the_endpoints(
    folder: Path, fault_server: FaultServer
) -> None:
    env = vf.SingleTurnEnv(dataset=[{"question": "?"}], rubric=vf.Rubric(funcs=[lambda: 1.0]))
    got = await env.evaluate(OwnClientFails(config(fault_server)), "m")
    (row,) = Run(Path(got["metadata"]["path_to_save"])).rows
    assert row["error"]["class"] == "endpoint"


class OwnRubric(vf.Rubric):
    async def score_group(self, states: list[Any]) -> None:
        raise KeyError("own way to score")


@pytest.mark.parametrize("left", [math.nan, 1e308, pytest.param(10**400, id="huge")])
@pytest.mark.parametrize("scored", [True, False])
async def test_a_reward_of_peoples_own_that_is_no_number_is_of_scoring(
    folder: Path, fault_server: FaultServer, left: float, scored: bool
) -> None:
    class Odd(vf.Rubric):
        async def score_group(self, states: list[Any]) -> None:
            states[0]["reward"] = left

    class Own(vf.SingleTurnEnv):
        async def rollout(self, *args: Any, **kwargs: Any) -> Any:
            state = await super().rollout(*args, **kwargs)
            state["reward"] = left
            return state

    fault_server.script(CHAT, [TALKS])
    kind = vf.SingleTurnEnv if scored else Own
    env = kind(dataset=[{"question": "?"}], rubric=Odd(), score_rollouts=scored)
    row = await row_of(env, fault_server)
    assert row["reward"] == 0.0
    assert (row["error"]["error"], row["error"]["class"]) == ("ScoringError", "scoring")
    assert "no number" in row["tui_eval"]["traceback"]


async def test_a_metric_of_peoples_own_that_is_no_number_is_counted_by_name(
    folder: Path, fault_server: FaultServer
) -> None:
    class Odd(vf.Rubric):
        async def score_group(self, states: list[Any]) -> None:
            (state,) = states
            state["reward"] = 1.0
            state["metrics"] = {"odd": math.nan, "great": 10**400, "good": 0.5}

    fault_server.script(CHAT, [TALKS])
    env = vf.SingleTurnEnv(dataset=[{"question": "?"}], rubric=Odd())
    metadata = (await env.evaluate(config(fault_server), "m"))["metadata"]
    assert metadata["numbers"]["metrics_no_number"] == {"odd": 1, "great": 1}
    assert metadata["avg_reward"] == 1.0
    assert metadata["avg_metrics"] == {"good": 0.5, "num_turns": 1.0}
    state, _ = read_run(RunDir(Path(metadata["path_to_save"])))
    assert summarize(state).metrics_no_number == {"odd": 1, "great": 1}


async def test_what_a_rubric_of_peoples_own_raises_is_of_scoring(
    folder: Path, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [TALKS])
    env = vf.SingleTurnEnv(dataset=[{"question": "?"}], rubric=OwnRubric())
    assert (await row_of(env, fault_server))["error"]["class"] == "scoring"


async def test_the_last_answers_end_stands_in_the_row_and_in_the_summary(
    folder: Path, fault_server: FaultServer
) -> None:
    cut = chat_answer("ye")
    cut["choices"][0]["finish_reason"] = "length"
    fault_server.script(CHAT, [CALLS, Reply(body=cut)])
    got = await Breaks("nowhere").evaluate(config(fault_server), "m")
    path = Path(got["metadata"]["path_to_save"])
    (row,) = Run(path).rows
    assert row["tui_eval"]["finish_reason"] == "length"
    assert (row["is_truncated"], row["error"]) == (True, None)
    summary = summarize(read_run(RunDir(path))[0])
    assert (summary.finish_reasons, summary.truncated) == ({"length": 1}, 1)
