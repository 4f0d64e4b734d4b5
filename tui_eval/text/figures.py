"""Numbers as people read them in a narrow column."""

from __future__ import annotations

import math
import time

from tui_eval.fold.mean_reward import ANYTIME
from tui_eval.stats.cost import dollars_text
from tui_eval.stats.mean import Mean, half_of
from tui_eval.stats.rewards import passes

NONE = "–"
EXACT = 3
"""Places of rewards whose difference is beside them: with two it may not be that of both."""
EVEN = 0.9
"""Least ratio of the sides of an interval that is shown with one ±."""
LEAST_CHANCE = 1e-12
"""Smallest p-value that is shown as a number."""
ROUNDING = 1e-12
"""Size below which a difference is rounding of sums."""


def decimal_text(value: float, places: int) -> str:
    """A number with so many places, or its first digit where these would make it a zero."""
    text = f"{value:.{places}f}"
    if text.strip("-0."):
        return text
    if abs(value) < ROUNDING:
        return text.lstrip("-")
    return min(f"{value:.1g}", f"{value:.0e}", key=len)


def reward_text(value: float | None, places: int = 2) -> str:
    """A reward or metric in at most six characters; a dash for none.

    Args:
        places: Decimals of a value below 10.
    """
    if value is None or math.isnan(value):
        return NONE
    value = round(value, 9) or value  # sums of the same numbers in another order round alike
    if abs(value) < 100:
        return decimal_text(value, places if abs(value) < 9.9995 else min(places, 2))
    return f"{value:.0f}" if abs(value) < 1e5 else f"{value:.0e}".replace("e+0", "e")


def judged_text(value: float, threshold: float) -> str:
    """A reward in six characters; one below the threshold of passing is not shown as passing."""
    for places in (2, 3, 4):
        text = reward_text(value, places)
        if passes(value, threshold) or float(text) < threshold:
            return text
    return reward_text(math.floor(value * 10**4) / 10**4, 4)


def count_text(value: float) -> str:
    """A count in at most five characters: 950, 12.4k, 310k, 1.2M."""
    if value < 1000:
        return f"{value:.0f}"
    for unit in ("k", "M", "G"):
        value /= 1000
        if value < 99.95:
            return f"{value:.1f}{unit}"
        if value < 999.5:
            return f"{value:.0f}{unit}"
    return f"{value:.0f}G"


def part_text(done: int, total: int | None) -> str:
    """A count of all: 8/24, 12.4k/20.0k; the first alone where the total is not known."""
    text = count_text if max(done, total or 0) >= 10_000 else str
    return f"{text(done)}/{text(total)}" if total else text(done)


def list_price_text(listed: str) -> str:
    """Note on a cost from a list of prices: the list and its date."""
    return f" list price {listed.partition(',')[0]}" if listed else ""


def tokens_text(read: int, written: int) -> str:
    """Tokens of prompts and answers; one number where a file says only that."""
    if written and not read:
        return f"{count_text(written)} tokens"
    return f"{count_text(read)} in {count_text(written)} out"


def span_text(seconds: float) -> str:
    """A finished span of time: 40ms, 0.4s, 59.9s, 1:02; a dash for one not measured, a 0."""
    if math.isnan(seconds) or seconds == 0:
        return NONE
    if seconds < 0.05:
        return ms_text(seconds * 1000)
    if seconds < 59.95:
        return f"{seconds:.1f}s"
    return clock_text(seconds)


def clock_text(seconds: float) -> str:
    """A span that is still growing, in whole seconds: 12s, 1:02, 1:02:03."""
    whole = max(int(seconds), 0)
    if whole < 60:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}:{rest:02}"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"


