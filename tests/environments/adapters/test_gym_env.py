from __future__ import annotations

import asyncio
import re
import sys
import threading
from typing import Any

import pytest
from program import Program
from run_here import run_here
from stub_client import Recorder, StubClient, answer

import tui_eval as vf

ROW = {"prompt": [], "example_id": 0, "task": "t"}


class Counter:
    """Counts up to a target; notes what was done with it, and on which thread."""

    made: list[Counter]

    def __init__(self, start: int = 0, target: int = 3) -> None:
        self.x, self.target = start, target
        self.seed: int | None = None
        self.threads = {threading.get_ident()}
        self.closed = 0
        type(self).made.append(self)

    def reset(self, *, seed: int) -> tuple[str, dict[str, Any]]:
        self.threads.add(threading.get_ident())
        self.seed = seed
        return f"x={self.x}", {"target": self.target}

    def step(self, action: int) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.threads.add(threading.get_ident())
        self.x += action
        done = self.x >= self.target
        return f"x={self.x}", 1.0 if done else 0.25, done, False, {"x": self.x}

    def close(self) -> None:
        self.threads.add(threading.get_ident())
        self.closed += 1


class OldCounter(Counter):
    """The same as gym before 0.26 would have it."""

    def reset(self) -> str:  # type: ignore[override]
        return f"x={self.x}"

    def step(self, action: int) -> tuple[str, float, bool, dict[str, Any]]:  # type: ignore[override]
        obs, reward, done, _, info = super().step(action)
        return obs, reward, done, info


@pytest.fixture(autouse=True)
def made():
    Counter.made = []
    return Counter.made


def read_number(text: str) -> int:
    found = re.search(r"-?\d+", text)
    if found is None:
        raise ValueError(f"no number in {text!r}")
    return int(found[0])


def env_with(env_cls: Any = Counter, **kwargs: Any) -> vf.GymEnv:
    kwargs = {"action_parser": read_number, "num_train_episodes": 0, **kwargs}
    return vf.GymEnv(env_cls, **kwargs)


async def play(env: vf.GymEnv, *answers: Any, row: dict[str, Any] | None = None) -> vf.State:
    client = StubClient(*[answer(text) for text in (*answers, "seen")])
    state = await env.rollout(row or env.get_eval_dataset()[0], client, "m", {})
    await env.rubric.score_rollout(state)
    return state


def said(state: vf.State) -> list[str]:
    return [str(message.content) for message in state["completion"]]


def last_seen(state: vf.State) -> str:
    """The last observation of the model; an episode that is over says so below it."""
    return [str(one.content) for one in state["completion"] if one.role == "user"][-1]


async def test_an_episode_is_played_and_its_rewards_are_summed(made, recorder: Recorder):
    env = env_with(system_prompt="Count.", env_kwargs={"target": 3}, num_eval_episodes=1)
    state = await play(env, "add 1", "add 1", "1")
    assert state["error"] is None
    assert [m.content for m in state["prompt"]] == ["Count.", "x=0"]
    over = "x=3\nEpisode already ended."
    assert said(state) == ["add 1", "x=1", "add 1", "x=2", "1", over, "seen"]
    assert [step["reward"] for step in state["trajectory"]] == [0.25, 0.25, 1.0, 1.5]
    assert state["trajectory"][1]["extras"]["gym_info"] == {"x": 2}
    assert state["gym_done"] is True and state["gym_truncated"] is False
    assert state["reward"] == 1.5
    assert state["metrics"] == {"sum_step_rewards": 1.5, "num_turns": 4.0}
    assert state["stop_condition"] == "is_done"
    assert recorder.messages[-1].content == "seen"


async def test_older_environments_are_played_too():
    state = await play(env_with(OldCounter, num_eval_episodes=1), "2", "2")
    assert state["error"] is None
    assert last_seen(state).startswith("x=4")
    assert state["reward"] == 1.25


async def test_each_rollout_has_an_instance_on_one_thread_which_is_closed(made):
    env = env_with(num_eval_episodes=2)
    rows = list(env.get_eval_dataset())
    made.clear()
    states = await asyncio.gather(*(play(env, "1", "1", "1", row=rows[i % 2]) for i in range(6)))
    assert [state["reward"] for state in states] == [1.5] * 6
    assert sorted(gym.seed for gym in made) == [0, 0, 0, 1, 1, 1]
    for gym in made:
        assert gym.closed == 1
        assert len(gym.threads) == 1
        assert threading.get_ident() not in gym.threads


