"""Rollouts that were cut short while they were scored: each verdict is requested once."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from program import Program, Run, chat_answer, wait_until
from run_here import run_here
from servers import FaultServer, Reply

import tui_eval as vf
from tui_eval.runs.journal_records import read_journal
from tui_eval.runs.layout import RunDir
from tui_eval.runs.lock import holder

HANG = Reply(hang=True)
KEPT_OF_BOTH = 9
"""Records of two rollouts: generated, looked at, judged by two judges, and compared by one."""

JUDGED = """
import asyncio, os
import tui_eval as vf
from openai import AsyncOpenAI

URL = os.environ["JUDGES"]

def of(name):
    config = vf.ClientConfig(api_base_url=f"{URL}/{name}/v1", api_key_var="")
    return vf.OpenAIChatCompletionsClient(config, api_key="none")

async def verdict_of(name, question):
    answer = await of(name).get_response([vf.UserMessage(content=question)], "j", {})
    return float(answer.message.content)

def look():
    with open(os.environ["LOOKS"], "a") as file:
        return file.write("x")

async def by_rubric(prompt, completion, answer, state, judge):
    await vf.record(state, "look", look)
    return float(await judge(prompt, completion, answer, state))

async def by_clients(completion):
    slow = () if GROUPED else (verdict_of("slow", completion[-1].content),)
    return sum(await asyncio.gather(*slow, verdict_of("quick", completion[-1].content)))

async def of_all(completions):
    question = " ".join(sorted(one[-1].content for one in completions))
    best = await verdict_of("group", question)
    return [best + await verdict_of("slow", question) for _ in completions[:1]] * len(completions)

def load_environment():
    rubric = vf.JudgeRubric(
        judge_client=AsyncOpenAI(base_url=f"{URL}/rubric/v1", api_key="none"), judge_model="j"
    )
    for function in (by_rubric, by_clients, *((of_all,) if GROUPED else ())):
        rubric.add_reward_func(function)
    return vf.SingleTurnEnv(dataset=[{"question": "a", "answer": "b"}], rubric=rubric)
