"""Instructions of a rollout by valgrind: steady where CPU seconds are not.

Those of the engine are also its worker's. Everything takes fifty times as long, so that changes of
stages, which are sent by time, go out one by one: the engine's part is higher than it is.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator

from bench.cpu_per_rollout import CASES, Case
from bench.driving import command_line
from bench.figure import Figure, NotMeasuredError, number
from bench.setting import Setting

FEW, MANY = 100, 1100
TAKES_AT_MOST_S = 900


def measure(setting: Setting) -> Iterator[Figure]:
    """Every case of `cpu_per_rollout`, to compare two commits; nothing without valgrind."""
    if shutil.which("valgrind") is None:
        print("  valgrind is not installed, so nothing is counted")
        return
    for case in CASES:
        few, many = _run(setting, case, FEW), _run(setting, case, MANY)
        engine, console = ((b - a) / (MANY - FEW) / 1000 for a, b in zip(few, many, strict=True))
        yield Figure(
            f"instructions a rollout, {case.name}",
            engine + console,
            None,
            "k",
            f"engine {number(engine)}, console {number(console)}",
        )


def _run(setting: Setting, case: Case, rollouts: int) -> tuple[int, int]:
    """Instructions of the engine and of the console in a headless run."""
    url = setting.endpoint.url(tool_turns=case.tool_turns)
    env_args = '{"tool": "fast"}' if case.tool_turns else "{}"
    options = setting.raw_options(url, rollouts, 32, env_args)
    options["api_client_type"] = case.client_type
    counts = setting.new_path("")
    counts.mkdir()
    done = subprocess.run(
        [
            *("valgrind", "--tool=cachegrind", "--cache-sim=no", "--trace-children=yes"),
            f"--cachegrind-out-file={counts}/%p",
            *(sys.executable, "-m", "tui_eval", "bench-math", "-d", *command_line(options)),
        ],
        cwd=setting.folder,
        env=setting.variables() | {"PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        timeout=TAKES_AT_MOST_S,
    )
    if done.returncode != 0:
        raise NotMeasuredError(f"the run ended with {done.returncode}:\n{done.stderr[-2000:]}")
    texts = [path.read_text() for path in counts.iterdir()]
    engine = _counted(texts, "-m tui_eval.engine") + _counted(texts, "-m tui_eval.worker")
    return engine, _counted(texts, "-m tui_eval bench-math")


def _counted(texts: list[str], command: str) -> int:
    """Cost of the one process of a command."""
    for text in texts:
        lines = text.splitlines()
        if any(line.startswith("cmd:") and command in line for line in lines):
            return next(int(line.split()[1]) for line in lines if line.startswith("summary:"))
    raise NotMeasuredError(f"there are no counts of {command}")
