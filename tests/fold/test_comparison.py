"""Runs and transcripts beside each other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from run_events import finished, started

from tui_eval.fold.alignment import align
from tui_eval.fold.comparison import Change, Comparison, Side, compare_runs, differing_settings
from tui_eval.fold.run_state import RunState
from tui_eval.fold.transcript import Rollout
from tui_eval.runs.layout import RunDir
from tui_eval.tui.comparison.reward_test import reward_test
from tui_eval.tui.comparison.text import ToldRun, comparison_object
from tui_eval.tui.widgets.compared_header import verdict_of
from tui_eval.tui.widgets.paired_numbers import number_lines


def side(
    rewards: dict[str, list[float | None]],
    system: str = "",
    spent: dict[str, Any] | None = None,
    **fields: Any,
) -> Side:
    """A run with two rollouts an example; an example is named by its content."""
    state = RunState()
    state.apply(started(len(rewards), 2, **fields))
    for place, (name, pair) in enumerate(rewards.items()):
        for number, reward in enumerate(pair):
            told = {"example_id": f"id-{name}", "turns": place, **(spent or {})}
            state.apply(finished(2 * place + number, reward, **told))
    digests = {place: name.encode() for place, name in enumerate(rewards)}
    return Side(state, digests, frozenset([system]) - {""})


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
    assert (reward.name, reward.first, reward.second) == ("reward", 0.425, 0.5)
    assert reward.difference.mean == pytest.approx(0.075)
    assert reward.difference.low is not None and reward.difference.low < 0
    assert [one.name for one in found.figures] == [
        *("reward", "score", "turns", "calls", "tokens", "time")
    ]
    assert found.changes[Change.FIXED] == 1


def test_pass_or_fail_has_newcombes_interval() -> None:
    first = side({name: [float(name in "abc")] * 2 for name in "abcdef"})
    second = side({name: [float(name in "bcdef")] * 2 for name in "abcdef"})
    difference = compare_runs([first, second])[0].figures[0].difference
    assert (difference.method, difference.n) == ("newcombe", 6)


def test_where_every_example_agrees_the_test_says_so() -> None:
    first = side({"a": [1, 1], "b": [0, 0]})
    (found,) = compare_runs([first, first])
    assert reward_test(found) == "reward: no discordant examples for McNemar's exact test"


def test_what_is_not_known_is_not_equal() -> None:
    untold = {"total_ms": 0.0, "input_tokens": 0, "output_tokens": 0}
    one = side({"a": [1, 1], "b": [0, 0]}, spent=untold)
    (found,) = compare_runs([one, side({"a": [1, 1], "b": [0, 0]})])
    figures = {figure.name: figure for figure in found.figures}
    for name in ("tokens", "time"):
        figure = figures[name]
        assert (figure.first, figure.second, figure.difference.n) == (None, None, 0)
        assert verdict_of(figure.difference, better=False)[0] == "· unknown"


def test_what_is_the_same_in_every_example_is_equal() -> None:
    calls = {"tool_calls": 1}
    first = side({name: [1, 1] for name in "abcde"}, spent=calls)
    for row in (0, 1):
        first.state.tool_calls[row] = 0
    (found,) = compare_runs([first, first])
    figures = {figure.name: figure.difference for figure in found.figures}
    assert (figures["calls"].low, figures["calls"].method) == (None, "none"), "0 and 1 are counts"
    assert figures["reward"].method == "newcombe"
    for name in ("reward", "score", "turns", "calls"):
        assert verdict_of(figures[name], better=False)[0] == "= equal"


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
    first = side({"a": [1, 1], "b": [1, None], "c": [0, 1]})
    second = side({"a": [1, 1], "b": [1, 1], "c": [0, 1]})
    (found,) = compare_runs([first, second])
    without = "1 of 6 not in the mean: 1 endpoint error; 0.67 with errors as 0"
    assert found.doubts == [f"of the first run {without}"]
    shown = ["".join(text for text, _ in line) for line in number_lines(found, "B", 100)]
    assert any(line.startswith(f"! of A {without}") for line in shown)
    told = [ToldRun(RunDir(Path(name)), one, name) for name, one in (("A", first), ("B", second))]
    errors = comparison_object(told, None)["errors"]
    assert errors[0]["error_classes"] == {"endpoint": 1} and errors[1]["errored"] == 0
    assert errors[0]["reward_with_errors_as_0"] == pytest.approx(4 / 6)


def test_rows_of_one_run_that_do_not_say_what_was_asked_are_paired_with_none() -> None:
    first = side({"a": [1, 1]})
    second = replace(side({"id 0": [1, 1]}), untold=1)
    (found,) = compare_runs([first, second])
    assert not found.comparable
    assert (
        "the rows of the second run do not say what was asked, and cannot be paired" in found.doubts
    )


def test_what_is_not_on_disk_yet_is_counted() -> None:
    first = side({"a": [1, 1], "b": [1, 1], "c": [0, 1]})
    half = Side(side({"a": [1, 1], "b": [], "c": []}).state, {0: b"a"})
    (found,) = compare_runs([first, half])
    assert found.unpaired["not finished or not readable in the second run"] == 2
    assert "only 1 of 3 examples are in both runs with a reward" in found.doubts
    assert "not every rollout is finished" in found.doubts


def test_the_chances_of_several_runs_are_raised() -> None:
    base = side({name: [0.0, 0.1] for name in "abcdefgh"})
    better = side({name: [0.3, 0.4 + 0.01 * k] for k, name in enumerate("abcdefgh")})
    found = compare_runs([base, better, better])
    p = found[0].figures[0].difference.p
    assert p is not None and found[0].holm_p == pytest.approx(min(2 * p, 1.0))


def test_a_verdict_goes_by_the_chance_that_is_raised_for_several_runs() -> None:
    base = side({name: [0.0, 0.0] for name in "abcdefgh"})
    some = side({name: [float(name in "abcdef")] * 2 for name in "abcdefgh"})
    (alone,) = compare_runs([base, some])
    assert alone.holm_p == 0.03125
    assert verdicts(alone) == ["▲ better", "▲ higher"]
    for found in compare_runs([base, some, some]):
        low = found.figures[0].difference.low
        assert low is not None and low > 0
        assert found.holm_p == 0.0625
        assert verdicts(found) == ["≈ unclear", "≈ unclear"]


def test_a_run_that_a_number_is_not_of_is_one_more_that_it_was_looked_for_in() -> None:
    base = side({name: [0.0, 0.0] for name in "abcdefgh"})
    some = side({name: [float(name in "abcdef")] * 2 for name in "abcdefgh"})
    without = side({name: [0.0, 0.0] for name in "abcdefgh"})
    without.state.facts.metrics.clear()
    found, same = compare_runs([base, some, without])
    assert [one.name for one in same.figures][:2] == ["reward", "turns"]
    assert verdicts(found) == ["≈ unclear", "≈ unclear"]


def verdicts(found: Comparison) -> list[str]:
    """What the lines of the reward and of the metric, which is the same, say of it."""
    _, *lines = number_lines(found, "B", 120)
    return [line[-2][0].strip() for line in lines[:2]]


def test_settings_that_differ_are_found() -> None:
    first = side({"a": [1, 1]}, "short", sampling_args={"temperature": 0.0, "top_p": 1})
    second = side({"a": [1, 1]}, "long", sampling_args={"temperature": 0.5, "top_p": 1})
    assert differing_settings([first, second]) == {
        "temperature": [0.0, 0.5],
        "system prompt": ["short", "long"],
    }
    assert differing_settings([first, first]) == {}


def test_names_of_files_are_no_environments() -> None:
    first, second = (side({"a": [1, 1]}, env_id=name, env_told=False) for name in ("c1", "c2"))
    (found,) = compare_runs([first, second])
    assert found.doubts == []
    assert differing_settings([first, second]) == {}


def story(*answers: str, arguments: str = "{}", result: str = "ok") -> Rollout:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "?"}]
    for answer in answers:
        call = {"id": f"{id(answer)}", "name": "look", "arguments": arguments}
        messages += [
            {"role": "assistant", "content": answer, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": result},
        ]
    return Rollout(0, prompt_length=1, messages=messages)


def test_transcripts_part_at_the_first_turn_that_differs() -> None:
    found = align(story("a", "b", "c"), story("a", "x"))
    assert [turn.turn for turn in found.turns] == [0, 1, 2, 3]
    assert [turn.differs_at for turn in found.turns] == [None, None, 0, 0]
    assert found.divergence == 2
    assert found.turns[3].second == []


def test_spaces_in_arguments_and_ids_of_calls_do_not_count_but_results_do() -> None:
    same = align(story("a", arguments='{"x": 1}'), story("a", arguments='{"x":1}'))
    assert same.divergence is None
    assert align(story("a"), story("a", result="other")).turns[1].differs_at == 1


def test_nothing_is_aligned_with_nothing() -> None:
    assert align(Rollout(0), Rollout(1)).turns == []
