"""The examples of a run, and the places of their rollouts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, cast

import msgspec

from tui_eval import cuts
from tui_eval.environments.author_errors import describe
from tui_eval.errors import Fault, RefusedError, nearest
from tui_eval.messages import to_messages
from tui_eval.runs.plain_json import LONGEST_REPR
from tui_eval.state import State
from tui_eval.stats.rewards import is_number
from tui_eval.types import RolloutInput

if TYPE_CHECKING:
    from tui_eval.environments.datasets.example_table import ExampleTable
    from tui_eval.environments.environment import Environment


class Places:
    """The rollouts of a run, each at its place: those of one example follow each other.

    `total` is how many there are, `per_example` how many each example has, `most` how many the
    one with most has. `groups` is JSON text of (example id, rollouts) of every example where not
    all have as many, and empty otherwise.

    Args:
        count: Of examples.
        ids: Gives the id of every example.
    """

    def __init__(self, count: int, ids: Callable[[], list[Any]], per_example: int) -> None:
        self._count = count
        self.ids = ids
        self.per_example = self.most = per_example
        self.total = count * per_example
        self.groups = ""

    def __len__(self) -> int:
        return self._count

    def example(self, row: int) -> int:
        """The place of the example that a rollout is of."""
        return row // self.per_example

    def number(self, row: int) -> int:
        """The number of a rollout among those of its example, from 0."""
        return row % self.per_example

    def size(self, example: int) -> int:
        """Number of rollouts of an example."""
        return self.per_example

    def rows(self, example: int) -> range:
        """The places of an example's rollouts."""
        return range(example * self.per_example, (example + 1) * self.per_example)


class Examples(Places):
    """The rollouts of a run with their inputs.

    Args:
        table: The input of every example; shared, so the environment copies what it changes.
    """

    def __init__(self, table: ExampleTable, per_example: int) -> None:
        super().__init__(len(table), lambda: table["example_id"], per_example)
        self._table = table

    def input(self, row: int) -> RolloutInput:
        """The input of the rollout at a place."""
        return cast(RolloutInput, self._table[row // self.per_example])

    def fresh_state(self, row: int) -> State:
        """The state of a rollout that has not begun."""
        values = self.input(row)
        return State(input=values, prompt=to_messages(values["prompt"]))


class GivenExamples(Examples):
    """Rollouts that have an input each, in groups.

    Where groups differ in size `per_example` is 1: a place does not give its group then, and the
    row of a rollout has its place.
    """

    def __init__(self, groups: Sequence[Sequence[RolloutInput]]) -> None:
        self._inputs = [values for group in groups for values in group]
        ids = [group[0]["example_id"] for group in groups]
        self._sizes = [len(group) for group in groups]
        self._firsts = [0, *accumulate(self._sizes)]
        self._example_of = [place for place, size in enumerate(self._sizes) for _ in range(size)]
        most = max(self._sizes)
        is_even = min(self._sizes) == most
        Places.__init__(self, len(groups), lambda: ids, most if is_even else 1)
        self.total, self.most = len(self._inputs), most
        sized = zip(ids, self._sizes, strict=True)
        self.groups = "" if is_even else msgspec.json.encode(list(sized)).decode()

    def input(self, row: int) -> RolloutInput:
        return self._inputs[row]

    def example(self, row: int) -> int:
        return self._example_of[row]

    def number(self, row: int) -> int:
        return row - self._firsts[self._example_of[row]]

    def size(self, example: int) -> int:
        return self._sizes[example]

    def rows(self, example: int) -> range:
        return range(self._firsts[example], self._firsts[example + 1])


def read_table(
    env: Environment, most: int, seed: int | None = None, only: Sequence[str] = ()
) -> ExampleTable:
    """The first examples of an environment's evaluation dataset, or those that are named.

    Args:
        most: How many at most; -1 for all.
        seed: Brings all of them into its order first; None for that of the dataset.
        only: Ids of examples; where there are any, those alone are taken, in this order.

    Raises:
        RefusedError: The dataset cannot be had or lacks an example that is named, or the pass
            threshold is no number; says why.
    """
    pass_threshold(env)
    try:
        if only:
            return _named(env, only)
        return env.eval_table(most) if seed is None else env.eval_table().shuffle(seed).head(most)
    except RefusedError:
        raise
    except Exception as error:
        what = f"its dataset raised {describe(error)}"
        raise RefusedError([Fault(str(env.env_id), what)]) from error


def _named(env: Environment, ids: Sequence[str]) -> ExampleTable:
    table = env.eval_table()
    places = {str(id_): place for place, id_ in enumerate(table["example_id"])}
    missing = [id_ for id_ in ids if id_ not in places]
    if missing:
        what = f"its dataset has no example {', '.join(map(repr, missing))}"
        known = list(places)
        hint = nearest(missing[0], known) or f"It has {len(known):,}: {known[0]} to {known[-1]}"
        raise RefusedError([Fault(f"{env.env_id}, --examples", what, hint)])
    return table.select(places[id_] for id_ in ids)


def pass_threshold(env: Environment) -> float:
    """The reward from which on a rollout of the environment counts as passed.

    Raises:
        RefusedError: It is no number.
    """
    threshold = getattr(env, "pass_threshold", 0.5)
    if not isinstance(threshold, (int, float)) or not is_number(threshold):
        shown = cuts.head(repr(threshold), LONGEST_REPR)
        what = f"its pass_threshold is {shown}, which is no number"
        raise RefusedError([Fault(str(env.env_id), what)])
    return float(threshold)
