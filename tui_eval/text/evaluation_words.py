"""Words for the status of a suite's evaluations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from tui_eval.events import OUT_OF_BUDGET, STOPPED_EARLY
from tui_eval.fold.outcome_words import has_many_errors
from tui_eval.fold.suite_state import CUT_OFF
from tui_eval.printable import one_line
from tui_eval.text.figures import NONE, count_text, list_price_text, money_text, part_text, plural
from tui_eval.text.stages import Look

if TYPE_CHECKING:
    from tui_eval.fold.suite_state import EvaluationState, SuiteState

NOT_BEGUN = Look("·", "not begun", "faint")
PAUSED = Look("‖", "paused", "warn")
STOPPED = Look("■", "stopped", "warn")
LOOKS = {
    "waiting": Look("·", "waiting", "faint"),
    "running": Look("▶", "running", "busy"),
    "finished": Look("✓", "finished", "good"),
    "interrupted": STOPPED,
    STOPPED_EARLY: Look("✓", "early", "good"),
    OUT_OF_BUDGET: Look("■", "budget", "warn"),
    CUT_OFF: Look("■", "cut off", "warn"),
    "failed": Look("✗", "failed", "bad"),
    "refused": Look("✗", "refused", "bad"),
}
WORD = max(len(look.word) for look in (*LOOKS.values(), NOT_BEGUN))


def errors_look(errored: int, finished: int) -> Look | None:
    """Look of an evaluation that finished with too many errors; None for others."""
    if not has_many_errors(errored, finished):
        return None
    return Look("✗", "errored", "bad") if errored == finished else Look("!", "errored", "warn")


def look_of(one: EvaluationState, suite: SuiteState) -> Look:
    """Its glyph, word and ink; stopped where the suite was ended meanwhile."""
    status = one.last.status
    if suite.end is not None and not one.is_over:
        if status == "waiting" and not one.last.finished:
            return NOT_BEGUN
        return LOOKS[CUT_OFF] if suite.end.status == "failed" else STOPPED
    if status == "running" and not suite.gate_open:
        return PAUSED
    if status == "finished" and (look := errors_look(one.last.errored, one.last.finished)):
        return look
    return LOOKS.get(status, Look("·", one_line(status, WORD), "muted"))


def unfinished_word(status: str) -> str:
    """The word for a run that has not finished, or ended before its last rollout; else empty."""
    return LOOKS[status].word if status in LOOKS and status != "finished" else ""


def name_of(suite: SuiteState, most: int) -> str:
    """Name of the suite, which is its file's."""
    path = suite.started.path if suite.started is not None else ""
    return one_line(PurePath(path).name, most) or "suite"


def title_of(one: EvaluationState, most: int) -> str:
    """Name of an evaluation."""
    return one_line(one.listed.title or one.listed.env_id, most)


def varied(one: EvaluationState, suite: SuiteState) -> dict[str, str]:
    """Differences of an evaluation from the others, with its model where models differ."""
    varies = {name.removeprefix("env_args."): text for name, text in one.listed.varies.items()}
    if suite.several_models and "model" not in varies:
        return {"model": one.listed.model, **varies}
    return varies


def names_that_vary(suite: SuiteState) -> list[str]:
    """Names of the settings that vary, those of the first evaluations first."""
    return list(dict.fromkeys(name for one in suite.evaluations for name in varied(one, suite)))


def variation_of(one: EvaluationState, suite: SuiteState, most: int) -> str:
    """Differences of an evaluation from the others, as text."""
    reported = (
        value if name == "model" else f"{name}={value}"
        for name, value in varied(one, suite).items()
    )
    return one_line(", ".join(reported), most)


def values_of(one: EvaluationState, suite: SuiteState, names: Sequence[str], most: int) -> str:
    """The same without names: a value for each of `names`, up to the last that is set."""
    reported = varied(one, suite)
    values = [reported.get(name, NONE) for name in names]
    while values and values[-1] == NONE:
        values.pop()
    return one_line(", ".join(values), most)


def tally(suite: SuiteState, short: bool = False) -> tuple[tuple[str, str], ...]:
    """Numbers of its evaluations that finished, and that ended otherwise."""
    done, others = _ends(suite)
    of = f"{len(suite.evaluations):,}" if short else plural(len(suite.evaluations), "evaluation")
    rest = [span for text, ink in others for span in ((" · ", "faint"), (text, ink))]
    return ((f"{done:,}/{of} done", "strong"), *rest)


def _ends(suite: SuiteState) -> tuple[int, list[tuple[str, str]]]:
    """Number of finished evaluations, and of each other end."""
    ends = Counter(look_of(one, suite) for one in suite.evaluations if one.is_over)
    done = ends.pop(LOOKS["finished"], 0)
    return done, [(f"{count:,} {look.word}", look.ink) for look, count in ends.items()]


def done_text(one: EvaluationState) -> str:
    """Its finished rollouts of all; of a refused evaluation none are to finish."""
    if one.last.status == "refused":
        return NONE
    return part_text(one.last.finished, one.total) if one.total else ""


def tokens_of(one: EvaluationState) -> int:
    """Tokens that were used for it."""
    return one.last.input_tokens + one.last.output_tokens


def spent(suite: SuiteState) -> list[str]:
    """Tokens and cost of all evaluations; at least so much where not every price is known."""
    used = [one for one in suite.evaluations if tokens_of(one)]
    tokens = f"{count_text(sum(map(tokens_of, used)))} tokens"
    known = [one.last.cost for one in used if one.last.cost is not None]
    if not known:
        return [tokens]
    least = "≥ " if len(known) < len(used) else ""
    listed = next((one.last.list_price for one in used if one.last.list_price), "")
    return [tokens, f"{least}{money_text(sum(known))}{list_price_text(listed)}"]


def rollouts_on_disk(suite: SuiteState) -> str:
    """A sentence on the suite's progress."""
    done, others = _ends(suite)
    over = f"{done:,} of {plural(len(suite.evaluations), 'evaluation')} done"
    ends = ", ".join([over, *(text for text, _ in others)])
    saved = sum(one.last.finished for one in suite.evaluations)
    return f"{ends}; {saved:,} of {suite.rollouts:,} rollouts on disk."
