"""Tiers of cases: those that run each time, and those of `make slow` alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest


def some_slow(cases: Sequence[tuple[Any, ...]], ids: Sequence[str], *always: str) -> list[Any]:
    """Parameters of cases that go the same way through a process each: a few stand for all.

    Args:
        ids: Of the cases, one each.
        always: The ids of those that run each time; all of them exist.
    """
    assert set(always) <= set(ids), always
    return [
        pytest.param(*case, id=name, marks=[] if name in always else pytest.mark.slow)
        for case, name in zip(cases, ids, strict=True)
    ]


def first_always(cases: Iterable[Any], number: int = 1) -> list[Any]:
    """Parameters that go much the same way: the first few run each time."""
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=[] if at < number else pytest.mark.slow,
        )
        for at, case in enumerate(cases)
    ]
