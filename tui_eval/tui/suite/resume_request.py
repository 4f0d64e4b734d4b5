"""Going on with a suite that nobody works on: what errored and what is missing, of all at once."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from tui_eval.events import OUT_OF_BUDGET
from tui_eval.text.figures import plural
from tui_eval.tui.base.dialogs.prompts import STAY, Choice, Prompt
from tui_eval.tui.base.keys.keymap import key_for
from tui_eval.tui.run.pane_words import STILL_LOADING

if TYPE_CHECKING:
    from tui_eval.fold.suite_state import SuiteState

ALL = "all"
"""The answer that the suite is to go on."""
NOT_YET = "When all of the suite is over, what errored here can run again."
NOTHING = "All of it has finished without an error: there is nothing to run again."


def errored(suite: SuiteState) -> int:
    """Rollouts that errored, of all evaluations."""
    return sum(one.last.errored for one in suite.evaluations)


def is_whole(suite: SuiteState) -> bool:
    """Whether all of its evaluations finished, and no rollout errored."""
    return not errored(suite) and all(
        one.last.status == "finished" and one.last.finished >= one.total
        for one in suite.evaluations
    )


def why_not(suite: SuiteState) -> str:
    """Why nobody can go on with a suite here that is not at work; empty where one can."""
    if suite.started is None or suite.end is None:
        return STILL_LOADING
    if is_whole(suite):
        return NOTHING
    name = os.path.relpath(suite.started.path)
    command = f"tui-eval run {name} --resume"
    if suite.end.status == OUT_OF_BUDGET:
        return f"Its budget is spent. To resume without one: {command}"
    if suite.started.is_edited:
        return f"Its settings were changed in a form. Save them as {name}, then: {command}"
    if request_of(suite) is None:
        return f"A secret setting of it is not kept. Type it again behind: {command}"
    return ""


def prompt_of(suite: SuiteState) -> Prompt:
    """The question whether it is to go on."""
    title = "Run again?" if errored(suite) else "Resume the suite?"
    if why := why_not(suite):
        return Prompt(title, [why], [STAY._replace(label="back")])
    missing = max(suite.rollouts - sum(one.last.finished for one in suite.evaluations), 0)
    refused = sum(one.last.status == "refused" for one in suite.evaluations)
    counts = {"errored": errored(suite), "missing": missing, "refused": refused}
    note = ", ".join(f"{count:,} {word}" for word, count in counts.items() if count)
    count = len(suite.evaluations)
    each = "Both evaluations" if count == 2 else f"All {plural(count, 'evaluation')}"
    text = [f"{each} resume the runs they have."]
    if suite.started is not None and suite.started.budgets:
        flags = " and ".join(suite.started.budgets)
        text.append(f"They do without {flags}, which held for one command.")
    if errored(suite):
        text.append("Old rows of what errored stay in superseded.jsonl.")
    copies = f"{key_for('run.copy')} copies its path"
    text.append(f"One of them alone: tui-eval open PATH; {copies}.")
    all_of_it = Choice("g", "resume all", note or "what has not finished", ALL)
    return Prompt(title, text, [all_of_it, STAY._replace(label="back")])


def request_of(suite: SuiteState) -> dict[str, Any] | None:
    """What an engine is asked for; None where that takes something that is kept nowhere."""
    from tui_eval.config.command_line import parse_resume_words
    from tui_eval.config.options import NEWEST

    assert suite.started is not None, "a suite that was not told cannot go on"
    raw = parse_resume_words(suite.started.words)
    if raw is None:
        return None
    runs = [one.last.path for one in suite.evaluations]
    return {"env_id": suite.started.path, "raw": {**raw, "resume": NEWEST}, "runs": runs}
