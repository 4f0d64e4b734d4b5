"""Records of scores and failures: their names and contents."""

from __future__ import annotations

from made_states import rollout

from tui_eval.errors import traceback_text
from tui_eval.rubrics.rubric import Rubric
from tui_eval.runs.row import build_row


async def test_different_functions_of_one_name_keep_their_own_metric():
    def make(value):
        def score(answer):
            return value

        return score

    def score_2(answer):
        return 9.0

    one = make(1.0)
    functions = [one, make(2.0), score_2, one, lambda answer: 3.0, lambda answer: 4.0]
    state = rollout()
    await Rubric(functions).score_rollout(state)
    assert state["metrics"] == {
        "score": 1.0,
        "score_3": 2.0,
        "score_2": 9.0,
        "<lambda>": 3.0,
        "<lambda>_2": 4.0,
    }
    assert [record["name"] for record in state.scores] == [
        "score", "score_3", "score_2", "score", "<lambda>", "<lambda>_2"
    ]  # fmt: skip


async def test_a_method_added_twice_is_one_metric():
    class Scores:
        def right(self, answer):
            return 1.0

    scores = Scores()
    state = rollout()
    await Rubric([scores.right, scores.right, Scores().right]).score_rollout(state)
    assert state["metrics"] == {"right": 1.0, "right_2": 1.0}


async def test_the_row_shows_the_way_to_the_failure_and_its_causes():
    def deeper(depth):
        if depth:
            return deeper(depth - 1)
        try:
            return {}["score"]
        except KeyError as error:
            raise ValueError("no score in the reply") from error

    def reads_reply(answer):
        return deeper(40)

    async def reads_later(answer):
        return reads_reply(answer)

    state = rollout()
    await Rubric([reads_reply, reads_later]).score_rollout(state)
    row = build_row(state, number=0, attempt=1)
    for record in row["tui_eval"]["scores"]:
        lines = record["error"].splitlines()
        assert lines[0] == "ValueError: no score in the reply"
        assert lines[-1] == "caused by KeyError: 'score'"
        assert "return deeper(40)" in record["error"]
        assert 'raise ValueError("no score in the reply") from error' in record["error"]
        assert "rubrics/reward_call.py" not in record["error"]
        assert "rubrics/threads.py" not in record["error"]
        assert len(lines) < 60
    assert row["error"]["error_chain_str"] == "ScoringError -> ValueError -> KeyError"
    assert "return deeper(40)" in row["tui_eval"]["traceback"]
    assert 'return {}["score"]' in row["tui_eval"]["traceback"]


async def test_a_traceback_begins_in_the_authors_code():
    def fails(completion):
        raise KeyError("nokey")

    state = rollout()
    await Rubric([fails]).score_rollout(state)
    lines = traceback_text(state["error"]).splitlines()
    assert lines[0].startswith("Traceback")
    assert __file__ in lines[1] and lines[1].endswith("in fails")
    assert "KeyError: 'nokey'" in lines
