from __future__ import annotations

import pytest

from tui_eval.stats.trend import MOST, RunningTrend


def trend_of(values: list[float]) -> RunningTrend:
    trend = RunningTrend()
    for value in values:
        trend.add(value)
    return trend


def test_few_values_stand_for_themselves() -> None:
    assert trend_of([]).result() == []
    assert trend_of([1.0, 0.0, 0.5]).result() == [1.0, 0.0, 0.5]


@pytest.mark.parametrize("count", [MOST, MOST + 1, 3 * MOST + 1, 1000, 12_345])
def test_many_values_become_means_of_equal_stretches(count: int) -> None:
    values = [float(n) for n in range(count)]
    trend = trend_of(values)
    stretches = [values[at : at + trend.each] for at in range(0, count, trend.each)]
    assert trend.result() == pytest.approx([sum(some) / len(some) for some in stretches])
    assert MOST // 2 <= len(trend.result()) <= MOST
