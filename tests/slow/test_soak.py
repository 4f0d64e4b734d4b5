"""Three minutes under faults of endpoint, workers and environment."""

from __future__ import annotations

from bench.setting import Setting
from bench.soak import measure


def test_nothing_hangs_grows_or_is_lost_under_faults() -> None:
    with Setting(quick=True) as setting:
        figures = list(measure(setting))
    assert [str(one) for one in figures if not one.kept] == []
