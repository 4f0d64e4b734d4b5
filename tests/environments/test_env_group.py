from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest
from stub_client import Recorder, StubClient, answer

import tui_eval as vf
from tui_eval.errors import RefusedError


def exact(completion, answer):
    return float(completion[-1].content == answer)


def said(completion):
    return float(len(completion[-1].content))


def best(completions) -> list[float]:
    """A group function: 1 for the longest answer."""
    lengths = [len(completion[-1].content) for completion in completions]
    return [float(length == max(lengths)) for length in lengths]


def sums(**kwargs: Any) -> vf.SingleTurnEnv:
    rows = [{"question": "1+1", "answer": "2"}, {"question": "2+2", "answer": "4"}]
    kwargs.setdefault("dataset", rows)
    return vf.SingleTurnEnv(rubric=vf.Rubric(funcs=[exact, said], weights=[1, 0]), **kwargs)


def words(**kwargs: Any) -> vf.SingleTurnEnv:
    kwargs.setdefault("eval_dataset", [{"question": "Say.", "example_id": 7, "info": {"k": 1}}])
    return vf.SingleTurnEnv(rubric=vf.Rubric(funcs=[best]), system_prompt="Be brief.", **kwargs)


class Shout(vf.ToolEnv):
    """Has a tool, sampling arguments, and says which rollouts it cleaned up after."""

    def __init__(self, name: str = "", **kwargs: Any) -> None:
        def shout(text: str) -> str:
            return text.upper()

        kwargs.setdefault("sampling_args", {"temperature": 0.1, "max_tokens": 9})
        super().__init__(dataset=[{"question": name}], tools=[shout], **kwargs)
        self.log: list[str] = []

    @vf.cleanup
    async def clean(self, state):
        self.log.append(f"cleaned {state['task']}")


class Stubborn(Shout):
    @vf.teardown
    async def tear_down(self):
        self.log.append("torn down")
        await asyncio.sleep(0)
        raise OSError("still there")


async def lead(group: vf.Environment, place: int, *answers: Any, **sampling: Any) -> vf.State:
    client = StubClient(*(answers or [answer("2")]))
    return await group.rollout(group.eval_table()[place], client, "m", sampling)


def test_examples_stand_one_after_the_other_with_their_members_name_and_new_ids():
    group = vf.EnvGroup([sums(), words()], env_names=["sums", "words"])
    rows = list(group.eval_table())
    assert [(r["task"], r["example_id"], r["src_id"]) for r in rows] == [
        ("sums", 0, 0), ("sums", 1, 1), ("words", 2, 7)
    ]  # fmt: skip
    assert [r.get("answer") for r in rows] == ["2", "4", None]
    assert rows[0]["prompt"] == [{"role": "user", "content": "1+1"}]
    assert rows[2]["prompt"][0] == {"role": "system", "content": "Be brief."}
    assert rows[2]["info"] == {"k": 1}
    assert len(group.eval_table(2)) == 2
    assert [r["task"] for r in group.get_dataset()] == ["sums", "sums"]
    assert [r["question"] for r in group.get_eval_dataset(seed=0)] != [r["question"] for r in rows]


def test_members_have_names_and_can_be_found():
    one, other = sums(), words()
    group = vf.EnvGroup([one, other])
    assert group.env_names == ["env_0", "env_1"]
    assert group.envs == [one, other]
    assert group.env_map == {"env_0": one, "env_1": other}
    assert group.get_env_for_task("env_1") is other
    with pytest.raises(ValueError, match=r"task 'env_2'. Its tasks are: env_0, env_1. Did you"):
        group.get_env_for_task("env_2")


@pytest.mark.parametrize(
    ("envs", "names", "words"),
    [
        ([], None, "at least one"),
        ([sums()], ["a", "b"], "2 names for 1 environments"),
        ([sums(), sums()], ["a", "a"], "'a' is in env_names twice"),
    ],
)
def test_groups_that_cannot_be_are_refused(envs, names, words):
    with pytest.raises(ValueError, match=words):
        vf.EnvGroup(envs, env_names=names)


