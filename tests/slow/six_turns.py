"""Six turns at a server that others wrote, by real processes, and what their rows have to say."""

from __future__ import annotations

import json
import os
import signal
from typing import Any

from program import Finished, Program, Run, wait_until

from tui_eval.runs.lock import holder

RUN_S = 240.0
"""That a run may take; those that wait for a limit take a minute."""
PROTOCOLS = ["openai_chat_completions", "openai_responses", "anthropic_messages"]
WAYS = ["--no-stream", "--stream"]

DICE = """
    from typing import Literal
    import tui_eval as vf

    def roll(side: Literal["left", "right"]) -> str:
        \"\"\"Rolls the die that lies on one side.\"\"\"
        return f"{side}: 4"

    def whole(state) -> float:
        rolled = [m for m in state["completion"] if m["role"] == "tool"]
        return float([m["content"][-3:] for m in rolled] == [": 4"] * 5)

    def load_environment(questions=100, turns=6):
        return vf.ToolEnv(
            tools=[roll],
            max_turns=turns,
            dataset=[{"question": f"Roll die {n}."} for n in range(questions)],
            rubric=vf.Rubric(funcs=[whole]),
        )
"""
"""Six calls of a tool, of which the last has no result any more; the reward is 1 when all came."""

TALK = """
    import tui_eval as vf

    class Talk(vf.MultiTurnEnv):
        async def env_response(self, messages, state):
            return [vf.UserMessage(content="Go on.")]

    def whole(state) -> float:
        return float(len(state["trajectory"]) == 6)

    def load_environment(questions=100):
        return Talk(
            max_turns=6,
            dataset=[{"question": f"Tell story {n}."} for n in range(questions)],
            rubric=vf.Rubric(funcs=[whole]),
        )
"""
"""Six turns of text."""


class Evaluation:
    """Runs of the program against one endpoint.

    Args:
        program: In whose folder they are.
        args: That every run has: model, base URL, key.
    """

    def __init__(self, program: Program, *args: str) -> None:
        self.program = program
        self.args = [*args, "-A", "-d", "-s", "--json"]
        program.environment("dice", DICE)
        program.environment("talk", TALK)

    def run(self, env: str, *args: str) -> Summary:
        """Runs to the end."""
        return self.finish(self.program.start(env, *self.args, *args))

    def start(self, env: str, *args: str) -> Any:
        """Starts one and leaves it running once it has a few rows."""
        process = self.program.start(env, *self.args, *args)

        def has_begun() -> bool:
            runs = self.program.runs()
            return process.poll() is not None or (bool(runs) and len(runs[0].rows) >= 3)

        wait_until(has_begun, "3 rows on disk", RUN_S)
        assert process.poll() is None, self.program.finish(process)
        return process

    def finish(self, process: Any) -> Summary:
        """Waits for the end of what was started."""
        return Summary(self.program, self.program.finish(process, RUN_S))

    def kill_engine(self, process: Any) -> int:
        """Kills the engine of the only run, and returns how many rows it has left."""
        run = self.program.only_run()
        held = holder(run.path / "lock")
        assert held is not None
        os.kill(held.pid, signal.SIGKILL)
        self.program.finish(process, RUN_S)
        return (run.path / "results.jsonl").read_bytes().count(b"\n")


class Summary:
    """What a run left: the object of `--json` and its rows."""

    def __init__(self, program: Program, done: Finished) -> None:
        self.done = done
        assert done.out, done
        self.summary: dict[str, Any] = json.loads(done.out)
        assert "path" in self.summary, done
        self.run = Run(program.folder / self.summary["path"])

    def assert_whole(self, rollouts: int) -> None:
        """All six turns of every rollout came through, and nothing else did."""
        counts = self.summary["counts"]
        assert (counts["used"], counts["errored"], counts["missing"]) == (rollouts, 0, 0), self.done
        assert (self.summary["status"], self.done.code) == ("finished", 0), self.done
        assert len(set(self.run.places())) == len(self.run.rows) == rollouts
        for row in self.run.rows:
            assert (row["error"], row["reward"]) == (None, 1.0), row
            assert row["stop_condition"] == "max_turns_reached"
            assert len(row["tui_eval"]["steps"]) == 6

    def finish_reasons(self) -> set[Any]:
        """Why the answers ended, of all steps."""
        return {
            step.get("finish_reason") for row in self.run.rows for step in row["tui_eval"]["steps"]
        }
