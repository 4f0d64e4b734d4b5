"""1,000 rollouts through an endpoint that goes wrong in fifty ways: each row says what happened."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from program import Program
from rollout_outcomes import ENVIRONMENT, WAYS, WaysServer
from six_turns import Summary

ROLLOUTS = 1000
WITHIN_S = 500.0
SHORT_WAITS = """
import tui_eval.clients.request_retries as request_retries

request_retries.FIRST_WAIT, request_retries.LONGEST_BACKOFF = 0.02, 0.1
"""


@pytest.fixture
def ways_server() -> Iterator[WaysServer]:
    with WaysServer() as server:
        yield server


def outcome_of(row: dict[str, Any]) -> tuple[Any, ...]:
    """The outcome of a row, in the form of `expected`."""
    error = row["error"]
    return (
        error and error["class"],
        row["stop_condition"],
        row["tui_eval"].get("finish_reason"),
        row["is_truncated"],
        row["reward"],
    )


EXPECTED = {
    name: (way.kind, way.stop, way.finish, way.truncated, way.reward) for name, way in WAYS.items()
}


@pytest.mark.parametrize("stream", ["--no-stream", "--stream"])
def test_of_a_thousand_rollouts_each_row_says_what_happened(
    program: Program, ways_server: WaysServer, stream: str
) -> None:
    program.environment("ways", ENVIRONMENT)
    program.happens_at_start(SHORT_WAITS)
    url = f"{ways_server.url}/v1"
    arguments = json.dumps({"url": url, "ways": list(WAYS), "each": ROLLOUTS // len(WAYS) + 1})
    done = program.finish(
        program.start(
            *("ways", "-m", "m", "-b", url, "-k", "", "-a", arguments, stream),
            *("-n", str(ROLLOUTS), "-r", "1", "-c", "64", "--timeout", "12", "-i"),
            *("-d", "-s", "-A", "--json"),
        ),
        WITHIN_S,
    )
    summary = Summary(program, done)
    assert len(set(summary.run.places())) == len(summary.run.rows) == ROLLOUTS
    found: dict[str, Counter[tuple[Any, ...]]] = {name: Counter() for name in WAYS}
    for row in summary.run.rows:
        found[row["info"]["way"]][outcome_of(row)] += 1
    wrong = {
        name: (EXPECTED[name], dict(seen))
        for name, seen in found.items()
        if set(seen) != {EXPECTED[name]}
    }
    assert not wrong, "\n".join(f"{name}: {pair}" for name, pair in wrong.items())
    of_class = Counter(EXPECTED[row["info"]["way"]][0] for row in summary.run.rows)
    in_the_mean = of_class.pop(None)
    assert summary.summary["error_classes"] == of_class
    assert summary.summary["counts"]["used"] == in_the_mean
    assert summary.summary["counts"]["errored"] == ROLLOUTS - in_the_mean
    rewards = sum(EXPECTED[row["info"]["way"]][4] for row in summary.run.rows)
    assert summary.summary["reward"]["mean"] == pytest.approx(rewards / in_the_mean)
    assert summary.summary["reward_with_errors_as_0"] == pytest.approx(rewards / ROLLOUTS)