def test_datasets_stay_unread_until_the_groups_is_needed():
    read: list[str] = []

    def load():
        read.append("read")
        return [{"question": "q"}]

    group = vf.EnvGroup([sums(dataset=load), words(eval_dataset=load)])
    group.set_system_prompt("Be quick.")
    assert read == []
    assert len(group.eval_table()) == 2
    assert len(group.eval_table()) == 2
    assert read == ["read", "read"]


def test_faults_of_a_members_dataset_name_the_member():
    group = vf.EnvGroup([sums(), words(eval_dataset=lambda: [{"q": 1}])], ["sums", "words"])
    with pytest.raises(RefusedError) as refused:
        group.eval_table()
    assert [fault.where for fault in refused.value.faults] == ["words: dataset row 0"]


def test_a_group_without_training_examples_says_so():
    group = vf.EnvGroup([words(), vf.EnvGroup([words()])])
    assert group.dataset is None
    with pytest.raises(ValueError, match="no training dataset"):
        group.get_dataset()
    assert len(group.get_eval_dataset()) == 2


async def test_a_rollout_is_led_and_scored_by_its_own_member_only():
    group = vf.EnvGroup([sums(), Shout()], env_names=["sums", "shout"])
    first = await lead(group, 0)
    await group.rubric.score_rollout(first)
    assert first["task"] == "sums"
    assert first["reward"] == 1.0
    assert first["metrics"] == {"exact": 1.0, "said": 1.0, "num_turns": 1.0}
    calls = answer(calls=[("c", "shout", '{"text": "hi"}')])
    last = await lead(group, 2, calls, answer("done"))
    await group.rubric.score_rollout(last)
    assert last["completion"][1].content == "HI"
    assert [tool.name for tool in last["tool_defs"]] == ["shout"]
    assert set(last["metrics"]) == {"num_turns", "total_tool_calls", "shout_calls"}
    assert group.envs[1].log == ["cleaned shout"]


async def test_an_unknown_task_is_an_error_and_never_another_environments():
    group = vf.EnvGroup([sums(), words()], env_names=["sums", "words"])
    row = {**group.eval_table()[0], "task": "sum"}
    state = await group.run_rollout(None, row, StubClient(answer("2")), "m")
    assert "no environment for the task 'sum'" in str(state["error"])
    assert "sums, words" in str(state["error"])


async def test_sampling_arguments_are_the_members_under_the_groups_under_the_callers():
    group = vf.EnvGroup([Shout(), sums()], sampling_args={"max_tokens": 5})
    client = StubClient(answer("a"), answer("b"), answer("c"))
    rows = group.eval_table()
    await group.run_rollout(None, rows[0], client, "m", {"top_p": 0.5})
    await group.run_rollout(None, rows[0], client, "m", {"temperature": 0.9, "max_tokens": 7})
    await group.run_rollout(None, rows[1], client, "m")
    sampled = [call["sampling_args"] for call in client.calls]
    plain = {"n": 1, "extra_body": {}}
    assert sampled[0] == {**plain, "temperature": 0.1, "max_tokens": 5, "top_p": 0.5}
    assert sampled[1] == {**plain, "temperature": 0.9, "max_tokens": 7}
    assert sampled[2] == {**plain, "max_tokens": 5}


async def test_groups_of_rollouts_are_scored_by_their_members_group_functions():
    group = vf.EnvGroup([sums(), words()], env_names=["sums", "words"])
    assert group.rubric.has_group_funcs
    assert not vf.EnvGroup([sums()]).rubric.has_group_funcs
    row = group.eval_table()[2]
    client = StubClient(answer("short"), answer("much longer"))
    states = await group.run_group([row, row], client, "m")
    assert [state["reward"] for state in states] == [0.0, 1.0]
    assert [state["advantage"] for state in states] == [-0.5, 0.5]
    assert [set(state["metrics"]) for state in states] == [{"best", "num_turns"}] * 2
    row = group.eval_table()[0]
    states = await group.run_group([row, row], StubClient(answer("2"), answer("3")), "m")
    assert [state["reward"] for state in states] == [1.0, 0.0]
    assert "best" not in states[0]["metrics"]


