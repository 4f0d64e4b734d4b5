"""What people ask of a run from its screen: one rollout, the errored ones, the limit, its files."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual.message import Message

from tui_eval.fold.rollout_columns import DONE
from tui_eval.text.figures import plural
from tui_eval.text.stages import rollout_name
from tui_eval.tui.base.dialogs.leave_question import STAY, Asked, Choice
from tui_eval.tui.base.keys.keymap import key_for
from tui_eval.tui.base.look.paths import typed_path
from tui_eval.tui.base.terminal.browser import in_browser, lies_in
from tui_eval.tui.run.annotating import AnnotatingScreen
from tui_eval.tui.run.header import Header
from tui_eval.tui.run.limit_steps import next_limit
from tui_eval.tui.run.numbers.metrics_panel import MetricsPanel
from tui_eval.tui.run.titles import STILL_LOADING

if TYPE_CHECKING:
    from tui_eval import events as ev
    from tui_eval.commands import Rerun
    from tui_eval.feeds.feed import Feed

MISSING = "missing"
"""Answers that a run is to go on with what it lacks."""
BACK = STAY._replace(label="back")


def at_most(limit: int) -> str:
    """What a limit means; 0 is none."""
    return f"At most {plural(limit, 'rollout') if limit else '∞ rollouts'} at a time"


class SteeringScreen(AnnotatingScreen):
    """A screen that sends commands to the run's own feed, and to `root` what concerns all runs.

    A run that nobody works on is handed to an engine where rollouts are to run again.
    """

    root: Feed
    header: Header
    numbers: MetricsPanel
    noun: ClassVar[str]
    copied = False
    """Whether somebody has copied the run as it ended: then leaving it does not ask."""

    class RunAgain(Message):
        """Rollouts of a run that nobody works on are to run again, or those of a suite.

        Args:
            request: For an engine: see `config.plan.Request`.
            row: The rollout to select; -1 for one that runs.
        """

        def __init__(self, request: dict[str, Any], row: int = -1) -> None:
            super().__init__()
            self.request = request
            self.row = row

    @property
    def goes_on(self) -> bool:
        """Whether an engine is at work on the run that is shown."""
        return self.feed.live and self.state.end is None

    @property
    def at_work(self) -> bool:
        """Whether an engine is at work that the root's commands would reach."""
        return self.goes_on

    def take(self, event: ev.Event) -> None:
        """Says what became of a command."""
        kind, told = type(event).__name__, cast(Any, event)  # its class is loaded later than this
        if kind == "CommandAnswered":
            self._say(told.text)
        elif kind == "LimitMoved":
            self.header.asked_limit = None
            self._say(at_most(told.max_concurrent))
        elif kind == "Noticed" and not self.feed.live:
            self._say(told.text)
        elif kind == "RunFinished" and told.status == "failed":
            why = f"; {key_for('run.numbers')} says why" if self.noun == "run" else ""
            on = f"{key_for('run.rerun')} goes on with it"
            self._say(f"The {self.noun} failed{why}. What finished is on disk, and {on}.")

    def _why_not(self, to: str) -> str:
        """Why the engine cannot be asked for something; empty where it can."""
        if self.goes_on:
            return ""
        if self.state.run is None:
            return f"There is no run yet: there is nothing to {to}."
        if self.state.end is None:
            return "Another process writes this run: it can only be read."
        return f"The run has ended: there is nothing to {to}."

    # -- one rollout

    def action_cancel_rollout(self) -> None:
        """Asks whether to end the selected rollout."""
        row = self.rollouts.row
        if why := self._why_no_cancel(row):
            self._say(why)
            return

        feed = self.feed

        def answered(answer: bool | None) -> None:
            if answer:
                from tui_eval.commands import Cancel

                feed.send(Cancel(row))

        self.ask(partial(self._cancel_asked, row), answered)

    def _why_no_cancel(self, row: int) -> str:
        state = self.state
        if not (why := self._why_not("cancel")) and row < state.total and state.stage[row] >= DONE:
            return "This rollout has finished: there is nothing to cancel."
        return why

    def _cancel_asked(self, row: int) -> Asked:
        title = f"Cancel {rollout_name(self.state, row)}?"
        if why := self._why_no_cancel(row):
            return Asked(title, [why], [BACK])
        later = f"{key_for('run.rerun')} runs it again later"
        yes = Choice("y", "yes, cancel it", later, True)
        text = ["The others go on. Its row will say that it was cancelled."]
        return Asked(title, text, [yes, STAY._replace(label="keep it running")])

    # -- errored ones

    def action_rerun(self) -> None:
        """Asks which errored rollouts are to run again."""
        if why := self._why_no_rerun():
            self._say(why)
        else:
            self.ask(partial(self._rerun_asked, self.rollouts.row), self._rerun)

    def _why_no_rerun(self) -> str:
        state = self.state
        if state.is_loading and not state.errors:
            return STILL_LOADING
        if state.run is None or not (state.errors or self._is_cut_off):
            return "No rollout has errored: there is nothing to run again."
        if not self.goes_on and state.end is None:
            return "Another process writes this run: it can only be read."
        if state.is_foreign:
            return f"This is a run of {state.run.format}: only runs of tui-eval can go on."
        return ""

    def _rerun_asked(self, row: int) -> Asked:
        title = "Run again?" if self.state.errors else "Go on with the run?"
        if why := self._why_no_rerun():
            return Asked(title, [why], [BACK])
        text = "The run goes on."
        if self.state.errors:
            text = "What is chosen runs again; old rows stay in superseded.jsonl."
        return Asked(title, [text], [*self._rerun_choices(row), BACK])

    def _rerun_choices(self, row: int) -> list[Choice]:
        """The rollout that was selected, the error in question, all errors."""
        from tui_eval.commands import Rerun

        state = self.state
        choices = []
        error = state.errors.get(row, "")
        target = self.numbers.cursor
        if self.focused is self.numbers and target is not None and target[0] == "error":
            error = str(target[1])
        elif error:
            name = rollout_name(state, row)
            choices.append(Choice("o", "only this one", name, Rerun([row])))
        count = state.outcomes.errors[error] if error else 0
        if 0 < count < state.errored:
            last = error.split(" -> ")[-1]
            many = "rollout" if count == 1 else "rollouts"
            note = f"{last}, {count:,} {many}"
            choices.append(Choice("t", "this error", note, Rerun([], error)))
        kinds = plural(len(state.outcomes.errors), "kind") + " of error"
        if state.errors:
            choices.append(Choice("a", f"all {state.errored:,} errored", kinds, Rerun()))
        if self._is_resumable:
            missing = f"the {state.total - state.finished:,} missing"
            note = "and all that errored" if state.errors else "what has finished stays"
            choices.append(Choice("m", missing, note, MISSING))
        return choices

    @property
    def _is_cut_off(self) -> bool:
        """Whether a run has ended before all of its rollouts had."""
        return (
            not self.goes_on
            and self.state.end is not None
            and self.state.finished < self.state.total
        )

    @property
    def _is_resumable(self) -> bool:
        """Whether an engine could go on with what a run that has ended is missing."""
        return self._is_cut_off and self.noun != "suite" and not self.state.is_foreign

    def _rerun(self, command: Rerun | str | None) -> None:
        if command is None:
            return
        state = self.state
        path = state.run.path if state.run is not None else ""
        if isinstance(command, str):
            asked = {"env_id": None, "raw": {"resume": path}}
            self.post_message(self.RunAgain(asked))
            return
        if self.goes_on:
            self.feed.send(command)
            return
        rows = command.rows or [
            row for row, error in state.errors.items() if command.error in ("", error)
        ]
        request = {"env_id": None, "raw": {"resume": path}, "again": sorted(rows)}
        row = rows[0] if len(rows) == 1 else self.rollouts.row
        self.post_message(self.RunAgain(request, row))

    # -- the limit

    @property
    def limit(self) -> int | None:
        """Rollouts in flight at most, of all that the root works on; 0 for no limit.

        None where nobody has told it yet.
        """
        return self.state.run.max_concurrent if self.state.run is not None else None

    def action_limit(self, by: int) -> None:
        """Raises or lowers how many rollouts are in flight at most."""
        from tui_eval.commands import MoveLimit

        if not self.at_work:
            self._say(self._why_not("limit") or "No engine is at work on this.")
            return
        asked = self.header.asked_limit
        now = self.limit if asked is None else asked
        if now is None:
            self._say(STILL_LOADING)
            return
        if not now and by > 0:
            self._say("There is no limit that could be raised.")
            return
        wanted = next_limit(now or max(self.state.running, 1) + 1, by)
        if wanted == now:
            pauses = f"{key_for('run.pause')} pauses the {self.noun}"
            self._say(f"One rollout at a time is the least; {pauses}.")
            return
        self.header.asked_limit = wanted
        self.root.send(MoveLimit(wanted))
        self._say(at_most(wanted))
        self.header.update()

    # -- files

    def action_save_now(self) -> None:
        """Has everything flushed to the disk."""
        if not self.at_work:
            self._say("All that there is of this run is on the disk already.")
            return
        from tui_eval.commands import SaveNow

        self.root.send(SaveNow())

    def action_save_as(self) -> None:
        """Asks where to copy the run to."""
        from tui_eval.tui.base.dialogs.path_prompt import PathPrompt

        run = self.state.run
        if run is None:
            self._say("There is no run yet: there is nothing to save.")
            return
        source = Path(run.path)
        name = source.stem if source.suffix else source.name
        now, on = (" as it is now", "goes on") if self.goes_on else ("", "stays")
        where = ", on the server" if in_browser() else ""
        about = f"Copies the run{now}{where}; the original {on}."
        offered = str(Path("outputs") / "evals" / source.parent.name / name)
        if run.saved and not source.suffix:
            offered = f"{run.path}-copy"

        def answered(path: str | None) -> None:
            if path is not None:
                self.run_worker(self._copy(source, typed_path(path)), group="copy")

        title = "Save the run as" if run.saved else "Keep the run for good as"
        self.app.push_screen(PathPrompt(title, offered, about, "copies it there"), answered)

    async def _copy(self, source: Path, target: Path) -> None:
        from tui_eval.errors import RefusedError
        from tui_eval.runs.copying import copy_run
        from tui_eval.runs.opening import find_run

        is_over = not self.goes_on
        try:
            await asyncio.to_thread(lambda: copy_run(find_run(source), target))
        except RefusedError as error:
            self._say(" · ".join(f"{fault.where}: {fault.what}" for fault in error.faults))
        else:
            self.copied = is_over
            now = "now" if is_over else "now, as far as it is"
            self._say(f"The run is {lies_in(str(target))} {now}.")
