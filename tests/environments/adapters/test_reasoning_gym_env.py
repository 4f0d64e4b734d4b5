from __future__ import annotations

import sys

import pytest
from program import Program
from run_here import run_here
from stub_client import StubClient, answer

import tui_eval as vf


@pytest.fixture(autouse=True)
def the_package() -> None:
    pytest.importorskip("reasoning_gym")


async def score(env: vf.ReasoningGymEnv, row: dict, text: str) -> vf.State:
    state = await env.rollout(row, StubClient(answer(text)), "m", {})
    await env.rubric.score_rollout(state)
    assert state["error"] is None
    return state


async def test_a_dataset_makes_questions_and_scores():
    env = vf.ReasoningGymEnv("chain_sum", num_train_examples=3, num_eval_examples=2, seed=5)
    train, rows = env.get_dataset(), env.get_eval_dataset()
    assert (len(train), len(rows)) == (3, 2)
    assert train[0]["prompt"][-1]["content"] != rows[0]["prompt"][-1]["content"]
    row = rows[1]
    assert row["task"] == "chain_sum"
    assert "<answer>" in row["prompt"][0]["content"]
    right = await score(env, row, f"I add.\n<answer>{row['answer']}</answer>")
    assert right["reward"] == 1.0
    wrong = await score(env, row, "<answer>none of your business</answer>")
    assert wrong["reward"] < 0.1
    assert (await score(env, row, "no tags"))["reward"] == 0.0
    assert 0 < wrong["metrics"]["format_reward_func"] <= 1


def test_the_seed_decides_the_questions():
    def questions(seed: int) -> list[str]:
        env = vf.ReasoningGymEnv("leg_counting", 0, 4, seed=seed)
        return [row["prompt"][-1]["content"] for row in env.get_eval_dataset()]

    assert questions(1) == questions(1)
    assert questions(1) != questions(2)


@pytest.mark.parametrize(
    "gym",
    [
        ["leg_counting", "chain_sum"],
        [
            {"name": "leg_counting", "weight": 2.0},
            {"name": "chain_sum", "config": {"max_terms": 3}},
        ],
        {"datasets": [{"name": "leg_counting"}, "chain_sum"]},
    ],
)
async def test_datasets_are_mixed(gym):
    env = vf.ReasoningGymEnv(gym, num_train_examples=0, num_eval_examples=20)
    rows = list(env.get_eval_dataset())
    assert {row["task"] for row in rows} == {"leg_counting", "chain_sum"}
    for row in rows[:6]:
        state = await score(env, row, f"<answer>{row['answer']}</answer>")
        assert state["reward"] == 1.0


async def test_a_parser_and_a_system_prompt_of_ones_own():
    env = vf.ReasoningGymEnv("chain_sum", 0, 1, system_prompt="Count.", parser=vf.Parser())
    row = env.get_eval_dataset()[0]
    assert row["prompt"][0]["content"] == "Count."
    assert (await score(env, row, row["answer"]))["reward"] == 1.0


@pytest.mark.parametrize(
    ("gym", "said"),
    [
        ("chain_sums", "no dataset named 'chain_sums'. Did you mean chain_sum"),
        (["chain_sum", {"name": "leg"}], "no dataset named 'leg'"),
        ({"weight": 2}, "no dataset named None"),
        ([{"name": "chain_sum", "config": {"terms": 3}}], "terms"),
        ([], "reasoning-gym cannot make"),
    ],
)
def test_what_reasoning_gym_does_not_have_is_refused(gym, said):
    with pytest.raises(ValueError) as caught:
        vf.ReasoningGymEnv(gym)
    assert said in str(caught.value)


def test_without_the_package_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "reasoning_gym", None)
    with pytest.raises(ImportError, match=r"pip install .*'tui-eval\[reasoning-gym\]'"):
        vf.ReasoningGymEnv("chain_sum")


@pytest.mark.slow
def test_the_program_runs_it(program: Program):
    program.environment(
        "sums",
        """
        import tui_eval as vf

        def load_environment(gym="chain_sum"):
            return vf.ReasoningGymEnv(gym=gym, num_train_examples=0, num_eval_examples=3)
        """,
    )
    done = run_here(program, "sums", "-m", "demo", "-n", "3", "-r", "2", "-s", "-d")
    assert done.code == 0, done
    rows = program.only_run().rows
    assert len(rows) == 6
    assert all(row["error"] is None and row["task"] == "chain_sum" for row in rows)
    assert {"check_answer_reward_func", "format_reward_func"} <= rows[0]["metrics"].keys()
