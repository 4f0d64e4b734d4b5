"""Which rows a filter finds and how they are sorted."""

from __future__ import annotations

import gc
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_events import finished, staged, started

from tui_eval.events import RowsTakenBack, Stage
from tui_eval.fold.columns import Columns, Note, Notes, Version, ordered
from tui_eval.fold.query.filtering import RowFilter
from tui_eval.fold.query.nodes import Compare
from tui_eval.fold.query.patterns import Matcher, PatternTooSlowError, has_small_cost, pattern_fault
from tui_eval.fold.run_state import RunState

NOTES: Notes = {("2", 0): Note("look at this", ("odd", "hard")), ("0", 1): Note("", ("easy",))}


def made() -> RunState:
    """Three examples of two: 4 runs with a tool at work, 5 waits."""
    state = RunState()
    state.apply(started(3, 2))
    state.apply(finished(0, 1.0, turns=2, tools={"search": (2, 0), "read": (1, 1)}, tool_calls=3))
    long = {"stop_condition": "too_long", "finish_reason": "refusal"}
    state.apply(finished(1, 0.25, turns=9, total_ms=95_000.0, models={"small": 2}, **long))
    cut = {"truncated": True, "finish_reason": "length"}
    state.apply(finished(2, 0.5, metrics={"score": -1.0}, output_tokens=12_000, **cut))
    state.apply(finished(3, None, error="ModelError -> TimeoutError", example_id=1))
    state.apply(staged(4, Stage.TOOL, turns=3, tool_calls=1))
    state.details.questions.put(0, "Where does the Fox live?")
    state.details.answers.put(1, "In a den. ПРИВЕТ")
    return state


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("", [0, 1, 2, 3, 4, 5]),
        ("reward<0.5", [1]),
        ("reward!=0.5", [0, 1]),
        ("reward:none", [3, 4, 5]),
        ("reward!=none", [0, 1, 2]),
        ("not reward<0.5", [0, 2, 3, 4, 5]),
        ("reward<0.5 and turns>8", [1]),
        ("reward<0.5 or tool:search", [0, 1]),
        ("tool:sea", [0]),
        ("tool=sea", []),
        ("tool=READ", [0]),
        ("tool!=read", [1, 2, 3, 4, 5]),
        ("calls>=1", [0, 4]),
        ("turns<99", [0, 1, 2, 3, 4]),
        ("tokens>10k", [2]),
        ("time>1:30", [1]),
        ("attempt=1", [0, 1, 2, 3, 4]),
        ("error:timeout", [3]),
        ("error:none", [0, 1, 2, 4, 5]),
        ("error!=none", [3]),
        ("error:/time.?outerr/", [3]),
        ("class:endpoint", [3]),
        ("class=Endpoint", [3]),
        ("class!=endpoint", [0, 1, 2, 4, 5]),
        ("class:tool", []),
        ("class:none", [0, 1, 2, 4, 5]),
        ("class!=none", [3]),
        ("finish:length", [2]),
        ("finish:refusal", [1]),
        ("finish_reason=length or error_class:endpoint", [2, 3]),
        ("finish:none", [0, 3, 4, 5]),
        ("model:small", [1]),
        ("stop:long", [1]),
        ("stage:error", [3]),
        ("stage:running", [4]),
        ("stage!=finished", [4, 5]),
        ("truncated:yes", [2]),
        ("score<0", [2]),
        ("metrics.score<0", [2]),
        ("example:1", [2, 3]),
        ("example>=1", [2, 3, 4, 5]),
        ("number=1 row>2", [3, 5]),
        ("fox", [0, 1]),
        ("!fox", [2, 3, 4, 5]),
        ('"does the"', [0, 1]),
        ("привет", [1]),
        ("/f.x l/", [0, 1]),
        ("/DEN/", [1]),
        ("/^in .*\\.|odelE/", [1, 3]),
        ("timeouterror", [3]),
        ("tag:odd", [4]),
        ("tag=easy or note:LOOK", [1, 4]),
        ("tag:none", [0, 2, 3, 5]),
    ],
)
def test_a_filter_finds_its_rows(text: str, rows: list[int]) -> None:
    state = made()
    assert list(RowFilter(text, state.details.metrics).rows(state, NOTES)) == rows