async def test_settings_reach_the_group_and_every_member():
    group = vf.EnvGroup([Shout(), sums()])
    group.set_max_seq_len(77)
    assert [env.max_seq_len for env in (group, *group.envs)] == [77] * 3
    group.set_score_rollouts(False)
    assert [env.score_rollouts for env in (group, *group.envs)] == [False] * 3
    group.set_kwargs(max_turns=1, max_seq_len=8, score_rollouts=True)
    assert [env.max_seq_len for env in (group, *group.envs)] == [8] * 3
    calls = answer(calls=[("c", "shout", '{"text": "hi"}')])
    state = await lead(group, 0, calls)
    assert state["stop_condition"] == "max_turns_reached"
    assert vf.EnvGroup([sums()], max_seq_len=5).envs[0].max_seq_len == 5


def test_prompts_follow_settings_also_where_examples_were_read_already():
    group = vf.EnvGroup([sums(), words()])
    assert len(group.eval_table()[0]["prompt"]) == 1
    group.set_kwargs(system_prompt="Be loud.", few_shot=[{"role": "user", "content": "x"}])
    for row in group.eval_table():
        assert [m["content"] for m in row["prompt"]] == ["Be loud.", "x", row["question"]]


async def test_a_member_that_does_not_score_is_not_scored():
    group = vf.EnvGroup([sums(score_rollouts=False), words(score_rollouts=False)])
    assert not group.rubric.has_group_funcs
    state = await lead(group, 0)
    await group.rubric.score_rollout(state)
    assert (state["reward"], state["metrics"], state.scores) == (0.0, {}, [])


def test_the_pass_threshold_is_the_members_where_they_agree():
    assert vf.EnvGroup([sums(pass_threshold=0.9), words(pass_threshold=0.9)]).pass_threshold == 0.9
    assert vf.EnvGroup([sums(pass_threshold=0.9), words()]).pass_threshold == 0.5
    assert vf.EnvGroup([sums(pass_threshold=0.9)], pass_threshold=0.2).pass_threshold == 0.2


async def test_a_rubric_added_to_the_group_scores_every_rollout():
    group = vf.EnvGroup([sums(), words()])
    group.add_rubric(vf.Rubric(funcs=[said], weights=[0.5]))
    group.rubric.rubrics[0].add_metric(said)
    for place, reward in ((0, 1.5), (2, 1.5)):
        (state,) = await group.run_group([group.eval_table()[place]], StubClient(answer("2")), "m")
        assert state["reward"] == reward
        assert state["metrics"]["said"] >= 2.0  # every rubric's, added


async def test_groups_within_groups():
    inner = vf.EnvGroup([sums(), words()], env_names=["sums", "words"])
    shout = Shout()
    group = vf.EnvGroup([shout, inner], env_names=["shout", "inner"], sampling_args={"top_p": 1})
    rows = list(group.eval_table())
    assert [(r["task"], r["example_id"], r["src_id"]) for r in rows] == [
        ("shout", 0, 0), ("inner/sums", 1, 0), ("inner/sums", 2, 1), ("inner/words", 3, 7)
    ]  # fmt: skip
    assert [r["task"] for r in group.get_dataset()] == ["shout", "inner/sums", "inner/sums"]
    assert group.get_env_for_task("inner/words") is inner.envs[1]
    assert group.rubric.has_group_funcs
    client = StubClient(answer("2"))
    (state,) = await group.run_group([rows[1]], client, "m", {"temperature": 0})
    assert state["task"] == "inner/sums"
    assert state["reward"] == 1.0
    assert client.calls[0]["sampling_args"] == {
        "n": 1, "extra_body": {}, "top_p": 1, "temperature": 0
    }  # fmt: skip
    with pytest.raises(ValueError, match="Its tasks are: shout, inner/sums, inner/words"):
        group.get_env_for_task("inner")
    with pytest.raises(ValueError, match=r"Its tasks are: sums, words\. Did you mean sums"):
        group.get_env_for_task("inner/sum")


