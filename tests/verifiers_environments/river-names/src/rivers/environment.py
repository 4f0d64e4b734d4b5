"""Rows read from data files once they are asked for; relative imports."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import verifiers as vf
from datasets import Dataset

from .scores import close_enough, exact

HERE = Path(__file__).parent


def rows(above: int) -> Dataset:
    text = files("rivers").joinpath("data/rivers.jsonl").read_text()
    rivers = [json.loads(line) for line in text.splitlines()]
    return Dataset.from_list(
        [
            {
                "question": f"How long is the {river['name']}?",
                "answer": str(river["km"]),
                "info": json.dumps(river),
                "example_id": 10 + index,
            }
            for index, river in enumerate(rivers)
            if river["km"] > above
        ]
    )


def load_environment(above: int = 0) -> vf.Environment:
    built = []

    def build() -> Dataset:
        built.append(above)
        return rows(above)

    env = vf.SingleTurnEnv(
        dataset=build,
        eval_dataset=lambda: rows(above + 10),
        system_prompt=(HERE / "system.txt").read_text().strip(),
        rubric=vf.Rubric(funcs=[close_enough, exact], weights=[1.0, 0.25]),
        sampling_args={"top_p": 0.9, "extra_body": {"top_k": 7}},
    )
    assert not built
    return env
