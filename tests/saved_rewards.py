"""A saved run with the rewards that a test names, as another program writes it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path


def saved(
    folder: Path,
    name: str,
    groups: Sequence[Sequence[float | None]],
    *,
    metrics: dict[str, float] | None = None,
    question: str = "question",
    env_id: str = "sums",
    first_id: int = 0,
    grows: bool = True,
) -> str:
    """A run; a reward of None is a rollout that errored.

    Args:
        grows: A metric is one, two and three times its value on one example after the other.
    """
    rows = [
        {
            "example_id": example + first_id,
            "prompt": [{"role": "user", "content": f"{question} {example + first_id}"}],
            "completion": [{"role": "assistant", "content": "answer"}],
            "reward": reward or 0.0,
            "error": {"error": "ToolError"} if reward is None else None,
            "metrics": {
                key: value * (1 + example % 3 * grows) for key, value in (metrics or {}).items()
            },
        }
        for example, rewards in enumerate(groups)
        for reward in rewards
    ]
    path = folder / name
    path.mkdir()
    (path / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    metadata = {
        "env_id": env_id,
        "model": "tiny",
        "num_examples": len(groups),
        "rollouts_per_example": max(map(len, groups), default=1),
    }
    (path / "metadata.json").write_text(json.dumps(metadata))
    return str(path)
