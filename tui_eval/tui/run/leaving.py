"""Leaving a run, at once or after a question, saving it before, and its prompts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.own_folders import typed_path
from tui_eval.tui.base.dialogs.prompts import Leave, Prompt, leave_question
from tui_eval.tui.base.keys.keymap import key_for
from tui_eval.tui.base.terminal.browser import in_browser, lies_in

if TYPE_CHECKING:
    from tui_eval.events import WritingMoved
    from tui_eval.tui.base.dialogs.question import Question
    from tui_eval.tui.run.screen import RunScreen


class Prompts:
    """The prompts of a screen; an open one changes with its subject.

    A prompt closes by an answer alone: one that closed by itself would leave the key of its
    answer to the screen below.
    """

    def __init__(self, screen: RunScreen) -> None:
        self._screen = screen
        self._question: Question | None = None

    def open(self, prompt: Callable[[], Prompt], answered: Callable[[Any], None]) -> None:
        """Shows the prompt that `prompt` makes now; `answered` gets the answer."""
        from tui_eval.tui.base.dialogs.question import Question

        self._question = Question(prompt)
        self._screen.app.push_screen(self._question, answered)

    @property
    def is_open(self) -> bool:
        """Whether a prompt waits for its answer."""
        return self._question is not None and self._question.is_active

    def update(self) -> None:
        """Shows the open prompt as things are now."""
        if self._question is not None and self._question.is_active:
            self._question.follow()


class QuitFlow:
    """Leaves a screen, after a question where an engine is at work."""

    def __init__(self, screen: RunScreen) -> None:
        self._screen = screen
        self._pending: Leave | None = None

    @property
    def waits_for_end(self) -> bool:
        """Whether the screen is left as soon as the engine has finished the run."""
        return self._pending is not None

    def update(self) -> None:
        """Updates the question; leaves where only the end was waited for."""
        self._screen.prompts.update()
        is_over = not self._screen.status.at_work
        if self._pending is not None and is_over and not self._screen.prompts.is_open:
            self._answered(self._pending)
            self._pending = None

    @property
    def word(self) -> str:
        """The footer word of leaving."""
        screen = self._screen
        if screen.over_home and (screen.joined or not screen.status.at_work):
            return "home"
        return "leave" if screen.status.at_work else "quit"

    @property
    def help_text(self) -> str:
        """The help text of leaving."""
        at_work = self._screen.status.at_work
        if self.word == "home":
            return "Back home; what runs continues" if at_work else "Back home"
        if at_work:
            return "Stop (resumable), detach, or stay"
        return "Quit" if self._ends[1] else "Quit; unsaved, it is kept 14 days"

    def action_leave(self) -> None:
        """Leaves at once where nothing is lost, asks otherwise."""
        if self._screen.over_home and self._screen.joined and self._screen.status.at_work:
            self._answered(Leave("detach"))
        else:
            self.confirm_leaving()

    def confirm_leaving(self) -> None:
        """Asks how to leave a running run; one that has ended is left at once."""
        screen = self._screen
        if self._ends[0]:
            screen.prompts.open(
                lambda: leave_question(*self._ends, screen.status.on_disk, screen.noun),
                self._answered,
            )
        else:
            self._answered(Leave("closed"))

    @property
    def _ends(self) -> tuple[bool, bool]:
        """Whether an engine stays at work after leaving, and whether the run is kept."""
        status = self._screen.status
        is_over = status.is_finishing and self._pending is None
        is_at_work = status.at_work and not is_over
        return is_at_work, status.is_saved or (self._screen.over_home and not is_at_work)

    def _answered(self, leave: Leave | None) -> None:
        """Leaves as answered; waits for a run that is about to finish."""
        if leave is not None and leave.action == "closed" and self._screen.status.at_work:
            self._pending = leave
            self._screen.say(f"The engine finishes the {self._screen.noun}…")
        elif leave is not None:
            self._screen.post_message(self._screen.Left(leave))


class Saving:
    """Flushes a run, or copies it somewhere else."""

    def __init__(self, screen: RunScreen) -> None:
        self._screen = screen
        self.refusal = ""
        """The disk's refusal; empty once the run continues, there or in another directory."""
        self.copied = False
        """Whether the ended run was copied: then leaving it needs no question."""

    def writing_moved(self, event: WritingMoved) -> None:
        """Says once that the disk refuses, and once that it takes writes again."""
        known, self.refusal = self.refusal, event.why
        if event.why and not known:
            why = f"{event.why.capitalize()} ({key_for('run.numbers')} says where)"
            elsewhere = f"or save it elsewhere: {key_for('run.save-as')}"
            self._screen.say(f"{why}. {event.advice}, {elsewhere}")
        elif known and not event.why:
            self._screen.say("The disk takes writes again: the run continues.")

    def action_save_now(self) -> None:
        """Has everything flushed to the disk."""
        if not self._screen.status.at_work:
            self._screen.say("All that there is of this run is on the disk already.")
            return
        from tui_eval.commands import Save

        self._screen.root.send(Save())

    def action_save_as(self) -> None:
        """Asks where to copy the run to, or where it continues while its disk refuses."""
        from tui_eval.commands import SaveAs
        from tui_eval.tui.base.dialogs.question import PathPrompt

        screen, run = self._screen, self._screen.state.run
        if run is None:
            screen.say("There is no run yet: there is nothing to save.")
            return
        source, feed, is_live = Path(run.path), screen.feed, screen.status.is_live
        moves = bool(self.refusal) and is_live
        if moves:
            title, does = "Save the run elsewhere", "continues there"
            about = "Puts all of the run there and continues there; what is on the old disk stays."
            offered = f"~/{source.parent.name}-{source.name}"
        else:
            title = "Save the run as" if run.saved else "Keep the run for good as"
            now, on = (" as it is now", "continues") if is_live else ("", "stays")
            where = ", on the server" if in_browser() else ""
            about, does = f"Copies the run{now}{where}; the original {on}.", "copies it there"
            name = source.stem if source.suffix else source.name
            offered = str(Path("outputs") / "evals" / source.parent.name / name)
            if run.saved and not source.suffix:
                offered = f"{run.path}-copy"

        def answered(path: str | None) -> None:
            if path is not None and moves:
                feed.send(SaveAs(str(typed_path(path).absolute())))
            elif path is not None:
                screen.run_worker(self._copy(source, typed_path(path)), group="copy")

        screen.app.push_screen(PathPrompt(title, offered, about, does), answered)

    async def _copy(self, source: Path, target: Path) -> None:
        from tui_eval.errors import RefusedError
        from tui_eval.runs.saved_run import find_run
        from tui_eval.runs.unsaved import copy_run

        is_over = not self._screen.status.is_live
        try:
            await asyncio.to_thread(lambda: copy_run(find_run(source), target))
        except RefusedError as error:
            self._screen.say(" · ".join(f"{fault.where}: {fault.what}" for fault in error.faults))
        else:
            self.copied = is_over
            now = "now" if is_over else "now, as far as it is"
            self._screen.say(f"The run is {lies_in(str(target))} {now}.")