async def test_one_environment_under_two_names_is_torn_down_once_and_all_are():
    twice, other = Stubborn(), Stubborn()
    inner = vf.EnvGroup([other])
    group = vf.EnvGroup([twice, inner, twice], env_names=["a", "b", "c"])
    assert [row["task"] for row in group.eval_table()] == ["a", "b/env_0", "c"]
    assert (await lead(group, 2))["task"] == "c"
    raised = await group.run_teardown()
    assert [str(error) for error in raised] == ["still there"] * 2
    assert twice.log == ["cleaned c", "torn down"]
    assert other.log == ["torn down"]


async def test_the_observer_gets_the_member(recorder: Recorder):
    await lead(vf.EnvGroup([sums()]), 0)
    assert [message.role for message in recorder.messages] == ["user", "assistant"]


def test_members_with_hugging_face_datasets_are_put_together_with_others():
    datasets = pytest.importorskip("datasets")
    table = datasets.Dataset.from_list([{"question": "a", "answer": "b"}])
    group = vf.EnvGroup([sums(dataset=table), sums()], env_names=["hub", "list"])
    for rows in (group.eval_table(), group.get_dataset()):
        assert [(r["task"], r["example_id"]) for r in rows] == [
            ("hub", 0), ("list", 1), ("list", 2)
        ]  # fmt: skip
        assert rows[0]["prompt"][0]["content"] == "a"
    assert "datasets" in sys.modules


def test_a_group_of_hugging_face_datasets_shows_one_and_rows_keep_their_own_keys():
    datasets = pytest.importorskip("datasets")

    def member(name: str, **info: Any) -> vf.SingleTurnEnv:
        rows = [{"question": name, "answer": name, "info": info}]
        return vf.SingleTurnEnv(dataset=datasets.Dataset.from_list(rows))

    group = vf.EnvGroup([member("a", x=1), member("b", y=2)], ["a", "b"])
    for shown in (group.get_dataset(), group.get_eval_dataset(), group.dataset):
        assert isinstance(shown, datasets.Dataset)
        assert (shown["task"], shown["example_id"]) == (["a", "b"], [0, 1])
        assert [prompt[0]["content"] for prompt in shown["prompt"]] == ["a", "b"]
    assert isinstance(group.get_dataset(1), datasets.Dataset)
    assert [row["info"] for row in group.eval_table()] == [{"x": 1}, {"y": 2}]
    assert isinstance(vf.EnvGroup([group], ["g"]).get_dataset(), datasets.Dataset)
    mixed = vf.EnvGroup([group, sums()], ["g", "sums"])
    assert not isinstance(mixed.get_dataset(), datasets.Dataset)


def test_columns_without_a_type_in_common_are_shown_as_our_table():
    datasets = pytest.importorskip("datasets")

    def member(answer: Any) -> vf.SingleTurnEnv:
        rows = [{"question": "q", "answer": answer}]
        return vf.SingleTurnEnv(dataset=datasets.Dataset.from_list(rows))

    group = vf.EnvGroup([member("a"), member(["b"])])
    assert group.get_dataset()["answer"] == ["a", ["b"]]


def test_a_dataset_that_an_inner_group_was_given_is_the_outer_ones():
    inner = vf.EnvGroup([sums()], ["sums"])
    inner.dataset = inner.get_dataset().filter(lambda row: row["answer"] == "4")
    outer = vf.EnvGroup([inner, words()], ["inner", "words"])
    assert [(row["task"], row["answer"]) for row in outer.get_dataset()] == [("inner/sums", "4")]


def test_names_may_be_called_names() -> None:
    env = vf.SingleTurnEnv(dataset=[{"question": "q"}])
    assert vf.EnvGroup([env, env], names=["left", "right"]).env_names == ["left", "right"]
