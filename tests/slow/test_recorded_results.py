"""Recorded results of verifiers 0.1.11 are those of the library itself, run once more."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from third_party_packages import VERIFIERS
from verifiers_cases import CASES, RECORDED_RESULTS
from verifiers_results import differences
from verifiers_runs import with_library


@pytest.fixture
def real_python() -> str:
    """An interpreter that has the library: the one that is named, or one made here."""
    named = os.environ.get("TUI_EVAL_REAL_VERIFIERS", "")
    if named and not Path(named).exists():
        pytest.skip(f"TUI_EVAL_REAL_VERIFIERS is {named}, which is not there")
    return named or str(VERIFIERS.installed() / "python")


def test_the_library_gives_what_is_recorded(real_python: str, tmp_path: Path) -> None:
    recorded = json.loads(RECORDED_RESULTS.read_text())
    assert differences(with_library(real_python, CASES, tmp_path), recorded) == []
