"""Functions that score: which form an eval function has, and the decorators of the SDK's own.

The decorators check signature and result.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import Parameter
from typing import Any, Literal, TypeAlias

from tui_eval.compat.osmosis.conversation import to_dicts
from tui_eval.errors import Fault, RefusedError
from tui_eval.messages import text_of
from tui_eval.rubrics.rubric import Rubric
from tui_eval.state import State

Mode: TypeAlias = Literal["simple", "full"]

ARGUMENTS: dict[Mode, tuple[str, ...]] = {
    "simple": ("solution_str", "ground_truth", "extra_info"),
    "full": ("messages", "ground_truth", "metadata"),
}
"""Arguments of a function, all by keyword; it gets those of them that it takes."""


@dataclass(frozen=True, slots=True)
class EvalFunction:
    """A function that scores what an agent did.

    Args:
        path: `module:name`, under which its scores are kept.
        mode: Whether it gets the last answer or the whole conversation.
        takes: Names of the arguments that it is called with.
    """

    path: str
    func: Callable[..., Any]
    mode: Mode
    takes: tuple[str, ...]

    def arguments(self, state: State) -> dict[str, Any]:
        """Its arguments for a finished rollout."""
        row = full_row(state)
        messages = conversation(state)
        shown: Any = messages if self.mode == "full" else last_answer(messages)
        values = (shown, row.get("ground_truth"), row)
        known = dict(zip(ARGUMENTS[self.mode], values, strict=True))
        return {name: known[name] for name in self.takes}


def read_eval_function(path: str, func: Any, where: str) -> EvalFunction:
    """A function with its form, known by its first parameter's name; others are refused."""
    if not callable(func):
        raise RefusedError([Fault(where, f"this is a {type(func).__name__}, no function")])
    try:
        signature = inspect.signature(func)
    except ValueError as error:
        raise RefusedError([Fault(where, f"its signature cannot be read: {error}")]) from error
    first = next(iter(signature.parameters), "")
    for mode, names in ARGUMENTS.items():
        if first == names[0]:
            takes = _taken(signature, names)
            try:
                signature.bind(**dict.fromkeys(takes))
            except TypeError as error:
                what = f"it cannot be called with {', '.join(names)}: {error}"
                hint = "Add what is missing, or **kwargs; give defaults to parameters of your own"
                raise RefusedError([Fault(where, what, hint)]) from None
            return EvalFunction(path, func, mode, takes)
    what = f"its first parameter is {first!r}" if first else "it has no parameter"
    hint = (
        "It must be 'solution_str', to get the last answer, or 'messages', to get the conversation"
    )
    raise RefusedError([Fault(where, what, hint)])


def _taken(signature: inspect.Signature, names: Sequence[str]) -> tuple[str, ...]:
    """The arguments for which a function has a parameter, or all."""
    every = signature.parameters.values()
    takes_any = any(one.kind is one.VAR_KEYWORD for one in every)
    return tuple(name for name in names if takes_any or name in signature.parameters)


def eval_rubric(functions: Sequence[EvalFunction]) -> Rubric:
    """Scores with every function: the first gives the reward, all are metrics by their paths."""
    weights = [1.0] + [0.0] * (len(functions) - 1)
    return Rubric(funcs=[_reward_function(one) for one in functions], weights=weights)


def _reward_function(one: EvalFunction) -> Callable[..., Any]:
    async def call_async(state: State) -> Any:
        return await one.func(**one.arguments(state))

    def call(state: State) -> Any:
        return one.func(**one.arguments(state))

    is_async = inspect.iscoroutinefunction(one.func)
    chosen: Callable[..., Any] = call_async if is_async else call
    chosen.__name__ = one.path
    return chosen


def full_row(state: State) -> dict[str, Any]:
    """The row of the dataset that a rollout is of, with every column."""
    texts = {message["role"]: message["content"] for message in state["prompt"]}
    row = {"system_prompt": texts.get("system"), "user_prompt": texts.get("user")}
    if state.get("answer") is not None:
        row["ground_truth"] = state["answer"]
    return {**row, **((state.get("info") or {}).get("columns") or {})}


def conversation(state: State) -> list[dict[str, Any]]:
    """The whole conversation: as the agent gave it, or from what was kept of it."""
    final = state.get("final_messages")
    return to_dicts([*state["prompt"], *state["completion"]]) if final is None else list(final)


def last_answer(messages: Sequence[Any]) -> str:
    """The text of the model's last message with a text; empty where there is none."""
    for message in reversed(messages):
        if message.get("role") == "assistant" and message.get("content") is not None:
            return text_of(message["content"])
    return ""


_NAMES = ("solution_str", "ground_truth", "extra_info")
_SIGNATURE = "(solution_str: str, ground_truth: str, extra_info: dict = None)"


def osmosis_reward(func: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a reward function; calling it raises where it returns something other than a float.

    Raises:
        TypeError: Its first parameters are not (solution_str: str, ground_truth: str,
            extra_info: dict = None).
    """
    parameters = _first_three(func)
    for parameter, kind in zip(parameters, (str, str, dict), strict=True):
        if parameter.annotation not in (kind, kind.__name__):
            wrong = f"parameter {parameter.name!r} must be annotated as {kind.__name__}"
            raise TypeError(f"{func.__name__}: {wrong}; the signature is {_SIGNATURE}")
    if parameters[2].default is Parameter.empty:
        wrong = "parameter 'extra_info' must have a default"
        raise TypeError(f"{func.__name__}: {wrong}; the signature is {_SIGNATURE}")
    return _returning_float(func)


def osmosis_rubric(func: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a function that scores by a rubric of its own; checked like `osmosis_reward`, but for
    annotations and the default.

    Raises:
        TypeError: Its first parameters are not solution_str, ground_truth, extra_info.
    """
    _first_three(func)
    return _returning_float(func)


def _first_three(func: Callable[..., Any]) -> list[Parameter]:
    parameters = list(inspect.signature(func).parameters.values())[:3]
    if tuple(parameter.name for parameter in parameters) != _NAMES:
        found = ", ".join(parameter.name for parameter in parameters) or "none"
        raise TypeError(
            f"{func.__name__}: the first parameters are {found}; the signature is {_SIGNATURE}"
        )
    return parameters


def _returning_float(func: Callable[..., Any]) -> Callable[..., Any]:
    def checked(result: Any) -> float:
        if not isinstance(result, float):
            kind = type(result).__name__
            raise TypeError(f"{func.__name__} must return a float; it returned a {kind}")
        return result

    if inspect.iscoroutinefunction(func):

        @functools.wraps(func)
        async def call_async(*args: Any, **kwargs: Any) -> float:
            kwargs.pop("data_source", None)
            return checked(await func(*args, **kwargs))

        return call_async

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> float:
        kwargs.pop("data_source", None)
        return checked(func(*args, **kwargs))

    return call
