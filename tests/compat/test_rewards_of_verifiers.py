"""Environments evaluated here give what verifiers 0.1.11 gave for the same answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from program import Program
from verifiers_cases import CASES, RECORDED_RESULTS
from verifiers_differences import KNOWN
from verifiers_results import Difference, Results, differences
from verifiers_runs import with_tui_eval

pytestmark = pytest.mark.slow

RECORDED: dict[str, Results] = json.loads(RECORDED_RESULTS.read_text())


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Difference]]:
    """Differences of rows and requests of all cases, run by one command, from those recorded."""
    ours = with_tui_eval(Program(tmp_path_factory.mktemp("cases")), CASES)
    yield differences(ours, RECORDED)


def test_every_case_is_recorded() -> None:
    assert list(RECORDED) == [case.env_id for case in CASES]
    assert len(RECORDED) >= 22
    for case in CASES:
        rows = RECORDED[case.env_id]["rows"]
        assert len(rows) == (5 if case.examples < 0 else case.examples) * case.rollouts


@pytest.mark.parametrize("env_id", [case.env_id for case in CASES])
def test_rows_and_requests_are_those_of_the_library(env_id: str, found: list[Difference]) -> None:
    new = [one for one in found if one.where.startswith(f"{env_id}.") and not _known(one)]
    assert new == []


@pytest.mark.parametrize("pattern", KNOWN)
def test_a_difference_that_is_named_is_there(pattern: str, found: list[Difference]) -> None:
    assert any(re.fullmatch(pattern, one.where) for one in found), "it is equal now: leave it out"


def test_rewards_differ_only_where_a_rollout_has_an_error(found: list[Difference]) -> None:
    differing = {one.where for one in found if one.where.endswith(".rows.reward")}
    assert differing == {"ledger-accounts.rows.reward"}


def _known(one: Difference) -> bool:
    return any(re.fullmatch(pattern, one.where) for pattern in KNOWN)
