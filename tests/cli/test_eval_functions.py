"""Eval functions of `tui-eval agent` beside each other, and the limits that their agent gets."""

from __future__ import annotations

import json
import textwrap
from typing import Any

from program import Finished, Program

PROJECT = """
    from osmosis_ai.rollout import RolloutAgentLoop

    class Limits(RolloutAgentLoop):
        name = "limits"

        def get_tools(self, request):
            return []

        async def run(self, ctx):
            limits = f"{ctx.request.max_tokens_total} {ctx.request.max_turns}"
            messages = [*ctx.request.messages, {"role": "assistant", "content": limits}]
            return ctx.complete(messages)

    def good(solution_str, ground_truth, extra_info=None):
        return 0.75

    def bad(solution_str, ground_truth, extra_info=None):
        raise ValueError("no score")

    def limit(solution_str):
        return float(solution_str.split()[0])

    def turns(messages):
        return float(messages[-1]["content"].split()[1])
"""


def scored(program: Program, *names: str) -> tuple[Finished, dict[str, Any]]:
    """A run of two rows, and the figures of each function."""
    (program.folder / "limits.py").write_text(textwrap.dedent(PROJECT))
    rows = [{"system_prompt": "s", "user_prompt": f"u{n}"} for n in range(2)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (program.folder / "rows.jsonl").write_text(text)
    functions = [word for name in names for word in ("--eval-fn", f"limits:{name}")]
    words = ["-m", "limits:Limits", "-d", "rows.jsonl", "--model", "demo", "-o", "scores.json"]
    done = program.run("agent", *words, *functions)
    summary = json.loads((program.folder / "scores.json").read_text())["summary"]
    return done, {name: summary["eval_fns"][f"limits:{name}"] for name in names}


def test_one_that_raises_leaves_the_figures_of_the_others(program: Program) -> None:
    done, found = scored(program, "good", "bad")
    assert done.code == 0, done
    assert "  Reward: 0.75 ± 0.00" in done.out.splitlines()
    assert (found["good"]["mean"], found["good"]["failed_runs"]) == (0.75, 0)
    assert (found["bad"]["failed_runs"], found["bad"]["mean_without_failed"]) == (2, None)


def test_also_where_it_is_the_first_one_which_gives_the_reward(program: Program) -> None:
    done, found = scored(program, "bad", "good")
    assert done.code == 3, done
    assert "  Reward: –" in done.out.splitlines()
    assert (found["good"]["mean"], found["good"]["failed_runs"]) == (0.75, 0)
    (line,) = [one for one in done.out.splitlines() if one.startswith("limits:good  ")]
    assert line.split()[1:] == ["0.750", "0.750", "0.750", "0.000"]
    assert "limits:bad: no rollout has a score; they are counted as 0" in done.out


def test_the_request_of_the_agent_has_the_limits_of_an_evaluation(program: Program) -> None:
    done, found = scored(program, "limit", "turns")
    assert done.code == 0, done
    assert (found["limit"]["mean"], found["turns"]["mean"]) == (4096.0, 10.0)
