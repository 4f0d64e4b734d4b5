"""Results of a rollout that are kept, so that each step happens once despite interruptions.

A rollout that was cut short is run with the answers of the journal to where it was, by a fresh
environment. What that environment draws by lot, reads from a clock or does to the world would
happen again, and come out otherwise. Results that are kept here come out as they did.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeVar, overload

import msgspec

from tui_eval.call_limits import noted
from tui_eval.state import State

Function = TypeVar("Function", bound=Callable[..., Any])
Result = TypeVar("Result")


async def record(
    state: State, name: str, function: Callable[[], Result | Awaitable[Result]]
) -> Result:
    """The result of a function that is called once in a rollout, also where a run is resumed.

    It is in the run's journal before this returns. Where the rollout is not one of a run, or its
    environment is not `replayable`, the function is simply called.

    Args:
        state: The rollout's.
        name: Its name in the journal; the second result of a name is another one.
        function: Without arguments, plain or async.

    Raises:
        TypeError: The result is nothing that JSON carries, and so cannot be kept.
        Exception: Whatever the function raises; it is called again after an interruption then.
    """
    kept = state.observer.recorded_result(name)
    if kept is not None and kept.value is not None:
        result: Result = kept.value[0]
        return result
    made: Any = function()
    if inspect.isawaitable(made):
        made = await noted(state.observer, made)
    if kept is not None:
        try:
            made = msgspec.json.decode(msgspec.json.encode(made))
        except (TypeError, ValueError) as error:
            what = f"record({name!r}): a result is kept as JSON, and this one is a"
            raise TypeError(f"{what} {type(made).__name__}: {error}") from error
        await kept.keep(made)
    fresh: Result = made
    return fresh


@overload
def tool(function: Function) -> Function: ...
@overload
def tool(*, replay: Literal["repeated", "recorded"]) -> Callable[[Function], Function]: ...
def tool(
    function: Function | None = None, *, replay: Literal["repeated", "recorded"] = "repeated"
) -> Any:
    """Says what becomes of a tool's calls where an interrupted run is resumed.

    Args:
        function: The tool, as environments take it.
        replay: `repeated` has the tool called again with the same arguments; `recorded` gives the
            result that it had, for tools that change something outside of the rollout. A call that
            failed or was cut short is made again in both cases.

    Raises:
        ValueError: `replay` is something else.
    """
    if replay not in ("repeated", "recorded"):
        raise ValueError(f"replay is {replay!r}: it takes 'repeated' or 'recorded'")

    def mark(marked: Function) -> Function:
        marked.replay = replay  # type: ignore[attr-defined]
        return marked

    return mark if function is None else mark(function)


def is_recorded(function: Any) -> bool:
    """Whether results of a tool are given again instead of being made again."""
    return getattr(function, "replay", "") == "recorded"
