"""Runs and trajectories beside each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from compared_sides import sentences, shares, side
from msgspec.structs import replace

from tui_eval.fold.compare.alignment import align
from tui_eval.fold.compare.compared_side import Side, differing_settings
from tui_eval.fold.compare.comparison import Change, compare_runs
from tui_eval.fold.trajectory import Rollout
from tui_eval.runs.compared_runs import ComparedRun
from tui_eval.runs.export.comparison import comparison_object
from tui_eval.runs.layout import RunDir
from tui_eval.text.verdict_words import verdict_look
from tui_eval.tui.compare.pane_lines import number_lines


def test_examples_are_paired_by_content_and_sorted_into_what_became_of_them() -> None:
    first = side({"a": [1, 1], "b": [0, 0], "c": [1, 0], "d": [0, 0.4], "only": [1, 1]})
    second = side({"d": [0, 0], "c": [0, 0], "b": [1, 1], "a": [1, None], "new": [0, 0]})
    (found,) = compare_runs([first, second])
    assert [(one.example_id, one.first, one.second, one.change) for one in found.examples] == [
        ("id-a", 1.0, 1.0, Change.BOTH_RIGHT),
        ("id-b", 0.0, 1.0, Change.FIXED),
        ("id-c", 0.5, 0.0, Change.BROKEN),
        ("id-d", 0.2, 0.0, Change.BOTH_WRONG),
    ]
    assert [list(one.second_rows) for one in found.examples] == [[6, 7], [4, 5], [2, 3], [0, 1]]
    assert found.unpaired == {"only in the first run": 1, "only in the second run": 1}
    reward = found.figures[0]
    assert (reward.name, reward.first, reward.second) == ("reward", 0.425, 3 / 7)
    assert reward.by_example == (0.425, 0.5), "tested are the means of the examples"
    assert reward.difference.mean == pytest.approx(0.075)
    assert reward.difference.low is not None and reward.difference.low < 0
    assert [one.name for one in found.figures] == [
        *("reward", "score", "turns", "calls", "tokens", "time")
    ]
    assert found.changes[Change.FIXED] == 1


def test_unequal_numbers_of_rollouts_are_a_doubt() -> None:
    first = side({name: [1.0, 0.0] for name in "abcdef"})
    second = side({name: [1.0, None if name == "a" else 0.0] for name in "abcdef"})
    (found,) = compare_runs([first, second])
    assert found.reward.second == pytest.approx(6 / 11)
    assert found.reward.difference.mean == pytest.approx(0.5 / 6)
    assert found.doubts[1] == (
        "examples have unequal numbers of rollouts: the difference of reward, score, turns is "
        "that of the examples' means, not of the means over rollouts beside it"
    )
    assert compare_runs([first, first])[0].doubts == []


def test_examples_that_are_the_same_are_one_and_that_is_reported() -> None:
    first, second = (side({name: [1.0] for name in "abcdefgh"}) for _ in range(2))
    requested = replace(first, digests=first.digests | {6: b"a", 7: b"a"})
    (found,) = compare_runs([requested, second])
    assert found.reward.difference.n == 6
    reported = "of the first run 2 examples are the same as others, and count as one with them"
    assert reported in found.doubts
    assert not any("the same as" in doubt for doubt in compare_runs([first, second])[0].doubts)


def test_two_runs_of_one_configuration_are_a_noise_floor() -> None:
    names = "abcdefgh"
    base = side({name: [0.5, 0.5] for name in names})
    again = side({name: [0.45 if name in "abcd" else 0.55] * 2 for name in names}, path="/2")
    near, far = (
        side({name: [0.5 + by] * 2 for name in names}, model="other", path=f"/{by}")
        for by in (0.04, 0.2)
    )
    rerun, inside, outside = compare_runs([base, again, near, far])
    reach = rerun.reward.reach
    assert reach is not None and 0.04 < reach < 0.05
    assert [one.is_rerun for one in (rerun, inside, outside)] == [True, False, False]
    assert "; noise floor of A and B: ±0.045 (" in sentences(rerun)["reward"]
    assert "; inside the noise floor of A and B: ±0.045 (" in sentences(inside)["reward"]
    assert "noise" not in sentences(outside)["reward"]


@pytest.mark.parametrize("other", ["model", "examples", "code", "path", "environment"])
def test_another_configuration_is_no_rerun(other: str) -> None:
    base = side(shares("abc"), path="/1")
    fields: dict[str, Any] = {"path": "/1" if other == "path" else "/2"}
    fields |= {"model": "other"} if other == "model" else {}
    fields |= {"names_env": False} if other == "environment" else {}
    again = side(shares("abc", "abcdefgi" if other == "examples" else "abcdefgh"), **fields)
    if other == "code":
        base, again = replace(base, code={"env": "1"}), replace(again, code={"env": "2"})
    (found,) = compare_runs([base, again])
    assert not found.is_rerun and found.reward.floor is None


def test_what_is_not_known_is_not_equal() -> None:
    unknown = {"total_ms": 0.0, "input_tokens": 0, "output_tokens": 0}
    one = side({"a": [1, 1], "b": [0, 0]}, spent=unknown)
    (found,) = compare_runs([one, side({"a": [1, 1], "b": [0, 0]})])
    figures = {figure.name: figure for figure in found.figures}
    for name in ("tokens", "time"):
        figure = figures[name]
        assert (figure.first, figure.second, figure.difference.n) == (None, None, 0)
        assert verdict_look(figure)[0] == "· unknown"


def test_what_is_the_same_in_every_example_is_equal() -> None:
    calls = {"tool_calls": 1}
    first = side({name: [1, 1] for name in "abcdef"}, spent=calls)
    for row in (0, 1):
        first.state.tool_calls[row] = 0
    (found,) = compare_runs([first, first])
    figures = {figure.name: figure for figure in found.figures}
    calls_of = figures["calls"].difference
    assert (calls_of.low, calls_of.method) == (None, "none"), "0 and 1 are counts"
    assert figures["reward"].difference.method == "bound"
    for name in ("reward", "score", "turns", "calls"):
        assert verdict_look(figures[name])[0] == "= equal"


def test_runs_that_cannot_be_compared_say_so() -> None:
    first = side({"a": [1, 1], "b": [None, None]})
    second = side({"x": [1, 1], "b": [1, 1]}, env_id="another")
    (found,) = compare_runs([first, second])
    assert not found.comparable
    assert found.figures == []
    assert found.doubts[0].startswith("not comparable: no example")
    assert "environments differ (my-env, another)" in found.doubts[1]
    assert found.unpaired["without a reward in one or both"] == 1


def test_what_a_mean_is_without_speaks_against_a_comparison() -> None:
    first = side({"a": [1, 1], "b": [None, None], "c": [0, 1], "d": [0, 1], "e": [1, 0]})
    second = side({"a": [1, 1], "b": [1, 1], "c": [0, 1], "d": [0, 1], "e": [1, 0]})
    (found,) = compare_runs([first, second])
    without = "2 of 10 not in the mean: 2 endpoint errors; 0.50 with errors as 0"
    assert found.doubts == [f"of the first run {without}"]
    shown = ["".join(text for text, _ in line) for line in number_lines(found, "B", 100)]
    assert any(line.startswith(f"! of A {without}") for line in shown)
    reported = [
        ComparedRun(RunDir(Path(name)), one, name) for name, one in (("A", first), ("B", second))
    ]
    errors = comparison_object(reported, None)["errors"]
    assert errors[0]["error_classes"] == {"endpoint": 2} and errors[1]["errored"] == 0
    assert errors[0]["reward_with_errors_as_0"] == pytest.approx(5 / 10)


def test_rows_of_one_run_that_do_not_say_what_was_requested_are_paired_with_none() -> None:
    first = side({"a": [1, 1]})
    second = replace(side({"id 0": [1, 1]}), id_only=1)
    (found,) = compare_runs([first, second])
    assert not found.comparable
    assert "the rows of the second run have no prompts, and cannot be paired" in found.doubts


def test_what_is_not_on_disk_yet_is_counted() -> None:
    first = side({"a": [1, 1], "b": [1, 1], "c": [0, 1]})
    half = Side(side({"a": [1, 1], "b": [], "c": []}).state, {0: b"a"})
    (found,) = compare_runs([first, half])
    assert found.unpaired["not finished or not readable in the second run"] == 2
    assert "only 1 of 3 examples are in both runs with a reward" in found.doubts
    assert "not every rollout is finished" in found.doubts


def test_settings_that_differ_are_found() -> None:
    first = side({"a": [1, 1]}, "short", sampling_args={"temperature": 0.0, "top_p": 1})
    second = side({"a": [1, 1]}, "long", sampling_args={"temperature": 0.5, "top_p": 1})
    assert differing_settings([first, second]) == {
        "temperature": [0.0, 0.5],
        "system prompt": ["short", "long"],
    }
    assert differing_settings([first, first]) == {}


def test_names_of_files_are_no_environments() -> None:
    first, second = (side({"a": [1, 1]}, env_id=name, names_env=False) for name in ("c1", "c2"))
    (found,) = compare_runs([first, second])
    assert found.doubts == []
    assert differing_settings([first, second]) == {}


def trajectory(*answers: str, arguments: str = "{}", result: str = "ok") -> Rollout:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "?"}]
    for answer in answers:
        call = {"id": f"{id(answer)}", "name": "look", "arguments": arguments}
        messages += [
            {"role": "assistant", "content": answer, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": result},
        ]
    return Rollout(0, prompt_length=1, messages=messages)


def test_trajectories_part_at_the_first_turn_that_differs() -> None:
    found = align(trajectory("a", "b", "c"), trajectory("a", "x"))
    assert [turn.turn for turn in found.turns] == [0, 1, 2, 3]
    assert [turn.differs_at for turn in found.turns] == [None, None, 0, 0]
    assert found.divergence == 2
    assert found.turns[3].second == []


def test_spaces_in_arguments_and_ids_of_calls_do_not_count_but_results_do() -> None:
    same = align(trajectory("a", arguments='{"x": 1}'), trajectory("a", arguments='{"x":1}'))
    assert same.divergence is None
    assert align(trajectory("a"), trajectory("a", result="other")).turns[1].differs_at == 1


def test_nothing_is_aligned_with_nothing() -> None:
    assert align(Rollout(0), Rollout(1)).turns == []


def test_a_run_that_could_stop_by_its_own_numbers_is_doubted() -> None:
    rewards: dict[str, list[float | None]] = {name: [1, 0] for name in "abcdefgh"}
    fixed, early = side(rewards), side(rewards, until="low(reward) > 0.7")
    (found,) = compare_runs([fixed, early])
    (doubt,) = found.doubts
    assert doubt.startswith("the second run could stop by its own numbers (--until)")
    assert not compare_runs([fixed, fixed])[0].doubts
