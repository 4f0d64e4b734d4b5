"""A run that is compared, and what of its settings is not that of the others."""

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
    """What distinguishes each example, by its place in the run: its content, or its id where its
    row does not say what was requested."""
    system: frozenset[str] = frozenset()
    """The system prompts that its examples have."""
    untold: int = 0
    """How many examples have only their ids."""
    code: Mapping[str, str] = msgspec.field(default_factory=dict)
    """The parts of its code by name, as it was last; empty where nothing says."""
    versions: Mapping[str, str] = msgspec.field(default_factory=dict)
    """What was installed when it was worked on last, those that matter first."""

    @property
    def environment(self) -> str | None:
        """The environment that it is of, where its files say that."""
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
    """Every setting that is not the same in all runs: its value in each, None where it has none.

    Then what of the code and of what was installed differs, as far as that matters.
    """
    return _differing([_settings(side) for side in sides]) | _parts_that_differ(sides)


def _differing(several: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """What is not the same in all of several, None where one has none."""
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
    """Parts of the code and versions that are not the same, where all runs say theirs.

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
