"""Differences between a run and the request that resumes it, which were accepted and are kept."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, ConfigDict

NOTHING = "nothing"
"""Stands for the value of a key that one side does not have."""


class Change(BaseModel):
    """One difference that was accepted.

    Args:
        name: The setting, where it has keys with the one that differs: `env_args.split`; `dataset`,
            `env_version`, or a part of the code: `code.FILE`, `rubric.FUNCTION`, `judge.model`.
        before, now: JSON text, `nothing` where there is no such key; of a dataset or file what was
            done and differs is reported in words.
        at: When it was accepted, ISO 8601 in UTC.
    """

    model_config = ConfigDict(extra="forbid")

    name: str
    before: str
    now: str
    at: str = ""

    def __str__(self) -> str:
        return f"{self.name} is {self.now}, the run has {self.before}"


def change(name: str, before: Any, now: Any) -> Change:
    """A difference between two values that JSON carries."""
    then, since = (json.dumps(one, ensure_ascii=False, default=str) for one in (before, now))
    return text_change(name, then, since)


def text_change(name: str, before: str | None, now: str | None) -> Change:
    """A difference between two texts; None where one side has no such thing."""
    at = datetime.now(UTC).isoformat(timespec="seconds")
    return Change(name=name, before=before or NOTHING, now=now or NOTHING, at=at)
