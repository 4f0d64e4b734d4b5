"""A found run, in words and as a line of columns that fit a width."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tui_eval.events import STOPPED_EARLY
from tui_eval.printable import one_line
from tui_eval.text.evaluation_words import LOOKS, errors_look
from tui_eval.text.figures import (
    count_text,
    half_text,
    interval_text,
    part_text,
    reward_text,
    when_text,
)
from tui_eval.text.stages import TOOL_FAILED, Look
from tui_eval.tui.base.keys.keymap import key_for
from tui_eval.tui.base.look.ink import EMPTY, Line, Span, left, letter_ink, line_width, right

if TYPE_CHECKING:
    from tui_eval.runs.discovery import FoundRun

RUNNING, EARLY = LOOKS["running"], LOOKS[STOPPED_EARLY]
INCOMPLETE = Look("■", "incomplete", "warn")
COMPLETE = Look("✓", "complete", "good")
NOTHING = Look("·", "no rollouts", "muted")
OURS = "tui-eval"
"""The format of runs that our engine wrote."""
SORTS: dict[str, Callable[[FoundRun], Any]] = {
    "date": lambda one: -one.date,
    "environment": lambda one: (one.env_id.lower(), -one.date),
    "model": lambda one: (one.model.lower(), -one.date),
    "reward": lambda one: (one.reward is None, -(one.reward or 0.0)),
}


def look_of(one: FoundRun) -> Look:
    """Its glyph, word and ink."""
    if one.running:
        return RUNNING
    if not (one.complete or one.stopped_early):
        return INCOMPLETE
    if look := errors_look(one.errored, one.done or 0):
        return look
    if one.stopped_early:
        return EARLY
    return NOTHING if one.done == 0 else COMPLETE


def status_text(one: FoundRun) -> str:
    """The status of a run in words; with its progress where it has not ended well."""
    look = look_of(one)
    if one.done is None or look not in (RUNNING, INCOMPLETE, EARLY):
        return look.word
    return f"{look.word} {part_text(one.done, one.total)}"


def errors_text(one: FoundRun) -> str:
    """The number of its errored rollouts; empty for none."""
    return f"✗ {count_text(one.errored)}" if one.errored else ""


def state_text(one: FoundRun) -> str:
    """The status of a run in words, and its errors."""
    return "  ".join(text for text in (status_text(one), errors_text(one)) if text)


def can_resume(one: FoundRun) -> str:
    """The reason why a run cannot be resumed from here; empty where it can."""
    if one.running:
        return f"It is running: {key_for('runs.open')} attaches to it."
    if one.format != OURS:
        return "Another program wrote it: only that one can resume it."
    if one.complete and (one.n is None or one.done is None or one.n >= one.done):
        return "It is complete: there is nothing to resume."
    return ""


def matches(one: FoundRun, words: list[str]) -> bool:
    """Whether it has all of some words, and none of those behind a `!`."""
    saved = "saved" if one.saved else "unsaved"
    state = state_text(one)
    texts = (one.env_id, one.model, state, saved, one.format, str(one.run.place), request_text(one))
    text = " ".join(texts).lower()
    return all(
        word[1:] not in text if word.startswith("!") and word != "!" else word in text
        for word in words
    )


def request_text(one: FoundRun) -> str:
    """The request beside environment and model: `prompt=short, temperature=0.2`."""
    if not one.given:
        return ""
    from tui_eval.config.secret_values import masked

    return ", ".join(
        f"{name}={value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in masked(dict(one.given)).items()
    )


def name_of(one: FoundRun) -> str:
    """The name of a run in a sentence."""
    return one_line(one.env_id, 40) or one_line(one.run.place.name, 40)


NAME_MOST = 60
LEAST_ENV, LEAST_MODEL = len("environment"), len("model")
NUMBERS_LEAVE = 28
"""Cells of names that have priority over interval and n; whole names have it over the rest."""
REWARD, HALF, INTERVAL, N = 7, 7, 15, 6
SHORT_DATE, LONG_DATE = 10, 14
SHORT_STATE = 19
UNSAVED = "  unsaved"


class Columns(NamedTuple):
    """The widths of names, and which optional columns are shown."""

    env: int
    model: int
    interval: bool
    n: bool
    long_date: bool
    long_state: bool
    unsaved: bool

    def dated(self, text: str) -> str:
        """A date in its column; the half of an interval before it has a space behind itself."""
        gap, width = "  " if self.interval else " ", LONG_DATE if self.long_date else SHORT_DATE
        return gap + left(text, width - 2)


_OWNER = re.compile(r"^[\w.-]+/(?=\w)")


def _named(name: str, room: int) -> str:
    """A name, without its owner where there is no room for both."""
    whole = one_line(name, NAME_MOST)
    return whole if len(whole) <= room else _OWNER.sub("", whole)


def _widest(names: Iterable[str]) -> tuple[int, int]:
    """Cells of the longest of some names, and of the longest without its owner."""
    whole = [one_line(name, NAME_MOST) for name in names]
    return max(map(len, whole), default=0), max((len(_named(name, 0)) for name in whole), default=0)


def _asides(one: FoundRun) -> Iterator[tuple[tuple[str, ...], str]]:
    """Further faults of a run, each in forms of which the first that fits is shown."""
    if one.failed_tools:
        count = count_text(one.failed_tools)
        yield (f"  {TOOL_FAILED} {count}", f" {TOOL_FAILED}{count}"), "warn"
    if (zeros := one.reward_with_errors) is not None:
        yield (f"  {reward_text(zeros)} with ✗ as 0",), "muted"


def fit(runs: Sequence[FoundRun], width: int) -> Columns:
    """Fits the columns: names first, then numbers, then the rest to names."""
    env, bare_env = (max(cells, LEAST_ENV) for cells in _widest(one.env_id for one in runs))
    model, bare_model = (max(cells, LEAST_MODEL) for cells in _widest(one.model for one in runs))
    room = width - 4 - 2 - REWARD - HALF - (SHORT_DATE - 1) - 2 - SHORT_STATE
    states = [(len(state_text(one)), one.saved) for one in runs]
    state = max([SHORT_STATE, *(cells for cells, _ in states)])
    unsaved = max([state, *(cells + len(UNSAVED) for cells, saved in states if not saved)])
    extras = {"interval": INTERVAL - HALF + 1, "n": N, "long_state": state - SHORT_STATE}
    extras |= {"unsaved": unsaved - state, "long_date": LONG_DATE - SHORT_DATE}
    there = {}
    for name, cells in extras.items():
        least = NUMBERS_LEAVE if name in ("interval", "n") else bare_env + bare_model
        there[name] = room - cells >= max(min(env + model, least), 13 + 5)
        there[name] &= name != "n" or there["interval"]
        room -= cells if there[name] else 0
    if env + model > room:
        env, model = bare_env, bare_model
    least = min(env, room // 2)
    model = max(min(model, room - least), LEAST_MODEL)
    return Columns(env=max(min(env, room - model), LEAST_ENV), model=model, **there)


def head_line(columns: Columns) -> Line:
    """The heads of the columns."""
    text = "    " + left("environment", columns.env) + "  " + left("model", columns.model)
    text += right("reward", REWARD)
    text += "  " + left("95 % interval", INTERVAL - 2) if columns.interval else " ±95%  "
    text += right("n", N) if columns.n else ""
    return ((text + columns.dated("date") + "  state", "faint"),)


def run_line(one: FoundRun, mark: str, columns: Columns, now: float, width: int) -> Line:
    """The line of a run, behind its mark if it has one, with asides as there is room."""
    look = look_of(one)
    spans: list[Span] = [
        (f"{mark or ' '} ", letter_ink(mark or "A")),
        (f"{look.glyph} ", look.ink),
        (left(_named(one.env_id, columns.env), columns.env), ""),
        (f"  {left(_named(one.model, columns.model), columns.model)}", "muted"),
        *_numbers(one, columns),
        (columns.dated(when_text(one.date, now, columns.long_date)), "muted"),
    ]
    state, errors, gap = status_text(one), errors_text(one), "  "
    ink, unsaved = look.ink, not (one.saved or one.running or columns.unsaved)
    # The sign has the meaning of the word that gives way.
    if unsaved:
        state, ink = state.replace(look.word, UNSAVED.strip()), "warn"
    if not columns.long_state and len(state + gap + errors) > SHORT_STATE:
        if unsaved:
            errors = ""
        elif len(state + errors) <= SHORT_STATE:
            gap, errors = " ", errors.replace(" ", "")
        else:
            state = state.removeprefix(f"{look.word} ")
    spans += [(f"  {state}", ink), (f"{gap}{errors}" if errors else "", "bad")]
    if columns.unsaved and not one.saved:
        spans.append((UNSAVED, "warn"))
    for forms, its_ink in _asides(one):
        room = width - line_width(spans)
        spans += [(form, its_ink) for form in forms if len(form) <= room][:1]
    return tuple(spans)


def _numbers(one: FoundRun, columns: Columns) -> Iterator[Span]:
    yield right(reward_text(one.reward), REWARD), "strong"
    half = half_text(one.reward, one.low, one.high)
    if columns.interval:
        tried = (*(interval_text(one.low, one.high, places) for places in (2, 1)), half)
        fitting = (text for text in tried if len(text) <= INTERVAL - 2)
        yield f"  {left(next(fitting, ''), INTERVAL - 2)}", "muted"
    else:
        yield left(f" {half}", HALF), "muted"
    if columns.n:
        yield right("" if one.n is None else count_text(one.n), N), "muted"


def no_runs() -> tuple[Line, ...]:
    """Lines for a home without runs: what to do first."""
    by_key = {
        "home.demo": "watch the demo: no key and no network needed",
        "home.new": "put an evaluation together",
    }
    in_a_shell = {
        "tui-eval new-env NAME": "begins an environment of your own",
        "tui-eval home PATH": "looks elsewhere too",
    }
    return (
        EMPTY,
        (("  No runs under ./outputs yet, nor under ./environments/*/outputs.", ""),),
        EMPTY,
        *(((f"  {key_for(one)}", "key"), (f"  {does}", "")) for one, does in by_key.items()),
        *(
            (("     ", ""), (line, "muted"), (f"  {does}", "faint"))
            for line, does in in_a_shell.items()
        ),
    )