async def test_a_blocking_step_does_not_hold_the_loop_and_is_over_before_close(made):
    entered, resume = threading.Event(), threading.Event()

    class Slow(Counter):
        def step(self, action: int) -> Any:
            entered.set()
            assert resume.wait(30)
            assert not self.closed
            return super().step(action)

    env = env_with(Slow, num_eval_episodes=1)
    row = env.get_eval_dataset()[0]
    made.clear()
    rollout = asyncio.create_task(play(env, "3", row=row))
    while not entered.is_set():
        await asyncio.sleep(0.001)
    rollout.cancel()
    await asyncio.sleep(0)
    resume.set()
    with pytest.raises(asyncio.CancelledError):
        await rollout
    assert (made[0].x, made[0].closed) == (3, 1)


async def test_an_episode_has_at_most_so_many_answers_of_which_the_last_is_played_too():
    env = env_with(max_episode_steps=3, num_eval_episodes=1)
    state = await play(env, "1", "1", "1")
    assert [step["reward"] for step in state["trajectory"]] == [0.25, 0.25, 1.0]
    assert last_seen(state) == "x=2"
    assert (state["gym_done"], state["stop_condition"]) == (True, "max_turns_reached")


async def test_the_last_answer_is_a_subclass_own_where_that_answers():
    class Own(vf.GymEnv):
        calls = 0

        async def env_response(self, messages: Any, state: Any, **kwargs: Any) -> Any:
            self.calls += 1
            return [{"role": "user", "content": "go on"}]

    env = Own(Counter, action_parser=int, num_eval_episodes=1, max_episode_steps=2)
    await play(env, "1", "1")
    assert env.calls == 1


async def test_an_action_is_what_the_parser_takes_out_of_an_answer():
    env = env_with(parser=vf.XMLParser(["move"], answer_field="move"), num_eval_episodes=1)
    state = await play(env, "7 or 8? <move>3</move>")
    assert last_seen(state).startswith("x=3")


def test_rows_are_given_as_datasets_too():
    env = vf.GymEnv(Counter, num_train_episodes=2, num_eval_episodes=0)
    train, evaluation = env.gym_to_hf()
    assert train["question"][0] == "x=0" and len(train) == 2 and evaluation is None


async def test_an_action_that_cannot_be_read_ends_the_episode():
    state = await play(env_with(num_eval_episodes=1), "1", "nothing")
    assert last_seen(state) == "Action Parsing Error: no number in 'nothing'"
    assert state["error"] is None
    assert state["gym_done"] is True
    assert state["reward"] == 0.25


@pytest.mark.parametrize(
    ("method", "kind"), [("__init__", KeyError), ("reset", OSError), ("step", ZeroDivisionError)]
)
async def test_what_the_environment_raises_is_the_rollouts_error(made, method, kind):
    def fail(self, *args, **kwargs):
        raise kind("of the game")

    broken = type("Broken", (Counter,), {method: fail})
    env = env_with(broken, eval_dataset=[{"question": "Go."}])
    state = await play(env, "1")
    assert type(state["error"]) is kind
    assert all(gym.closed == 1 for gym in made)


async def test_a_step_of_another_shape_is_named():
    wrong = type("Wrong", (Counter,), {"step": lambda self, action: ("x", 1.0)})
    state = await play(env_with(wrong, num_eval_episodes=1), "1")
    assert "step() returned 2 values" in str(state["error"])


def test_rows_hold_first_observations_and_seeds(made):
    class Seeded(Counter):
        def reset(self, *, seed: int) -> Any:
            return f"seed {seed}"

    env = vf.GymEnv(env_cls=Seeded, num_train_episodes=3, num_eval_episodes=2, seed=10)
    assert made == []
    train, rows = list(env.get_dataset()), list(env.get_eval_dataset())
    assert [row["question"] for row in train] == ["seed 10", "seed 11", "seed 12"]
    assert [row["answer"] for row in rows] == ["13", "14"]
    assert [gym.closed for gym in made] == [1, 1]


@pytest.mark.parametrize(
    ("row", "seed"),
    [
        ({"info": {"seed": 7}, "answer": ""}, 7),
        ({"answer": "8"}, 8),
        ({"answer": "eight", "example_id": 5}, 105),
    ],
)
async def test_rows_of_ones_own_say_the_seed(made, row, seed):
    env = env_with(dataset=[{"question": "Go."}], seed=100)
    state = await play(env, "3", row={**ROW, **row})
    assert made[0].seed == seed
    assert [message.content for message in state["prompt"]] == ["x=0"]


