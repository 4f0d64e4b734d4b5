"""Garbage collections that stay out of the way of rollouts."""

from __future__ import annotations

import gc

COLLECTED_AFTER = 100_000
"""New objects between two garbage collections: more than rollouts that begin at once make."""


def spare_collector() -> None:
    """Leaves out of garbage collections what stays to the end, and has fewer of them.

    Looking through modules and dataset in every full collection takes a quarter of the engine's
    CPU time, and a tenth of a second each time; Python's usual seven hundred new objects between
    collections are what one rollout makes, and take another tenth. Until now there were none:
    what is loaded stays.
    """
    gc.freeze()
    gc.set_threshold(COLLECTED_AFTER)
    gc.enable()
