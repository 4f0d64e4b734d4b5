"""The lines around the panes of home: the title, and two on the selected item."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len

from tui_eval.fold.outcome_words import classes_text
from tui_eval.printable import one_line
from tui_eval.text.figures import interval_text, is_even, plural, reward_text
from tui_eval.text.stages import TOOL_FAILED
from tui_eval.tui.base.keys.keymap import key_for
from tui_eval.tui.base.look.ink import EMPTY, Line, Span, cut_start, letter_ink, line_width, spread
from tui_eval.tui.home.backend import EndpointInfo, EnvironmentInfo
from tui_eval.tui.home.pick_lists import CHECKING, host_of
from tui_eval.tui.home.run_lines import OURS, can_resume, request_text

if TYPE_CHECKING:
    from tui_eval.runs.discovery import FoundRun
    from tui_eval.tui.home.run_list import RunList

NAME = "tui-eval"
MOST = 400
REQUEST_MOST = 60
"""The most cells of the request, which is before the path."""
PATH_LEAST = 16
APART = "  ·  "


def title_line(runs: RunList, folder: str, width: int) -> Line:
    """The title: the folder, and the number of runs."""
    running = sum(one.running for one in runs.all)
    state: list[Span] = [(f"▶ {running:,} running   ", "busy")] if running else []
    if runs.is_loaded:
        state.append((plural(len(runs.all), "run"), "muted"))
    room = max(width - line_width(state) - len(NAME) - 4, 8)
    shown = cut_start(one_line(folder, 4000), room)
    return spread(((NAME, "role"), (f"  {shown}", "faint")), tuple(state), width)


def _run_line(one: FoundRun, width: int) -> Line:
    """A run's numbers, its path, and as many other details as fit whole."""
    parts: list[Span] = []
    if one.n is not None:
        is_known = not is_even(one.reward, one.low, one.high)
        interval = f", 95 % {interval_text(one.low, one.high)}" if is_known else ""
        parts.append((f"{one.n:,} with a reward{interval}", ""))
    if one.stopped_early:
        parts.append((f"stopped early: {one_line(one.stopped_early, REQUEST_MOST)}", ""))
    if one.errored:
        if (zeros := one.reward_with_errors) is not None:
            parts.append((f"{reward_text(zeros)} with errors as 0", ""))
        kinds = f": {classes_text(one.classes)}" if one.classes else ""
        parts.append((f"✗ {one.errored:,} errored{kinds}", "bad"))
    if one.failed_tools:
        parts.append((f"{TOOL_FAILED} {one.failed_tools:,} with failed tools", "warn"))
    if one.interval_name:
        parts.append((one_line(one.interval_name, REQUEST_MOST), "muted"))
    if requested := request_text(one):
        parts.append((one_line(requested, REQUEST_MOST), ""))
    while len(parts) > 1 and line_width(parts) + len(APART) * len(parts) + PATH_LEAST > width:
        parts.pop()
    room = width - line_width(parts) - len(APART) * len(parts)
    parts.append((cut_start(one_line(str(one.run.place), MOST), room), "muted"))
    others = [f"written by {one_line(one.format, 40)}"] if one.format != OURS else []
    others += [f"process {one.pid}"] if one.running and one.pid else []
    for other in others:
        if line_width(parts) + len(APART) * len(parts) + cell_len(other) <= width:
            parts.append((other, "faint"))
    spans = [span for part in parts for span in ((APART, "faint"), part)]
    return tuple(spans[1:])


def key_hints(*hints: tuple[str, str], between: str = ", ") -> Line:
    """Keys and their effects."""
    spans = (((between, "faint"), (key, "key"), (f" {does}", "faint")) for key, does in hints)
    return tuple(span for one in spans for span in one)[1:]


def about_run(one: FoundRun, marked: int, width: int) -> tuple[Line, Line]:
    """Two lines on a run: its numbers and its path; its keys.

    Args:
        marked: The number of marked runs.
        width: Cells of a line.
    """
    parts = _run_line(one, width)
    compare, mark = key_for("home.compare"), key_for("runs.mark")
    enter, leave = key_for("runs.open"), key_for("run.leave")
    if marked == 1:
        hints = ((" is marked: on another run ", ""), (compare, "key"), (" compares the two, ", ""))
        return parts, (("A", letter_ink("A")), *hints, (mark, "key"), (" marks it as well", ""))
    if marked:
        count = plural(marked, "run")
        hints = ((f"{count} marked: ", ""), (compare, "key"), (" compares them", ""))
        return parts, (*hints, (", ", ""), (key_for("home.back"), "key"), (" unmarks", ""))
    if one.running:
        stop = key_for("app.interrupt")
        there = key_hints((leave, "leads back, the run continues"), (stop, "asks to stop it"))
        return parts, (*key_hints((enter, "attaches")), ("; there ", "faint"), *there)
    keys = [(enter, "opens it")]
    if not can_resume(one):
        keys.append((key_for("home.resume"), "resumes what is missing"))
    if not one.saved:
        why = "keeps it for good: unsaved runs go two weeks after their last rollout"
        keys.append((key_for("home.keep"), why))
    return parts, key_hints(*keys)


def about_environment(one: EnvironmentInfo) -> tuple[Line, Line]:
    """Two lines on an environment: its path and summary; how it is run."""
    where = one.path or f"an {one.origin}"
    enter = key_for("picks.choose")
    command = f"tui-eval {one_line(one.env_id, 80)} -m MODEL"
    start = key_hints((enter, "puts an evaluation of it together, or "))
    summary = ((f"  ·  {one_line(one.summary, MOST)}", "faint"),) if one.summary else ()
    return ((one_line(where, MOST), "muted"), *summary), (*start, (command, "muted"))


def about_endpoint(one: EndpointInfo, answer: str | None) -> tuple[Line, Line]:
    """Two lines on an endpoint: its model and URL; what is missing.

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
    if answer and answer != CHECKING:
        return first, ((f"✗ {one_line(answer, MOST)}", "fault"),)
    enter = key_for("picks.choose")
    checks = key_hints((enter, "checks whether anything answers; nothing else is sent"))
    return first, checks if one.url else EMPTY
