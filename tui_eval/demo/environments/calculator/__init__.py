"""Word problems with a calculator: several tools, several turns, tools that can fail."""

from __future__ import annotations

import math
from typing import Any

import tui_eval as vf

from .problems import write_problems
from .tools import TOOLS

SYSTEM_PROMPT = (
    "Solve the problem with the tools: do every calculation with a tool call, and look "
    "constants up. A tool that fails says why; correct the call and go on. When you have the "
    "result, round it to two decimals and give it as <answer>...</answer>, the number alone."
)


def _number(completion: vf.Messages, parser: vf.Parser) -> float | None:
    given = (parser.parse_answer(completion) or "").replace(",", "").strip(" $€")
    try:
        return float(given)
    except ValueError:
        return None


def _tool_results(completion: vf.Messages) -> list[str]:
    return [str(message.content) for message in completion if isinstance(message, vf.ToolMessage)]


def exact_answer(completion: vf.Messages, answer: str, parser: vf.Parser) -> float:
    """1.0 when the number is right to two decimals."""
    given = _number(completion, parser)
    return float(given is not None and abs(given - float(answer)) < 0.0051)


def close_answer(completion: vf.Messages, answer: str, parser: vf.Parser) -> float:
    """Partial credit: 1 for the right number, falling to 0 at 10 percent off."""
    given = _number(completion, parser)
    if given is None or not math.isfinite(given):
        return 0.0
    off = abs(given - float(answer)) / max(abs(float(answer)), 0.01)
    return max(0.0, 1.0 - off / 0.1)


def tool_use(completion: vf.Messages) -> float:
    """Share of the tool calls that went well; 0 when no tool was used."""
    results = _tool_results(completion)
    return 1.0 - tool_errors(completion) / len(results) if results else 0.0


def tool_errors(completion: vf.Messages) -> float:
    """A metric: how many tool calls failed."""
    return float(sum(result.startswith("Error:") for result in _tool_results(completion)))


def answered(completion: vf.Messages, parser: vf.Parser) -> float:
    """A metric: 1 when there is a number between the answer tags."""
    return float(_number(completion, parser) is not None)


def load_environment(num_examples: int = 120, seed: int = 0, max_turns: int = 10) -> vf.ToolEnv:
    """The environment.

    Args:
        num_examples: How many problems to write, 1 to 10,000.
        seed: The same seed writes the same problems.
        max_turns: Most answers of the model in one rollout.
    """
    dataset: list[dict[str, Any]] = [
        {"question": problem.question, "answer": f"{problem.answer:.2f}", "info": problem.info}
        for problem in write_problems(num_examples, seed)
    ]
    parser = vf.XMLParser(["answer"])
    rubric = vf.Rubric(
        funcs=[exact_answer, close_answer, tool_use], weights=[0.6, 0.3, 0.1], parser=parser
    )
    rubric.add_metric(tool_errors)
    rubric.add_metric(answered)
    return vf.ToolEnv(
        tools=TOOLS,
        max_turns=max_turns,
        error_formatter=lambda error: f"Error: {error}",
        eval_dataset=dataset,
        system_prompt=SYSTEM_PROMPT,
        parser=parser,
        rubric=rubric,
    )
