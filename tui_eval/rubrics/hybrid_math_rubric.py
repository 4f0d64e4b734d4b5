"""A rubric that compares answers as mathematics, and calls a judge where that finds no match."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tui_eval.errors import ScoringError
from tui_eval.messages import Messages
from tui_eval.parsers.answers import extract_boxed_answer
from tui_eval.parsers.parser import Parser
from tui_eval.rubrics.judge_rubric import JudgeRubric
from tui_eval.rubrics.math_rubric import MathRubric
from tui_eval.state import State

DEFAULT_JUDGE_PROMPT = """\
Decide whether the response to a question gives the correct answer. Compare the final answer of the
response with the correct one, and nothing else of it: another notation, unit prefix or order of
terms with the same value is correct, a part of several answers is not.

Question:
{question}

Correct answer:
{answer}

Response:
{response}

Think it over briefly. End with \\boxed{{A}} if the response is correct, with \\boxed{{B}} if it is
wrong, and with \\boxed{{C}} if it is broken off, repeats itself or refuses to answer."""


class HybridMathRubric(JudgeRubric):
    """Scores 1 where math-verify or else a judge finds the answer right, else 0.

    The metrics are `math_verify_score` and `judge_score`, the reward is `correct_answer`. The judge
    is called only where mathematics finds no match and `judge_model` is given. It needs the package
    math-verify, of the extra `tui-eval[math]`.

    Args:
        judge_parser: Takes the answer out of a completion; by default all of the text.
        judge_model, judge_client, judge_sampling_args, judge_prompt: As for `JudgeRubric`; the
            verdict is `A`, or what is in its last `\\boxed{}` is. Without a model there is none.
        timeout_seconds: Limit of one comparison.
        kwargs: As for `JudgeRubric`.
    """

    def __init__(
        self,
        judge_parser: Parser | None = None,
        judge_model: str | None = None,
        judge_client: Any = None,
        judge_sampling_args: Mapping[str, Any] | None = None,
        judge_prompt: str = DEFAULT_JUDGE_PROMPT,
        timeout_seconds: float = 5,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            parser=judge_parser,
            judge_client=judge_client,
            judge_model=judge_model or "",
            judge_sampling_args=dict(judge_sampling_args or {}),
            judge_prompt=judge_prompt,
            **kwargs,
        )
        self.timeout_seconds = timeout_seconds
        self._mathematics = MathRubric(parser=self.parser, timeout_seconds=timeout_seconds)
        self.add_reward_func(self.math_verify_score, weight=0.0)
        self.add_reward_func(self.judge_score, weight=0.0)
        self.add_reward_func(self.correct_answer, weight=1.0)

    async def math_verify_score(
        self, completion: Messages, answer: str, state: State, **kwargs: Any
    ) -> float:
        """Whether the answers are equal as mathematics, as 1 or 0.

        Raises:
            TimeoutError, ValueError, ChildProcessError, ModuleNotFoundError: See `MathRubric`.
        """
        score = await self._mathematics.correct_answer(self.parser, completion, answer)
        state["math_verify_score"] = score
        return score

    async def judge_score(
        self, prompt: Messages, completion: Messages, answer: str, state: State, **kwargs: Any
    ) -> float:
        """The judge's verdict as 1 or 0; the comparison's score where no judge was called.

        Raises:
            JudgeError: The call failed, or brought no verdict.
        """
        compared = float(state.get("math_verify_score") or 0.0)
        if compared == 1.0 or not self.judge_model:
            return compared
        reply = (await self.judge(prompt, completion, answer, state)).strip()
        verdict = reply if len(reply) == 1 else extract_boxed_answer(reply)
        state["judge_result"], state["judge_score"] = verdict, float(verdict == "A")
        return float(state["judge_score"])

    async def correct_answer(self, state: State, **kwargs: Any) -> float:
        """Whether the comparison or the judge found the answer right.

        Raises:
            ScoringError: The one that has the last word came to no result.
        """
        is_equal = state.get("math_verify_score") == 1.0
        last = "judge_score" if self.judge_model and not is_equal else "math_verify_score"
        if last not in state:
            raise ScoringError(f"{last} came to no result; its own error says why")
        return float(state[last])
