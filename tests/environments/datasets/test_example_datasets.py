"""The datasets are read from folders laid out as on the hub: only the network is left out."""

from __future__ import annotations

import builtins
import json
from pathlib import Path
from typing import Any

import pytest
from lazy_modules import LazyModule

import tui_eval as vf
from tui_eval.environments.datasets.example_datasets import (
    BOXED_SYSTEM_PROMPT,
    THINK_BOXED_SYSTEM_PROMPT,
    extract_boxed_answer,
    extract_hash_answer,
    load_example_dataset,
)

datasets = LazyModule("datasets")

GPQA = {
    "Question": "Which?",
    "Correct Answer": "right",
    **{f"Incorrect Answer {number}": f"wrong {number}" for number in (1, 2, 3)},
}
MMLU = {"question": "Which?", "choices": ["no", "yes", "no", "no"], "answer": 1, "subject": "s"}
PRO = {"question": "Which?", "options": ["no"] * 9 + ["yes"], "answer": "J"}
BOOK = {
    "question_stem": "Which?",
    "choices": {"text": ["no", "yes"], "label": ["A", "B"]},
    "answerKey": "B",
}
RS = [{"problem": level, "answer": 3, "level": level} for level in ("Easy", "Hard", "Easy")]
TASK = "Solve the following coding problem using the programming language python:\n\nAdd."
CODE = [
    {"prompt": TASK, "verification_info": '{"tests": []}'},
    {"prompt": "Solve it in rust.", "verification_info": "{}"},
]

# name -> hub id, config, split, rows, expected
KNOWN: dict[str, tuple[str, dict[str, list[dict[str, Any]]], str, list[tuple[str, str]]]] = {
    "aime2024": (
        "HuggingFaceH4/aime_2024",
        {"default": [{"problem": "p", "answer": "25", "year": "2024"}]},
        "train",
        [("p", "25")],
    ),
    "aime2025": (
        "opencompass/AIME2025",
        {
            "AIME2025-I": [{"question": "one", "answer": "1"}],
            "AIME2025-II": [{"question": "two", "answer": "2"}],
        },
        "test",
        [("one", "1"), ("two", "2")],
    ),
    "amc2023": (
        "knoveleng/AMC-23",
        {"default": [{"problem": "p", "answer": 27.0}]},
        "train",
        [("p", "27")],
    ),
    "gsm8k": (
        "openai/gsm8k",
        {"main": [{"question": "q", "answer": "1+1=<<1+1=2>>2\n#### 2"}]},
        "test",
        [("q", "2")],
    ),
    "math": (
        "chiayewken/competition_math",
        {"default": [{"problem": "p", "solution": r"So \boxed{\frac{1}{2}}.", "level": "5"}]},
        "train",
        [("p", r"\frac{1}{2}")],
    ),
    "math500": (
        "HuggingFaceH4/MATH-500",
        {"default": [{"problem": "p", "solution": "s", "answer": "a"}]},
        "test",
        [("p", "a")],
    ),
    "mmlu": ("cais/mmlu", {"all": [MMLU]}, "dev", [("Which?\n\nA. no\nB. yes\nC. no\nD. no", "B")]),
    "mmlu_pro": (
        "TIGER-Lab/MMLU-Pro",
        {"default": [PRO]},
        "validation",
        [("Which?\n\n" + "".join(f"{letter}. no\n" for letter in "ABCDEFGHI") + "J. yes", "J")],
    ),
    "openbookqa": (
        "allenai/openbookqa",
        {"main": [BOOK]},
        "train",
        [("Which?\n\nA. no\nB. yes", "B")],
    ),
    "openrs": (
        "knoveleng/open-rs",
        {"default": RS},
        "train",
        [("Easy", "3"), ("Hard", "3"), ("Easy", "3")],
    ),
    "openrs_easy": ("knoveleng/open-rs", {"default": RS}, "train", [("Easy", "3")] * 2),
    "openrs_hard": ("knoveleng/open-rs", {"default": RS}, "train", [("Hard", "3")]),
    "prime_code": (
        "PrimeIntellect/verifiable-coding-problems",
        {"default": CODE},
        "train",
        [(TASK, '{"tests": []}')],
    ),
}


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Lays a dataset out in the current folder, where `datasets` looks before the hub."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)

    def lay_out(hub_id: str, configs: dict[str, list[dict[str, Any]]], split: str) -> None:
        folder = tmp_path / hub_id
        folder.mkdir(parents=True)
        card = ["---", "configs:"]
        for config, rows in configs.items():
            path = folder / f"{config}.jsonl"
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
            card += [f"- config_name: {config}", "  data_files:"]
            card += [f"  - split: {split}", f"    path: {path.name}"]
        (folder / "README.md").write_text("\n".join([*card, "---", ""]))

    return lay_out


