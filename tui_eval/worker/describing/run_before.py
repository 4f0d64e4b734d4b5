"""Whether the run that is to be resumed is of the examples as they are now."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tui_eval.runs.layout import RunDir
from tui_eval.runs.row import messages_list
from tui_eval.runs.row_places import example_id_of
from tui_eval.runs.scan import scan
from tui_eval.worker.describing.info import RunBefore
from tui_eval.worker.describing.settings import Wanted
from tui_eval.worker.digests import digest_now


def run_before(
    inputs: Iterable[Mapping[str, Any]], wanted: Wanted, version: str | None
) -> RunBefore | None:
    """How the run that is to be resumed is to these examples; None where none is."""
    if not wanted.resumes:
        return None
    before = wanted.digest_before
    other = "" if before else _other_prompts(RunDir(Path(wanted.resumes)), inputs)
    return RunBefore(digest_now(before, inputs), other, version)


def _other_prompts(run: RunDir, examples: Iterable[Mapping[str, Any]]) -> str:
    """How many rows have another prompt than the example of their id; empty for none.

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
