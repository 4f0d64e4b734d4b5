"""The one way to call a reward function: its arguments, its failures, its numbers."""

from __future__ import annotations

import asyncio
import inspect
import math
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter
from typing import Any, get_origin

from tui_eval.errors import must_propagate

GROUP_ARGUMENTS = frozenset({"states", "prompts", "completions", "answers", "tasks", "infos"})
_MOST_FRAMES = 4


@dataclass(frozen=True, slots=True)
class Signature:
    """What a reward function wants to be called with.

    Args:
        names: The parameters that it takes by name; None where it takes everything.
        is_group: Whether it scores all rollouts of one example at once.
    """

    names: tuple[str, ...] | None
    is_group: bool


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no score: the exception, and its text with a short traceback."""

    error: BaseException
    text: str


def read_signature(func: Callable[..., Any]) -> Signature:
    """The signature of a reward function.

    A group function has a plural parameter, such as `completions`, or is annotated to return a
    list.

    Raises:
        TypeError: It cannot be called.
    """
    if not callable(func):
        raise TypeError(f"A reward function is callable, not {type(func).__name__}: {func!r}")
    try:
        signature = inspect.signature(func)
    except ValueError:  # some functions written in C have none
        return Signature((), False)
    parameters = signature.parameters.values()
    named = tuple(p.name for p in parameters if p.kind is not Parameter.VAR_POSITIONAL)
    takes_all = any(p.kind is Parameter.VAR_KEYWORD for p in parameters)
    returns = signature.return_annotation
    is_list = (
        returns.partition("[")[0] == "list"
        if isinstance(returns, str)
        else list in (returns, get_origin(returns))
    )
    return Signature(None if takes_all else named, is_list or not GROUP_ARGUMENTS.isdisjoint(named))


def name_of(func: Callable[..., Any]) -> str:
    """The name under which a function's score is kept."""
    return str(getattr(func, "__name__", None) or type(func).__name__)


async def call_all(
    func: Callable[..., Any], names: tuple[str, ...] | None, calls: Sequence[Mapping[str, Any]]
) -> list[Any]:
    """What a reward function returns for each set of values by name, or a `Failure`.

    Every reward function is called here. Plain ones run one after the other, async ones at the
    same time.
    """
    results = [_begin(func, names, values) for values in calls]
    waiting = [place for place, result in enumerate(results) if inspect.isawaitable(result)]
    if len(waiting) == 1:
        results[waiting[0]] = await _finish(results[waiting[0]])
    elif waiting:
        finished = await asyncio.gather(*(_finish(results[place]) for place in waiting))
        for place, result in zip(waiting, finished, strict=True):
            results[place] = result
    return results


def _begin(func: Callable[..., Any], names: tuple[str, ...] | None, values: Any) -> Any:
    try:
        if names is None:
            return func(**values)
        return func(**{name: values[name] for name in names if name in values})
    except BaseException as error:
        if must_propagate(error):
            raise
        return failure(error)


async def _finish(result: Any) -> Any:
    try:
        return await result
    except BaseException as error:
        if must_propagate(error):
            raise
        return failure(error)


def number(value: Any) -> float | Failure:
    """A returned value as a finite number; truth values count as 1 and 0."""
    if isinstance(value, Failure):
        return value
    if value is None:
        return failure(TypeError("returned None, not a number. Does every path return?"))
    if isinstance(value, (str, bytes)) or not hasattr(value, "__float__"):
        return failure(TypeError(f"returned {_short(value)}, which is not a number"))
    try:
        score = float(value)
    except Exception as error:
        return failure(error)
    if not math.isfinite(score):
        return failure(ValueError(f"returned {score}, which is not a finite number"))
    return score


def numbers(value: Any, count: int) -> list[float | Failure]:
    """What a group function returned as one number per rollout."""
    if isinstance(value, Failure):
        return [value] * count
    if not isinstance(value, (list, tuple)) and hasattr(value, "tolist"):
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        return [
            failure(TypeError(f"returned {_short(value)}, not a list of {count} numbers"))
        ] * count
    if len(value) != count:
        wrong = ValueError(f"returned {len(value)} numbers for a group of {count} rollouts")
        return [failure(wrong)] * count
    return [number(item) for item in value]


def failure(error: BaseException) -> Failure:
    """A failure with the text that is kept of it: type and message, then the last frames."""
    frames = error.__traceback__.tb_next if error.__traceback__ else None
    lines = traceback.format_tb(frames, limit=-_MOST_FRAMES)
    head = "".join(traceback.format_exception_only(error)).strip()
    return Failure(error, "\n".join([head, *("".join(lines).splitlines())]))


def values_for(state: Mapping[str, Any], objects: Mapping[str, Any]) -> dict[str, Any]:
    """What an individual function may ask for about one rollout."""
    return {
        "prompt": state.get("prompt"),
        "completion": _or(state.get("completion"), []),
        "answer": _or(state.get("answer"), ""),
        "state": state,
        "task": state.get("task"),
        "info": _or(state.get("info"), {}),
        **objects,
    }


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value


def group_values(states: list[Any], objects: Mapping[str, Any]) -> dict[str, Any]:
    """What a group function may ask for about the rollouts of one example."""
    each = [values_for(state, {}) for state in states]
    singular = ("prompt", "completion", "answer", "state", "task", "info")
    return {**{f"{key}s": [values[key] for values in each] for key in singular}, **objects}


def _short(value: Any) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text[:77] + '...' if len(text) > 80 else text}"
