"""Authors who give a Hugging Face dataset."""

from __future__ import annotations

import io
from typing import Any

import pytest
from lazy_modules import LazyModule
from stub_client import StubClient, answer

import tui_eval as vf
from tui_eval.clients.wire.chat_request import to_chat_messages
from tui_eval.environments.datasets.example_table import ExampleTable
from tui_eval.errors import RefusedError

datasets = LazyModule("datasets")

ROWS = [
    {"question": f"q{n}", "answer": str(n), "info": {"even": n} if n % 2 == 0 else {"odd": "x"}}
    for n in range(20)
]
USER = {"role": "user", "content": "u"}


def ask(rows, **options):
    return vf.SingleTurnEnv(dataset=datasets.Dataset.from_list(rows), **options)


def faults_of(dataset) -> list[str]:
    with pytest.raises(RefusedError) as refused:
        vf.SingleTurnEnv(dataset=dataset)
    return [str(fault) for fault in refused.value.faults]


def test_who_gave_one_gets_one_back_ready_to_run():
    for given in (datasets.Dataset.from_list(ROWS), lambda: datasets.Dataset.from_list(ROWS)):
        env = vf.SingleTurnEnv(dataset=given, system_prompt="s", few_shot=[vf.UserMessage(**USER)])
        found = env.get_dataset()
        assert isinstance(found, datasets.Dataset)
        assert isinstance(env.get_eval_dataset(), datasets.Dataset)
        assert set(found.column_names) == {*ROWS[0], "prompt", "example_id", "task"}
        assert found[2] == {
            "question": "q2",
            "answer": "2",
            "info": {"even": 2, "odd": None},
            "example_id": 2,
            "prompt": [
                {"role": "system", "content": "s"},
                USER,
                {"role": "user", "content": "q2"},
            ],
            "task": "default",
        }
        assert found[2] == env.eval_table()[2]


def test_it_can_be_changed_as_ever_and_given_to_another_environment():
    found = ask(ROWS).get_dataset()
    changed = (
        found.map(lambda row: {"answer": row["answer"] + "!"})
        .filter(lambda row: row["example_id"] > 3)
        .select(range(5))
        .remove_columns(["info"])
    )
    env = vf.SingleTurnEnv(dataset=changed, system_prompt="s")
    row = env.eval_table()[1]
    assert (row["example_id"], row["answer"]) == (5, "5!")
    assert [message["role"] for message in row["prompt"]] == ["system", "user"]
    assert env.get_dataset().to_list() == env.eval_table().to_list()


def test_a_run_sees_the_order_that_the_seed_made():
    dataset = datasets.Dataset.from_list(ROWS)
    env = vf.SingleTurnEnv(dataset=dataset)
    few = env.get_dataset(n=4, seed=3)
    assert list(few["answer"]) == list(dataset.shuffle(seed=3)["answer"])[:4]
    assert few.to_list() == env.eval_table(4).to_list() == env.get_eval_dataset(n=4).to_list()
    assert list(env.get_dataset()["example_id"])[:4] == list(few["example_id"])
    again = list(env.get_dataset(seed=8)["answer"])
    assert again == list(dataset.shuffle(seed=3).shuffle(seed=8)["answer"])
    assert again == env.eval_table()["answer"]
    assert [str(number) for number in env.eval_table()["example_id"]] == again


def test_n_is_clipped():
    env = ask(ROWS)
    assert [len(env.get_dataset(n)) for n in (-1, 3, 20, 99)] == [20, 3, 20, 20]


def test_prompts_follow_a_system_prompt_that_is_set_later():
    env = ask(ROWS)
    assert len(env.get_dataset()[0]["prompt"]) == 1
    env.set_kwargs(system_prompt="late")
    for row in (env.get_dataset()[0], env.eval_table()[0]):
        assert row["prompt"][0] == {"role": "system", "content": "late"}


