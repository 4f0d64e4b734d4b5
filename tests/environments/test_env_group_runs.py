"""Groups of environments through the command line, on the embedded endpoint."""

from __future__ import annotations

import pytest
from program import Program
from run_here import run_here

GROUP = """
    import tui_eval as vf
    from pathlib import Path

    def load_environment(limit=2):
        def right(completion, answer):
            return float(answer in completion[-1]["content"])

        def longest(completions) -> list[float]:
            lengths = [len(completion[-1]["content"]) for completion in completions]
            return [float(length == max(lengths)) for length in lengths]

        async def double(number: int) -> int:
            "Doubles a number."
            return 2 * number

        class Doubling(vf.StatefulToolEnv):
            def update_tool_args(self, tool_name, tool_args, messages, state, **kwargs):
                return tool_args

            @vf.teardown
            async def leave_a_note(self):
                Path("torn-down").write_text("yes")

        def load():
            return [{"question": f"{i} + {i}", "answer": str(2 * i)} for i in range(limit)]

        sums = vf.SingleTurnEnv(
            dataset=load,
            rubric=vf.Rubric(funcs=[right]),
        )
        doubling = Doubling(
            dataset=[{"question": f"Double {i}.", "info": {"i": i}} for i in range(limit)],
            tools=[double],
            rubric=vf.Rubric(funcs=[longest]),
            sampling_args={"temperature": 0.5},
        )
        return vf.EnvGroup([sums, doubling], env_names=["sums", "doubling"])
"""


def test_a_group_runs_like_one_environment(program: Program) -> None:
    program.environment("mixed", GROUP)
    done = run_here(program, "mixed", "-m", "demo", "-n", "3", "-r", "2")
    assert done.code == 0, done
    run = program.only_run()
    assert run.places() == [(i, j) for i in range(3) for j in range(2)]
    by_task: dict[str, list[dict]] = {"sums": [], "doubling": []}
    for row in run.rows:
        assert row["error"] is None
        by_task[row["task"]].append(row)
    assert [len(rows) for rows in by_task.values()] == [4, 2]
    for row in by_task["sums"]:
        assert set(row["metrics"]) == {"right", "num_turns"}
        assert row["tool_defs"] == []
    for row in by_task["doubling"]:
        assert set(row["metrics"]) == {
            "longest", "num_turns", "total_tool_calls", "double_calls"
        }  # fmt: skip
        assert row["tool_defs"][0]["name"] == "double"
        assert row["info"] == {"i": 0}
    assert max(row["reward"] for row in by_task["doubling"]) == 1.0
    assert run.metadata["n_used"] == 6
    rewards = [row["right"] for row in by_task["sums"]]
    assert run.metadata["avg_metrics"]["right"] == pytest.approx(sum(rewards) / len(rewards))
    assert (program.folder / "torn-down").exists()
