"""A run to compare, and the settings that differ from those of other runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from tui_eval.fold.run_state import RunState

MOST_PARTS = 6
"""Parts of the code, and versions, that are named where more differ."""

Rows: TypeAlias = Mapping[bytes, Sequence[int]]
"""The rows of every example by its digest."""


class Side(msgspec.Struct, frozen=True):
    """A run to compare."""

    state: RunState
    digests: Mapping[int, bytes]
    """Identity of each example, by its place in the run: a digest of its content, or its id where
    its row has no content."""
    system: frozenset[str] = frozenset()
    """The system prompts that its examples have."""
    id_only: int = 0
    """Number of examples without content, known by id only."""
    code: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Its code in the last session, by the names of parts; empty where that is not known."""
    versions: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Versions of packages in its last session, the important ones first."""

    @property
    def environment(self) -> str | None:
        """Its environment, where its files name one."""
        run = self.state.run
        return run.env_id if run is not None and run.names_env else None

    def rows_by_content(self) -> dict[bytes, list[int]]:
        """The rows of every example; examples of the same content count as one."""
        found: dict[bytes, list[int]] = {}
        for place, digest in sorted(self.digests.items()):
            start = place * self.state.per_example
            end = min(start + self.state.per_example, self.state.total)
            found.setdefault(digest, []).extend(range(start, end))
        return found


def differing_settings(sides: Sequence[Side]) -> dict[str, list[Any]]:
    """Settings that differ among runs: their values in each, None for a missing one.

    Then parts of the code and versions of packages that differ.
    """
    return _differing([_settings(side) for side in sides]) | _parts_that_differ(sides)


def _differing(several: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Values that differ among several, None for a missing one."""
    names = dict.fromkeys(name for one in several for name in one)
    found = {name: [one.get(name) for one in several] for name in names}
    return {
        name: values
        for name, values in found.items()
        if any(value != values[0] for value in values)
    }


def is_rerun(first: Side, second: Side) -> bool:
    """Whether two runs are of one configuration: as far as anything says, nothing differs."""
    a, b = first.state.run, second.state.run
    if a is None or b is None or a.path == b.path:
        return False
    is_known = bool(first.environment and second.environment)
    return is_known and not differing_settings([first, second])


def _settings(side: Side) -> dict[str, Any]:
    run = side.state.run
    if run is None:
        return {}
    return {
        "environment": side.environment,
        "model": run.model,
        "base_url": run.base_url,
        "examples": run.num_examples,
        "rollouts per example": run.rollouts_per_example,
        "pass threshold": side.state.threshold,
        **run.sampling_args,
        **{f"env_args.{name}": value for name, value in run.env_args.items()},
        "system prompt": "\n".join(sorted(side.system)) or None,
    }


def _parts_that_differ(sides: Sequence[Side]) -> dict[str, list[Any]]:
    """Parts of the code and versions that differ, where all runs have theirs.

    The first of each are named, those that matter first, and how many more there are.
    """
    found: dict[str, list[Any]] = {}
    for before, more, parts in (
        ("", "more parts of the code", [side.code for side in sides]),
        ("version of ", "more versions", [side.versions for side in sides]),
    ):
        if not all(parts):
            continue
        differing = _differing(parts)
        found |= {f"{before}{name}": differing[name] for name in [*differing][:MOST_PARTS]}
        if len(differing) > MOST_PARTS:
            found[more] = [len(differing) - MOST_PARTS] * len(sides)
    return found