@pytest.mark.parametrize("name", KNOWN)
def test_every_dataset_becomes_questions_and_answers(hub, name):
    hub_id, configs, split, expected = KNOWN[name]
    hub(hub_id, configs, split)
    found = load_example_dataset(name)
    assert found.column_names == ["question", "answer"]
    assert [(row["question"], row["answer"]) for row in found] == expected


@pytest.mark.parametrize("name", ["gpqa_diamond", "gpqa_main"])
def test_choices_of_gpqa_are_mixed_the_same_way_every_time(hub, name):
    rows = [{**GPQA, "Question": f"Which of {number}?"} for number in range(20)]
    hub("Idavidrein/gpqa", {name: rows}, "train")
    found = load_example_dataset(name)
    for row in found:
        assert f"\n{row['answer']}. right" in row["question"]
        assert all(f". wrong {number}" in row["question"] for number in (1, 2, 3))
    assert set(found["answer"]) == set("ABCD")
    assert list(load_example_dataset(name)["answer"]) == list(found["answer"])


def test_some_rows_that_the_seed_chooses(hub):
    rows = [{"question": str(n), "answer": f"#### {n}"} for n in range(50)]
    hub("openai/gsm8k", {"main": rows}, "train")
    first = list(vf.load_example_dataset(split="train", n=5)["answer"])
    assert len(set(first)) == 5
    assert first == list(vf.load_example_dataset("gsm8k", "train", 5, 0)["answer"])
    assert first != list(vf.load_example_dataset("gsm8k", "train", 5, seed=1)["answer"])
    assert first != ["0", "1", "2", "3", "4"]
    for everything in (None, -1, 99):
        assert len(vf.load_example_dataset("gsm8k", "train", n=everything)) == 50
    env = vf.SingleTurnEnv(dataset=vf.load_example_dataset("gsm8k", "train"))
    assert env.eval_table()[7]["answer"] == "7"


def test_an_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(ValueError, match=r"'gsm8'\. Did you mean gsm8k.*The names are: aime2024,"):
        load_example_dataset("gsm8")


def test_without_the_package_the_extra_is_named(monkeypatch):
    real = builtins.__import__

    def no_datasets(name, *args, **kwargs):
        if name == "datasets":
            raise ModuleNotFoundError("No module named 'datasets'", name="datasets")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", no_datasets)
    with pytest.raises(ImportError, match=r"pip install .*'tui-eval\[hub\]'"):
        load_example_dataset()
    env = vf.SingleTurnEnv(dataset=[{"question": "q"}])
    with pytest.raises(ImportError, match=r"pip install .*'tui-eval\[hub\]'"):
        env.get_dataset().to_hf()


def test_what_else_authors_import_from_here():
    assert "\\boxed{}" in BOXED_SYSTEM_PROMPT
    assert "<think>" in THINK_BOXED_SYSTEM_PROMPT
    assert "\\boxed{}" in THINK_BOXED_SYSTEM_PROMPT
    assert extract_boxed_answer is vf.extract_boxed_answer
    assert extract_hash_answer is vf.extract_hash_answer