"""


def path_of(judge: str) -> str:
    return f"/{judge}/v1/chat/completions"


def script_all(server: FaultServer, slow: Reply) -> None:
    server.script("/v1/chat/completions", [Reply(body=chat_answer(text)) for text in "xyz"])
    for place, name in enumerate(("rubric", "quick", "group")):
        server.script(path_of(name), [Reply(body=chat_answer(str(10**place)))])
    server.script(path_of("slow"), [slow])


def requests_by_server(server: FaultServer) -> Counter[str]:
    """How many requests the model and each judge had."""
    return Counter(one.path.split("/")[1] for one in server.requests)


def engine_of(run: Run) -> int:
    held = holder(run.path / "lock")
    assert held is not None
    return held.pid


def children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def records(run: Run) -> int:
    found = read_journal(RunDir(run.path))
    return len(found.generated) + sum(map(len, found.answers.values()))


def judged_program(program: Program, server: FaultServer, *, grouped: bool) -> list[str]:
    program.environment("judged", f"GROUPED = {grouped}\n{JUDGED}")
    program.env |= {"JUDGES": server.url, "LOOKS": str(program.folder / "looks")}
    script_all(server, HANG)
    count = "2" if grouped else "1"
    options = ["-n", "1", "-r", count, "-m", "m", "-b", f"{server.url}/v1", "-s", "-d"]
    return ["judged", *options, "--no-stream"]


def test_a_rollout_killed_while_scored_resumes_from_recorded_verdicts(
    program: Program, fault_server: FaultServer
) -> None:
    process = program.start(*judged_program(program, fault_server, grouped=False))
    run = wait_until(lambda: next(iter(program.runs()), None), "a run")
    wait_until(
        lambda: requests_by_server(fault_server)["slow"], "the slow judge has its request", 20
    )
    wait_until(lambda: records(run) == 4, "the others have said theirs", 20)
    os.kill(engine_of(run), signal.SIGKILL)
    program.finish(process)
    script_all(fault_server, Reply(body=chat_answer("1000")))
    done = run_here(program, "run", "--resume", str(run.path), "-d")
    assert done.code == 0, done
    assert requests_by_server(fault_server) == {"v1": 1, "rubric": 1, "quick": 1, "slow": 2}
    (row,) = run.rows
    assert row["reward"] == 1011.0
    assert (program.folder / "looks").read_text() == "x"
    assert "lost_usage" not in row["tui_eval"]
    assert "3 answers of 1 rollout in flight" in done.out + done.err
    assert "45 tokens are not paid for again" in done.out + done.err


@pytest.mark.slow
@pytest.mark.parametrize("killed", ["engine", "worker"])
def test_a_group_killed_while_scored_resumes_from_recorded_verdicts(
    program: Program, fault_server: FaultServer, killed: str
) -> None:
    process = program.start(*judged_program(program, fault_server, grouped=True))
    run = wait_until(lambda: next(iter(program.runs()), None), "a run")
    wait_until(
        lambda: requests_by_server(fault_server)["slow"], "the slow judge has its request", 20
    )
    wait_until(lambda: records(run) == KEPT_OF_BOTH, "the others have said theirs", 20)
    engine = engine_of(run)
    script_all(fault_server, Reply(body=chat_answer("1000")))
    os.kill(engine if killed == "engine" else children(engine)[0], signal.SIGKILL)
    done = program.finish(process)
    if killed == "engine":
        done = run_here(program, "run", "--resume", str(run.path), "-d")
    assert done.code == 0, done
    assert requests_by_server(fault_server) == {
        "v1": 2,
        "rubric": 2,
        "quick": 2,
        "group": 1,
        "slow": 2,
    }
    assert [row["reward"] for row in run.rows] == [1111.0, 1111.0]
    assert (program.folder / "looks").read_text() == "xx"
    assert not any("lost_usage" in row["tui_eval"] for row in run.rows)
    assert not (run.path / "journal.jsonl").exists()


async def test_another_judge_prompt_is_sent_and_the_recorded_verdict_is_lost_usage(
    folder: Path, fault_server: FaultServer
) -> None:
    script_all(fault_server, HANG)

    def of(name: str) -> vf.OpenAIChatCompletionsClient:
        config = vf.ClientConfig(api_base_url=f"{fault_server.url}/{name}/v1", api_key_var="")
        return vf.OpenAIChatCompletionsClient(config)

    rubric = vf.JudgeRubric(judge_client=of("rubric"), judge_model="j")

    async def verdict(prompt: Any, completion: Any, answer: Any, state: Any, judge: Any) -> float:
        return float(await judge(prompt, completion, answer, state))

    async def by_slow(prompt: Any) -> float:
        return float((await of("slow").get_response(prompt, "j", {})).message.content)

    def in_a_thread(prompt: Any) -> float:
        answer = asyncio.run(of("quick").get_response(prompt, "j", {}))
        return float(answer.message.content)

    for function in (verdict, in_a_thread, by_slow):
        rubric.add_reward_func(function)
    env = vf.SingleTurnEnv(dataset=[{"question": "a", "answer": "b"}], rubric=rubric)

    async def evaluate() -> None:
        client = vf.ClientConfig(api_base_url=f"{fault_server.url}/v1", api_key_var="")
        await env.evaluate(client, "m", results_path=folder / "run")

    task = asyncio.create_task(evaluate())
    async with asyncio.timeout(20):
        while not requests_by_server(fault_server)["slow"]:
            await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    rubric.judge_prompt = "Is {response} like {answer}?"
    script_all(fault_server, Reply(body=chat_answer("1000")))
    await evaluate()
    assert requests_by_server(fault_server) == {"v1": 1, "rubric": 2, "quick": 1, "slow": 2}
    (row,) = Run(folder / "run").rows
    assert row["reward"] == 1011.0
    lost = row["tui_eval"]["lost_usage"]
    assert (lost["input_tokens"], lost["output_tokens"]) == (10, 5)
