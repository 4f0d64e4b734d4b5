"""What an example asks, whatever program saved it and however it was prompted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from made_runs import row, write_run

from tui_eval.cli.report import read_run
from tui_eval.runs.comparing import read_side
from tui_eval.runs.example_contents import content_of

ASKED: dict[str, Any] = {
    "prompt": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "1 + 1?"}],
    "answer": "2",
    "info": {"level": 1, "of": "sums"},
}


def digest(**changes: Any) -> bytes:
    return content_of(ASKED | changes).digest


def test_the_same_question_is_the_same_however_it_was_saved() -> None:
    assert digest(prompt=json.dumps(ASKED["prompt"])) == digest()
    assert digest(info='{"of": "sums", "level": 1}') == digest()
    assert digest(prompt="1 + 1?") == digest()
    assert digest(prompt=[{"role": "user", "content": [{"type": "text", "text": "1 + 1?"}]}]) == (
        digest()
    )
    assert digest(example_id=9, reward=0.3, completion=[], id=4) == digest()


def test_another_question_answer_or_info_is_another_example() -> None:
    others = [digest(prompt="1 + 2?"), digest(answer="3"), digest(info={"level": 2}), digest()]
    assert len(set(others)) == 4


def test_the_prompt_of_the_system_is_a_setting() -> None:
    longer = [{"role": "system", "content": "think first"}, *ASKED["prompt"][1:]]
    assert digest(prompt=longer) == digest()
    assert content_of(ASKED | {"prompt": longer}).system == "think first"
    alone = [content_of({"prompt": [{"role": "system", "content": text}]}) for text in "ab"]
    assert alone[0].digest != alone[1].digest


def test_a_run_is_read_by_one_rollout_an_example(tmp_path: Path) -> None:
    rows = [row(0, 0), row(0, 1), row(1, 0), row(2, 0)]
    lines = [json.dumps(one).encode() + b"\n" for one in rows]
    run = write_run(tmp_path, [*lines[:3], b'{"torn'], examples=3)
    state, _ = read_run(run)
    found = read_side(run, state)
    assert found.digests.keys() == {0, 1}
    run.results.unlink()
    assert read_side(run, state).digests == {}


def test_strange_rows_have_a_content() -> None:
    for strange in ({}, {"prompt": 3, "answer": [1], "info": "x"}, {"prompt": [None, "\ud800"]}):
        assert len(content_of(strange).digest) == 16
