"""Keeps things that take long to make and are the same for every test."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable
from typing import ParamSpec, TypeVar

Made = TypeVar("Made")
With = ParamSpec("With")


def made_once(make: Callable[With, Made]) -> Callable[With, Made]:
    """Makes it for the first who asks; each of them has a copy of their own."""

    @functools.cache
    def made(*args: With.args, **options: With.kwargs) -> bytes:
        return pickle.dumps(make(*args, **options))

    @functools.wraps(make)
    def copied(*args: With.args, **options: With.kwargs) -> Made:
        copy: Made = pickle.loads(made(*args, **options))
        return copy

    return copied
