"""The bundled environments, played end to end against the endpoint over HTTP."""

from __future__ import annotations

import asyncio
import importlib
import random
import statistics
from pathlib import Path
from typing import Any

import pytest

import tui_eval as vf
from tui_eval.clients import make_client
from tui_eval.demo.policy.calculator import make_plan
from tui_eval.demo.policy.word_guess import fits

MODEL = "demo-scripted-policy"
NAMES = ("reverse_text", "calculator", "word_guess")
REWARDS = {
    "reverse_text": {"exact": 0.5, "similarity": 0.4, "format_reward_func": 0.1},
    "calculator": {"exact_answer": 0.6, "close_answer": 0.3, "tool_use": 0.1},
    "word_guess": {"solved": 0.6, "efficiency": 0.4},
}
METRICS = {
    "reverse_text": {"length_error"},
    "calculator": {"tool_errors", "answered", "total_tool_calls"},
    "word_guess": {"letters_found", "invalid_guesses"},
}


def module(name: str) -> Any:
    return importlib.import_module(f"tui_eval.demo.environments.{name}")


def rows(name: str, **arguments: Any) -> list[dict[str, Any]]:
    return list(module(name).load_environment(**arguments).get_eval_dataset())


async def play(
    env: Any, url: str, temperature: float, examples: int = 40, rollouts: int = 1
) -> list[vf.State]:
    """Finished and scored rollouts, in the order of the examples."""
    client = make_client(vf.ClientConfig(api_base_url=url))
    slots = asyncio.Semaphore(32)

    async def one(row: dict[str, Any]) -> vf.State:
        async with slots:
            state = await env.rollout(row, client, MODEL, {"temperature": temperature})
        assert state["error"] is None
        await env.rubric.score_rollout(state)
        return state

    try:
        chosen = [row for row in list(env.get_eval_dataset())[:examples] for _ in range(rollouts)]
        return list(await asyncio.gather(*(one(row) for row in chosen)))
    finally:
        await client.close()


def rewards(states: list[vf.State]) -> list[float]:
    return [state["reward"] for state in states]


@pytest.mark.parametrize("name", NAMES)
def test_has_100_distinct_examples_and_more(name: str) -> None:
    examples = rows(name)
    assert len({(str(row["prompt"]), row["answer"]) for row in examples}) == len(examples) >= 100
    assert len(rows(name, num_examples=7)) == 7


@pytest.mark.parametrize("name", NAMES)
def test_the_seed_decides_the_examples(name: str) -> None:
    def answers(seed: int) -> list[str]:
        return [row["answer"] for row in rows(name, num_examples=30, seed=seed)]

    assert answers(5) == answers(5)
    assert answers(5) != answers(6)


@pytest.mark.parametrize("name", NAMES)
def test_a_number_of_examples_that_cannot_be_is_refused(name: str) -> None:
    for number in (0, 1_000_000):
        with pytest.raises(ValueError, match="num_examples must be 1 to"):
            module(name).load_environment(num_examples=number)


@pytest.mark.parametrize("name", NAMES)
def test_is_found_by_its_id_and_explained_in_its_readme(name: str) -> None:
    env = vf.load_environment(name.replace("_", "-"), num_examples=3)
    assert len(list(env.get_eval_dataset())) == 3
    readme = (Path(module(name).__file__).parent / "README.md").read_text(encoding="utf-8")
    for word in [*REWARDS[name], *METRICS[name], "num_examples", "seed"]:
        assert f"`{word}`" in readme


def test_every_word_problem_is_planned_for() -> None:
    examples = module("calculator").write_problems(600, seed=1)
    assert all(make_plan(problem.question) for problem in examples)


@pytest.mark.parametrize("name", NAMES)
async def test_played_by_the_policy_rewards_are_believable(name: str, run_endpoint: Any) -> None:
    env = module(name).load_environment()
    with run_endpoint("--speed", "0") as url:
        states = await play(env, url, temperature=1.0, examples=30, rollouts=4)
    groups = [rewards(states[start : start + 4]) for start in range(0, len(states), 4)]
    assert 0.35 < statistics.mean(rewards(states)) < 0.9
    assert all(0 <= reward <= 1 for reward in rewards(states))
    assert len(set(rewards(states))) > 5
    assert sum(len(set(group)) > 1 for group in groups) > len(groups) / 2


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
async def test_a_higher_temperature_makes_more_mistakes(name: str, run_endpoint: Any) -> None:
    env = module(name).load_environment()
    with run_endpoint("--speed", "0") as url:
        cold = await play(env, url, temperature=0.0, examples=100)
        again = await play(env, url, temperature=0.0, examples=100)
        warm = await play(env, url, temperature=1.2, examples=100)
    assert rewards(cold) == rewards(again)
    assert statistics.mean(rewards(cold)) > statistics.mean(rewards(warm)) + 0.08


@pytest.mark.parametrize("name", NAMES)
async def test_the_reward_is_the_weighted_sum_and_metrics_stand_beside_it(
    name: str, run_endpoint: Any
) -> None:
    env = module(name).load_environment()
    with run_endpoint("--speed", "0") as url:
        states = await play(env, url, temperature=1.0, examples=10)
    for state in states:
        metrics = state["metrics"]
        assert set(metrics) >= set(REWARDS[name]) | METRICS[name]
        total = sum(weight * metrics[func] for func, weight in REWARDS[name].items())
        assert state["reward"] == pytest.approx(total)


async def test_calculator_shows_failing_tools_and_parallel_calls(run_endpoint: Any) -> None:
    env = module("calculator").load_environment()
    with run_endpoint("--speed", "0") as url:
        states = await play(env, url, temperature=1.0, examples=100)
    answers = [
        message
        for state in states
        for message in state["completion"]
        if isinstance(message, vf.AssistantMessage)
    ]
    recovered = [s for s in states if s["metrics"]["tool_errors"] and s["metrics"]["exact_answer"]]
    assert recovered
    assert any(len(answer.tool_calls or []) > 1 for answer in answers)
    assert any(answer.reasoning_content for answer in answers)
    assert statistics.mean(s["metrics"]["total_tool_calls"] for s in states) > 2


async def test_word_guess_ends_with_the_last_clue(run_endpoint: Any) -> None:
    env = module("word_guess").load_environment(max_guesses=4)
    with run_endpoint("--speed", "0") as url:
        states = await play(env, url, temperature=1.0, examples=60)
    ends = {state["stop_condition"] for state in states}
    assert ends == {"word_found", "out_of_guesses"}
    for state in states:
        last = state["completion"][-1].content
        assert ("That is it!" in last) == (state["stop_condition"] == "word_found")
        assert len(state["trajectory"]) == len(state["guesses"]) <= 4


def test_the_policy_reads_a_clue_as_the_game_means_it() -> None:
    game = module("word_guess")
    dice = random.Random(0)
    for _ in range(3000):
        secret, guess, word = dice.sample(game.WORDS, 3)
        signs = game.clue(guess, secret)
        assert fits(secret, (guess, signs))
        assert fits(word, (guess, signs)) == (game.clue(guess, word) == signs)


def test_a_clue_marks_no_letter_more_often_than_the_secret_has_it() -> None:
    clue = module("word_guess").clue
    assert clue("crane", "crane") == "GGGGG"
    assert clue("house", "about") == "-YY--"
    assert clue("geese", "eerie") == "-GY-G"
    assert clue("sleep", "speed") == "G-GGY"
