"""Conditions on the numbers of a run: what they say, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_eval.fold.query.condition_parser import check_names, parse_condition
from tui_eval.fold.query.conditions import Condition, ConditionError, Estimate

ESTIMATES = {
    "reward": Estimate(0.7, 0.61, 0.78),
    "has (brackets)": Estimate(0.2, None, None),
    "pass@4": Estimate(0.9, 0.8, 0.95),
    "errored": Estimate(0.25, 0.2, 0.3),
}
COUNTS = {"errored": 4, "missing": 0, "used": 40}


def truth(text: str, estimates: Mapping[str, Estimate] = ESTIMATES) -> bool | None:
    return parse_condition(text).judge(estimates.get, COUNTS).truth


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("low(reward) < 0.7", True),
        ("low(reward)<.61", False),
        ("low(reward) <= 0.61", True),
        ("high(reward) > 0.78", False),
        ("high(reward) >= 0.78", True),
        ("mean(reward) > 0.5 and width(reward) < 0.2", True),
        ("width( reward ) <= 0.17", True),
        ("errored > 3", True),
        ("errored >= 5 OR missing > 0", False),
        ("mean(errored) < 0.3", True),
        ('mean("has (brackets)") < 1', True),
        ('low("has (brackets)") < 1', None),
        ("MEAN(pass@4) >= 0.9", True),
        ("used < 1k", True),
        ("used > 100 and errored > 3 or missing <= 0", True),
        ("used > 100 and (errored > 3 or missing <= 0)", False),
    ],
)
def test_a_condition_is_true_or_false_or_not_known(text: str, expected: bool | None) -> None:
    assert truth(text) is expected


def test_what_is_not_known_decides_only_where_it_matters() -> None:
    unknown = 'low("has (brackets)") < 1'
    assert truth(f"{unknown} or used > 1") is True
    assert truth(f"{unknown} and used > 100") is False
    assert truth(f"{unknown} or used > 100") is None
    assert truth(f"{unknown} and used > 1") is None


@pytest.mark.parametrize("sum_of_three", [0.7 + 0.2 + 0.1, 0.1 + 0.2 + 0.7, 1 - 1e-12])
def test_what_rounding_left_is_no_difference(sum_of_three: float) -> None:
    estimates = {"reward": Estimate(sum_of_three, None, None)}
    assert truth("mean(reward) < 1", estimates) is truth("mean(reward) > 1", estimates) is False
    assert truth("mean(reward) <= 1", estimates) is truth("mean(reward) >= 1", estimates) is True


def reported(text: str) -> str:
    return parse_condition(text).judge(ESTIMATES.get, COUNTS).reason


def test_the_values_that_decide_are_reported() -> None:
    assert reported("low(reward) < 0.7") == "low(reward) = 0.61 < 0.7"
    assert (
        reported("mean(reward) < 0.1 or errored > 3 and used > 1")
        == "errored = 4 > 3 and used = 40 > 1"
    )
    assert reported('low("has (brackets)") < 1') == 'low("has (brackets)") is not known'
    assert reported("low(reward) < 0.61000001") == "low(reward) = 0.61 < 0.61000001"


def test_a_value_is_reported_with_the_digits_that_decide() -> None:
    found = parse_condition("mean(reward) < 0.7").judge(
        {"reward": Estimate(0.6999999, 0.6, 0.8)}.get, {}
    )
    assert found.reason == "mean(reward) = 0.6999999 < 0.7"


def faults(text: str) -> list[tuple[int, str]]:
    with pytest.raises(ConditionError) as raised:
        parse_condition(text, "--fail-if")
    return [
        (int(fault.where.removeprefix("--fail-if, character ")), f"{fault.what}. {fault.hint}")
        for fault in raised.value.faults
    ]


@pytest.mark.parametrize(
    ("text", "at", "said"),
    [
        ("", 1, "there is no condition"),
        ("lo(reward) < 0.7", 1, "low"),
        ("reward < 0.7", 1, "low(reward)"),
        ("erorred > 1", 1, "errored"),
        ("errored(reward) > 1", 1, "errored"),
        ("low(reward) = 0.7", 13, "<="),
        ("low(reward) 0.7", 13, "<="),
        ("low(reward)", 12, "<="),
        ("low(reward) <", 14, "number"),
        ("low(reward) < high", 15, "number"),
        ("low(reward) < nan", 15, "number"),
        ("low(reward < 0.7", 4, "not closed"),
        ('low("reward) < 0.7', 5, "not closed"),
        ("low() < 0.7", 4, "no name"),
        ("low(reward) < 0.7 and", 22, "condition"),
        ("and low(reward) < 0.7", 1, "condition"),
        ("low(reward) < 0.7 errored > 1", 19, "and"),
        ("(low(reward) < 0.7", 1, "not closed"),
        ("low(reward) < 0.7)", 18, "closes"),
        ("0.7 > low(reward)", 1, "mean"),
    ],
)
def test_a_fault_is_reported_with_its_place_and_what_to_write(
    text: str, at: int, said: str
) -> None:
    found = faults(text)
    assert [place for place, _ in found] == [at], found
    assert said in found[0][1]


def test_all_faults_are_reported_at_once() -> None:
    assert [at for at, _ in faults("lo(reward) < 0.7 and errord > 3 or used > x")] == [1, 22, 43]


def test_a_name_that_is_nowhere_is_refused_with_the_nearest_one() -> None:
    condition = parse_condition("low(rewrd) < 0.7 and mean(pass@3) > 1", "--fail-if")
    with pytest.raises(ConditionError) as raised:
        check_names(condition, ["reward", "pass@1", "pass@4"])
    first, second = raised.value.faults
    assert first.where == "--fail-if, character 5" and "reward" in first.hint
    assert second.where == "--fail-if, character 27" and "pass@" in second.hint


names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)


@given(st.lists(st.tuples(names, st.sampled_from(["<", "<=", ">", ">="]),
                          st.floats(-1e6, 1e6)), min_size=1, max_size=3))  # fmt: skip
def test_any_name_can_be_said_in_quotes(parts: list[tuple[str, str, float]]) -> None:
    spelled = [(name.replace("\\", "\\\\").replace('"', '\\"'), *rest) for name, *rest in parts]
    text = " or ".join(f'mean("{name}") {operator} {limit!r}' for name, operator, limit in spelled)
    condition = parse_condition(text)
    assert [one.name for one in condition.measures()] == [name for name, *_ in parts]
    assert str(parse_condition(str(condition))) == str(condition)


@given(st.text(max_size=40))
def test_any_text_is_a_condition_or_is_refused(text: str) -> None:
    try:
        assert isinstance(parse_condition(text), Condition)
    except ConditionError as error:
        assert all(1 <= int(one.where.rpartition(" ")[2]) <= len(text) + 1 for one in error.faults)
