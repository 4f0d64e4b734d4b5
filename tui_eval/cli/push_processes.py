"""Pushes to the hub, in processes of their own: this one stays small."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from tui_eval.cli.console.printing import print_stderr, warn
from tui_eval.exit_codes import ExitCode, worst_run
from tui_eval.runs.hub_push import dataset_name, retry
from tui_eval.runs.layout import RunDir
from tui_eval.runs.run_info import read_requested
from tui_eval.runs.saved_run import run_started


def push_requested(runs: Mapping[int, tuple[RunDir, str]]) -> dict[int, dict[str, Any]]:
    """Pushes the runs whose plan requests it, each under a name of its own.

    Results are printed on stderr. A push that fails changes nothing of a run; see
    `code_with_pushes` for the exit code.

    Args:
        runs: By any number: the run and how it ended; only a finished one is pushed.

    Returns:
        By the same number: `pushed`, and the sentence that says where to or why not.
    """
    names = {place: name for place, (run, _) in runs.items() if (name := dataset_of(run))}
    often = Counter(names.values())
    return {
        place: _push(*runs[place], name if often[name] == 1 else f"{name}_{place + 1}")
        for place, name in names.items()
    }


def code_with_pushes(code: int, pushes: Iterable[Mapping[str, Any]]) -> int:
    """The exit code of a command, `code` for its runs alone, whose runs were to be pushed."""
    failed = [int(ExitCode.NOT_PUSHED) for one in pushes if not one["pushed"]]
    return worst_run([code, *failed])


def dataset_of(run: RunDir) -> str | None:
    """The name of the dataset that a run's rollouts are to go to; None where they go nowhere."""
    requested = read_requested(run)
    if requested.get("save_to_hf_hub") is not True:
        return None
    shape = run_started(run)
    sizes = (shape.num_examples, shape.rollouts_per_example)
    return requested.get("hf_hub_dataset_name") or dataset_name(shape.env_id, shape.model, *sizes)


def _push(run: RunDir, status: str, name: str) -> dict[str, Any]:
    path = run.path
    if status != "finished":
        text = f"The run is not finished, so it is not pushed. To push it: {retry(run, name)}"
        warn(text)
        return {"pushed": False, "text": text}
    print_stderr(["Pushing to the Hugging Face hub"])
    command = [sys.executable, "-m", "tui_eval", "push", str(path)]
    try:
        done = subprocess.run(
            [*command, "-D", name],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
        )
        output = done.stdout if done.returncode == 0 else done.stderr
        pushed = done.returncode == 0
    except KeyboardInterrupt:
        output, pushed = f"The push was stopped. Try again: {retry(run, name)}", False
    print_stderr(output.splitlines())
    return {"pushed": pushed, "text": " ".join(output.split())}
