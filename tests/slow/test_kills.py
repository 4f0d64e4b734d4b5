"""Runs of six turns, killed at random moments and resumed: nothing is lost or paid twice."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench.counting_endpoint import CountingEndpoint
from bench.kills import KINDS, LATENCY_S, Endpoints, Trial, kill_often
from bench.setting import Setting

KILLS = 5


@pytest.fixture
def setting() -> Iterator[Setting]:
    with Setting() as setting:
        yield setting


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_run_is_resumed_to_what_it_would_have_been(setting: Setting, kind: str) -> None:
    with CountingEndpoint(LATENCY_S) as model, CountingEndpoint(LATENCY_S) as judge:
        endpoints = Endpoints(model, judge)
        whole = Trial(setting, endpoints, "none")
        whole.run()
        tally = kill_often(setting, endpoints, kind, KILLS, whole.rewards())
    assert tally.kills
    assert tally.went_wrong == []
