"""Marks on methods of environments: stop conditions, cleanup and teardown handlers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

Method = TypeVar("Method", bound=Callable[..., Any])


@overload
def stop(func: Method) -> Method: ...
@overload
def stop(*, priority: int = 0) -> Callable[[Method], Method]: ...
def stop(func: Method | None = None, *, priority: int = 0) -> Any:
    """Marks a method `(self, state) -> bool` as a stop condition, checked before every turn.

    Args:
        func: The method, plain or async.
        priority: Higher ones are checked first, equal ones in the order of their names.
    """
    return _mark("stop", func, priority)


@overload
def cleanup(func: Method) -> Method: ...
@overload
def cleanup(*, priority: int = 0) -> Callable[[Method], Method]: ...
def cleanup(func: Method | None = None, *, priority: int = 0) -> Any:
    """Marks a method `(self, state)` that runs when a rollout ends, however it does.

    It runs before `state["completion"]` is rendered and before scoring.

    Args:
        func: The method, plain or async. What it raises is the rollout's error.
        priority: Higher ones run first, equal ones in the order of their names.
    """
    return _mark("cleanup", func, priority)


@overload
def teardown(func: Method) -> Method: ...
@overload
def teardown(*, priority: int = 0) -> Callable[[Method], Method]: ...
def teardown(func: Method | None = None, *, priority: int = 0) -> Any:
    """Marks a method `(self)` that runs when the environment is not needed any more.

    Args:
        func: The method, plain or async.
        priority: Higher ones run first, equal ones in the order of their names.
    """
    return _mark("teardown", func, priority)


def marked_methods(owner: object, kind: str) -> list[Callable[..., Any]]:
    """The bound methods of an object that have a mark, highest priority first, then by name."""
    found = []
    for name in dir(type(owner)):
        # Looked up on the class, so that no property of the object is evaluated.
        if getattr(getattr(type(owner), name, None), kind, None) is True:
            method = getattr(owner, name)
            found.append((-getattr(method, f"{kind}_priority"), name, method))
    return [method for _, _, method in sorted(found, key=lambda item: item[:2])]


def _mark(kind: str, func: Method | None, priority: int) -> Any:
    def mark(method: Method) -> Method:
        setattr(method, kind, True)
        setattr(method, f"{kind}_priority", priority)
        return method

    return mark if func is None else mark(func)
