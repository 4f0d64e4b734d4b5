"""A rubric that compares answers as mathematics."""

from __future__ import annotations

import functools
import importlib.util
import math
from collections.abc import Sequence
from typing import Any

from tui_eval.install_commands import extra_command
from tui_eval.messages import Messages
from tui_eval.parsers.answers import extract_boxed_answer
from tui_eval.parsers.parser import MaybeThinkParser, Parser
from tui_eval.plain_calls.threads import Threads
from tui_eval.rubrics.comparer import Comparers
from tui_eval.rubrics.rubric import Rubric
from tui_eval.types import RewardFunc

# Each is a process, which takes long to start.
_MOST_AT_ONCE = 2
_COMPARERS = Comparers()


class MathRubric(Rubric):
    """Scores 1 where the answer in a completion equals the correct one as mathematics, else 0.

    The function is `correct_answer`, of weight 1, after those that are given. It needs the package
    math-verify, of the extra `tui-eval[math]`. A comparison that takes too long is a scoring error
    and not a wrong answer; so is a correct answer in which no mathematics can be found.

    Args:
        funcs, weights: As for `Rubric`.
        parser: Takes the answer out of a completion; by default what is in the last `\\boxed{}`
            after the last `</think>`, or all of the text where there is no box.
        max_workers: Most comparisons at once; never more than 2.
        timeout_seconds: Limit of one comparison, in seconds of the processor.
        kwargs: As for `Rubric`.

    Attributes:
        HARD_TIMEOUT_SECONDS: No comparison may take longer, whatever `timeout_seconds` is.
    """

    HARD_TIMEOUT_SECONDS: float = 120.0

    def __init__(
        self,
        funcs: Sequence[RewardFunc] | None = None,
        weights: Sequence[float] | None = None,
        parser: Parser | None = None,
        max_workers: int = 50,
        timeout_seconds: float = 5,
        **kwargs: Any,
    ) -> None:
        super().__init__(funcs, weights, parser or MaybeThinkParser(extract_boxed_answer), **kwargs)
        self.max_workers = max_workers
        self.timeout_seconds = timeout_seconds
        self._threads = Threads(max(1, min(max_workers, _MOST_AT_ONCE)))
        # The limit is that of a comparison alone, without its wait for a thread.
        self.add_reward_func(self.correct_answer, timeout_seconds=math.inf)

    async def correct_answer(
        self, parser: Parser, completion: Messages, answer: Any, **kwargs: Any
    ) -> float:
        """Whether the answer in a completion equals the correct one, as 1 or 0.

        Raises:
            TimeoutError: The comparison took too long.
            ValueError: There is no mathematics in the correct answer.
            ChildProcessError: The process that compares ended.
            ModuleNotFoundError: math-verify is not installed.
        """
        response = parser.parse_answer(completion)
        if response is None or not str(response).strip():
            return 0.0
        _require_math_verify()
        limit = min(self.timeout_seconds, self.HARD_TIMEOUT_SECONDS)
        compare = functools.partial(_COMPARERS.compare, str(answer), str(response), limit)
        return float(await self._threads.run(compare))


def _require_math_verify() -> None:
    if importlib.util.find_spec("math_verify") is None:
        raise ModuleNotFoundError(
            f"MathRubric needs the package math-verify: {extra_command('math')}",
            name="math_verify",
        )
