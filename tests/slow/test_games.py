"""Games, questions and gyms that others wrote: scored here as by their own loops."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import Any

import pytest
from stub_client import StubClient, answer

import tui_eval as vf

GAMES = [
    "2048",
    "Bandit",
    "Blackjack",
    "Crosswords",
    "FifteenPuzzle",
    "FrozenLake",
    "GuessTheNumber",
    "LightsOut",
    "LogicPuzzle",
    "Mastermind",
    "Minesweeper",
    "PegJump",
    "QuantumTicTacToe",
    "RushHour",
    "Secretary",
    "Set",
    "Sokoban",
    "Sudoku",
    "TowerOfHanoi",
]
BREAK_AT_INVALID_MOVES = ["Countdown", "Cryptarithm", "Slitherlink", "ThreeCardMonte"]
"""By themselves: they tell the reward of such a move in the place of its reason."""
MOVES = ["[up]", "[hit]", "[A]", "[1]", "[0 0]", "[right]", "[10]", "[continue]", "[1 2 3 4]", "no"]

TASKS = [
    "ab",
    "base_conversion",
    "basic_arithmetic",
    "bitwise_arithmetic",
    "calendar_arithmetic",
    "chain_sum",
    "coin_flip",
    "count_bits",
    "countdown",
    "decimal_arithmetic",
    "family_relationships",
    "figlet_font",
    "gcd",
    "knights_knaves",
    "lcm",
    "leg_counting",
    "letter_counting",
    "mini_sudoku",
    "n_queens",
    "number_sorting",
    "palindrome_generation",
    "polynomial_equations",
    "propositional_logic",
    "rubiks_cube",
    "simple_geometry",
    "spell_backward",
    "sudoku",
    "syllogism",
    "tower_of_hanoi",
    "word_ladder",
    "zebra_puzzles",
]

GYMS: dict[str, list[Any]] = {
    "CartPole-v1": [0, 1, 1, 0, 1],
    "MountainCar-v0": [2, 2, 0, 1],
    "Acrobot-v1": [0, 2, 1, 2],
    "FrozenLake-v1": [2, 2, 1, 1, 1, 2],
    "CliffWalking-v1": [0, 1, 1, 1, 2],
    "Taxi-v4": [0, 1, 4, 3, 5],
    "Blackjack-v1": [1, 1, 0],
}


async def rollout(env: Any, row: dict[str, Any], said: Sequence[str]) -> vf.State:
    state = await env.rollout(dict(row), StubClient(*map(answer, said)), "m", {})
    await env.rubric.score_rollout(state)
    assert state["error"] is None, state["error"]
    return state


def played(game: str, seed: int, moves: list[str]) -> tuple[int, float]:
    """Moves that a game of TextArena took, and its reward; by its own loop."""
    import textarena

    env = textarena.make(game)
    env.reset(num_players=1, seed=seed)
    for taken, move in enumerate(moves, 1):
        env.get_observation()
        done, _ = env.step(move)
        if done:
            rewards, _ = env.close()
            return taken, float((rewards or {}).get(0, 0.0))
    return len(moves), 0.0


@pytest.mark.parametrize("game", GAMES)
async def test_a_game_gives_the_reward_of_its_own_loop(game: str) -> None:
    pytest.importorskip("textarena")
    env = vf.TextArenaEnv(
        game=f"{game}-v0", num_train_examples=2, max_turns=len(MOVES), parser=vf.Parser()
    )
    for row in env.get_dataset():
        seed = row["info"]["seed"]
        moves = random.Random(seed).sample(MOVES, len(MOVES))
        # Games draw from the interpreter's generator too, which stands alike for both.
        random.seed(seed)
        taken, reward = played(f"{game}-v0", seed, moves)
        random.seed(seed)
        state = await rollout(env, row, moves)
        assert (len(state["trajectory"]), state["reward"]) == (taken, reward)


@pytest.mark.parametrize("game", BREAK_AT_INVALID_MOVES)
async def test_a_game_that_breaks_by_itself_is_played_to_its_end(game: str) -> None:
    pytest.importorskip("textarena")
    env = vf.TextArenaEnv(game=f"{game}-v0", num_train_examples=1, parser=vf.Parser())
    with pytest.raises(ValueError, match="could not convert"):
        played(f"{game}-v0", 0, ["no"] * 4)
    state = await rollout(env, env.get_dataset()[0], ["no"] * 4)
    assert state["stop_condition"] == "has_final_env_response"


@pytest.mark.parametrize("task", TASKS)
async def test_a_task_scores_as_its_package_does(task: str) -> None:
    reasoning_gym = pytest.importorskip("reasoning_gym")
    env = vf.ReasoningGymEnv(task, num_train_examples=2, num_eval_examples=3, seed=11)
    questions = reasoning_gym.create_dataset(task, size=5, seed=11)
    assert [row["prompt"][-1]["content"] for row in env.get_eval_dataset()] == [
        questions[place]["question"] for place in (2, 3, 4)
    ]
    for place, row in enumerate(env.get_eval_dataset(), 2):
        for said in (
            str(questions[place]["answer"]),
            "7",
            "nothing at all",
            str(questions[0]["answer"]),
        ):
            state = await rollout(env, row, [f"<answer>\n{said}\n</answer>"])
            own = questions.score_answer(said.strip(), questions[place])
            assert state["metrics"]["check_answer_reward_func"] == pytest.approx(own, abs=0), said


def summed(name: str, seed: int, actions: list[Any]) -> tuple[int, float]:
    """Steps that a gym took, and the sum of their rewards; by a bare loop."""
    import gymnasium

    env, total = gymnasium.make(name), 0.0
    env.reset(seed=seed)
    for taken, action in enumerate(actions, 1):
        _, reward, terminated, truncated, _ = env.step(action)
        total += float(reward)
        if terminated or truncated:
            return taken, total
    return len(actions), total


@pytest.mark.parametrize("name", GYMS)
async def test_a_gym_gives_the_rewards_of_a_bare_loop(name: str) -> None:
    pytest.importorskip("gymnasium")
    actions = GYMS[name]
    env = vf.GymEnv(
        env_cls=name, num_eval_episodes=3, action_parser=int, max_episode_steps=len(actions)
    )
    rows = env.get_eval_dataset()
    states = await asyncio.gather(*(rollout(env, row, [*map(str, actions), "0"]) for row in rows))
    for row, state in zip(rows, states, strict=True):
        _, total = summed(name, row["info"]["gym_seed"], actions)
        assert state["reward"] == total
