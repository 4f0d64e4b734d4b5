from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tui_eval as vf
from tui_eval.environments.datasets.example_table import ExampleTable, PromptRules
from tui_eval.environments.datasets.json_copy import copy_data
from tui_eval.errors import RefusedError

json_data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=12,
)


def table(rows: Any, **rules: Any) -> ExampleTable:
    return ExampleTable.read(rows, PromptRules(**rules))


def faults_of(rows: Any) -> list[str]:
    with pytest.raises(RefusedError) as refused:
        table(rows)
    return [str(fault) for fault in refused.value.faults]


class HubTable:
    """Has what a Hugging Face `Dataset` has, as far as it is used."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self._rows = rows
        self.column_names = list(rows[0])

    def __iter__(self):
        return iter(dict(row) for row in self._rows)


def test_a_question_becomes_a_prompt():
    shot = [{"role": "user", "content": "1+1"}, {"role": "assistant", "content": "2"}]
    rows = [{"question": "2+2", "answer": "4", "info": {"level": 1}, "extra": None}]
    assert table(rows, system_prompt="short", few_shot=shot, task="sums")[0] == {
        "question": "2+2",
        "answer": "4",
        "info": {"level": 1},
        "extra": None,
        "example_id": 0,
        "prompt": [
            {"role": "system", "content": "short"},
            *shot,
            {"role": "user", "content": "2+2"},
        ],
        "task": "sums",
    }


def test_a_prompt_of_its_own_gets_the_system_prompt_only_where_it_has_none():
    user = {"role": "user", "content": "u"}
    system = {"role": "system", "content": "mine"}
    rows = [{"prompt": [user]}, {"prompt": [system, user]}, {"prompt": "text"}]
    found = table(rows, system_prompt="s", few_shot=[user])
    ours = {"role": "system", "content": "s"}
    assert found[0]["prompt"] == [ours, user]
    assert found[1]["prompt"] == [system, user]
    assert found[2]["prompt"] == [ours, {"role": "user", "content": "text"}]
    assert table(rows)[2]["prompt"] == "text"


def test_columns_that_are_null_are_as_good_as_missing():
    rows = HubTable([{"prompt": None, "question": "q", "answer": None, "task": None, "info": None}])
    row = table(rows)[0]
    assert row["prompt"] == [{"role": "user", "content": "q"}]
    assert row["task"] == "default"
    assert "answer" not in row
    assert "info" not in row


@pytest.mark.parametrize(
    ("ids", "expected", "sources"),
    [
        ([None, None, None], [0, 1, 2], [None, None, None]),
        ([5, 3, 9], [5, 3, 9], [None, None, None]),
        (["a", 3, "c"], [0, 1, 2], ["a", 3, "c"]),
        ([1, 1, 2], [0, 1, 2], [1, 1, 2]),
        ([0, True, 2], [0, 1, 2], [0, True, 2]),
    ],
)
def test_ids_are_kept_only_where_they_are_usable(ids, expected, sources):
    rows = [{"question": "q"} | ({} if i is None else {"example_id": i}) for i in ids]
    found = table(rows).to_list()
    assert [row["example_id"] for row in found] == expected
    assert [row.get("src_id") for row in found] == sources


def test_ids_that_repeat_are_warned_of(caplog):
    table([{"question": "q", "example_id": number} for number in (1, 1, 2)])
    assert "1 of 3 rows have the example_id of another" in caplog.text


def test_a_selection_keeps_the_ids_and_shares_the_rows():
    rows = [{"question": str(n)} for n in range(10)]
    whole = table(rows)
    assert whole.head(-1) is whole
    assert [row["question"] for row in whole.head(3)] == ["0", "1", "2"]
    assert len(whole.head(99)) == 10
    mixed = whole.shuffle(3)
    assert mixed.to_list() == whole.shuffle(3).to_list() != whole.to_list()
    assert all(str(row["example_id"]) == row["question"] for row in mixed)
    assert [row["example_id"] for row in whole.select([7, 1]).head(1)] == [7]
    assert [row["example_id"] for row in whole.filter(lambda row: row["question"] > "7")] == [8, 9]
    assert whole.column_names == ["question", "example_id", "prompt", "task"]


def test_a_jsonl_file(tmp_path: Path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"question": "a"}\r\n\n{"question": "\xe2\x80\xa8"}')
    for source in (path, str(path)):
        assert [row["question"] for row in table(source)] == ["a", "\u2028"]


def test_every_fault_of_a_file_is_reported_at_once(tmp_path: Path):
    path = tmp_path / "rows.jsonl"
    lines = ['{"question": "fine"}', "{oops", "", "[1]", '{"answer": "x"}', '{"prompt": []}']
    path.write_bytes("\n".join(lines).encode() + b'\n{"question": "\xff"}')
    found = faults_of(path)
    assert [text.split(": ")[0] for text in found] == [
        f"{path} line {number}" for number in (2, 7, 4, 5, 6)
    ]
    assert "it is not JSON" in found[0]
    assert "it is of type list, not an object" in found[2]
    assert "neither 'prompt' nor 'question'. Its columns: answer" in found[3]
    assert "has no messages" in found[4]


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([], "it has no rows"),
        (HubTable([{}]), "neither 'prompt' nor 'question'"),
        ({"train": []}, "it is of type dict. It must be a list of dicts"),
        (7, "it is of type int"),
        ([{"prompt": [{"content": "x"}]}], "row 0: message 0 of its 'prompt' has no known role"),
        ([{"prompt": [{"role": "user"}]}], "message 0 of its 'prompt' has no content"),
        (
            [{"prompt": [{"role": "user", "content": 5}]}],
            "row 0: the content of message 0 of its 'prompt' is of type int",
        ),
        (
            [{"prompt": [{"role": "user", "content": ["a", 5]}]}],
            "part 1 of the content of message 0 of its 'prompt' is of type int",
        ),
        (
            [{"prompt": [{"role": "assistant", "tool_calls": [{"id": "a", "name": "f"}, 5]}]}],
            "tool call 1 of message 0 of its 'prompt': a tool call is an object, not int",
        ),
        (
            [{"prompt": [{"role": "assistant", "tool_calls": ["{"]}]}],
            "tool call 0 of message 0 of its 'prompt': Expecting property name",
        ),
        (
            [{"prompt": [{"role": "tool", "content": "x"}]}],
            "message 0 of its 'prompt': 'tool_call_id': Field required",
        ),
        (
            [{"prompt": [{"role": "assistant", "tool_calls": 5}]}],
            "the tool calls of message 0 of its 'prompt' are of type int",
        ),
        ([{"prompt": 3}], "its 'prompt' is of type int"),
        ([{"question": 3}], "its 'question' is of type int"),
        ([{"question": ["a", 3]}], "part 1 of its 'question' is of type int"),
        ([{"question": "q", "info": "no json"}], "its 'info' is text that is no JSON"),
        ("nowhere.jsonl", "it cannot be read: No such file"),
    ],
)
def test_what_cannot_be_run_is_refused(rows, text):
    assert text in faults_of(rows)[0]


def test_many_faults_are_counted():
    found = faults_of([{}] * 1000)
    assert len(found) == 21
    assert "980 more faults" in found[-1]


def test_a_builder_is_called_once_and_only_when_needed():
    calls = []

    def build():
        calls.append(1)
        return [{"question": "q"}]

    env = vf.SingleTurnEnv(eval_dataset=build)
    assert calls == []
    assert len(env.get_eval_dataset()) == len(env.get_eval_dataset(5)) == 1
    assert calls == [1]
    with pytest.raises(ValueError, match="no training dataset"):
        env.get_dataset()


def test_a_builder_that_raises_is_refused_with_its_place():
    def build():
        raise OSError("no disk")

    env = vf.SingleTurnEnv(dataset=build)
    with pytest.raises(RefusedError, match=r"raised OSError: no disk \(.*test_dataset\.py:\d+\)"):
        env.get_eval_dataset()


def test_a_large_dataset_is_not_copied():
    rows = [{"question": "q" * 10, "answer": str(n)} for n in range(100_000)]
    env = vf.SingleTurnEnv(dataset=rows)
    few = env.get_eval_dataset(99_999)
    assert len(few) == 99_999
    assert few[5]["answer"] is rows[5]["answer"]


@given(json_data)
def test_a_copy_is_equal_and_shares_nothing_that_can_change(data):
    twin = copy_data(data)
    assert twin == data
    before = copy.deepcopy(data)

    def spoil(value: Any) -> None:
        items = value.values() if isinstance(value, dict) else value
        if isinstance(value, (dict, list)):
            for item in list(items):
                spoil(item)
            value.clear()

    spoil(twin)
    assert data == before


def test_copies_of_messages_and_other_objects():
    message = vf.AssistantMessage(
        content=[{"type": "text", "text": "a"}],
        tool_calls=[vf.ToolCall(id="1", name="n", arguments="{}")],
        note={"k": []},
    )
    twin = copy_data(message)
    assert twin == message
    twin.content[0].text = "b"
    twin.tool_calls[0].name = "m"
    twin.note["k"].append(1)
    assert message.content[0].text == "a"
    assert message.tool_calls[0].name == "n"
    assert message.note == {"k": []}
    handle = (x for x in ())
    assert copy_data({"h": handle, "p": Path("/x")}) == {"h": handle, "p": Path("/x")}


def test_json_text_of_info_is_kept_in_the_row_and_read_in_the_state():
    info = json.dumps({"level": 2})
    assert table([{"question": "q", "info": info}])[0]["info"] == info


def test_an_empty_system_prompt_is_none():
    for rows in ([{"question": "q"}], [{"prompt": [{"role": "user", "content": "q"}]}]):
        (row,) = ExampleTable.read(rows, PromptRules(system_prompt=""))
        assert [message["role"] for message in row["prompt"]] == ["user"]


def test_what_stands_before_each_question_is_checked_before_the_run():
    with pytest.raises(RefusedError) as refused:
        vf.SingleTurnEnv(
            dataset=[{"question": "q"}],
            system_prompt=5,
            few_shot=[{"role": "user", "content": "x"}, {"role": "tool", "content": "x"}, 5],
        )
    hint = "It must be a message with role and content"
    assert [str(fault) for fault in refused.value.faults] == [
        "system_prompt: it is of type int. It must be text",
        f"few_shot[1]: the message: 'tool_call_id': Field required. {hint}",
        f"few_shot[2]: the message has no known role. {hint}",
    ]
