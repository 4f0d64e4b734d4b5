from __future__ import annotations

import asyncio
import logging

import pytest
from program import chat_answer
from servers import FaultServer, Reply
from stub_client import StubClient, answer

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


def test_a_function_is_no_rubric():
    with pytest.raises(TypeError, match="'rubric' is a function, not a Rubric"):
        vf.SingleTurnEnv(dataset=ROWS, rubric=lambda completion: 1.0)


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


def same(completions) -> list[float]:
    return [float(len(completions))] * len(completions)


def config(server: FaultServer) -> vf.ClientConfig:
    return vf.ClientConfig(api_base_url=f"{server.url}/v1", api_key_var="")


async def test_one_rollout_is_led_and_scored_while_the_semaphore_is_held():
    log = []

    class Held(asyncio.Semaphore):
        async def __aenter__(self):
            await super().__aenter__()
            log.append("held")

        async def __aexit__(self, *error):
            log.append("let go")
            await super().__aexit__(*error)

    rubric = vf.Rubric([lambda completion: log.append("scored") or 0.5])
    env = vf.SingleTurnEnv(dataset=ROWS, rubric=rubric, sampling_args={"top_p": 0.5})
    client = StubClient(answer("a"), answer("b"))
    row = env.get_dataset()[0]
    state = await env.run_rollout(Held(1), row, client, "m", {"temperature": 0})
    assert isinstance(state, vf.State)
    assert (state["reward"], state["completion"][0]["content"]) == (0.5, "a")
    assert log == ["held", "scored", "let go"]
    sampled = client.calls[0]["sampling_args"]
    assert sampled == {"n": 1, "extra_body": {}, "top_p": 0.5, "temperature": 0}
    env.set_score_rollouts(False)
    unscored = await env.run_rollout(None, row, client, "m")
    assert (unscored["reward"], unscored["completion"][0]["content"]) == (None, "b")


async def test_a_group_is_led_at_the_same_time_and_scored_together():
    both = asyncio.Barrier(2)

    async def when_both_call():
        await both.wait()
        return answer("x")

    env = vf.SingleTurnEnv(dataset=ROWS, rubric=vf.Rubric([same]))
    rows = [*env.get_dataset()]
    states = await env.run_group(rows, StubClient(when_both_call, when_both_call), "m")
    assert [state["example_id"] for state in states] == [0, 1]
    assert [(state["reward"], state["advantage"]) for state in states] == [(2.0, 0.0)] * 2


async def test_what_is_raised_in_a_single_rollout_is_its_error():
    class Raises(vf.Environment):
        async def rollout(self, input, client, model, sampling_args=None):
            raise OSError("no disk")

    class BadRubric(vf.Rubric):
        async def score_rollout(self, state):
            raise LookupError("no score")

    env = Raises(dataset=ROWS)
    row = env.get_dataset()[0]
    state = await env.run_rollout(None, row, StubClient(), "m")
    assert isinstance(state["error"], OSError)
    assert (state["example_id"], state["is_completed"]) == (0, True)
    [state] = await env.run_group([row], StubClient(), "m")
    assert isinstance(state["error"], OSError)
    scored = vf.SingleTurnEnv(dataset=ROWS)
    scored.rubric = BadRubric()
    state = await scored.run_rollout(None, row, StubClient(answer("x")), "m")
    assert isinstance(state["error"], LookupError)


async def test_a_cancelled_rollout_is_cancelled_and_cleaned_up():
    cleaned = []

    class Env(vf.SingleTurnEnv):
        @vf.cleanup
        async def tidy(self, state):
            cleaned.append(state["example_id"])

    async def never():
        await asyncio.Event().wait()

    env = Env(dataset=ROWS)
    client = StubClient(never, never)
    task = asyncio.create_task(env.run_group([*env.get_dataset()], client, "m"))
    while len(client.calls) < 2:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sorted(cleaned) == [0, 1]


async def test_a_config_stands_for_one_client_that_is_kept(fault_server: FaultServer):
    fault_server.script("/v1/chat/completions", [Reply(body=chat_answer("yes"))])
    env = vf.SingleTurnEnv(dataset=ROWS)
    row = env.get_dataset()[0]
    for _ in range(3):
        state = await env.run_rollout(None, row, config(fault_server), "m")
        assert state["completion"][0]["content"] == "yes"
    state = await env.rollout(row, config(fault_server), "m")
    assert isinstance(state["client"], vf.Client)
    question = [{"role": "user", "content": "more"}]
    more = await env.get_model_response(state, question, client=config(fault_server))
    assert more.message.content == "yes"
    assert fault_server.connections == 1
    await state["client"].close()


async def test_what_is_no_client_is_refused():
    env = vf.SingleTurnEnv(dataset=ROWS)
    with pytest.raises(TypeError, match="a client is"):
        await env.run_rollout(None, env.get_dataset()[0], "http://host", "m")


def test_datasets_can_be_read_and_replaced():
    env = vf.SingleTurnEnv(dataset=ROWS, system_prompt="s")
    assert env.eval_dataset is None
    assert [row["prompt"][0]["content"] for row in env.dataset] == ["s", "s"]
    env.eval_dataset = [{"question": "e"}]
    assert [row["question"] for row in env.get_eval_dataset()] == ["e"]
    assert env.eval_dataset[0]["prompt"][1]["content"] == "e"
    env.dataset = env.dataset.select([1])
    assert [row["question"] for row in env.get_dataset()] == ["q1"]
    assert env.logger.name.endswith("SingleTurnEnv")


def test_a_dataset_that_a_subclass_sets_before_the_constructor_does_not_matter():
    class Env(vf.SingleTurnEnv):
        def __init__(self):
            self.dataset = ["not", "rows"]
            super().__init__(dataset=ROWS)

    assert len(Env().dataset) == 2


def test_a_dataset_of_outputs_has_the_columns_of_all_of_them():
    datasets = pytest.importorskip("datasets")
    made = vf.Environment.make_dataset([{"a": 1}, {"a": 2, "late": "x"}])
    assert isinstance(made, datasets.Dataset)
    assert made[:] == {"a": [1, 2], "late": [None, "x"]}


def test_an_argument_with_a_typo_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    vf.SingleTurnEnv(dataset=[{"question": "q"}], rubrik=vf.Rubric(), colour="blue")
    (said,) = [record.message for record in caplog.records if "no argument" in record.message]
    assert "SingleTurnEnv has no argument 'rubrik'" in said
    assert "Did you mean rubric?" in said
