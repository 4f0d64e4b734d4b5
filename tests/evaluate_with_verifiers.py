"""Evaluates cases with whatever `verifiers` this interpreter has: a job on stdin, rows to a file.

Runs in an interpreter of its own, which has neither tui_eval nor the tests.
"""

from __future__ import annotations

import asyncio
import json
import sys
import traceback
from pathlib import Path
from typing import Any

import verifiers as vf
from verifiers.types import ClientConfig


async def evaluate(case: dict[str, Any], url: str) -> list[dict[str, Any]]:
    """The rows of one case."""
    env = vf.load_environment(case["env_id"], **case["env_args"])
    client = ClientConfig(
        api_base_url=url, api_key_var="LOOPBACK_KEY", client_type=case["client_type"]
    )
    done = await env.evaluate(
        client,
        model=case["env_id"],
        sampling_args=case["sampling"],
        num_examples=case["examples"],
        rollouts_per_example=case["rollouts"],
        on_start=_nothing,
        on_progress=_nothing,
    )
    return [dict(output) for output in done["outputs"]]


def _nothing(*_: object) -> None:
    """Shows no progress."""


async def main() -> None:
    """Every case of the job, one after another."""
    job = json.load(sys.stdin)
    sys.path[:0] = job["paths"]
    found: dict[str, Any] = {}
    for case in job["cases"]:
        try:
            found[case["env_id"]] = {"rows": await evaluate(case, job["url"])}
        except Exception:
            found[case["env_id"]] = {"failed": traceback.format_exc()}
    Path(job["to"]).write_text(json.dumps(found, default=_plain))


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(exclude_none=True)
    return dict(value) if hasattr(value, "keys") else str(value)


if __name__ == "__main__":
    asyncio.run(main())
