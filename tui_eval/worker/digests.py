"""Digests: whether the examples of a run are still those of its rows."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from tui_eval.config.environment_defaults import own_version

MOST_EXAMPLES = 10_000
"""Examples that count; reading more of them would hold up the start."""


def examples_digest(examples: Iterable[Mapping[str, Any]], most: int = MOST_EXAMPLES) -> str:
    """`N:hash` of ids, prompts and answers of the first examples.

    Args:
        most: How many at most.
    """
    digest, count = hashlib.sha256(), 0
    for row in islice(examples, min(most, MOST_EXAMPLES)):
        content = [row.get(name) for name in ("example_id", "prompt", "answer")]
        digest.update(json.dumps(content, sort_keys=True, default=_plain).encode() + b"\n")
        count += 1
    return f"{count}:{digest.hexdigest()[:16]}"


def digest_now(before: str, examples: Iterable[Mapping[str, Any]]) -> str:
    """The digest of as many first examples as an earlier one is of."""
    count = before.partition(":")[0]
    return examples_digest(examples, int(count)) if count.isdigit() else before


def version_of(env_id: str, folder: Path) -> str | None:
    """Version of an environment: its pyproject.toml's, else that of the installed package.

    Args:
        folder: Where local environments are.
    """
    version = own_version(env_id, folder) if env_id else None
    if version is not None:
        return version
    try:
        return importlib.metadata.version(env_id.split("/")[-1].split("@")[0])
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return None


def _plain(value: Any) -> Any:
    """Fields of messages; of other objects their type, because a repr may hold an address."""
    fields = getattr(value, "model_dump", None)
    return fields(exclude_none=True) if callable(fields) else type(value).__name__
