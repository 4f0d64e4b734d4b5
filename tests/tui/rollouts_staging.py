"""The lines of the list of rollouts, and typing of a filter."""

from __future__ import annotations

from staging import Stage


def shown(stage: Stage) -> str:
    return stage.text(stage.live.rollouts)


def listed(stage: Stage) -> list[int]:
    rollouts = stage.live.rollouts
    return [rollouts.listing.row(line) for line in range(rollouts.count())]
