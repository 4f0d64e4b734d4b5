"""The program as its user has it: a real process in a folder of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from preloaded import PreloadedProgram, may_be_preloaded

from tui_eval.runs.lock import holder

PATIENCE_S = 60.0

TWO_TURNS = """
import tui_eval as vf

class TwoTurns(vf.MultiTurnEnv):
    async def env_response(self, messages, state):
        return [{"role": "user", "content": "and?"}]

def load_environment():
    return TwoTurns(
        dataset=[{"question": "?"}],
        rubric=vf.Rubric(funcs=[lambda completion: 1.0]),
        max_turns=2,
    )
"""
"""An environment of two turns for each rollout."""


class Program:
    """Runs `tui-eval` in a folder, with a state directory and environments beside it.

    `before` is what a command begins with that runs it otherwise than as it is. With `preloaded`,
    a run in whose variables nothing is against it begins with its modules loaded.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.settings = folder / "settings.toml"
        self.env = {
            **{k: v for k, v in os.environ.items() if not k.endswith("_API_KEY")},
            "TUI_EVAL_STATE_DIR": str(self.state),
            "TUI_EVAL_CONFIG": str(self.settings),
            "TUI_EVAL_DEMO_SPEED": "0",
            "XDG_RUNTIME_DIR": "",
        }
        self.before: list[str] = []
        self.preloaded = True
        self._started: list[subprocess.Popen[str]] = []

    def environment(self, name: str, source: str) -> None:
        """Writes a flat environment file."""
        path = self.folder / "environments" / f"{name.replace('-', '_')}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(source))

    def happens_at_start(self, source: str) -> None:
        """Has every Python process of the program begin with this source."""
        (self.folder / "sitecustomize.py").write_text(source)
        self.env["PYTHONPATH"] = os.pathsep.join([str(self.folder), self.env.get("PYTHONPATH", "")])

    def start(self, *args: str) -> subprocess.Popen[str]:
        """Starts the program and leaves it running."""
        is_preloaded = self.preloaded and not self.before and may_be_preloaded(self.env)
        process = (PreloadedProgram if is_preloaded else subprocess.Popen)(
            [*self.before, sys.executable, "-m", "tui_eval", *args],
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._started.append(process)
        return process

    def run(self, *args: str) -> Finished:
        """Runs the program to its end."""
        return self.finish(self.start(*args))

    def finish(self, process: subprocess.Popen[str], within: float = PATIENCE_S) -> Finished:
        """Waits for the end of a started program."""
        out, err = process.communicate(timeout=within)
        return Finished(process.returncode, out, err)

    def runs(self, root: Path | None = None) -> list[Run]:
        """Every run under a folder; by default all of this program's, unsaved ones last."""
        roots = [root] if root else [self.folder / "outputs", self.state]
        return [Run(p.parent) for r in roots for p in sorted(r.glob("evals/*/*/run.toml"))]

    def only_run(self) -> Run:
        """The one run that there is."""
        (run,) = self.runs()
        return run

    def end_all(self) -> None:
        """Ends what a failed test left running, engines included."""
        for run in self.runs():
            held = holder(run.path / "lock")
            if held is not None and held.pid > 0:
                os.kill(held.pid, signal.SIGKILL)
        for process in self._started:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                process.communicate()


class Finished:
    """The outcome of a program."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err

    def __repr__(self) -> str:
        return f"exit {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


class Run:
    """A run directory."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Every row; the last line is whole, unless an engine is writing it."""
        is_written = holder(self.path / "lock") is not None
        *lines, last = (self.path / "results.jsonl").read_text().split("\n")
        assert is_written or not last
        return [json.loads(line) for line in lines]

    @property
    def metadata(self) -> dict[str, Any]:
        return json.loads((self.path / "metadata.json").read_text())

    @property
    def log(self) -> str:
        return (self.path / "engine.log").read_text()

    def places(self) -> list[tuple[Any, int]]:
        """(example, rollout number) of every row, sorted."""
        return sorted((row["example_id"], row["tui_eval"]["rollout"]) for row in self.rows)


def wait_until(condition: Callable[[], Any], what: str, within: float = PATIENCE_S) -> Any:
    """Waits until a condition holds and returns its value."""
    deadline = time.monotonic() + within
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"it did not happen within {within} s: {what}"
        time.sleep(0.02)


def chat_answer(content: str, **message: Any) -> dict[str, Any]:
    """An OpenAI chat completion that says something."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": content, **message},
                "finish_reason": "tool_calls" if message.get("tool_calls") else "stop",
            }
        ],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }


def tool_call(name: str, arguments: str, call_id: str = "call_1") -> dict[str, Any]:
    """A tool call as it stands in an answer."""
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }
