"""The pane of one rollout's reward, function by function."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.cells import cell_len

from tui_eval.fold.columns import Note
from tui_eval.printable import one_line, printable
from tui_eval.stats.rewards import is_equal
from tui_eval.text.blocks import bar
from tui_eval.text.figures import plural, reward_text, signed_text
from tui_eval.tui.base.lines.line_view import LineView
from tui_eval.tui.base.look.ink import EMPTY, Line, Span, left, right
from tui_eval.tui.base.look.wrap import hanging, shown, shown_lines

if TYPE_CHECKING:
    from tui_eval.fold.trajectory import Rollout, Score
    from tui_eval.stats.examples import ExampleFigures

RAW, WEIGHT, ADDS = 7, 6, 7
TABLE = RAW + WEIGHT + ADDS + 4
TINY = 0.01
"""The share of the weights' sum below which bars of the parts have their own scale."""
NAME_MOST, METRIC_MOST = 30, 60
GROUP = 11
FIRST_LINES = 6
TEXT_LINES = 400
"""The most lines of an error, and of a judge's answer."""

_FRAME = re.compile(r'^  File "', re.MULTILINE)


class RewardPanel(LineView):
    """Note, parts of the reward, group, metrics, judges' answers and errors of a rollout."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.rollout: Rollout | None = None
        self.group: ExampleFigures | None = None
        self.note = Note()
        self.empty: tuple[Line, ...] = ()
        """The lines where there is no rollout."""
        self._made_for: Rollout | None = None
        self._made_of: tuple[object, ...] = ()

    def show(self, rollout: Rollout | None, group: ExampleFigures | None, note: Note) -> None:
        """Shows a rollout's reward beside its group; another rollout's from its beginning."""
        is_another = (rollout and rollout.row) != (self.rollout and self.rollout.row)
        self.rollout, self.group, self.note = rollout, group, note
        self.update()
        if is_another:
            self.jump(0)

    def update(self) -> None:
        rollout, width = self.rollout, self.line_width
        made_of = (rollout and rollout.finished, self.group, self.note, self.empty, width)
        if rollout is not self._made_for or made_of != self._made_of:
            self._made_for, self._made_of = rollout, made_of
            words = breakdown(rollout, self.group, width)
            self._all_lines = [*_noted(self.note, width), *words] or [*self.empty]
        super().update()


def _noted(note: Note, width: int) -> list[Line]:
    """The tags and the words of a note on a rollout, whole."""
    lines: list[Line] = []
    for text, ink in ((" ".join(f"#{tag}" for tag in note.tags), "accent"), (note.text, "")):
        sign = ("  " if lines else "✎ ", "accent")
        lines += hanging(sign, text, ink, max(width, 12), TEXT_LINES) if text else ()
    return [*lines, EMPTY] if lines else []


def breakdown(rollout: Rollout | None, group: ExampleFigures | None, width: int) -> Iterator[Line]:
    """The lines of one rollout; `group`: its example so far, None where it is alone."""
    if rollout is None:
        return
    if not rollout.finished:
        yield (("not scored yet", "muted"),)
        if group is not None and group.mean is not None:
            yield _came_to(group, width)
        return
    weighted = [score for score in rollout.scores if score.weight or score.error]
    names = {score.name for score in weighted}
    metrics = {s.name: s.raw for s in rollout.scores if s.name not in names}
    metrics |= {name: value for name, value in rollout.metrics.items() if name not in names}
    longest = max(len(printable(name)) for name in [*names, *metrics, "function"])
    name_width = max(min(longest, NAME_MOST, width - TABLE), 6)
    if weighted:
        yield from _table(weighted, name_width, width)
    yield _total(rollout, name_width + TABLE if weighted else 0)
    if group is not None:
        yield from _group(rollout, group, width)
    unknown = "not weighted: it errored" if rollout.error else "weights unknown"
    weights = "no weight" if rollout.scores else unknown
    yield from _metrics(metrics, name_width, width, weights)
    for number, verdict in enumerate(rollout.judged, 1):
        which = f" {number}" if len(rollout.judged) > 1 else ""
        yield from _text(f"the judge{which} said", verdict, "", width)
    for score in weighted:
        name = one_line(score.name, NAME_MOST)
        head, frames = _parted(score)
        if shown_lines(head, max(width - 4, 10), FIRST_LINES)[1]:
            yield from _text(f"{name} failed with", head, "fault", width)
        if frames:
            yield from _text(f"{name} failed at", frames, "fault", width)


def _parted(score: Score) -> tuple[str, str]:
    """The message of an error, and its origin."""
    text = (score.error or "").strip()
    frame = _FRAME.search(text)
    return (text[: frame.start()].rstrip(), text[frame.start() :]) if frame else (text, "")


def _table(scores: list[Score], name_width: int, width: int) -> Iterator[Line]:
    table = name_width + TABLE
    head = left("function", name_width) + right("raw", RAW) + right("weight", WEIGHT + 3)
    yield ((head + right("adds", ADDS + 1), "faint"),)
    room = min(max(width - table - 2, 0), 24)
    greatest = max(abs(score.contribution or 0.0) for score in scores)
    weights = sum(abs(score.weight) for score in scores)
    most = greatest if greatest > weights or 0 < greatest < TINY * weights else weights or 1.0
    for score in scores:
        adds = score.contribution
        spans: list[Span] = [
            (left(one_line(score.name, NAME_MOST), name_width), ""),
            (right(reward_text(score.raw), RAW), ""),
            (" × ", "faint"),
            (right(reward_text(score.weight), WEIGHT), "muted"),
            (" =", "faint"),
            (right(reward_text(adds), ADDS - 1), "strong"),
        ]
        if adds is not None and room >= 4:
            ink = "bar-good" if adds >= 0 else "bad"
            spans += [("  ", ""), (bar(abs(adds) / most, room), ink)]
        yield tuple(spans)
        if score.error:
            head, _ = _parted(score)
            yield from hanging(("✗ ", "bad"), head, "fault", max(width - 2, 12), FIRST_LINES)
    yield (("─" * table, "rule"),)


def _total(rollout: Rollout, table: int) -> Line:
    """The sum at the right of its table; without a table, over the lines below."""
    total = "none: it errored" if rollout.error else reward_text(rollout.reward)
    gap = " " * max(table - len("reward") - len(total), 5)
    return (("reward", "strong"), (gap, ""), (total, "bad" if rollout.error else "strong"))


def _group(rollout: Rollout, group: ExampleFigures, width: int) -> Iterator[Line]:
    """The rollout within its example, as a trainer sees it."""
    if group.mean is None or group.n < 2:
        return
    yield _came_to(group, width)
    if rollout.error or rollout.reward is None:
        return
    if group.all_equal and is_equal(rollout.advantage or 0.0, 0.0):
        yield (("advantage  ", "muted"), ("= none: all rewards are equal", "warn"))
        return
    saved = rollout.advantage
    advantage = rollout.reward - group.mean if saved is None else saved
    so_far = "" if group.is_complete or saved is not None else " so far"
    yield (
        ("advantage  ", "muted"),
        (signed_text(advantage), "strong"),
        (so_far, "muted"),
    )


def _came_to(group: ExampleFigures, width: int) -> Line:
    spread = f" · std {reward_text(group.std)}" if group.n > 1 else ""
    counted = plural(group.n, "rollout")
    if not group.is_complete:
        counted = f"{group.n:,} of {group.each:,} so far"
    elif group.errored:
        counted = f"{group.n:,} of {plural(group.each, 'rollout')}"
    words = f"{counted} · mean {reward_text(group.mean)}{spread}"
    if len(words) > width - GROUP:
        words = words.replace(" rollouts", "", 1)
    return ((left("group", GROUP), "muted"), (words, "muted"))


def _metrics(
    metrics: dict[str, float | None], table_name: int, width: int, weights: str
) -> Iterator[Line]:
    """Names as wide as those of the table above where they fit, else as wide as possible."""
    if not metrics:
        return
    yield EMPTY
    longest = max(cell_len(one_line(name, METRIC_MOST)) for name in metrics)
    name_width = max(min(longest, width - len(weights) - 3), table_name)
    yield ((left("metrics", name_width), "faint"), (f"   {weights}", "faint"))
    for name, value in metrics.items():
        yield (
            (left(one_line(name, METRIC_MOST), name_width), "muted"),
            (right(reward_text(value), RAW), ""),
        )


def _text(title: str, text: str, ink: str, width: int) -> Iterator[Line]:
    yield EMPTY
    yield ((title, "faint"),)
    found = shown(text, max(width - 2, 10), TEXT_LINES, hangs=True)
    for line, hang in zip(found.lines, found.hangs(), strict=True):
        yield (("  " + " " * hang, ""), (line, ink))
    if found.rest:
        yield ((f"  … {found.rest:,} more lines", "faint"),)
