"""The tools: plain functions, described to the model by name, type hints and docstring."""

from __future__ import annotations

import math
from collections.abc import Callable

from .problems import CONSTANTS


def add(a: float, b: float) -> float:
    """Add two numbers.

    Args:
        a: The first number.
        b: The second number.
    """
    return round(a + b, 6)


def subtract(a: float, b: float) -> float:
    """Subtract b from a.

    Args:
        a: The number to subtract from.
        b: The number to subtract.
    """
    return round(a - b, 6)


def multiply(a: float, b: float) -> float:
    """Multiply two numbers.

    Args:
        a: The first factor.
        b: The second factor.
    """
    return round(a * b, 6)


def divide(a: float, b: float) -> float:
    """Divide a by b.

    Args:
        a: The dividend.
        b: The divisor, not zero.
    """
    if b == 0:
        raise ValueError("cannot divide by zero")
    return round(a / b, 6)


def percent_of(percent: float, amount: float) -> float:
    """Take a percentage of an amount.

    Args:
        percent: How many percent, for example 15.
        amount: What to take them of.
    """
    return round(percent / 100 * amount, 6)


def square_root(x: float) -> float:
    """The square root of a number.

    Args:
        x: The number, not negative.
    """
    if x < 0:
        raise ValueError("a negative number has no real square root")
    return round(math.sqrt(x), 6)


def look_up_constant(name: str) -> float:
    """The value of a constant.

    Args:
        name: Its name, for example "pi".
    """
    if name not in CONSTANTS:
        raise ValueError(f"no constant named {name!r}; there are {', '.join(CONSTANTS)}")
    return CONSTANTS[name]


TOOLS: list[Callable[..., float]] = [
    add,
    subtract,
    multiply,
    divide,
    percent_of,
    square_root,
    look_up_constant,
]
