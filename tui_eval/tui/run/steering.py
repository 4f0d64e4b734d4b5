"""Commands to the engine from the screen of a run: pause, cancel, max_concurrent, rerun."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tui_eval.fold.rollout_columns import DONE
from tui_eval.text.figures import limit_text, plural
from tui_eval.text.stages import rollout_name
from tui_eval.tui.base.dialogs.prompts import STAY, Choice, Prompt
from tui_eval.tui.base.keys.keymap import key_for
from tui_eval.tui.run.panes import STILL_LOADING

if TYPE_CHECKING:
    from tui_eval.commands import Rerun
    from tui_eval.tui.run.screen import RunScreen

BACK = STAY._replace(label="back")


def max_concurrent_text(limit: int) -> str:
    """A message about a changed maximum; 0 is none."""
    return f"max_concurrent is {limit_text(limit)}"


def next_max_concurrent(now: int, by: int) -> int:
    """The next maximum: 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48 and so on.

    Args:
        now: At least 1.
        by: 1 for the next greater one, -1 for the next smaller one, which is 1 at least.
    """
    powers = [1 << n for n in range(now.bit_length() + 1)]  # the last one is greater
    steps = {n for power in powers for n in (power, power * 3 // 2)}
    if by > 0:
        return min(step for step in steps if step > now)
    return max((step for step in steps if step < now), default=1)


class Steering:
    """Sends commands to the feed of the run, and those for all runs to `root`."""

    def __init__(self, screen: RunScreen) -> None:
        self._screen = screen

    @property
    def is_paused(self) -> bool:
        """Whether the gate is closed, or a request to close it has no answer yet."""
        requested = self._screen.header.requested_pause
        return not self._screen.whole.gate_open if requested is None else requested

    def action_pause(self) -> None:
        """Closes the engine's gate, or opens it."""
        screen = self._screen
        if not screen.status.at_work:
            why = screen.status.why_not("pause") if screen.noun == "run" else ""
            screen.say(why or f"The {screen.noun} has ended: there is nothing to pause.")
            return
        from tui_eval.commands import Pause, Unpause

        paused = self.is_paused
        screen.header.requested_pause = not paused
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

        self._screen.prompts.open(partial(self._cancel_prompt, row), answered)

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
        text = ["The others continue. Its row will say that it was cancelled."]
        return Prompt(title, text, [yes, STAY._replace(label="keep it running")])

    def action_limit(self, by: int) -> None:
        """Raises or lowers the maximum number of concurrent rollouts."""
        from tui_eval.commands import SetMaxConcurrent

        screen, status = self._screen, self._screen.status
        if not status.at_work:
            screen.say(status.why_not("limit") or "No engine is at work on this.")
            return
        requested = screen.header.requested_max_concurrent
        now = status.max_concurrent if requested is None else requested
        if now is None:
            screen.say(STILL_LOADING)
            return
        if not now and by > 0:
            screen.say("There is no limit that could be raised.")
            return
        wanted = next_max_concurrent(now or max(screen.state.running, 1) + 1, by)
        if wanted == now:
            pauses = f"{key_for('run.pause')} pauses the {screen.noun}"
            screen.say(f"1 is the least that max_concurrent can be; {pauses}.")
            return
        screen.header.requested_max_concurrent = wanted
        screen.root.send(SetMaxConcurrent(wanted))
        screen.say(max_concurrent_text(wanted))
        screen.header.update()


class RerunFlow:
    """Asks which rollouts run again, and has them run."""

    def __init__(self, screen: RunScreen) -> None:
        self._screen = screen

    @property
    def word(self) -> str:
        """The footer word of the key; empty where it does nothing."""
        return "rerun" if self._screen.state.errors else "resume" if self.is_resumable else ""

    def action_rerun(self) -> None:
        """Asks which errored rollouts are to run again."""
        if why := self.why_not():
            self._screen.say(why)
        else:
            self._screen.prompts.open(
                partial(self.prompt, self._screen.rollouts.row), self.answered
            )

    def why_not(self) -> str:
        state = self._screen.state
        if state.is_loading and not state.errors:
            return STILL_LOADING
        if state.run is None or not (state.errors or self._is_cut_off):
            return "No rollout has errored: there is nothing to run again."
        if not self._screen.status.is_live and state.end is None:
            return "Another process writes this run: it can only be read."
        if state.is_foreign:
            return f"This is a run of {state.run.format}: only runs of tui-eval can be resumed."
        return ""

    def prompt(self, row: int) -> Prompt:
        title = "Run again?" if self._screen.state.errors else "Resume the run?"
        if why := self.why_not():
            return Prompt(title, [why], [BACK])
        text = "The run continues."
        if self._screen.state.errors:
            text = "What is chosen runs again; old rows stay in superseded.jsonl."
        return Prompt(title, [text], [*self._choices(row), BACK])

    def _choices(self, row: int) -> list[Choice]:
        """The rollout that was selected, the error in question, all errors."""
        from tui_eval.commands import Rerun

        state, numbers = self._screen.state, self._screen.numbers
        choices = []
        error = state.errors.get(row, "")
        kind, which = (self._screen.focused is numbers and numbers.cursor) or ("", "")
        if kind == "error":
            error = str(which)
        elif error:
            name = rollout_name(state, row)
            choices.append(Choice("o", "only this one", name, Rerun([row])))
        count = state.outcomes.errors[error] if error else 0
        if 0 < count < state.errored:
            note = f"{error.split(' -> ')[-1]}, {plural(count, 'rollout')}"
            choices.append(Choice("t", "this error", note, Rerun([], error)))
        kinds = plural(len(state.outcomes.errors), "kind") + " of error"
        if state.errors:
            choices.append(Choice("a", f"all {state.errored:,} errored", kinds, Rerun()))
        if self.is_resumable:
            missing = f"the {state.total - state.finished:,} missing"
            note = "and all that errored" if state.errors else "what has finished stays"
            choices.append(Choice("m", missing, note, self._request))
        return choices

    @property
    def _is_cut_off(self) -> bool:
        """Whether a run has ended before all of its rollouts had."""
        state = self._screen.state
        is_over = not self._screen.status.is_live and state.end is not None
        return is_over and state.finished < state.total

    @property
    def is_resumable(self) -> bool:
        """Whether an engine could resume a run that has ended, for its missing rollouts."""
        is_own = self._screen.noun != "suite" and not self._screen.state.is_foreign
        return is_own and self._is_cut_off

    @property
    def _request(self) -> dict[str, Any]:
        run = self._screen.state.run
        return {"env_id": None, "raw": {"resume": run.path if run is not None else ""}}

    def answered(self, answer: Rerun | dict[str, Any] | None) -> None:
        """Sends the answer to the engine at work, or requests one."""
        screen, errors = self._screen, self._screen.state.errors
        if isinstance(answer, dict):
            screen.post_message(screen.RunAgain(answer))
        elif answer is not None and screen.status.is_live:
            screen.feed.send(answer)
        elif answer is not None:
            rows = answer.rows or [row for row, why in errors.items() if answer.error in ("", why)]
            row = rows[0] if len(rows) == 1 else screen.rollouts.row
            screen.post_message(screen.RunAgain({**self._request, "again": sorted(rows)}, row))
