from __future__ import annotations

import re
from pathlib import Path

from tui_eval.exit_codes import ExitCode

DOCUMENTED = Path(__file__).parents[1] / "docs" / "running.md"


def test_every_exit_code_is_in_the_table_of_the_docs() -> None:
    _, _, behind = DOCUMENTED.read_text().partition("| exit code | |\n")
    table, _, _ = behind.partition("\n\n")
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)] == [*ExitCode]
