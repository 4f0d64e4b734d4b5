"""Runs the engine as a user does, and the bare loops beside it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.figure import NotMeasuredError
from bench.setting import ROOT, Setting
from tui_eval.config.options import BY_NAME
from tui_eval.events import RolloutFinished
from tui_eval.runs.index import IndexReader
from tui_eval.runs.layout import RunDir

TAKES_AT_MOST_S = 600


@dataclass(frozen=True, slots=True)
class Sample:
    """State of the engine at one moment: unix seconds, CPU seconds, MB, rollouts."""

    at: float
    cpu_s: float
    memory_mb: float
    finished: int


@dataclass(frozen=True, slots=True)
class Run:
    """Cost of one headless run.

    Args:
        engine_cpu: CPU seconds of the engine process, from its start to its end.
        console_cpu: CPU seconds of the console process, likewise.
        rows: Every rollout's, in the order in which they finished.
        samples: Reports of the engine on itself, in order.
    """

    engine_cpu: float
    console_cpu: float
    rows: list[RolloutFinished]
    samples: list[Sample]

    @property
    def wall(self) -> float:
        """Seconds from the start of the first rollout to the last line on disk."""
        return max(row.at for row in self.rows) - min(row.started_at for row in self.rows)


def run_headless(
    setting: Setting,
    url: str,
    rollouts: int,
    max_concurrent: int = 256,
    env_args: str = "{}",
    client_type: str = "openai_chat_completions",
    more: Sequence[str] = (),
    may_fail: bool = False,
    environment: str = "bench-math",
    without: Sequence[str] = (),
    variables: Mapping[str, str] | None = None,
) -> Run:
    """Runs `tui-eval ENVIRONMENT -d` to its end.

    Args:
        more: Further arguments.
        without: Options of the setting that are left out, by name.
        variables: Variables of its environment, beside those of the setting.
        may_fail: Rollouts may end in errors; they are left out of the rows.

    Raises:
        NotMeasuredError: The run did not do what was requested, or a rollout went wrong.
    """
    out = setting.new_path(".json")
    options = setting.raw_options(url, rollouts, max_concurrent, env_args)
    options["api_client_type"] = client_type
    for name in without:
        del options[name]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "bench.measured_command", str(out)),
            *(environment, "-d", *command_line(options), *more),
        ],
        cwd=setting.folder,
        env=setting.variables() | dict(variables or {}),
        capture_output=True,
        text=True,
        timeout=TAKES_AT_MOST_S,
    )
    if done.returncode not in ((0, 3) if may_fail else (0,)) or not out.is_file():
        raise NotMeasuredError(f"the run ended with {done.returncode}:\n{done.stderr[-2000:]}")
    notes = json.loads(out.read_text())
    return Run(
        engine_cpu=notes["engine_cpu"],
        console_cpu=notes["own_cpu"],
        rows=finished_rows(Path(notes["path"]), rollouts, may_fail),
        samples=[Sample(*sample) for sample in notes["samples"]],
    )


def command_line(options: dict[str, str]) -> list[str]:
    """Options by name as they are typed."""
    typed = []
    for name, text in options.items():
        typed += [BY_NAME[name].flags[-1], text]
    return typed


def finished_rows(path: Path, rollouts: int, may_fail: bool = False) -> list[RolloutFinished]:
    """The rows of a run that must be complete and right.

    Args:
        may_fail: Some may have errored; the right ones are given.

    Raises:
        NotMeasuredError: Rows are missing, errored, or have the wrong reward.
    """
    rows = IndexReader(RunDir(path).index).read()
    right = [row for row in rows if row.reward == 1.0]
    if len(rows) != rollouts or (len(right) != rollouts and not may_fail):
        raise NotMeasuredError(f"{path}: {len(rows)} rows, {len(right)} right, of {rollouts}")
    return right


def steady_rate(rows: list[RolloutFinished]) -> float:
    """Rollouts a second between the first and the last tenth."""
    first, last = len(rows) // 10, len(rows) * 9 // 10
    return (last - first) / (rows[last].at - rows[first].at)


@dataclass(frozen=True, slots=True)
class Bare:
    """Cost of a bare loop, imports left out: CPU and wall seconds."""

    cpu: float
    wall: float


def run_bare(
    setting: Setting,
    transport: str,
    url: str,
    rollouts: int,
    tool_turns: int = 0,
    in_flight: int = 256,
) -> Bare:
    """Runs the same rollouts as a bare loop over chat completions, saved.

    Args:
        transport: As `bare_sdk.py` names them.
        in_flight: So many at a time.

    Raises:
        NotMeasuredError: The loop failed, or an answer was wrong.
    """
    loop = [str(ROOT / "bench" / "bare_sdk.py"), "--transport", transport]
    return _run_loop(setting, loop, url, rollouts, tool_turns, in_flight)


def run_bare_protocol(
    setting: Setting, protocol: str, url: str, rollouts: int, tool_turns: int = 0
) -> Bare:
    """The same over another protocol's own SDK.

    Args:
        protocol: As `bare_protocols.py` names them.

    Raises:
        NotMeasuredError: The loop failed, or an answer was wrong.
    """
    loop = ["-m", "bench.bare_protocols", "--protocol", protocol]
    return _run_loop(setting, loop, url, rollouts, tool_turns)


def _run_loop(
    setting: Setting,
    loop: list[str],
    url: str,
    rollouts: int,
    tool_turns: int,
    in_flight: int = 256,
) -> Bare:
    done = subprocess.run(
        [
            *(
                sys.executable,
                *loop,
                "-n",
                str(rollouts),
                "-c",
                str(in_flight),
                "-k",
                str(tool_turns),
            ),
            *("--base", url, "--save", str(setting.folder / "bare.jsonl")),
        ],
        env=setting.variables(),
        capture_output=True,
        text=True,
        timeout=TAKES_AT_MOST_S,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    if done.returncode != 0 or not lines:
        raise NotMeasuredError(f"{' '.join(loop)}:\n{done.stderr[-2000:]}")
    result: dict[str, Any] = json.loads(lines[-1].removeprefix("RESULT "))
    if wrong := result["bad"]:
        raise NotMeasuredError(f"{' '.join(loop)}: {wrong} wrong answers")
    return Bare(result["run_cpu"], result["run_wall"])