@pytest.mark.parametrize(
    ("ids", "expected", "sources"),
    [
        ([5, 3], [5, 3], None),
        ([1, 1], [0, 1], [1, 1]),
        (["a", "b"], [0, 1], ["a", "b"]),
        ([None, 3], [0, 1], [None, 3]),
    ],
)
def test_ids_are_kept_only_where_they_are_usable(ids, expected, sources):
    env = ask([{"question": "q", "example_id": value, "task": "t"} for value in ids])
    found = env.get_dataset()
    assert list(found["example_id"]) == env.eval_table()["example_id"] == expected
    assert (list(found["src_id"]) if "src_id" in found.column_names else None) == sources
    assert list(found["task"]) == ["t", "t"]


def test_tasks_that_some_rows_lack():
    env = ask([{"question": "q", "task": "t"}, {"question": "q"}], env_id="mine")
    assert list(env.get_dataset()["task"]) == [row["task"] for row in env.eval_table()]
    assert list(env.get_dataset()["task"]) == ["t", "mine"]


def test_info_as_json_text_stays_text():
    env = ask([{"question": "q", "info": '{"a": 1}'}])
    assert env.get_dataset()[0]["info"] == env.eval_table()[0]["info"] == '{"a": 1}'


def test_prompts_of_parts_keep_one_type_and_send_no_empty_fields():
    text, image = {"type": "text", "text": "?"}, {"type": "image_url", "image_url": {"url": "u"}}
    env = ask([{"prompt": [{"role": "user", "content": [text, image]}]}], system_prompt="s")
    system, user = env.get_dataset()[0]["prompt"]
    assert system["content"] == [{"type": "text", "text": "s", "image_url": None}]
    assert len(user["content"]) == 2
    wire, _ = to_chat_messages(env.eval_table()[0]["prompt"])
    assert [message["content"] for message in wire] == ["s", [text, image]]


def test_images_of_a_column_come_as_images_to_who_reads_the_dataset():
    from PIL import Image

    png = io.BytesIO()
    Image.new("RGB", (2, 3), "red").save(png, "png")
    rows = [{"question": "q", "image": {"bytes": png.getvalue(), "path": None}}]
    env = vf.SingleTurnEnv(
        dataset=datasets.Dataset.from_list(rows).cast_column("image", datasets.Image()),
    )
    assert env.get_dataset()[0]["image"].size == (2, 3)
    assert env.eval_table()[0]["image"] == {"bytes": png.getvalue(), "path": None}


def test_tensors_come_as_plain_numbers():
    dataset = datasets.Dataset.from_list([{"question": "q", "info": {"n": 1}}]).with_format("numpy")
    row = vf.SingleTurnEnv(dataset=dataset).eval_table()[0]
    assert type(row["info"]["n"]) is int
    assert row["question"] == "q"


def test_map_kwargs_reach_the_map_that_makes_the_columns(capsys):
    env = ask(ROWS, map_kwargs={"desc": "Readying"})
    env.get_dataset()
    assert "Readying" in capsys.readouterr().err


def test_faults_are_reported_all_at_once_by_row():
    fine = {"prompt": [USER], "info": "{}"}
    rows = [
        fine,
        {"prompt": [], "info": "{}"},
        {"prompt": [{"role": "usr", "content": "c"}], "info": "{}"},
        {"prompt": [{"role": "user", "content": None}], "info": "{}"},
        {"prompt": [{"role": None, "content": "c"}], "info": "{}"},
        {"prompt": [USER], "info": "[}"},
        {"prompt": None, "info": "{}"},
        fine,
    ]
    found = faults_of(datasets.Dataset.from_list(rows))
    assert [text.split(": ")[0] for text in found] == [f"dataset row {n}" for n in range(1, 7)]
    for text, part in zip(
        found,
        ["no messages", "known role", "no content", "known role", "'info'", "neither"],
        strict=True,
    ):
        assert part in text


@pytest.mark.parametrize(
    "message",
    [
        {"role": None, "content": "c"},
        {"role": "user", "content": None},
        {"role": "tool", "content": "c"},
        {"role": "assistant", "tool_calls": [{"id": 5, "name": "f", "arguments": "{}"}]},
    ],
)
def test_a_message_that_cannot_be_sent_is_found_alone(message):
    rows = [{"prompt": [USER]}, {"prompt": [USER, message]}]
    (fault,) = faults_of(datasets.Dataset.from_list(rows))
    assert fault.startswith("dataset row 1: ") and "message 1 of its 'prompt'" in fault


