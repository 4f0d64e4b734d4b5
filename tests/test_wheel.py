"""The wheel carries everything: it runs where there is no checkout."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from program import Program

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent


def test_an_installed_wheel_runs_a_bundled_environment(program: Program, tmp_path: Path) -> None:
    wheels, site = tmp_path / "wheels", tmp_path / "site"
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = wheels.glob("*.whl")
    with zipfile.ZipFile(wheel) as files:
        names = files.namelist()
        files.extractall(site)
    for wanted in (
        "tui_eval/_shipped/styles/live.tcss",
        "tui_eval/_shipped/styles/serve.html",
        "tui_eval/_shipped/configs/endpoints.toml",
        "tui_eval/_shipped/configs/eval/benchmark.toml",
        "tui_eval/demo/environments/word_guess/README.md",
        "tui_eval/py.typed",
    ):
        assert wanted in names
    assert not [name for name in names if name.startswith(("tests", "bench"))]
    program.env["PYTHONPATH"] = str(site)
    where = [sys.executable, "-c", "import tui_eval; print(tui_eval.__file__)"]
    found = subprocess.check_output(where, cwd=tmp_path, env=program.env, text=True)
    assert found.startswith(str(site))
    done = program.run("word-guess", "-m", "demo", "-n", "1", "-r", "1")
    assert done.code == 0, done
