"""The columns of the list of rollouts: their values, their widths, which of them fit."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple

from tui_eval.fold.columns import all_tokens_of, counts_of, tokens_of
from tui_eval.fold.query.fields import FIELDS, METRIC
from tui_eval.fold.rollout_columns import DONE, WAITING
from tui_eval.fold.row_details import TOOLS_APART, Codes
from tui_eval.fold.run_state import RunState
from tui_eval.printable import one_line
from tui_eval.stats.examples import ExampleFigures
from tui_eval.stats.passk import pass_at_k
from tui_eval.text.figures import NONE, count_text, reward_text
from tui_eval.tui.base.look.ink import Span, cut, left, right

BAR = 5
GROUP, GROUP_LEAST, MEAN, SPREAD = 19, 12, 6, 6
"""Cells of an example's numbers: with pass@k, without, and of their parts."""
STATE_LEAST, STATE_GOOD, STATE_NOTED, STATE_BEST = 13, 15, 18, 36
"""Cells of the state: for an error's name, beside metrics, for two tags, beside columns of text."""
METRIC_MOST, METRIC_WHOLE = 16, 40
"""Cells of a metric's name, and where there is room to spare."""
TEXT_MOST = 60


class Column(NamedTuple):
    """One column that can be shown or left out.

    `name` is its field in the language of filters, by which it is sorted. `width` has the gap
    before it. `value` gives the value of a row, to be compared, and `text` its text.
    """

    name: str
    head: str
    width: int
    meaning: str
    value: Callable[[RunState, int], Hashable]
    text: Callable[[Any], str] = str
    is_text: bool = False

    def cell(self, value: Any) -> str:
        """A value as wide as the column."""
        return self.fit("" if value is None else self.text(value))

    def fit(self, text: str) -> str:
        """A text as wide as the column."""
        return f"  {left(text, self.width - 2)}" if self.is_text else right(text, self.width)


def _known(count: int | None) -> int | str:
    return NONE if count is None else count


def _tokens_text(tokens: int) -> str:
    """A number of tokens; a dash where none were counted."""
    return count_text(tokens) if tokens else NONE


def _number(name: str, head: str, width: int, value: Callable[[RunState, int], Hashable],
            text: Callable[[Any], str] = str) -> Column:  # fmt: skip
    def begun(state: RunState, row: int) -> Hashable:
        return None if state.stage[row] == WAITING else value(state, row)

    return Column(name, head, width, FIELDS[name].meaning, begun, text)


def _text(name: str, width: int, value: Callable[[RunState, int], Hashable]) -> Column:
    shown: Callable[[Any], str] = lambda text: one_line(text, TEXT_MOST)  # noqa: E731
    return Column(name, name, width, FIELDS[name].meaning, value, shown, is_text=True)


def _names(name: str, texts: Callable[[RunState], Codes]) -> Column:
    return _text(name, 22, lambda state, row: texts(state).get(row).replace(TOOLS_APART, ", "))


BAR_COLUMN = Column("bar", "", BAR + 1, "reward as a bar", lambda *_: None)
GROUP_COLUMN = Column("group", "", GROUP, "mean ± std and pass@k of the example", lambda *_: None)
GROUP_SHORT = GROUP_COLUMN._replace(width=GROUP_LEAST)
TIME_COLUMN = Column("time", "time", 7, FIELDS["time"].meaning, lambda *_: None)
"""Columns drawn by the list: by its colours, by the lines around, and by its clock."""

