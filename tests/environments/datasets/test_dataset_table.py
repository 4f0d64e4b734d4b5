"""The table that authors get who gave no Hugging Face dataset; it does as theirs does."""

from __future__ import annotations

import pytest
from lazy_modules import LazyModule

import tui_eval as vf
from tui_eval.environments.datasets.example_table import ExampleTable

datasets = LazyModule("datasets")

ROWS = [{"question": f"q{n}", "answer": str(n), "info": {"level": n}} for n in range(6)]


@pytest.fixture
def table() -> ExampleTable:
    return vf.SingleTurnEnv(dataset=ROWS).get_dataset()


def test_reading_it(table):
    assert len(table) == table.num_rows == 6
    assert table.column_names == ["question", "answer", "info", "example_id", "prompt", "task"]
    assert table[-1]["answer"] == "5"
    assert table["answer"] == ["0", "1", "2", "3", "4", "5"]
    assert table["example_id"] == [0, 1, 2, 3, 4, 5]
    assert table[1:3]["answer"] == ["1", "2"]
    assert table[[4, 0]]["answer"] == ["4", "0"]
    assert [row["answer"] for row in table] == table["answer"]
    assert table.take(2)["answer"] == table.head(2)["answer"] == ["0", "1"]
    assert len(table.take(-1)) == 0
    assert repr(table.select_columns("answer")) == (
        "ExampleTable(num_rows=6, column_names=['answer'])"
    )
    with pytest.raises(IndexError):
        table[6]
    with pytest.raises(IndexError):
        table.select([6])


def test_columns_that_only_some_rows_have():
    table = ExampleTable([{"a": 1}, {"b": 2}])
    assert table.column_names == ["a", "b"]
    assert table["a"] == [1, None]


