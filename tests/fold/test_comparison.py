"""Runs and trajectories beside each other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from run_events import finished, started

from tui_eval.fold.alignment import align
from tui_eval.fold.compared_side import Side, differing_settings
from tui_eval.fold.comparison import Change, Comparison, compare_runs
from tui_eval.fold.run_state import RunState
from tui_eval.fold.trajectory import Rollout
from tui_eval.runs.export.comparison import (
    ComparedRun,
    comparison_lines,
    comparison_object,
)
from tui_eval.runs.layout import RunDir
from tui_eval.text.verdict_words import figure_sentence, verdict_look
from tui_eval.tui.compare.paired_numbers import number_lines


def side(
    rewards: dict[str, list[float | None]],
    system: str = "",
    spent: dict[str, Any] | None = None,
    **fields: Any,
) -> Side:
    """A run with as many rollouts an example as the first has; it is named by its content."""
    each = len(next(iter(rewards.values())))
    state = RunState()
    state.apply(started(len(rewards), each, **fields))
    for place, (name, pair) in enumerate(rewards.items()):
        for number, reward in enumerate(pair):
            told = {"example_id": f"id-{name}", "turns": place, **(spent or {})}
            state.apply(finished(each * place + number, reward, **told))
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
    assert (reward.name, reward.first, reward.second) == ("reward", 0.425, 3 / 7)
    assert reward.by_example == (0.425, 0.5), "tested are the means of the examples"
    assert reward.difference.mean == pytest.approx(0.075)
    assert reward.difference.low is not None and reward.difference.low < 0
    assert [one.name for one in found.figures] == [
        *("reward", "score", "turns", "calls", "tokens", "time")
    ]
    assert found.changes[Change.FIXED] == 1


def shares(passing: str, of: str = "abcdefgh", each: int = 1) -> dict[str, list[float | None]]:
    """Examples of which some pass in all their rollouts."""
    return {name: [float(name in passing)] * each for name in of}


def sentences(found: Comparison) -> dict[str, str]:
    """What is told of every number, by its name."""
    return {one.name: figure_sentence(one, found) for one in found.figures}


def test_one_rollout_that_passes_or_fails_has_newcombes_interval_and_mcnemars_test() -> None:
    first, second = side(shares("abc", "abcdef")), side(shares("bcdef", "abcdef"))
    (found,) = compare_runs([first, second])
    assert (found.reward.difference.method, found.reward.difference.n) == ("newcombe", 6)
    assert "Newcombe; p = 0.625, McNemar's exact test" in sentences(found)["reward"]


def test_several_rollouts_of_an_example_are_one_number_of_it() -> None:
    first, second = side(shares("abc", "abcdef", 2)), side(shares("bcdef", "abcdef", 2))
    (found,) = compare_runs([first, second])
    assert found.reward.difference.method == "t"
    assert sentences(found)["reward"].endswith("(t, 5 df; p = 0.625, exact sign-flip test)")


def test_where_every_example_agrees_the_test_says_so() -> None:
    first = side(shares("abc"))
    (found,) = compare_runs([first, first])
    assert sentences(found)["reward"] == (
        "reward equal (bound for equal examples; no discordant examples for McNemar's exact test)"
    )
    low, high = found.reward.difference.low, found.reward.difference.high
    assert high == pytest.approx(1 - 0.025 ** (1 / 8)) and low == -high


def test_equal_in_a_few_examples_is_no_verdict() -> None:
    first = side(shares("ab", "abcd", 2))
    (found,) = compare_runs([first, first])
    assert sentences(found)["reward"].startswith(
        "reward equal: fewer than 6 shared examples; at least 6 needed (bound for"
    )


def test_what_is_inconclusive_says_why_and_what_it_would_take() -> None:
    values = {name: [0.1 * at, 0.1 * at] for at, name in enumerate("abcdefgh")}
    others = {name: [0.5, 0.45] for name in "abcdefgh"}
    (found,) = compare_runs([side(values), side(others)])
    told = sentences(found)["reward"]
    assert told.startswith(
        "reward inconclusive: within chance; 8 examples can show 0.282 or more; about 33 needed"
    )
    assert found.reward.verdict.needed == 33


def test_below_six_shared_examples_there_is_no_verdict() -> None:
    (found,) = compare_runs([side(shares("", "abcde", 2)), side(shares("abcd", "abcde", 2))])
    assert found.reward.difference.low is not None and found.reward.difference.low > 0
    assert verdicts(found) == ["≈ inconclusive"] * 2
    assert sentences(found)["reward"].startswith(
        "reward inconclusive: fewer than 6 shared examples; at least 6 needed (t, 4 df"
    )


def test_there_is_no_verdict_where_p_and_interval_disagree() -> None:
    values = [*[0.1] * 5, 0.12, 0.09, -0.02]
    second = {name: [0.5 + d] * 2 for name, d in zip("abcdefgh", values, strict=True)}
    (found,) = compare_runs([side({name: [0.5] * 2 for name in second}), side(second)])
    assert found.reward.difference.low is not None and found.reward.difference.low > 0
    assert "reward better" in sentences(found)["reward"]
    few = {name: second[name] for name in "cdefgh"}
    (found,) = compare_runs([side({name: [0.5] * 2 for name in few}), side(few)])
    low, p = found.reward.difference.low, found.reward.difference.p
    assert low is not None and p is not None and low > 0 and p >= 0.05
    assert (
        "inconclusive: p and interval disagree; 6 examples can show" in sentences(found)["reward"]
    )


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


def test_examples_that_ask_the_same_are_one_and_that_is_told() -> None:
    first, second = (side({name: [1.0] for name in "abcdefgh"}) for _ in range(2))
    asked = replace(first, digests=first.digests | {6: b"a", 7: b"a"})
    (found,) = compare_runs([asked, second])
    assert found.reward.difference.n == 6
    told = "of the first run 2 examples ask the same as others, and count as one with them"
    assert told in found.doubts
    assert not any("ask the same" in doubt for doubt in compare_runs([first, second])[0].doubts)


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


def test_text_and_json_tell_the_same_verdicts() -> None:
    first, second = side(shares("ab", each=2)), side(shares("abc", each=2), model="other")
    again = replace(side(shares("abd", each=2), path="/again"))
    sides = [first, again, second]
    beside = [None, *compare_runs(sides)]
    told = [
        ComparedRun(RunDir(Path(letter)), one, letter, compared)
        for letter, one, compared in zip("ABC", sides, beside, strict=True)
    ]
    text = "\n".join(comparison_lines(told, None, 0))
    assert "reward  0.250  0.375  +0.125  [-0.217, 0.467]  inconclusive" in text
    why = "within chance; 8 examples can show 0.408 or more; about 65 needed"
    assert f"  reward inconclusive: {why}; inside the noise floor of A and B: ±0.467 (" in text
    found = comparison_object(told, None)
    assert [one["mean"] for one in found["rewards"]] == [0.25, 0.375, 0.375]
    assert found["rewards"][0]["method"] == "wilson" and found["rewards"][0]["examples"] == 8
    rerun, other = found["comparisons"]
    assert rerun["is_rerun"] and rerun["numbers"]["reward"]["inside_noise_floor"] is None
    reward = other["numbers"]["reward"]
    assert (reward["verdict"], reward["why"], reward["equal"]) == (
        *("inconclusive", "within chance"),
        False,
    )
    assert (reward["method"], reward["test"]) == ("t_widened", "sign_flip")
    assert reward["detectable"] == pytest.approx(0.40758173698831873) and reward["needed"] == 65
    assert (reward["first_by_example"], reward["second_by_example"]) == (0.25, 0.375)
    assert reward["noise_floor"] == pytest.approx(0.46673, abs=1e-5)
    assert (reward["noise_floor_run"], reward["inside_noise_floor"]) == (1, True)


def test_what_is_not_known_is_not_equal() -> None:
    untold = {"total_ms": 0.0, "input_tokens": 0, "output_tokens": 0}
    one = side({"a": [1, 1], "b": [0, 0]}, spent=untold)
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
    told = [
        ComparedRun(RunDir(Path(name)), one, name) for name, one in (("A", first), ("B", second))
    ]
    errors = comparison_object(told, None)["errors"]
    assert errors[0]["error_classes"] == {"endpoint": 2} and errors[1]["errored"] == 0
    assert errors[0]["reward_with_errors_as_0"] == pytest.approx(5 / 10)


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
    assert p is not None and found[0].reward.holm_p == pytest.approx(min(2 * p, 1.0))


def test_a_verdict_goes_by_the_chance_that_is_raised_for_several_runs() -> None:
    base, some = side(shares("", each=2)), side(shares("abcdef", each=2))
    (alone,) = compare_runs([base, some])
    assert alone.reward.holm_p == 0.03125
    assert verdicts(alone) == ["▲ better", "≈ inconclusive"]
    for found in compare_runs([base, some, some]):
        low = found.reward.difference.low
        assert low is not None and low > 0
        assert found.reward.holm_p == 0.0625
        assert verdicts(found) == ["≈ inconclusive", "≈ inconclusive"]
        assert "within chance, as so many are looked at" in sentences(found)["reward"]
        assert "p = 0.0312, exact sign-flip test; 0.0625 by Holm" in sentences(found)["reward"]


def test_the_numbers_beside_the_reward_are_looked_at_together() -> None:
    base, some = side(shares("", each=2)), side(shares("abcdef", each=2))
    (found,) = compare_runs([base, some])
    score = found.figures[1]
    assert (score.name, score.difference.p) == ("score", 0.03125)
    beside = [one for one in found.figures[1:] if one.difference.p is not None]
    assert len(beside) > 1 and score.holm_p == len(found.figures[1:]) * 0.03125
    for one in (base, some):
        one.state.facts.metrics.clear()
    (alone,) = compare_runs([base, some])
    assert alone.reward.holm_p == found.reward.holm_p == 0.03125, "the reward stands alone"


def test_a_run_that_a_number_is_not_of_counts_as_one_without_a_chance() -> None:
    base, some = side(shares("", each=2)), side(shares("abcdef", each=2))
    without = side(shares("", each=2))
    without.state.facts.metrics.clear()
    found, same = compare_runs([base, some, without])
    assert [one.name for one in same.figures][:2] == ["reward", "turns"]
    assert verdicts(found) == ["≈ inconclusive", "≈ inconclusive"]


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