COLUMNS = (
    BAR_COLUMN,
    GROUP_COLUMN,
    _number("turns", "turns", 6, lambda state, row: _known(counts_of(state, row)[0])),
    _number("calls", "calls", 7, lambda state, row: _known(counts_of(state, row)[1])),
    _number("tokens", "tokens", 8, lambda state, row: all_tokens_of(state, row) or 0, _tokens_text),
    _number("input", "in", 7, lambda state, row: tokens_of(state, row)[0] or 0, _tokens_text),
    _number("output", "out", 7, lambda state, row: tokens_of(state, row)[1] or 0, _tokens_text),
    _number("attempt", "try", 4, lambda state, row: state.attempt[row]),
    TIME_COLUMN,
    _text("finish", 16, lambda state, row: state.details.finish.get(row)),
    _text("class", 13, lambda state, row: state.details.error_class.get(row)),
    _names("model", lambda state: state.details.models),
    _text("stop", 20, lambda state, row: state.details.stop.get(row)),
    _names("tool", lambda state: state.details.tools),
    _names("failed_tool", lambda state: state.details.failed_tools),
    _text("question", 42, lambda state, row: state.details.questions.get(row // state.per_example)),
    _text("answer", 32, lambda state, row: state.details.answers.get(row)),
)
HEADS = {"example": "ex", "number": "#", "stage": "state"} | {
    column.name: column.head for column in COLUMNS if column.head not in ("", column.name)
}
"""Heads of columns whose field has another name."""
FIRST = ("time", "turns", "bar", "group", "calls", "tokens")
"""The columns that stay longest by default as a list gets narrow, before metrics and texts."""
GIVING_WAY = (BAR_COLUMN.name, GROUP_COLUMN.name)
"""The columns that go first where more were chosen than fit: the reward is beside them."""


def metric_column(name: str, most: int = METRIC_MOST) -> Column:
    """The column of a metric under its name, which has so many cells at most."""
    head = cut(one_line(name, METRIC_WHOLE), most)

    def value(state: RunState, row: int) -> str | None:
        if state.stage[row] < DONE:
            return None
        known = name in state.details.metrics
        return reward_text(state.details.metric(name, row) if known else None)

    return Column(METRIC + name, head, max(len(head), 5) + 2, "metric", value)


def known_columns(state: RunState) -> dict[str, Column]:
    """Every column that a run can have, by name; metrics after those of the reward."""
    of_reward = COLUMNS[: 2 if state.per_example > 1 else 1]
    found = [*of_reward, *map(metric_column, state.details.metrics), *COLUMNS[2:]]
    return {column.name: column for column in found}


def fitting_columns(
    state: RunState,
    chosen: Sequence[str] | None,
    room: int,
    grouped: bool = True,
    has_signs: bool = False,
) -> tuple[Column, ...]:
    """The columns to show.

    Args:
        chosen: Names in their order; None for the usual ones.
        room: Cells beside the columns that are always shown; the state, the last of these, keeps
            some.
        grouped: Whether the rollouts of an example are together.
        has_signs: Whether rollouts have notes or a mark: tags have priority over tokens.
    """
    known, groups = known_columns(state), state.per_example > 1
    wanted = _usual(state) if chosen is None else sorted(chosen, key=GIVING_WAY.__contains__)
    shown: dict[str, Column] = {}
    for name in wanted:
        column = known.get(name)
        if column is None or (column is GROUP_COLUMN and not grouped):
            continue
        kept = STATE_BEST if column.is_text else STATE_GOOD
        if chosen is not None or name in FIRST[:3] or (name in FIRST and not groups):
            kept = STATE_LEAST
        if has_signs and name == "tokens" and chosen is None:
            kept = STATE_NOTED
        if column is GROUP_COLUMN:
            rest = sum(known[one].width for one in FIRST[4:]) if chosen is None else 0
            short, spare = GROUP_SHORT.width + rest, room - kept
            if column.width > spare or short <= spare < column.width + rest:
                column, kept = GROUP_SHORT, STATE_LEAST
            turns = shown.get("turns") if chosen is None else None
            if turns and room < column.width + kept <= room + turns.width:
                room += shown.pop("turns").width
        if column.width + kept > room and chosen is None:
            break
        if column.width + kept > room:
            continue
        room -= column.width
        shown[name] = column
    room -= _widen(state, shown, room - STATE_BEST)
    order: Iterable[str] = chosen if chosen is not None else known
    return _apart([shown[name] for name in order if name in shown], room - STATE_LEAST)


def _widen(state: RunState, shown: dict[str, Column], room: int) -> int:
    """Widens names of metrics and tools as needed; returns the cells taken."""
    texts = {"tool": state.details.tools, "failed_tool": state.details.failed_tools}
    given = 0
    for name, column in shown.items():
        more, wide = max(room - given, 0), column
        if name.startswith(METRIC):
            most = min(METRIC_MOST + more, METRIC_WHOLE)
            wide = metric_column(name.removeprefix(METRIC), most)
        elif name in texts:
            longest = max(len(text) + text.count(TOOLS_APART) for text in texts[name].texts)
            need = min(longest, TEXT_MOST) + 2
            wide = column._replace(width=max(column.width, min(need, column.width + more)))
        shown[name], given = wide, given + wide.width - column.width
    return given


def _apart(columns: list[Column], room: int) -> tuple[Column, ...]:
    """Puts two cells between the names of columns, as far as there is room."""
    found: list[Column] = []
    before = "reward"
    for column in columns:
        if room > 0 and before and len(column.head) + 1 == column.width:
            column, room = column._replace(width=column.width + 1), room - 1
        found.append(column)
        before = column.head
    return tuple(found)


def _usual(state: RunState) -> list[str]:
    """The usual columns by priority, without repeated and empty ones."""
    details = state.details
    names = ("stop", "tool", "answer", "question")
    texts = (details.stop, details.tools, details.answers, details.questions)
    filled = (name for name, known in zip(names, texts, strict=True) if known.has_any)
    metrics = [METRIC + name for name in details.metrics if name != "num_turns"]
    return [*FIRST, *metrics, *filled]


def group_head(state: RunState, width: int) -> str:
    """The head of the column of examples."""
    return f"mean ±std pass@{state.pass_rates.ks[-1]} " if width >= GROUP else "mean ±std "


def group_spans(
    state: RunState, one: ExampleFigures | None, is_part: bool, width: int
) -> list[Span]:
    """The numbers of an example; empty before one of its rollouts has a reward.

    A spread of 0, of equal rewards, stands out: such a group teaches nothing.
    One reward alone has no spread.

    Args:
        is_part: Whether some of its rollouts are not listed: the numbers, of all, are faint.
    """
    if one is None or one.mean is None:
        return [(" " * width, "")]
    spread = f"±{reward_text(one.std)}" if one.n > 1 else NONE
    spans: list[Span] = [
        (right(reward_text(one.mean), MEAN), "strong"),
        (right(spread, SPREAD), "warn" if one.all_equal else "muted"),
    ]
    if width >= GROUP:
        k = state.pass_rates.ks[-1]
        rate = reward_text(pass_at_k(one.n, one.passed, k)) if one.n >= k else NONE
        spans.append((right(rate, GROUP - MEAN - SPREAD - 1) + " ", ""))
    return [(text, "faint") for text, _ in spans] if is_part else spans
