"""One run as `tui-eval agent` has it, in the test's own process, with its scores at the end."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from command_here import Printed
from program import Finished, Program, Run
from run_here import request_here

from tui_eval.cli.agent.agent import ScoreReport, command
from tui_eval.cli.agent.agent_request import make_request, missing, name_newest
from tui_eval.config.options import TYPED_KEY_VAR
from tui_eval.config.plan import Request
from tui_eval.errors import RefusedError
from tui_eval.runs.layout import RunDir

PROJECTS = Path(__file__).parent / "osmosis_projects"


def copy_project(program: Program, name: str) -> Path:
    """Puts the files of a project into the program's folder."""
    shutil.copytree(PROJECTS / name, program.folder, dirs_exist_ok=True)
    return program.folder


def write_rows(program: Program, prompts: list[str], **columns: Any) -> None:
    """Writes rows.jsonl, a dataset with a row for each prompt."""
    rows = [{"system_prompt": "s", "user_prompt": p, "ground_truth": "x", **columns}
            for p in prompts]  # fmt: skip
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (program.folder / "rows.jsonl").write_text(text)


def results(program: Program, name: str = "results.json") -> Any:
    """The scores that were written to a file."""
    return json.loads((program.folder / name).read_text())


def rows_by_prompt(run: Run) -> dict[str, Any]:
    """The rows of a run by what the user says first."""
    return {row["prompt"][-1]["content"]: row for row in run.rows}


def agent_here(program: Program, *words: str) -> Finished:
    """Runs an agent loop on a dataset to its end, or says why it cannot begin."""
    given = command.make_context("agent", [*words]).params
    reports: list[ScoreReport] = []
    resuming: list[str] = []
    printed = Printed()

    def report(run: RunDir) -> None:
        with printed:
            reports[0](run)

    def request() -> Request:
        typed, newest = name_newest(given)
        resuming.append(newest)
        if faults := missing(typed):
            raise RefusedError(faults)
        if typed["api_key"]:
            os.environ[TYPED_KEY_VAR] = typed["api_key"]
        made: dict[str, Any] = make_request(typed)
        reports.append(ScoreReport(made["scores_path"], typed))
        return Request(**made)

    prints = "--json" if given["json"] else "--quiet" if given["quiet"] else ""
    done = request_here(program, request, prints, report)
    problem = reports[0].problem if reports else ""
    error_line = f"error: {problem}\n" if problem else ""
    code = done.code or int(bool(problem))
    err = "".join(resuming) + done.err + printed.err + error_line
    return Finished(code, done.out + printed.out, err)
