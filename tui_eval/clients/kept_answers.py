"""Answers of models that are no part of a trajectory, a judge's for one: kept, and given again.

A rollout that is cut short while it is scored is scored once more, and its judges would be asked
and paid again. What they answered is in the run's journal before their reward function goes on.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from tui_eval.observer import CURRENT
from tui_eval.types import Response


async def kept_answer(request: Sequence[Any], ask: Callable[[], Awaitable[Response]]) -> Response:
    """An answer to the rollout that runs in this task; the model is asked where none was kept.

    Args:
        request: All that the answer depends on: the endpoint, too.
        ask: Makes the call.

    Raises:
        Exception: As `ask` raises it; nothing is kept then.
    """
    call = CURRENT.get().recorded_judge_call(request)
    if call is None:
        return await ask()
    if call.answer is not None:
        return call.answer[0]
    began = time.perf_counter()
    response = await ask()
    await call.keep(response, (time.perf_counter() - began) * 1000)
    return response
