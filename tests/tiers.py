"""Which cases of a test run each time, and which with `make slow` alone."""

from __future__ import annotations

from collections.abc import Sequence
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
