"""The numbers of a run beside its bar: how many rollouts are where, limits, tokens, cost, pace."""

from __future__ import annotations

from tui_eval.fold.rollout_columns import HELD
from tui_eval.fold.run_state import RunState
from tui_eval.fold.usage import projected_cost
from tui_eval.text.blocks import columns
from tui_eval.text.figures import (
    NONE,
    clock_text,
    count_text,
    list_price_text,
    money_text,
    plural,
    rate_text,
    tokens_text,
)
from tui_eval.text.stages import TOOL_FAILED
from tui_eval.text.waits import LONG_S
from tui_eval.tui.base.keys.keymap import key_for
from tui_eval.tui.base.look.ink import EMPTY, Line, Span

LIMIT_SPANS = 2
"""Spans of a limit that gives way; with those of refused requests there are more."""


def progress_facts(
    state: RunState, now: float, words: int, terse: bool, moved: str, longest: float
) -> Line:
    """The numbers beside the bar: 3 with all words, 2 with most, 1 and 0 with signs only.

    Where it must be `terse` tokens are one number beside words, and none beside signs. A limit with
    what was refused takes the place of what waits then, with -1 that of the rate, and with -2 that
    of the time left. `longest` are the seconds of the rollout that has waited longest.
    """
    left_out, words = max(-words, 0), max(words, 0)
    is_known = state.run is None or state.run.total_known
    of = f"/{state.expected:,}" if is_known else ""
    done: Line = ((f"{state.finished:,}{of}", "strong"),)
    noun = " finished" if is_known else " rollout" if state.finished == 1 else " rollouts"
    gives_way = EMPTY if moved else _concurrency(state, words, terse)
    is_tight = terse and not words and len(gives_way) > LIMIT_SPANS
    comes = state.end is None and not state.is_foreign
    bad = len(state.facts.no_number)
    has_tokens = (words or not terse) and (comes or state.tokens)
    texts = [
        *_pace(state, now, words)[left_out if is_tight else 0 :],
        _tokens(state, 1 if terse else words) if has_tokens else "",
        _cost(state, is_brief=not words or (terse and words == 2)),
    ]
    facts = (
        (*done, (noun, "muted")) if words == 3 else done,
        *_states(state, words, is_tight),
        ((f"! {bad:,} no number" if words else f"!{bad:,}", "warn"),) if bad else EMPTY,
        _faults_of_files(state, words),
        _waits_in_memory(state, words),
        _held_up(state, longest, words),
        (("limit ", "muted"), (moved, "warn")) if moved else gives_way,
        *(((text, "muted"),) for text in texts if text),
    )
    gap: Span = ("   " if words > 1 and not terse else "  ", "")
    return tuple(span for fact in facts if fact for span in (gap, *fact))[1:]


def _states(state: RunState, words: int, is_tight: bool) -> list[Line]:
    """How many rollouts are held, sleep, run, wait and have errored, where there are any.

    Where it is tight, nothing is told of those that wait, nor of failed tools.
    """
    held, sleeping = state.by_stage[HELD], state.sleeping
    waiting, failed = (0, 0) if is_tight else (state.waiting, state.outcomes.failed_tools)
    glyphs = (
        (held, "‖", "held", "warn"),
        (sleeping, "~", "sleeping", "warn"),
        (state.running - held - sleeping, "▶", "running", "busy"),
        (waiting, "·", "waiting" if state.end is None else "missing", "muted"),
        (state.errored, "✗", "errors" if state.errored != 1 else "error", "bad"),
        (failed, TOOL_FAILED, "with failed tools" * (words > 2), "warn"),
    )
    parts: list[Line] = []
    for count, glyph, word, ink in glyphs:
        if count:
            spoken = (f"{glyph} ", f" {word}".rstrip()) if words > 1 and word else (glyph, "")
            parts.append(((spoken[0], ink), (f"{count:,}", ""), (spoken[1], "muted")))
    return parts