# Each does the same to our table and to theirs.
CHANGES = {
    "map": lambda t: t.map(lambda row: {"answer": row["answer"] * 2, "new": 1}),
    "map with places": lambda t: t.map(lambda row, i: {"place": i * 10}, with_indices=True),
    "map that returns its row": lambda t: t.map(lambda row: {**row, "task": "other"}),
    "map for nothing": lambda t: t.map(lambda row: None),
    "map without columns": lambda t: t.map(
        lambda row: {"prompt": row["prompt"], "n": 1}, remove_columns=["answer", "prompt"]
    ),
    "map of some columns": lambda t: t.map(
        lambda answer, suffix: {"answer": answer + suffix},
        input_columns="answer",
        fn_kwargs={"suffix": "!"},
    ),
    "map with options": lambda t: t.map(
        lambda row: {"n": 1}, num_proc=None, desc="x", load_from_cache_file=False, batch_size=3
    ),
    "batches": lambda t: t.map(
        lambda b, i: {"answer": [a + "b" for a in b["answer"]], "place": i},
        with_indices=True,
        batched=True,
        batch_size=4,
    ),
    "batches that grow": lambda t: t.map(
        lambda b: {"answer": [a for a in b["answer"] for _ in "ab"]},
        batched=True,
        batch_size=None,
        remove_columns=t.column_names,
    ),
    "filter": lambda t: t.filter(lambda row: row["answer"] > "2"),
    "filter with places": lambda t: t.filter(lambda row, i: i % 2 == 1, with_indices=True),
    "select": lambda t: t.select(range(1, 5, 2)),
    "shuffle": lambda t: t.shuffle(seed=42),
    "shuffle twice": lambda t: t.shuffle(seed=1).shuffle(2),
    "take": lambda t: t.take(4).select([3, 3, 0]),
    "remove": lambda t: t.remove_columns("info").remove_columns(["task", "answer"]),
    "select columns": lambda t: t.select_columns(["answer", "task"]),
    "rename": lambda t: t.rename_column("answer", "solution"),
    "add": lambda t: t.add_column("n", list(range(6))),
    "all together": lambda t: (
        t.filter(lambda row: row["answer"] != "3")
        .shuffle(seed=7)
        .map(lambda row: {"answer": row["answer"] + row["task"]})
        .select(range(3))
        .remove_columns(["info"])
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_it_does_as_hugging_face_does(table, name):
    theirs = CHANGES[name](table.to_hf())
    ours = CHANGES[name](table)
    assert ours.to_list() == theirs.to_list()
    assert sorted(ours.column_names) == sorted(theirs.column_names)


def test_changes_do_not_reach_the_author_s_rows(table):
    def spoil(row):
        row["info"]["level"] = row["prompt"][0]["content"] = "spoilt"
        return row

    assert table.map(spoil)["info"][0] == {"level": "spoilt"}
    table.to_list()[0]["info"]["level"] = "spoilt"
    table.map(lambda b: [info.clear() for info in b["info"]] and None, batched=True)
    assert ROWS[0]["info"] == {"level": 0}
    assert table[0]["prompt"][0]["content"] == "q0"


@pytest.mark.parametrize(
    ("use", "kind", "text"),
    [
        (lambda t: t["anwser"], KeyError, "no column 'anwser'. Did you mean answer"),
        (lambda t: t["x"], KeyError, "The columns are: question, answer"),
        (lambda t: t.remove_columns(["info", "tsk"]), ValueError, "'tsk'. Did you mean task"),
        (lambda t: t.map(len, remove_columns="inf"), ValueError, "'inf'. Did you mean info"),
        (lambda t: t.rename_column("promt", "p"), ValueError, "'promt'. Did you mean prompt"),
        (lambda t: t.rename_column("prompt", "task"), ValueError, "a column 'task' already"),
        (lambda t: t.add_column("task", [1] * 6), ValueError, "a column 'task' already"),
        (lambda t: t.add_column("n", [1]), ValueError, "'n' has 1 values for 6 rows"),
        (lambda t: t.map(lambda row: 3), TypeError, "returned a int for row 0, not a dict"),
        (lambda t: t.map(lambda b: 3, batched=True), TypeError, "not a dict of lists"),
        (lambda t: t.map(lambda b: {"n": [1]}, batched=True), ValueError, "differ in length"),
        (lambda t: t.map(len, num_prc=2), TypeError, "no option 'num_prc'. Did you mean num_proc"),
        (lambda t: t.filter(len, with_rank=True), TypeError, "no option 'with_rank'"),
    ],
)
def test_what_cannot_be_done_is_refused(table, use, kind, text):
    with pytest.raises(kind) as refused:
        use(table)
    assert text in str(refused.value)


def test_what_a_function_raises_names_the_row(table):
    with pytest.raises(ZeroDivisionError) as raised:
        table.map(lambda row: {"x": 1 // (row["info"]["level"] - 4)})
    assert raised.value.__notes__ == ["(at row 4 of the dataset)"]


def test_a_column_that_hugging_face_cannot_hold_is_named():
    rows = [{"question": "q", "mixed": value} for value in (1, ["a"])]
    with pytest.raises(ValueError, match="column 'mixed' cannot be one"):
        vf.SingleTurnEnv(dataset=rows).get_dataset().to_hf()


def test_messages_become_dicts_on_the_way_to_hugging_face():
    rows = [{"prompt": [vf.UserMessage(content="hi")]}]
    (row,) = vf.SingleTurnEnv(dataset=rows).get_dataset().to_hf()
    assert row["prompt"] == [{"role": "user", "content": "hi"}]


def test_another_environment_takes_the_table_as_it_is_seen(table):
    changed = table.select([3, 1]).map(lambda row: {"answer": "new"})
    env = vf.SingleTurnEnv(dataset=changed, system_prompt="s")
    row = env.get_dataset()[0]
    assert (row["example_id"], row["answer"], row["question"]) == (3, "new", "q3")
    assert [message["role"] for message in row["prompt"]] == ["system", "user"]
    again = vf.SingleTurnEnv(dataset=lambda: table.select([3, 1]))
    assert [row["example_id"] for row in again.eval_table()] == [3, 1]


def test_a_seed_decides_the_order_for_good_and_for_the_run():
    env = vf.SingleTurnEnv(dataset=ROWS)
    shuffled = env.get_dataset(n=3, seed=5)["answer"]
    assert shuffled != ["0", "1", "2"]
    assert env.get_dataset()["answer"][:3] == shuffled == env.eval_table(3)["answer"]
