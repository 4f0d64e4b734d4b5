"""What workers' deaths come to: which rollout ended how many, and when a run is ended for them.

A rollout that ends its workers has an errored row, and the run goes on: it is one of many. Where
one after the other does so, the code or the machine is at fault, not a rollout, and each row costs
two processes and two loads of the environment.
"""

from __future__ import annotations

from collections import Counter

from tui_eval.worker.vital_signs import NOBODY

MOST_OF_NOBODY = 3
"""So many workers may end although none of them ran the code of a rollout."""
MOST_CULPRITS = 8
"""So many rollouts in a row may end theirs. Where every twentieth does, that comes about once in
10^10 rollouts; where each does, it is noticed after sixteen workers."""
_SCORED = ("scoring", "judge")


class WorkerDeaths:
    """Counts them, and the rollouts between that ended none."""

    def __init__(self) -> None:
        self._of: Counter[int] = Counter()
        self._culprits: set[int] = set()
        self._generating = 0
        """Culprits since the last rollout that was generated."""
        self._scored = 0
        """Those that were being scored, since the last rollout that had its row."""

    def add(self, row: int) -> int:
        """A worker died in the code of this rollout; which one of its own that was."""
        self._of[row] += 1
        return self._of[row]

    @property
    def of_nobody(self) -> int:
        """How many died since the last row without a rollout's code."""
        return self._of[NOBODY]

    def add_culprit(self, row: int, error_class: str) -> None:
        """A rollout is given up for them.

        Args:
            error_class: Of what it had begun.
        """
        self._culprits.add(row)
        if error_class in _SCORED:
            self._scored += 1
        else:
            self._generating += 1

    @property
    def are_too_many(self) -> bool:
        """Whether so many rollouts in a row did so that the next ones will, too."""
        return max(self._generating, self._scored) >= MOST_CULPRITS

    def generated(self, row: int) -> None:
        """Its worker has nothing more to do for a rollout at present."""
        if row in self._culprits:
            self._culprits.discard(row)
        else:
            self._generating = 0

    def written(self, row: int) -> None:
        """A rollout has its row."""
        self._of.pop(NOBODY, None)
        self._of.pop(row, None)
        if row not in self._culprits:
            self._generating = self._scored = 0
