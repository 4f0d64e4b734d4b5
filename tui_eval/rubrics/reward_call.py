"""The one way to call a reward function: its arguments, its failures, its numbers."""

from __future__ import annotations

import asyncio
import functools
import inspect
import itertools
import math
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from inspect import Parameter
from typing import Any, TypeAlias, get_origin

import msgspec

from tui_eval import cuts
from tui_eval.call_limits import limited, noted
from tui_eval.errors import CallTimeoutError, ErrorChain, is_ours, must_propagate
from tui_eval.observer import CURRENT, Observer
from tui_eval.output import Output
from tui_eval.plain_calls.functions import PlainFunction, attempt_in_call
from tui_eval.stats.rewards import GREATEST, is_number

GROUP_ARGUMENTS = frozenset({"states", "prompts", "completions", "answers", "tasks", "infos"})
_MOST_FRAMES = 8
_LONGEST_HEAD = 4000


class Signature(msgspec.Struct, frozen=True):
    """The parameters of a reward function."""

    names: tuple[str, ...] | None
    """The parameters that it takes by name; None where it takes everything."""
    is_group: bool
    """Whether it scores all rollouts of one example at once."""


class RewardFunction(msgspec.Struct):
    """A reward function with what is known of it."""

    func: Callable[..., Any]
    """The function that is called."""
    signature: Signature
    """Its parameters."""
    plain: PlainFunction | None
    """The state of a plain function that is called in threads; None for one that is called on
    the event loop."""
    timeout_seconds: float | None = None
    """The limit of a call; None for that of its rubric."""

    def limit(self, default_s: float) -> float:
        """Seconds that a call may take."""
        return default_s if self.timeout_seconds is None else self.timeout_seconds


class Failure(msgspec.Struct, frozen=True):
    """The reason why there is no score: the exception, and its text with a traceback."""

    error: BaseException
    text: str


class Call:
    """A call of a reward function, which may print; see `output.Printing`."""

    __slots__ = ("is_over", "output")

    def __init__(self) -> None:
        self.output: Output | None = None
        self.is_over = False

    def end(self) -> str:
        """Its output so far; later output is its rollout's."""
        self.is_over = True
        return "" if self.output is None else str(self.output)


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
    is_group = is_list or not GROUP_ARGUMENTS.isdisjoint(named)
    return Signature(None if takes_all else named, is_group)


def name_of(func: Callable[..., Any]) -> str:
    """The name that a function has, or the one that is partly applied."""
    name = getattr(func, "__name__", None)
    if not name and isinstance(func, functools.partial):
        return name_of(func.func)
    return str(name or type(func).__name__)


def metric_names(funcs: Sequence[Callable[..., Any]]) -> list[str]:
    """The names under which the scores of functions are kept.

    Of different functions with one name, later ones get a number: `<lambda>`, `<lambda>_2`. The
    same function has the same name again.
    """
    taken = {name_of(func) for func in funcs}
    owners: dict[str, Callable[..., Any]] = {}
    names = []
    for func in funcs:
        base = name = name_of(func)
        for number in itertools.count(2):
            if (name == base or name not in taken) and _is_same(owners.get(name, func), func):
                break
            name = f"{base}_{number}"
        owners[name] = func
        names.append(name)
    return names


def _is_same(one: Callable[..., Any], other: Callable[..., Any]) -> bool:
    return one is other or (inspect.ismethod(one) and one == other)


Values: TypeAlias = Callable[[Sequence[str] | None], Mapping[str, Any]]
"""Gives the arguments of a function, by name: of the names that it wants, or all where it takes
everything."""


async def call(function: RewardFunction, values: Values, limit_s: float) -> Any:
    """The result of a reward function, or a `Failure`.

    Every reward function is called here: async ones on the event loop, plain ones in a thread.
    What a plain one returns is awaited where it can be.

    Args:
        values: Is called again for each call.
        limit_s: Seconds that it may take where it has no limit of its own. Nothing holds a plain
            function on the loop to it.
    """
    limit_s = function.limit(limit_s)
    try:
        if function.plain is None:
            result = _apply(function, values)
        else:
            apply = functools.partial(_apply, function, values)
            outcome = await attempt_in_call(function.plain, apply, limit_s)
            if outcome.error is not None:
                return failure(outcome.error)
            result = outcome.value
        if not inspect.isawaitable(result):
            return result
        return await _finish(noted(CURRENT.get(), result), limit_s)
    except BaseException as error:
        if must_propagate(error):
            raise
        return failure(error)


def call_limited(
    observer: Observer, name: str, function: RewardFunction, values: Values, limit_s: float
) -> Awaitable[Any]:
    """The same within what one call of people's code may take; the name is that of the score."""
    what = f"Reward function {name!r}"
    result = limited(observer, what, "scoring", lambda: call(function, values, limit_s))
    return result if observer.call_timeout is None else _or_failure(result)


async def _or_failure(result: Awaitable[Any]) -> Any:
    try:
        return await result
    except CallTimeoutError as error:
        return failure(error)


def _apply(function: RewardFunction, values: Values) -> Any:
    return function.func(**values(function.signature.names))


