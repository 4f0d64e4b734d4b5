"""Verdicts on the difference in reward: when there is one, and how it is reported."""

from __future__ import annotations

from pathlib import Path

import pytest
from compared_sides import sentences, shares, side
from msgspec.structs import replace

from tui_eval.fold.compare.comparison import Comparison, compare_runs
from tui_eval.runs.compared_runs import ComparedRun
from tui_eval.runs.export.comparison import comparison_lines, comparison_object
from tui_eval.runs.layout import RunDir
from tui_eval.tui.compare.pane_lines import number_lines


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
    reported = sentences(found)["reward"]
    assert reported.startswith(
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


def test_text_and_json_report_the_same_verdicts() -> None:
    first, second = side(shares("ab", each=2)), side(shares("abc", each=2), model="other")
    again = replace(side(shares("abd", each=2), path="/again"))
    sides = [first, again, second]
    beside = [None, *compare_runs(sides)]
    reported = [
        ComparedRun(RunDir(Path(letter)), one, letter, compared)
        for letter, one, compared in zip("ABC", sides, beside, strict=True)
    ]
    text = "\n".join(comparison_lines(reported, None, 0))
    assert "reward  0.250  0.375  +0.125  [-0.217, 0.467]  inconclusive" in text
    why = "within chance; 8 examples can show 0.408 or more; about 65 needed"
    assert f"  reward inconclusive: {why}; inside the noise floor of A and B: ±0.467 (" in text
    found = comparison_object(reported, None)
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
        one.state.details.metrics.clear()
    (alone,) = compare_runs([base, some])
    assert alone.reward.holm_p == found.reward.holm_p == 0.03125, "the reward stands alone"


def test_a_run_that_a_number_is_not_of_counts_as_one_without_a_chance() -> None:
    base, some = side(shares("", each=2)), side(shares("abcdef", each=2))
    without = side(shares("", each=2))
    without.state.details.metrics.clear()
    found, same = compare_runs([base, some, without])
    assert [one.name for one in same.figures][:2] == ["reward", "turns"]
    assert verdicts(found) == ["≈ inconclusive", "≈ inconclusive"]


def verdicts(found: Comparison) -> list[str]:
    """What the lines of the reward and of the metric, which is the same, say of it."""
    _, *lines = number_lines(found, "B", 120)
    return [line[-2][0].strip() for line in lines[:2]]