async def test_rows_without_any_message_get_the_first_observation(made):
    rows = [{"prompt": [], "info": {"seed": 4}, "answer": ""}, {"prompt": [], "answer": "9"}]
    env = env_with(eval_dataset=rows, system_prompt="Count.")
    state = await play(env, "3")
    assert [message.content for message in state["prompt"]] == ["Count.", "x=0"]
    assert [row["info"]["gym_seed"] for row in env.get_eval_dataset()] == [4, 9]
    assert made[-1].seed == 4


async def test_a_question_of_ones_own_stays():
    state = await play(env_with(dataset=[{"question": "Go."}]), "3")
    assert [message.content for message in state["prompt"]] == ["Go."]


async def test_the_prompt_shows_what_was_really_seen_first(made):
    numbers = iter(range(100))

    class Unseeded(Counter):
        def reset(self) -> Any:
            return f"number {next(numbers)}"

    env = env_with(Unseeded, num_eval_episodes=1)
    assert env.get_eval_dataset()[0]["question"] == "number 0"
    state = await play(env, "3")
    assert state["prompt"][-1].content == "number 1"


async def test_observations_are_rendered_by_function_or_method():
    class Shown(vf.GymEnv):
        def obs_to_text(self, obs: Any) -> str:
            return f"<{obs}>"

        def action_parser(self, text: str) -> Any:
            return len(text)

    state = await play(Shown(Counter, num_eval_episodes=1), "four")
    assert state["prompt"][-1].content == "<x=0>" and last_seen(state).startswith("<x=4>")
    env = env_with(obs_to_text=str.upper, num_eval_episodes=1)
    assert (await play(env, "3"))["prompt"][-1].content == "X=0"


async def test_a_rubric_of_ones_own_may_add_to_the_sum():
    rubric = vf.EpisodicSumRubric(weight=2.0)
    rubric.add_metric(lambda state: float(state["gym_done"]))
    env = env_with(rubric=rubric, num_eval_episodes=1)
    assert (await play(env, "1", "2"))["reward"] == 2.5


async def test_completion_mode_has_text_for_a_prompt():
    env = env_with(message_type="completion", num_eval_episodes=1)
    assert env.get_eval_dataset()[0]["prompt"] == "x=0"
    assert (await play(env, "3"))["reward"] == 1.0


def test_something_to_play_is_needed():
    with pytest.raises(TypeError, match="env_cls"):
        vf.GymEnv(action_parser=read_number)


def test_a_gymnasium_id_needs_gymnasium(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(ImportError, match=r"pip install .*'tui-eval\[gym\]'"):
        vf.GymEnv("FrozenLake-v1")


async def test_a_gymnasium_environment_is_played_by_its_id():
    pytest.importorskip("gymnasium")
    env = env_with("FrozenLake-v1", env_kwargs={"is_slippery": False}, num_eval_episodes=1)
    state = await play(env, *"112122")
    assert state["error"] is None
    assert last_seen(state).startswith("15")
    assert state["reward"] == 1.0


def test_the_program_runs_it(program: Program):
    program.environment(
        "higher",
        """
        import random, re
        import tui_eval as vf

        class Higher:
            def __init__(self, top=100):
                self.top = top

            def reset(self, seed=None):
                self.secret = random.Random(seed).randint(1, self.top)
                return f"Guess my number, from 1 to {self.top}.", {}

            def step(self, guess):
                if guess == self.secret:
                    return "Found.", 1.0, True, False, {}
                hint = "higher" if guess < self.secret else "lower"
                return f"No, {hint}.", 0.0, False, False, {}

        def first_number(text):
            return int(re.search(r"\\d+", text).group())

        def load_environment():
            return vf.GymEnv(
                env_cls=Higher,
                action_parser=first_number,
                num_eval_episodes=3,
                max_episode_steps=9,
            )
        """,
    )
    done = run_here(program, "higher", "-m", "demo", "-n", "3", "-r", "2", "-s", "-d")
    assert done.code == 0, done
    rows = program.only_run().rows
    assert len(rows) == 6
    assert all(row["error"] is None for row in rows)
    assert sum(row["reward"] for row in rows) > 0
    assert {row["stop_condition"] for row in rows} <= {"is_done", "max_turns_reached"}
    assert rows[0]["completion"][-1]["role"] == "assistant"