async def _finish(result: Awaitable[Any], limit_s: float) -> Any:
    """A returned value that is awaited."""
    if limit_s == math.inf:
        return await result
    clock = asyncio.timeout(limit_s)
    cancelled: BaseException | None = None
    try:
        async with clock:
            value = await result
    except TimeoutError as error:
        if not clock.expired():
            raise
        cancelled = error.__cause__
    if clock.expired():  # also where it made something of its cancellation
        raise TimeoutError(f"ran longer than its time limit of {limit_s:g} s") from cancelled
    return value


def number(value: Any) -> float | Failure:
    """A returned value as a number that goes into means; truth values count as 1 and 0.

    A text counts as the number that it is.
    """
    if isinstance(value, Failure):
        return value
    if value is None:
        return failure(TypeError("returned None, not a number. Does every path return?"))
    if not isinstance(value, str) and not hasattr(value, "__float__"):
        return failure(TypeError(f"returned {short(value)}, which is not a number"))
    try:
        score = float(value)
    except Exception as error:
        if isinstance(value, str):
            return failure(ValueError(f"returned {short(value)}, which is not a number"))
        return failure(error)
    if not math.isfinite(score):
        return failure(ValueError(f"returned {score}, which is not a finite number"))
    if not is_number(score):
        most = f"more than the {GREATEST:g} that counts at most"
        return failure(ValueError(f"returned {score}, which is {most}"))
    return score


def numbers(value: Any, count: int) -> list[float | Failure]:
    """The result of a group function as one number per rollout."""
    if isinstance(value, Failure):
        return [value] * count
    if not isinstance(value, (list, tuple)) and hasattr(value, "tolist"):
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        return [
            failure(TypeError(f"returned {short(value)}, not a list of {count} numbers"))
        ] * count
    if len(value) != count:
        wrong = ValueError(f"returned {len(value)} numbers for a group of {count} rollouts")
        return [failure(wrong)] * count
    return [number(item) for item in value]


def unwrap(score: float | Failure) -> float:
    """A score; raises why there is none."""
    if isinstance(score, Failure):
        raise score.error
    return score


def hooked(hook: Callable[..., Any], is_group: bool) -> RewardFunction:
    """A hook that calls a reward function in its own way, to be called like it, at any length.

    Args:
        hook: Takes `states` where it is for a group, else `state`.
    """
    signature = Signature(("states" if is_group else "state",), is_group)
    return RewardFunction(hook, signature, None, math.inf)


def failure(error: BaseException) -> Failure:
    """A failure with the text that is kept of it: type and message, frames, then its causes."""
    link, *causes = ErrorChain(error)
    frames = traceback.extract_tb(error.__traceback__)
    while frames and is_ours(frames[0].filename):
        del frames[0]
    lines = "".join(traceback.format_list(frames)).splitlines()
    if len(frames) > 2 * _MOST_FRAMES:
        first = traceback.format_list(frames[:_MOST_FRAMES])
        last = traceback.format_list(frames[-_MOST_FRAMES:])
        lines = "".join(
            [*first, f"  ... {len(frames) - 2 * _MOST_FRAMES} more ...\n", *last]
        ).splitlines()
    heads = [_head(link), *lines, *(f"caused by {_head(cause)}" for cause in causes)]
    return Failure(error, "\n".join(heads))


def _head(error: BaseException) -> str:
    text = "".join(traceback.format_exception_only(error)).strip()
    if type(error).__module__.startswith("tui_eval."):
        text = text.removeprefix(f"{type(error).__module__}.")
    return text if len(text) <= _LONGEST_HEAD else f"{cuts.head(text, _LONGEST_HEAD)}..."


_OF_A_STATE: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "prompt": lambda state: state.get("prompt"),
    "completion": lambda state: [] if (found := state.get("completion")) is None else found,
    "answer": lambda state: state.get("answer", ""),
    "state": lambda state: state,
    "task": lambda state: state.get("task"),
    "info": lambda state: state.get("info", {}),
}


def values_for(
    state: Mapping[str, Any], objects: Mapping[str, Any], names: Sequence[str] | None = None
) -> dict[str, Any]:
    """The arguments of an individual function, about one rollout.

    Args:
        objects: Those of the rubric, which go before what a rollout has of the same name.
        names: Those that it requests, of which it gets what there is; all by default.
    """
    return {
        name: objects[name] if name in objects else _OF_A_STATE[name](state)
        for name in ({**_OF_A_STATE, **objects} if names is None else names)
        if name in objects or name in _OF_A_STATE
    }


def group_values(
    states: list[Any], objects: Mapping[str, Any], names: Sequence[str] | None = None
) -> dict[str, Any]:
    """The arguments of a group function, about the rollouts of one example; as `values_for`."""
    every = {f"{name}s": [of(state) for state in states] for name, of in _OF_A_STATE.items()}
    every |= objects
    return every if names is None else {name: every[name] for name in names if name in every}


def short(value: Any) -> str:
    """The type of a value and the beginning of its repr."""
    try:
        text = repr(value)
    except Exception:  # people's own
        text = "without a repr"
    return f"{type(value).__name__} {cuts.head(text, 77) + '...' if len(text) > 80 else text}"
