from __future__ import annotations

from pathlib import Path

import pytest

from tui_eval.cli.console.log_tail import RunLogs
from tui_eval.events import EvaluationMoved


def test_a_last_line_without_an_end_is_printed_once_nobody_writes_any_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "engine.log"
    log.write_text("whole\nnot ", "utf-8")
    logs = RunLogs(verbose=True)
    logs.handle(EvaluationMoved(0, 0.0, 0, "running", path=str(tmp_path)))
    logs.show()
    assert capsys.readouterr().err == "[1] whole\n"
    with log.open("a", encoding="utf-8") as file:
        file.write("yet")
    logs.show_rest()
    logs.show_rest()
    assert capsys.readouterr().err == "[1] not yet\n"
