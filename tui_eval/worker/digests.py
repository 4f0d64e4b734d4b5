"""Digests of a run's examples, to compare them with those of its rows."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from tui_eval.config.environment_defaults import own_version
from tui_eval.runs.layout import RunDir
from tui_eval.runs.row import messages_list
from tui_eval.runs.row_places import example_id_of
from tui_eval.runs.scan import scan
from tui_eval.runs.versions import RunBefore
from tui_eval.worker.description.info import Wanted

MOST_EXAMPLES = 10_000
"""Examples that count; reading more of them would hold up the start."""


def examples_digest(examples: Iterable[Mapping[str, Any]], most: int = MOST_EXAMPLES) -> str:
    """`N:hash` of ids, prompts and answers of the first examples."""
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
    """Version of an environment: its pyproject.toml's, else that of the installed package."""
    version = own_version(env_id, folder) if env_id else None
    if version is not None:
        return version
    try:
        return importlib.metadata.version(env_id.split("/")[-1].split("@")[0])
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return None


def run_before(
    inputs: Iterable[Mapping[str, Any]], wanted: Wanted, version: str | None
) -> RunBefore | None:
    """Differences of these examples from the run that is to be resumed; None without one."""
    if not wanted.resumes:
        return None
    before = wanted.digest_before
    other = "" if before else _other_prompts(RunDir(Path(wanted.resumes)), inputs)
    return RunBefore(digest_now(before, inputs), other, version)


def _other_prompts(run: RunDir, examples: Iterable[Mapping[str, Any]]) -> str:
    """Number of rows with another prompt than the example of their id, in words; empty for none.

    Rows of examples that are not there, and rows without a prompt, are passed over.
    """
    prompts = {row.get("example_id"): _texts(row.get("prompt")) for row in examples}
    differing, first, compared = 0, None, 0
    for line in scan(run.results):
        if line.row is None or not line.row.get("prompt"):
            continue
        id_ = example_id_of(line.row)
        if not isinstance(id_, int | str) or id_ not in prompts:
            continue
        compared += 1
        if _texts(line.row["prompt"]) != prompts[id_]:
            differing += 1
            first = id_ if first is None else first
    if not differing:
        return ""
    return f"another prompt in {differing} of {compared} rows, the first of example {first}"


def _texts(prompt: Any) -> list[tuple[str, str]]:
    if isinstance(prompt, str) and prompt.startswith("["):
        with contextlib.suppress(ValueError):  # some files have conversations as JSON text
            prompt = json.loads(prompt)
    return [
        (str(one.get("role")), str(one.get("content")).strip()) for one in messages_list(prompt)
    ]


def _plain(value: Any) -> Any:
    """Fields of messages; of other objects their type, because a repr may hold an address."""
    fields = getattr(value, "model_dump", None)
    return fields(exclude_none=True) if callable(fields) else type(value).__name__