def _concurrency(state: RunState, words: int, terse: bool) -> Line:
    """How many are generated at a time while endpoints refuse requests, and how many they did."""
    limit, most = state.at_a_time if state.end is None else (0, 0)
    shown: list[Span] = []
    if limit and limit != most:
        of = f"{'/' if terse else ' of '}{most:,}" if most else ""
        history = columns([one for one, _ in state.limits], 1)[0]
        shown = [(f"{history} ", "faint")] if words == 3 else []
        shown += [("limit ", "muted"), (f"{limit:,}{of}", "warn")]
    if refused := state.refused_requests:
        what = f"{refused:,} req." if terse and shown else plural(refused, "request")
        shown.append((f"{' · ' if shown else ''}{what} refused", "muted"))
    return tuple(shown)


def _tokens(state: RunState, words: int) -> str:
    read, written = state.usage.tokens_in, state.usage.tokens_out
    if words > 2 or (words == 2 and not read):
        return f"{'tokens ' if read else ''}{tokens_text(read, written)}"
    both = f"{count_text(read)} → {count_text(written)}"
    return f"{both if words > 1 else count_text(read + written)} tok"


def _waits_in_memory(state: RunState, words: int) -> Line:
    """What the disk has not taken."""
    if state.refusal is None:
        return EMPTY
    rows, answers = state.refusal.rows, state.refusal.records
    if not words:
        return ((f"!{rows + answers:,} unsaved", "bad"),)
    both = [plural(count, noun) for count, noun in ((rows, "row"), (answers, "answer")) if count]
    return ((f"! {', '.join(both) or 'nothing'} in memory", "bad"),)


def _held_up(state: RunState, longest: float, words: int) -> Line:
    """That workers stand still, that replicas are out, or that a rollout waits for long."""
    if state.end is not None:
        return EMPTY
    seen = state.workers.workers if state.workers is not None else ()
    if still := sum(bool(one.still_since) for one in seen):
        stands = "stands still" if still == 1 else "stand still"
        return ((f"! {plural(still, 'worker')} {stands}" if words else "!worker", "warn"),)
    if out := len(state.out):
        return ((f"! {plural(out, 'replica')} out" if words else f"!{out} out", "warn"),)
    if longest < LONG_S:
        return EMPTY
    return ((f"longest wait {clock_text(longest)}" if words > 1 else clock_text(longest), "warn"),)


def _faults_of_files(state: RunState, words: int) -> Line:
    """Lines that are no rows, and what contradicts the rows; the pane that tells more."""
    bad = state.unreadable_lines
    against = len(state.end.contradictions) if state.end is not None else 0
    if bad or against:
        texts = [
            (f"! {plural(bad, 'line')} unreadable" if words else f"!{bad:,}", "bad"),
            (f"! {plural(against, 'contradiction')}" if words else f"!{against:,}", "warn"),
        ]
        first, *other = [one for one, count in zip(texts, (bad, against), strict=True) if count]
        key = key_for("run.log" if against or state.is_foreign else "run.numbers")
        where = f", see pane {key}" if words > 1 else ""
        return first, *((f" {text}", ink) for text, ink in other), (where, "muted")
    if state.unfinished and state.end is None:
        text = f"~ line {state.unfinished:,} unfinished" if words else f"~{state.unfinished:,}"
        return ((text, "warn"),)
    return EMPTY


def _cost(state: RunState, *, is_brief: bool) -> str:
    """What the tokens cost so far, and what all of them may cost while the run goes on."""
    if not state.cost:
        return ""
    projected = projected_cost(state) if state.end is None else None
    listed = list_price_text(state.prices.listed)
    if projected is None or is_brief:
        return money_text(state.cost) + ("" if is_brief else listed)
    return f"{money_text(state.cost)} of ~{money_text(projected)}{listed}"


def _pace(state: RunState, now: float, words: int) -> list[str]:
    """Rate and time left, while rollouts still finish."""
    remaining = state.expected - state.finished
    if state.run is None or state.end is not None or not remaining:
        return []
    if state.run.complete_at or not state.gate_open:
        return []
    rate = state.rate.per_second(now)
    if rate <= 0:
        return [f"{NONE} left"] if words > 1 else []
    if remaining < rate:
        return [rate_text(rate)]
    return [rate_text(rate), f"{clock_text(remaining / rate)} left"]
