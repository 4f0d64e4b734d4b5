"""The pane of one rollout's reward."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_eval.fold.columns import Note
from tui_eval.tui.base.lines.line_view import LineView
from tui_eval.tui.base.look.ink import Line
from tui_eval.tui.run.numbers.reward import breakdown, noted

if TYPE_CHECKING:
    from tui_eval.fold.trajectory import Rollout
    from tui_eval.stats.examples import ExampleFigures


class RewardPanel(LineView):
    """What somebody noted, how the reward came about, its group, the metrics, what judges said and
    what failed."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.rollout: Rollout | None = None
        self.group: ExampleFigures | None = None
        self.note = Note()
        self.empty: tuple[Line, ...] = ()
        """What stands where there is no rollout."""
        self._lines: list[Line] = []
        self._made_for: Rollout | None = None
        self._made_of: tuple[object, ...] = ()

    def count(self) -> int:
        """Lines of all of it."""
        return len(self._lines)

    def line(self, index: int) -> Line:
        """One line of it."""
        return self._lines[index]

    def show(self, rollout: Rollout | None, group: ExampleFigures | None, note: Note) -> None:
        """Shows a rollout's reward, another one's from its begin.

        Args:
            group: What the rollouts of its example came to so far; None where it is alone.
        """
        is_another = (rollout and rollout.row) != (self.rollout and self.rollout.row)
        self.rollout, self.group, self.note = rollout, group, note
        self.update()
        if is_another:
            self.jump(0)

    def update(self) -> None:
        """Makes the lines anew where something changed."""
        rollout = self.rollout
        made_of = (rollout and rollout.finished, self.group, self.note, self.empty, self.line_width)
        if rollout is not self._made_for or made_of != self._made_of:
            self._made_for, self._made_of = rollout, made_of
            words = breakdown(rollout, self.group, self.line_width)
            self._lines = [*noted(self.note, self.line_width), *words] or [*self.empty]
        super().update()
