"""Content of examples, whatever program saved it and however it was prompted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from made_runs import row, tool_state, write_run

from tui_eval.fold.compare.comparison import Change, compare_runs
from tui_eval.messages import UserMessage
from tui_eval.runs.compared_runs import content_of, read_contents, side_of
from tui_eval.runs.row import build_row, encode_row
from tui_eval.runs.saved_run import find_run, read_run

QUESTION: dict[str, Any] = {
    "prompt": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "1 + 1?"}],
    "answer": "2",
    "info": {"level": 1, "of": "sums"},
}


def digest(**changes: Any) -> bytes:
    return content_of(QUESTION | changes).digest


def test_the_same_question_is_the_same_however_it_was_saved() -> None:
    assert digest(prompt=json.dumps(QUESTION["prompt"])) == digest()
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
    longer = [{"role": "system", "content": "think first"}, *QUESTION["prompt"][1:]]
    assert digest(prompt=longer) == digest()
    assert content_of(QUESTION | {"prompt": longer}).system == "think first"
    alone = [content_of({"prompt": [{"role": "system", "content": text}]}) for text in "ab"]
    assert alone[0].digest != alone[1].digest


def test_a_run_is_read_by_one_rollout_an_example(tmp_path: Path) -> None:
    rows = [row(0, 0), row(0, 1), row(1, 0), row(2, 0)]
    lines = [json.dumps(one).encode() + b"\n" for one in rows]
    run = write_run(tmp_path, [*lines[:3], b'{"torn'], examples=3)
    state, _ = read_run(run)
    found = side_of(run, state, read_contents(run, state))
    assert found.digests.keys() == {0, 1}
    run.results.unlink()
    assert side_of(run, state, read_contents(run, state)).digests == {}


def test_rows_without_a_question_are_distinguished_by_their_ids(tmp_path: Path) -> None:
    assert content_of({"example_id": 1, "prompt": [], "answer": "", "info": {}}).digest == b""
    both = []
    for name, rewards in (("a", (0, 0)), ("b", (1, 0))):
        path = tmp_path / f"{name}.jsonl"
        rows = [{"example_id": place, "reward": reward} for place, reward in enumerate(rewards)]
        path.write_text("".join(json.dumps(one) + "\n" for one in rows))
        run = find_run(path)
        state, _ = read_run(run)
        both.append(side_of(run, state, read_contents(run, state)))
    (found,) = compare_runs(both)
    assert [one.change for one in found.examples] == [Change.FIXED, Change.BOTH_WRONG]
    assert found.doubts == ["the rows have no prompts: examples are paired by their ids"]


def test_the_same_words_with_another_picture_are_another_example() -> None:
    def question(data: str) -> dict[str, Any]:
        url = f"data:image/png;base64,{data}"
        words, picture = {"type": "text", "text": "What is this?"}, {"url": url}
        return {"role": "user", "content": [words, {"type": "image_url", "image_url": picture}]}

    cat, dog = question("AAAA"), question("BBBB")
    assert digest(prompt=[cat]) == digest(prompt=[question("AAAA")]) != digest(prompt=[dog])
    ours = []
    for message in (cat, dog):
        state = tool_state(prompt=[UserMessage(content=message["content"])])
        saved = json.loads(encode_row(build_row(state, number=0, attempt=1)))
        ours.append(content_of(saved).digest)
    assert ours[0] != ours[1], "also where a row of ours keeps it beside the prompt"


def test_strange_rows_have_a_content() -> None:
    for strange in (
        {"answer": "4"},
        {"prompt": 3, "answer": [1], "info": "x"},
        {"prompt": [None, "\ud800"]},
    ):
        assert len(content_of(strange).digest) == 16
