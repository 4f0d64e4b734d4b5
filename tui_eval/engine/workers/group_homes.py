"""The home of each group: the worker that gathers and scores the rollouts of an example."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from itertools import count
from typing import Any

from tui_eval.engine.transport.worker import Worker
from tui_eval.engine.workers.pool import Pool
from tui_eval.runs.scan import decode_row
from tui_eval.worker import to_worker
from tui_eval.worker.examples import Places


class GroupHomes:
    """Assigns each group to one worker, which scores it."""

    def __init__(self, examples: Places, pool: Pool) -> None:
        self._examples = examples
        self._pool = pool
        self._homes: dict[int, Worker] = {}
        self._waiting: set[int] = set()
        self._on_disk: defaultdict[int, dict[int, Mapping[str, Any] | bytes]] = defaultdict(dict)
        """Rows or lines of members by example, for a worker that did not write them itself to
        compare with."""
        self._numbers = count(1)
        self._forgetting: dict[int, tuple[Worker, asyncio.Future[None]]] = {}
        """Futures that are done once a home has removed members, by number."""

    def __contains__(self, example: int) -> bool:
        """Whether the group of an example waits for members."""
        return example in self._waiting

    def home(self, row: int) -> Worker:
        """The worker of a rollout's group; chooses one where there is none."""
        example = self._examples.example(row)
        if example not in self._homes:
            self._settle(example, self._pool.least_busy())
        return self._homes[example]

    def other_home(self, row: int, worker: Worker) -> Worker | None:
        """The worker where a rollout's group waits, if it is not this one."""
        home = self._homes.get(self._examples.example(row))
        return home if home is not worker and home in self._pool.every else None

    def values(self, row: int) -> dict[str, Any]:
        """The saved row of a member."""
        found = self._on_disk[self._examples.example(row)][row]
        return decode_row(found) if isinstance(found, bytes) else dict(found)

    def _settle(self, example: int, worker: Worker) -> None:
        self._homes[example] = worker
        for row in self._on_disk[example]:
            worker.send(to_worker.AddSaved(row, self.values(row)))

    def moved(self, worker: Worker, example: int, waits: bool) -> None:
        """Notes whether a group waits in a worker; one where a rollout runs alone has none."""
        if self._homes.get(example) is not worker:
            return
        if waits:
            self._waiting.add(example)
        else:
            self._waiting.discard(example)

    def written(self, row: int, line: bytes) -> None:
        """Notes that a member has its row."""
        example = self._examples.example(row)
        self._on_disk[example][row] = line
        if len(self._on_disk[example]) == self._examples.size(example):
            del self._on_disk[example]
            home = self._homes.pop(example, None)
            if example in self._waiting and home is not None:  # all have errored
                self._waiting.discard(example)
                rows = [*self._examples.rows(example)]
                home.send(to_worker.ForgetMembers(next(self._numbers), rows))

    def add_saved(self, row: int, values: Mapping[str, Any]) -> None:
        """Adds a member whose row is on disk: it is scored only to be compared with."""
        example = self._examples.example(row)
        self._on_disk[example][row] = values
        if example in self._homes:
            self._homes[example].send(to_worker.AddSaved(row, self.values(row)))

    def forget(self, row: int) -> asyncio.Future[None] | None:
        """Removes a member that is to run again, so that its group waits for it.

        Returns:
            A future that is done once its worker has done so; None where nothing is to do.
        """
        example = self._examples.example(row)
        self._on_disk[example].pop(row, None)
        home = self._homes.get(example)
        if home is None:
            return None
        number, forgotten = next(self._numbers), asyncio.get_running_loop().create_future()
        self._forgetting[number] = home, forgotten
        home.send(to_worker.ForgetMembers(number, [row]))
        return forgotten

    def forgot(self, number: int) -> None:
        """Notes that a home has removed members, or has none of them."""
        _, forgotten = self._forgetting.pop(number, (None, None))
        if forgotten is not None and not forgotten.done():
            forgotten.set_result(None)

    def move(self, old: Worker, new: Worker) -> None:
        """Moves the groups of a worker that was replaced."""
        for example, worker in self._homes.items():
            if worker is old:
                self._settle(example, new)
        for number in [one for one, (home, _) in self._forgetting.items() if home is old]:
            self.forgot(number)