def version(state: RunState, row: int) -> Version:
    return Version(0, state.since[row])


def test_a_rollout_that_ran_again_has_another_trajectory() -> None:
    state, wanted = made(), RowFilter("text:den")
    (den,) = wanted.text_conditions
    for row in range(4):
        wanted.received(den, row, True, version(state, row))
    assert list(wanted.rows(state)) == [0, 1, 2, 3]
    errored = finished(3, None, error="ModelError -> TimeoutError", example_id=1)
    state.apply(RowsTakenBack(0, 0.0, [errored]))
    assert list(wanted.rows(state)) == [0, 1, 2]
    again = finished(3, 1.0, example_id=1)
    again.started_at += 60
    state.apply(again)
    assert list(wanted.undecided(state)) == [3]


def test_a_search_may_report_more_at_any_moment() -> None:
    state, wanted, many = made(), RowFilter("text:den"), 20_000
    (den,) = wanted.text_conditions
    for row in range(many):
        wanted.received(den, row, row == 1, version(state, 1))
    reported = itertools.count(many)

    def report(*_: object) -> None:  # the moment at which another thread may come in
        wanted.received(den, next(reported), True, version(state, 1))

    before = gc.get_threshold()
    gc.callbacks.append(report)
    gc.set_threshold(1)
    try:
        assert list(wanted.rows(state)) == [1]
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(report)
    assert next(reported) > many + 1


def test_a_run_without_rollouts_has_no_row() -> None:
    assert list(RowFilter("fox reward<1 or tool:x").rows(RunState())) == []


def test_the_trajectory_is_read_only_where_it_decides() -> None:
    state = made()
    wanted = RowFilter("reward>0 and (text:den or turns>8) and not text:/x/", ("score",))
    assert list(wanted.undecided(state)) == [0, 1, 2]
    assert list(wanted.rows(state)) == []
    den, pattern = wanted.text_conditions
    assert (den.value, str(pattern.value)) == ("den", "/x/")
    for row in (0, 1, 2):
        wanted.received(pattern, row, row == 2, version(state, row))
    assert list(wanted.undecided(state)) == [0]
    assert list(wanted.rows(state)) == [1]
    wanted.received(den, 0, True, version(state, 0))
    assert list(wanted.rows(state)) == [0, 1]
    assert list(RowFilter("text:a").undecided(state)) == [0, 1, 2, 3]
    assert Compare("text", ":", "a") in RowFilter("!text:a").text_conditions


@pytest.mark.parametrize(
    ("column", "descending", "rows"),
    [
        ("reward", False, [1, 2, 0, 3, 4, 5]),
        ("reward", True, [0, 2, 1, 3, 4, 5]),
        ("number", True, [1, 3, 5, 0, 2, 4]),
        ("error", False, [3, 0, 1, 2, 4, 5]),
        ("stop", True, [1, 0, 2, 3, 4, 5]),
        ("tool", False, [0, 1, 2, 3, 4, 5]),
        ("stage", True, [3, 0, 1, 2, 4, 5]),
        ("truncated", True, [2, 0, 1, 3, 4, 5]),
        ("score", False, [2, 1, 0, 3, 4, 5]),
        ("time", True, [1, 0, 2, 3, 4, 5]),
        ("turns", False, [2, 3, 0, 4, 1, 5]),
        ("tag", False, [1, 4, 0, 2, 3, 5]),
    ],
)
def test_rows_are_sorted_with_missing_values_last_and_equal_ones_in_their_order(
    column: str, descending: bool, rows: list[int]
) -> None:
    found = ordered(made(), range(6), column, descending=descending, notes=NOTES)
    assert list(found) == rows


def test_ids_of_examples_are_sorted_by_their_number() -> None:
    state = RunState()
    state.apply(started(3, 1))
    for row, name in enumerate(("10", "9", "--x")):
        state.apply(finished(row, per_example=1, example_id=name))
    assert list(ordered(state, [2, 0, 1], "example")) == [1, 0, 2]
    assert list(ordered(state, [2, 0], "example", descending=True)) == [2, 0]
    state.example_ids[2] = "--5"
    assert list(ordered(state, [2, 0, 1], "example")) == [1, 0, 2]


