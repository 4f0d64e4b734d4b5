from __future__ import annotations

import logging

import pytest

import tui_eval as vf
from tui_eval.rubrics.rubric_group import RubricGroup

ROWS = [{"question": "q0"}, {"question": "q1"}]


def test_what_is_not_known_becomes_an_attribute():
    env = vf.SingleTurnEnv(dataset=ROWS, difficulty="hard", sampling_args={"stop": ["x"]})
    assert env.difficulty == "hard"
    assert env.sampling_args == {"n": 1, "extra_body": {}, "stop": ["x"]}
    assert (env.env_id, env.env_args, env.pass_threshold) == ("", {}, 0.5)


def test_an_environment_needs_a_dataset():
    with pytest.raises(ValueError, match="Either dataset or eval_dataset must be provided"):
        vf.SingleTurnEnv()
    with pytest.raises(ValueError, match="tool_defs"):
        vf.SingleTurnEnv(dataset=ROWS, oai_tools=[])


def test_the_eval_dataset_comes_first_and_training_examples_stand_in():
    both = vf.SingleTurnEnv(dataset=ROWS, eval_dataset=[{"question": "e"}])
    assert [row["question"] for row in both.get_eval_dataset()] == ["e"]
    assert len(both.get_dataset()) == 2
    assert len(vf.SingleTurnEnv(dataset=ROWS).get_eval_dataset(n=1)) == 1


def test_a_seed_shuffles_for_good():
    env = vf.SingleTurnEnv(dataset=[{"question": str(n)} for n in range(20)])
    before = env.get_dataset().to_list()
    shuffled = env.get_dataset(seed=1).to_list()
    assert shuffled != before
    assert env.get_dataset().to_list() == shuffled


def test_settings_reach_examples_that_are_loaded_already():
    env = vf.SingleTurnEnv(dataset=ROWS)
    env.set_kwargs(system_prompt="new", few_shot=[{"role": "user", "content": "f"}], max_turns=3)
    prompt = env.get_eval_dataset()[0]["prompt"]
    assert [message["content"] for message in prompt] == ["new", "f", "q0"]
    assert env.max_turns == 3


def test_rubrics_add_up_without_touching_those_of_others():
    shared = RubricGroup([vf.Rubric([lambda **_: 1.0])])
    first = vf.SingleTurnEnv(dataset=ROWS, rubric=shared)
    second = vf.SingleTurnEnv(dataset=ROWS, rubric=shared)
    assert len(shared.rubrics) == 1
    assert len(first.rubric.rubrics) == len(second.rubric.rubrics) == 2
    first.add_rubric(vf.Rubric())
    assert len(first.rubric.rubrics) == 3
    assert first.rubric.has_group_funcs is False


def test_different_parsers_are_warned_of(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING):
        vf.SingleTurnEnv(dataset=ROWS, parser=vf.XMLParser(["answer"]), rubric=vf.Rubric())
    assert "parser" in caplog.text


async def test_marks_have_priorities_and_no_property_is_evaluated():
    log = []

    class Env(vf.SingleTurnEnv):
        @property
        def explosive(self):
            raise RuntimeError("must not be read")

        @vf.teardown
        def b(self):
            log.append("b")

        @vf.teardown(priority=1)
        async def c(self):
            log.append("c")
            raise OSError("stuck")

        @vf.teardown
        def a(self):
            log.append("a")

    env = Env(dataset=ROWS)
    raised = await env.run_teardown()
    assert log == ["c", "a", "b"]
    assert [type(error) for error in raised] == [OSError]


async def test_an_environment_may_do_everything_itself():
    log = []

    class Own(vf.Environment):
        async def rollout(self, input, client, model, sampling_args=None):
            state = await self.init_state(input, client, model, sampling_args)
            while not await self.is_completed(state):
                state["tries"] = state.get("tries", 0) + 1
            state["completion"] = [vf.AssistantMessage(content="x")]
            return state

        @vf.stop
        def enough(self, state):
            return state.get("tries", 0) == 3

        @vf.cleanup
        def tidy(self, state):
            log.append(state["stop_condition"])

    env = Own(dataset=ROWS, env_id="own")
    state = await env.rollout(env.get_dataset()[1], None, "m")
    assert state["stop_condition"] == "enough"
    assert state["is_completed"] is True
    assert state["task"] == "own"
    assert log == ["enough"]
    assert state["timing"]["generation_ms"] > 0
