"""The cases of `verifiers_cases` run by tui-eval, and by the library in its own interpreter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from program import Program
from verifiers_cases import CASES, ENVIRONMENTS, RECORDED_RESULTS, Case
from verifiers_results import Results, ScriptedModels, results_of

DRIVER = Path(__file__).with_name("evaluate_with_verifiers.py")
_LIBRARY_S = 110


def with_tui_eval(program: Program, cases: Iterable[Case]) -> dict[str, Results]:
    """Results of the command line for the cases, all in one file."""
    cases = list(cases)
    with ScriptedModels(cases) as models:
        url = f"{models.url}/v1"
        program.env |= _environ(url)
        top = f"env_dir_path = {json.dumps(str(ENVIRONMENTS))}\n"
        (program.folder / "cases.toml").write_text(
            top + "".join(_table(case, url) for case in cases)
        )
        try:
            done = program.finish(program.start("cases.toml"), 240)
        finally:
            program.end_all()
        assert f"{len(cases)} of {len(cases)} evaluations finished" in done.out, done
        rows = {run.metadata["env_id"]: run.rows for run in program.runs()}
        return {case.env_id: _results(case, rows[case.env_id], models) for case in cases}


def with_library(python: str, cases: Iterable[Case], folder: Path) -> dict[str, Results]:
    """Results of the library in another interpreter for the cases, in one process."""
    cases = list(cases)
    with ScriptedModels(cases) as models:
        url = f"{models.url}/v1"
        to = folder / "library.json"
        job = {"url": url, "paths": _paths(), "to": str(to), "cases": _filled(cases, url)}
        done = subprocess.run(
            [python, str(DRIVER)],
            input=json.dumps(job),
            text=True,
            capture_output=True,
            timeout=_LIBRARY_S,
            env={**os.environ, **_environ(url)},
            cwd=folder,
        )
        assert done.returncode == 0, done.stderr
        found = json.loads(to.read_text())
        failed = {name: one["failed"] for name, one in found.items() if "failed" in one}
        assert not failed, "\n".join(failed.values())
        return {case.env_id: _results(case, found[case.env_id]["rows"], models) for case in cases}


def _results(case: Case, rows: list[dict[str, Any]], models: ScriptedModels) -> Results:
    return results_of(case, rows, models.bodies[case.env_id])


def _environ(url: str) -> dict[str, str]:
    keys = {"LOOPBACK_KEY": "sk-of-a-test", "JUDGE_API_KEY": "sk-of-a-judge"}
    return {**keys, "LOOPBACK_JUDGE": url, "HF_HUB_OFFLINE": "1"}


def _paths() -> list[str]:
    inside = [*ENVIRONMENTS.glob("*/src"), *(file.parent for file in ENVIRONMENTS.glob("*/*.py"))]
    return sorted({str(ENVIRONMENTS), *map(str, inside)})


def _filled(cases: Iterable[Case], url: str) -> list[dict[str, Any]]:
    return [asdict(case) | {"env_args": _env_args(case, url)} for case in cases]


def _env_args(case: Case, url: str) -> dict[str, Any]:
    return {name: url if value == "URL" else value for name, value in case.env_args.items()}


def _table(case: Case, url: str) -> str:
    return f"""
[[eval]]
env_id = "{case.env_id}"
model = "{case.env_id}"
api_base_url = "{url}"
api_key_var = "LOOPBACK_KEY"
api_client_type = "{case.client_type}"
num_examples = {case.examples}
rollouts_per_example = {case.rollouts}
env_args = {_inline(_env_args(case, url))}
sampling_args = {_inline(case.sampling)}
"""


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_inline(one)}" for key, one in value.items()) + "}"
    return json.dumps(value)


def main() -> None:
    """Records what the library makes of every case: `python verifiers_runs.py PYTHON`."""
    with TemporaryDirectory() as folder:
        results = with_library(sys.argv[1], CASES, Path(folder))
    lines = (f"{json.dumps(name)}: {json.dumps(one)}" for name, one in results.items())
    RECORDED_RESULTS.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