@given(
    st.lists(
        st.from_regex(r"-?[0-9]{1,17}|0{0,2}[0-9]|[a-zA-Z-]{1,3}", fullmatch=True),
        unique=True,
        min_size=1,
        max_size=8,
    )
)
def test_ids_are_sorted_by_their_value_and_numbers_before_words(ids: list[str]) -> None:
    state = RunState()
    state.apply(started(len(ids), 1))
    state.example_ids.update(enumerate(ids))

    def place(row: int) -> tuple[object, ...]:
        name = ids[row]
        if name.removeprefix("-").isdecimal():
            return 0, int(name), name
        return 1, name.casefold(), name

    rows = range(len(ids))
    assert list(ordered(state, rows, "example")) == sorted(rows, key=place)


@pytest.mark.parametrize(
    "source", ["(a+)+$", "(?:a|aa)*b", r"(a*)\1b", "a*a*a*a*b", "(?=a+)a", "[a]*[)]*x+"]
)
def test_an_expression_that_can_explode_is_not_matched_on_the_loop(source: str) -> None:
    assert not has_small_cost(source)


@pytest.mark.parametrize(
    "source", ["time.?out", r"\bfox\b", "a.*b", "(a|b)c", r"[(+*]+\+\*x", "^x{3}$"]
)
def test_plain_expressions_are_cheap(source: str) -> None:
    assert has_small_cost(source)


@pytest.mark.process
def test_an_expression_that_explodes_is_ended() -> None:
    with Matcher("(a+)+$", short=True, patience_s=0.5) as matcher:
        assert matcher.found_in(["b", "aaa", ""]) == [False, True, False]
        with pytest.raises(PatternTooSlowError, match="takes too long"):
            matcher.found_in(["a" * 60 + "b"])
        assert matcher.found_in(["a\udcff"]) == [False]


def test_an_expression_is_looked_for_in_every_text() -> None:
    texts = list(map(str, range(300)))
    with Matcher("[7-8]1", short=True) as matcher:
        assert matcher.found_in(texts) == ["71" in text or "81" in text for text in texts]


def test_what_cannot_be_compiled_is_reported() -> None:
    assert pattern_fault("(") and pattern_fault("") and pattern_fault("(?-i:A)")
    assert pattern_fault("a{99999999999999999999}")
    assert not pattern_fault("a\x00b")


def test_an_expression_that_python_warns_of_warns_nobody(recwarn: pytest.WarningsRecorder) -> None:
    assert not pattern_fault("[[a]b")
    assert not recwarn.list


def test_a_filter_says_whether_it_can_take_long() -> None:
    assert RowFilter("a !error:/b/").has_pattern
    assert not RowFilter("a error:b").has_pattern


@pytest.mark.parametrize(
    "text", ["later", "/la.er/", "!later", "answer:later", "answer:/la.er/", "question:fox"]
)
def test_what_came_since_a_filter_was_applied_is_searched_too(text: str) -> None:
    state, wanted = made(), RowFilter(text)
    gone = finished(3, None, error="ModelError -> TimeoutError", example_id=1)
    for change in (
        lambda: None,
        lambda: state.details.answers.put(2, "Some time LATER."),
        lambda: state.details.questions.put(1, "Does a fox live later?"),
        lambda: state.apply(RowsTakenBack(0, 0.0, [gone])),
        lambda: state.details.answers.put(3, "later"),
    ):
        change()
        assert list(wanted.rows(state)) == list(RowFilter(text).rows(state))
    assert list(wanted.rows(made())) == list(RowFilter(text).rows(made())), "another run"


def test_a_run_may_grow_while_its_columns_are_held() -> None:
    state = made()
    columns = Columns(state)
    held = [columns.numbers("reward"), columns.stages()]
    held += [columns.text(name).codes for name in ("error", "answer", "question")]
    state.stage.extend(b"\x00")
    state.reward.append(1.0)
    state.details.error.put(40, "later")
    state.details.answers.put(40, "later")
    assert [len(one) for one in held] == [6] * 5
    assert len(columns.numbers("reward")) == len(columns.text("error").codes) == 6
    assert len(columns.text("answer").codes) == 6
