"""Two lines on what is selected on the home screen, and what can be done with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_eval.printable import one_line
from tui_eval.tui.commands.keymap import key_for
from tui_eval.tui.home.found_runs import OURS, asked_text, can_resume
from tui_eval.tui.home.near import NearEndpoint, NearEnvironment
from tui_eval.tui.look.figures import plural
from tui_eval.tui.look.ink import EMPTY, Line
from tui_eval.tui.widgets.line_view import LineView
from tui_eval.tui.widgets.near_list import ASKING, host_of

if TYPE_CHECKING:
    from tui_eval.runs.discovery import FoundRun

MOST = 400
ASKED_MOST = 60
"""Cells for what was asked for: it stands before the path, which may be cut off."""


class About(LineView, can_focus=False):
    """Shows `lines`."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.lines: tuple[Line, Line] = (EMPTY, EMPTY)

    def show(self, lines: tuple[Line, Line]) -> None:
        """Shows these."""
        self.lines = lines
        self.update()

    def count(self) -> int:
        """Two lines."""
        return 2

    def line(self, index: int) -> Line:
        """A line."""
        return self.lines[index]


def about_run(one: FoundRun, marked: int) -> tuple[Line, Line]:
    """Where a run is, who wrote it, and what a key does with it.

    Args:
        marked: Runs that are marked.
    """
    facts = [(f"{one_line(str(one.run.place), MOST)}", "muted")]
    if asked := asked_text(one):
        facts.insert(0, (f"{one_line(asked, ASKED_MOST)}  ·  ", ""))
    if one.format != OURS:
        facts.append((f"  ·  written by {one_line(one.format, 40)}", "faint"))
    if one.n is not None:
        facts.append((f"  ·  n = {one.n:,}", "faint"))
    if one.errored:
        facts.append((f"  ·  {one.errored:,} errored", "bad"))
    if one.running and one.pid:
        facts.append((f"  ·  process {one.pid}", "faint"))
    compare, mark = key_for("home.compare"), key_for("runs.mark")
    enter, leave = key_for("runs.open"), key_for("run.leave")
    if marked == 1:
        told = f"A is marked: on another run {compare} compares the two, {mark} marks it as well"
        return tuple(facts), ((told, "warn"),)
    if marked:
        return tuple(facts), ((f"{plural(marked, 'run')} marked: {compare} compares them", "warn"),)
    if one.running:
        stop = key_for("app.interrupt")
        what = f"{enter} attaches; {leave} returns here, the run goes on; {stop} asks to stop it"
        return tuple(facts), ((what, "faint"),)
    words = [f"{enter} opens it"]
    if not can_resume(one):
        words.append(f"{key_for('home.resume')} goes on with what is missing")
    if not one.saved:
        keep = key_for("home.keep")
        words.append(
            f"{keep} keeps it for good: unsaved runs go two weeks after their last rollout"
        )
    return tuple(facts), ((", ".join(words), "faint"),)


def about_environment(one: NearEnvironment, can_configure: bool) -> tuple[Line, Line]:
    """Where an environment is, what it says of itself, and how it is run."""
    where = one.path or f"an {one.origin}"
    enter = key_for("near.choose")
    command = f"tui-eval {one_line(one.env_id, 80)} -m MODEL"
    start: Line = ((f"{enter} puts an evaluation of it together, or ", "faint"),)
    summary = ((f"  ·  {one_line(one.summary, MOST)}", "faint"),) if one.summary else ()
    return ((one_line(where, MOST), "muted"), *summary), (
        *(start if can_configure else (("run it: ", "faint"),)),
        (command, "muted"),
    )


def about_endpoint(one: NearEndpoint, answer: str | None) -> tuple[Line, Line]:
    """What an endpoint serves and where, and what is missing.

    Args:
        answer: See `EndpointList.answers`.
    """
    where = f" at {host_of(one.url)}" if one.url else ", on this machine"
    first: Line = ((one_line(one.model, 80), "muted"), (f"{where} · {one.source}", "faint"))
    if not one.has_key:
        return first, (
            ("its key is not set: ", "warn"),
            (f"export {one_line(one.key_var, 60)}=…  or a line in .env", "muted"),
        )
    if answer and answer != ASKING:
        return first, ((f"✗ {one_line(answer, MOST)}", "fault"),)
    enter = key_for("near.choose")
    words = f"{enter} checks whether anything answers; nothing else is sent" if one.url else ""
    return first, ((words, "faint"),)
