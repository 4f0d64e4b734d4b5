"""Many kinds of data set of the package `datasets`: rows as verifiers makes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from third_party_packages import OURS, VERIFIERS, script_output


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    """Rows by the name of their table: ours, and those of verifiers."""
    folder = tmp_path_factory.mktemp("rows")
    ours = script_output(OURS, "print_rows.py", "tui_eval", folder)
    return ours, script_output(VERIFIERS, "print_rows.py", "verifiers", folder)


@pytest.mark.xdist_group("data sets")
def test_rows_are_those_of_verifiers(
    found: tuple[dict[str, Any], dict[str, Any]], tmp_path: Path
) -> None:
    ours, theirs = found
    assert len(theirs) >= 25
    differing = {name: (ours[name], rows) for name, rows in theirs.items() if ours[name] != rows}
    assert differing == {}
