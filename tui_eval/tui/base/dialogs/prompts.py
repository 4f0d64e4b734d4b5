"""Questions with a few answers, above all the one of leaving."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple


class Leave(NamedTuple):
    """The decision how to leave.

    Args:
        action: `closed`, the run is over or was refused; `stop`, it was stopped; `detach`,
            it continues without this screen.
        save: Whether an unsaved run is to be kept.
    """

    action: Literal["closed", "stop", "detach"]
    save: bool = False


class Choice(NamedTuple):
    """One answer to a question: key, name, consequence, result."""

    key: str
    label: str
    note: str
    answer: Any


class Prompt(NamedTuple):
    """A question: its title, lines of text, and the answers to choose from."""

    title: str
    text: Sequence[str]
    choices: Sequence[Choice]


STAY = Choice("escape", "stay", "", None)


def leave_question(is_at_work: bool, saved: bool, on_disk: str, noun: str) -> Prompt:
    """The question before a run or a suite is left.

    Args:
        is_at_work: Whether an engine is at work on the run.
        saved: False for a run that lives in the state directory until it is saved.
        on_disk: A sentence on what has finished.
        noun: `run`, or `suite` for several of them.
    """
    if is_at_work:
        stops = [Choice("s", "stop", "resumable; what finished is kept", Leave("stop"))]
        if not saved:
            stops = [
                Choice("s", "stop and save", "resumable; kept for good", Leave("stop", save=True)),
                Choice("u", "stop, unsaved", "resumable; deleted after 14 days", Leave("stop")),
            ]
        detach = Choice("d", "detach", "it continues without this screen", Leave("detach"))
        return Prompt("Leave while it runs?", [on_disk], [*stops, detach, STAY])
    if saved:
        leave = Choice("l", "leave", "", Leave("closed"))
        return Prompt(f"The {noun} has ended", [on_disk], [leave, STAY])
    whose, runs = ("Their", "these runs") if noun == "suite" else ("Its", "this run")
    why = f"{whose} rollouts are on disk, but not among your outputs."
    yes = Choice("y", "yes, save it", "kept for good", Leave("closed", save=True))
    no = Choice("n", "no", "deleted after 14 days", Leave("closed"))
    return Prompt(f"Save {runs}?", [why], [yes, no, STAY])