def hours_text(seconds: float) -> str:
    """A span of hours where there is no room for its seconds: 1h02m, 147h."""
    hours, minutes = divmod(int(seconds) // 60, 60)
    return f"{hours}h{minutes:02}m" if hours < 100 else f"{hours:,}h"


def again_text(seconds: float) -> str:
    """The time of the next try: in 12s, now."""
    return f"in {seconds:.0f}s" if seconds >= 0.5 else "now"


def took_text(seconds: float) -> str:
    """Duration of a run: 0.8s, 9.7s, and in whole seconds from ten on."""
    return span_text(seconds) if 0 < seconds < 9.95 else clock_text(seconds)


def when_text(at: float, now: float, long: bool) -> str:
    """A date in this machine's time, in 12 cells or 8; empty for none."""
    if not at:
        return ""
    then, today = time.localtime(at), time.localtime(now)
    if then[:3] == today[:3]:
        return time.strftime("today %H:%M" if long else "%H:%M", then)
    if long:
        same_year = then.tm_year == today.tm_year
        return time.strftime("%d %b %H:%M" if same_year else "%d %b %Y", then)
    return time.strftime("%d %b" if then.tm_year == today.tm_year else "%b %Y", then)


def ms_text(ms: float) -> str:
    """The duration of one call: 3ms, 980ms, 1.2s, 1:02."""
    if 0 < ms < 0.5:
        return "<1ms"
    return f"{ms:.0f}ms" if ms < 999.5 else span_text(ms / 1000)


def rate_text(per_second: float) -> str:
    """Rollouts by the unit of time that makes the number readable."""
    if per_second <= 0:
        return f"{NONE}/s"
    if per_second >= 0.995:
        return f"{per_second:.1f}/s" if per_second < 99.95 else f"{count_text(per_second)}/s"
    per_minute = per_second * 60
    return f"{per_minute:.1f}/min" if per_minute >= 0.05 else f"{per_minute * 60:.1f}/h"


def money_text(dollars: float | None) -> str:
    """An amount in US dollars; a dash where it is not known."""
    return NONE if dollars is None else dollars_text(dollars)


def interval_text(low: float | None, high: float | None, places: int = 2) -> str:
    """An interval in brackets, or nothing where there is none."""
    if low is None or high is None:
        return ""
    return f"[{reward_text(low, places)}, {reward_text(high, places)}]"


def named_interval(mean: Mean) -> str:
    """The interval of a mean; one that may be looked at after every example is named."""
    name = "anytime 95 % " if mean.method == ANYTIME and mean.low is not None else ""
    return f"{name}{interval_text(mean.low, mean.high)}"


def is_even(mean: float | None, low: float | None, high: float | None) -> bool:
    """Whether the sides of an interval look alike, so that one number can stand for both."""
    if mean is None or low is None or high is None:
        return True
    short, long = sorted((mean - low, high - mean))
    return short > long * EVEN or reward_text(short) == reward_text(long)


def half_text(mean: float | None, low: float | None, high: float | None) -> str:
    """An interval as one number, `±0.07`; its longer side behind `~` where they differ."""
    if low is None or high is None:
        return ""
    sign = "±" if is_even(mean, low, high) else "~"
    return f"{sign}{reward_text(half_of(mean, low, high))}"


def limit_text(limit: int) -> str:
    """A limit; 0 is none."""
    return f"{limit:,}" if limit else "∞"


def plural(count: int, noun: str) -> str:
    """A count with its noun: 1 error, 2 errors."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def refusal_text(path: str, why: str, rows: int, answers: int) -> str:
    """A sentence on a disk that refuses a run, and what waits for it."""
    waits = f"{plural(rows, 'row')} and {plural(answers, 'answer')} wait in memory"
    return f"{path} cannot be written, {why}; {waits}"


def value_text(value: object) -> str:
    """A setting's value; a sign for none."""
    return NONE if value is None else str(value)


def signed_text(value: float | None, places: int = 2) -> str:
    """A difference of rewards or metrics with its sign; a difference of nothing has none."""
    text = reward_text(value, places)
    if not text.strip("-0."):
        return text.lstrip("-")
    return f"+{text}" if value is not None and value > 0 else text


def chance_text(p: float) -> str:
    """The chance that a test gives; never 0, which a float takes for what is very small."""
    return f"p = {p:.3g}" if p >= LEAST_CHANCE else f"p < {LEAST_CHANCE:g}"


def letter_of(place: int) -> str:
    """Letter of the run at this place in a comparison: A, B, and so on."""
    return chr(ord("A") + place) if place < 26 else f"R{place + 1}"
