"""Steers the engine from the screen of a run: pause, cancel a rollout, max_concurrent."""

from __future__ import annotations

from functools import partial
from itertools import count, takewhile
from typing import TYPE_CHECKING

from tui_eval.fold.rollout_columns import DONE
from tui_eval.text.figures import plural
from tui_eval.text.stages import rollout_name
from tui_eval.tui.base.dialogs.open_prompts import Prompts
from tui_eval.tui.base.dialogs.prompts import STAY, Choice, Prompt
from tui_eval.tui.base.keys.keymap import key_for
from tui_eval.tui.run.titles import STILL_LOADING

if TYPE_CHECKING:
    from tui_eval.tui.run.screen import RunScreen

BACK = STAY._replace(label="back")


def at_most(limit: int) -> str:
    """What a limit means; 0 is none."""
    return f"At most {plural(limit, 'rollout') if limit else '∞ rollouts'} at a time"


def next_limit(now: int, by: int) -> int:
    """The next number of rollouts in flight: 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48 and so on.

    Args:
        now: At least 1.
        by: 1 for the next greater one, -1 for the next smaller one, which is 1 at least.
    """
    steps = sorted({n for power in _powers_to(now) for n in (power, power * 3 // 2)})
    if by > 0:
        return next(step for step in steps if step > now)
    return max((step for step in steps if step < now), default=1)


def _powers_to(now: int) -> list[int]:
    """Powers of two, one of them greater than a number."""
    below = list(takewhile(lambda power: power <= now, (1 << n for n in count())))
    return [*below, 1 << len(below)]


class Steering:
    """Sends commands to the feed of the run, and to `root` what concerns all runs."""

    def __init__(self, screen: RunScreen, prompts: Prompts) -> None:
        self._screen = screen
        self._prompts = prompts
        self.requested_pause: bool | None = None
        """What the engine was told last and has not answered: whether it pauses."""

    @property
    def is_paused(self) -> bool:
        """Whether the gate is closed, or was asked to close and has not answered yet."""
        return (
            not self._screen.status.is_gate_open
            if self.requested_pause is None
            else self.requested_pause
        )

    def action_pause(self) -> None:
        """Closes the engine's gate, or opens it."""
        screen = self._screen
        if not screen.status.at_work:
            why = screen.status.why_not("pause") if screen.noun == "run" else ""
            screen.say(why or f"The {screen.noun} has ended: there is nothing to pause.")
            return
        from tui_eval.commands import Pause, Unpause

        paused = self.is_paused
        self.requested_pause = not paused
        screen.root.send(Unpause() if paused else Pause())
        screen.invalidate()
        screen.refresh_run()

    def action_cancel_rollout(self) -> None:
        """Asks whether to end the selected rollout."""
        row = self._screen.rollouts.row
        if why := self._why_no_cancel(row):
            self._screen.say(why)
            return

        feed = self._screen.feed

        def answered(answer: bool | None) -> None:
            if answer:
                from tui_eval.commands import Cancel

                feed.send(Cancel(row))

        self._prompts.open(partial(self._cancel_prompt, row), answered)

    def _why_no_cancel(self, row: int) -> str:
        state = self._screen.state
        if why := self._screen.status.why_not("cancel"):
            return why
        if row < state.total and state.stage[row] >= DONE:
            return "This rollout has finished: there is nothing to cancel."
        return ""

    def _cancel_prompt(self, row: int) -> Prompt:
        title = f"Cancel {rollout_name(self._screen.state, row)}?"
        if why := self._why_no_cancel(row):
            return Prompt(title, [why], [BACK])
        later = f"{key_for('run.rerun')} runs it again later"
        yes = Choice("y", "yes, cancel it", later, True)
        text = ["The others go on. Its row will say that it was cancelled."]
        return Prompt(title, text, [yes, STAY._replace(label="keep it running")])

    def action_limit(self, by: int) -> None:
        """Raises or lowers how many rollouts are in flight at most."""
        from tui_eval.commands import MoveLimit

        screen, status = self._screen, self._screen.status
        if not status.at_work:
            screen.say(status.why_not("limit") or "No engine is at work on this.")
            return
        requested = screen.header.requested_limit
        now = status.max_concurrent if requested is None else requested
        if now is None:
            screen.say(STILL_LOADING)
            return
        if not now and by > 0:
            screen.say("There is no limit that could be raised.")
            return
        wanted = next_limit(now or max(screen.state.running, 1) + 1, by)
        if wanted == now:
            pauses = f"{key_for('run.pause')} pauses the {screen.noun}"
            screen.say(f"One rollout at a time is the least; {pauses}.")
            return
        screen.header.requested_limit = wanted
        screen.root.send(MoveLimit(wanted))
        screen.say(at_most(wanted))
        screen.header.update()
