"""A rollout's trajectory: live and saved, whole and broken."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_eval.events import MessagesAdded, ToolFinished
from tui_eval.fold.trajectory import Entry, Rollout, content_text, from_row

CALL = {"id": "call_9", "name": "add_one", "arguments": '{"x": 41}'}
RESULT = {"role": "tool", "tool_call_id": "call_9", "content": "42"}
PROMPT = [{"role": "system", "content": "Be terse."}, {"role": "user", "content": "41 + 1?"}]


def calling(*calls: Any, content: str = "") -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def saved(*completion: Any, **fields: Any) -> Rollout:
    return from_row(0, {"prompt": PROMPT, "completion": list(completion), **fields})


def shown(entries: list[Entry]) -> list[tuple[str, int, str, str | None]]:
    return [(e.role, e.turn, e.text, e.tool.result if e.tool else None) for e in entries]


@pytest.mark.parametrize(
    "call",
    [
        json.dumps(CALL),
        CALL,
        {**CALL, "arguments": {"x": 41}},
        {"id": "call_9", "type": "function", "function": {"name": "add_one", "arguments": "{}"}},
        json.dumps({"id": "call_9", "function": {"name": "add_one", "arguments": '{"x": 41}'}}),
    ],
)
def test_a_tool_call_in_any_shape_stands_with_its_result(call: Any) -> None:
    entries = saved(calling(call), RESULT, {"role": "assistant", "content": "42"}).entries()
    assert [entry.role for entry in entries] == ["system", "user", "tool", "assistant"]
    tool = entries[2].tool
    assert tool is not None
    assert (tool.name, tool.result, entries[2].turn) == ("add_one", "42", 1)
    assert isinstance(json.loads(tool.arguments), dict)
    assert entries[3].turn == 2


@pytest.mark.parametrize("text", ["[" * 100_000, "not json"], ids=["nested too deep", "no JSON"])
def test_a_call_that_no_decoder_reads_is_shown_as_it_is(text: str) -> None:
    tool = saved(calling(text)).entries()[2].tool
    assert tool is not None
    assert (tool.name, tool.arguments) == ("?", text)


def test_tool_calls_saved_as_one_json_text_are_read() -> None:
    message = {"role": "assistant", "content": "", "tool_calls": json.dumps([CALL])}
    assert saved(message, RESULT).entries()[2].tool is not None


def test_a_call_without_a_result_is_pending_and_a_result_without_a_call_is_shown() -> None:
    entries = saved(
        calling(CALL), {"role": "tool", "tool_call_id": "other", "content": "?"}
    ).entries()
    assert shown(entries)[2:] == [("tool", 1, "", None), ("tool", 1, "?", None)]


def test_results_that_were_saved_without_an_id_go_to_the_calls_in_their_order() -> None:
    first, second = ({"role": "tool", "content": text} for text in ("42", "43"))
    entries = saved(calling(CALL, {**CALL, "id": "call_10"}), first, second).entries()
    assert shown(entries)[2:] == [("tool", 1, "", "42"), ("tool", 1, "", "43")]


@pytest.mark.parametrize("call_id", [None, "", "call_9"])
def test_calls_that_share_an_id_have_their_results_in_their_order(call_id: str | None) -> None:
    call = {"id": call_id, "name": "add_one", "arguments": "{}"}
    results = [{"role": "tool", "content": text} for text in ("42", "43")]
    if call_id:
        results = [{**one, "tool_call_id": call_id} for one in results]
    again = {**results[0], "content": "44"}
    entries = saved(calling(call, call), *results, calling(call), calling(call), again).entries()
    assert [reported[3] for reported in shown(entries)[2:]] == ["42", "43", None, "44"]


def test_two_calls_of_one_turn_have_their_own_results() -> None:
    second = {**CALL, "id": "call_10"}
    late = {**RESULT, "tool_call_id": "call_10", "content": "43"}
    entries = saved(calling(CALL, second, content="both"), late, RESULT).entries()
    assert shown(entries)[2:] == [
        ("assistant", 1, "both", None),
        ("tool", 1, "", "42"),
        ("tool", 1, "", "43"),
    ]


def test_an_endpoint_that_uses_ids_again_does_not_mix_up_results() -> None:
    rollout = Rollout(row=0)
    rollout.apply(MessagesAdded(0, 0.0, 0, 1, 0, 1, [PROMPT[1], calling(CALL)]))
    rollout.apply(ToolFinished(0, 0.0, 0, "call_9", "add_one", 5.0, None, "42"))
    rollout.apply(MessagesAdded(0, 0.0, 0, 1, 2, 1, [RESULT, calling(CALL)]))
    first, second = (entry.tool for entry in rollout.entries() if entry.tool)
    assert (first.result, first.ms) == ("42", 5.0)
    assert (second.result, second.ms) == (None, None)
    rollout.apply(ToolFinished(0, 0.0, 0, "call_9", "add_one", 7.0, "ToolCallError", "no"))
    first, second = (entry.tool for entry in rollout.entries() if entry.tool)
    assert (first.ms, second.ms, second.result, second.error) == (5.0, 7.0, "no", "ToolCallError")


def test_a_live_result_is_shown_before_its_message_comes() -> None:
    rollout = Rollout(row=0)
    rollout.apply(MessagesAdded(0, 0.0, 0, 1, 0, 2, [*PROMPT, calling(CALL)]))
    tool = rollout.entries()[2].tool
    assert tool is not None and tool.result is None
    rollout.apply(ToolFinished(0, 0.0, 0, "call_9", "add_one", 5.0, None, [{"type": "image_url"}]))
    tool = rollout.entries()[2].tool
    assert tool is not None
    assert (tool.result, tool.ms, tool.error) == ("[image]", 5.0, None)


def test_a_second_attempt_starts_the_conversation_again() -> None:
    rollout = Rollout(row=0)
    rollout.apply(MessagesAdded(0, 0.0, 0, 1, 0, 2, [*PROMPT, calling(CALL), RESULT]))
    rollout.apply(ToolFinished(0, 0.0, 0, "call_9", "add_one", 5.0, None, "42"))
    rollout.apply(MessagesAdded(0, 0.0, 0, 2, 0, 2, [*PROMPT, calling(CALL)]))
    assert rollout.attempt == 2
    tool = rollout.entries()[-1].tool
    assert tool is not None and tool.result is None


def test_live_and_saved_report_the_same() -> None:
    completion = [calling(json.dumps(CALL)), RESULT, {"role": "assistant", "content": "It is 42."}]
    live = Rollout(row=0)
    live.apply(MessagesAdded(0, 0.0, 0, 1, 0, 2, PROMPT))
    for place, message in enumerate(completion, 2):
        live.apply(MessagesAdded(0, 0.0, 0, 1, place, 2, [message]))
    assert shown(live.entries()) == shown(saved(*completion).entries())


def test_an_assistant_message_of_the_prompt_is_no_turn() -> None:
    prompt = [*PROMPT, {"role": "assistant", "content": "Hm?"}]
    entries = from_row(
        0, {"prompt": prompt, "completion": [{"role": "assistant", "content": "42"}]}
    ).entries()
    assert [entry.turn for entry in entries] == [0, 0, 0, 1]


def test_an_errored_row_has_its_error_and_no_reward() -> None:
    error = {"error": "ModelError", "error_chain_repr": "ModelError() -> X('no')"}
    ours = {
        "version": 1,
        "empty_completion": True,
        "attempt": 3,
        "traceback": "Traceback ...",
        "scores": [{"name": "f", "raw": None, "weight": 0.5, "error": "ValueError: no"}],
    }
    rollout = saved({"role": "assistant", "content": ""}, reward=0.0, error=error, tui_eval=ours)
    assert rollout.reward is None
    assert rollout.error == "ModelError() -> X('no')"
    assert [entry.role for entry in rollout.entries()] == ["system", "user"]
    assert (rollout.attempt, rollout.traceback) == (3, "Traceback ...")
    assert rollout.scores[0].contribution is None


def test_scores_report_what_they_add() -> None:
    ours = {"scores": [{"name": "f", "raw": 0.5, "weight": 0.2, "error": None}]}
    rollout = saved(reward=0.1, tui_eval=ours)
    assert rollout.scores[0].contribution == pytest.approx(0.1)


def test_content_parts_are_named_by_their_kind() -> None:
    parts = [{"type": "text", "text": "Look:"}, {"type": "image_url", "image_url": {}}, "and"]
    assert content_text(parts) == "Look:\n[image]\nand"
    assert content_text(None) == ""


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["role", "content", "id", "type", "x"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)
KEYS = ["prompt", "completion", "answer", "info", "reward", "error", "timing", "is_truncated"]
KEYS += ["stop_condition", "metrics", "tui_eval"]
OWN_KEYS = ["attempt", "scores", "steps", "tool_calls", "traceback", "empty_completion"]
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["assistant", "tool", "user"]) | JUNK},
        optional={
            "content": JUNK,
            "tool_calls": JUNK | st.lists(st.just(CALL) | JUNK, max_size=2),
            "tool_call_id": st.just("call_9") | JUNK,
            "reasoning_content": JUNK,
        },
    ),
    max_size=4,
)
ROWS = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(KEYS, JUNK)
    | {
        "completion": MESSAGES | JUNK,
        "tui_eval": st.fixed_dictionaries({}, optional=dict.fromkeys(OWN_KEYS, JUNK)) | JUNK,
    },
)


@given(ROWS)
def test_a_row_of_any_content_has_a_story(row: dict[str, Any]) -> None:
    rollout = from_row(0, row)
    for entry in rollout.entries():
        assert isinstance(entry.text, str)
        assert entry.tool is None or isinstance(entry.tool.arguments, str)


@pytest.mark.parametrize(
    ("said", "judged"),
    [
        ("yes", ["yes"]),
        ({"prompt": "no"}, ["no"]),
        ('{"prompt": "no"}', ["no"]),
        (None, []),
        ({}, []),
    ],
)
def test_what_other_programs_saved_of_a_judge_is_read(said: Any, judged: list[str]) -> None:
    assert saved(judge_response=said).judged == judged