def test_contents_of_another_type_are_found_by_row():
    rows = [{"prompt": [{"role": "user", "content": 5}]}]
    assert (
        "the content of message 0 of its 'prompt' is of type int"
        in faults_of(datasets.Dataset.from_list(rows))[0]
    )


def test_a_prompt_or_a_question_is_enough_for_each_row():
    rows = [
        {"prompt": [USER], "question": None},
        {"question": "q"},
        {"prompt": [{"role": "assistant"}, USER]},
    ]
    found = [row["prompt"][-1]["content"] for row in ask(rows).eval_table()]
    assert found == ["u", "q", "u"]


def test_a_fault_far_down_is_found():
    rows = [{"question": "q"}] * 25_000
    dataset = datasets.Dataset.from_list([*rows, {"question": None}, *rows])
    assert faults_of(dataset) == [
        "dataset row 25000: it has neither 'prompt' nor 'question'. Its columns: question"
    ]
    assert faults_of(dataset.select(range(24_999, 25_002)))[0].startswith("dataset row 1:")


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda d: d.select([]), "it has no rows"),
        (
            lambda d: d.rename_column("question", "qestion"),
            "Rename one of its columns: qestion, answer",
        ),
        (lambda d: d.remove_columns("question"), "columns: answer"),
        (lambda d: d.add_column("info", ["no json"]), "its 'info' is text that is no JSON"),
        (lambda d: datasets.DatasetDict(train=d, test=d), "splits train, test. Name one of them"),
        (lambda d: d.to_iterable_dataset(), "it is a stream (IterableDataset)"),
        (lambda d: d.with_transform(lambda batch: batch), "it has a transform"),
        (lambda d: d.to_pandas(), "it is of type DataFrame. Give it as dataset.to_dict('records')"),
    ],
)
def test_what_cannot_be_run_is_refused(make, text):
    assert (
        text in faults_of(make(datasets.Dataset.from_list([{"question": "q", "answer": "a"}])))[0]
    )


def test_a_large_one_is_neither_decoded_nor_mapped_to_run_a_few(monkeypatch):
    dataset = datasets.Dataset.from_dict(
        {"question": ["q" * 50] * 200_000, "answer": ["a"] * 200_000}
    )
    reads = []
    real = datasets.Dataset.__getitem__
    monkeypatch.setattr(
        datasets.Dataset, "__getitem__", lambda self, key: reads.append(key) or real(self, key)
    )
    monkeypatch.setattr(datasets.Dataset, "map", None)
    env = vf.SingleTurnEnv(dataset=dataset)
    assert [row["answer"] for row in env.eval_table(5)] == ["a"] * 5
    rows = [key for key in reads if isinstance(key, int)]
    assert rows == [0, 1, 2, 3, 4]


def test_a_table_of_one_keeps_to_its_order():
    table = ask(ROWS).eval_table().select([7, 2])
    assert isinstance(table, ExampleTable)
    assert list(table.to_hf()["answer"]) == ["7", "2"]
    assert [row["example_id"] for row in table.to_hf()] == [7, 2]


def test_pictures_and_lists_reach_functions_as_the_dataset_holds_them() -> None:
    pixel = {"bytes": b"not looked at", "path": None}
    features = datasets.Features(
        question=datasets.Value("string"),
        info=datasets.Sequence(datasets.Value("int64")),
        image=datasets.Image(),
        images=datasets.Sequence(datasets.Image()),
    )
    columns = {"question": ["a", "b"], "info": [[1, 2], []]}
    columns |= {"image": [pixel, None], "images": [[pixel], []]}
    dataset = datasets.Dataset.from_dict(columns, features=features)
    given: list[Any] = []

    def right(state: Any, info: Any) -> float:
        given.append((info, state["input"]["image"], state["input"]["images"]))
        return 1.0

    env = vf.SingleTurnEnv(dataset=dataset, rubric=vf.Rubric([right]))
    got = env.evaluate_sync(StubClient(answer("x"), answer("y")), "m", max_concurrent=1)
    assert given == [([1, 2], pixel, [pixel]), ([], None, [])]
    assert [output.get("info") for output in got["outputs"]] == [[1, 2], None]
