"""The language of filters: what it reads, what it prints, and what it says of mistakes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_eval.fold.query.fields import FIELDS, NUMBERS, OPERATORS, kind_of
from tui_eval.fold.query.filter_parser import FilterError, parse_filter
from tui_eval.fold.query.nodes import All, Compare, Either, Node, Not, Pattern, Word

METRICS = ("exact", "two words", "Reward", "and")


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("", None),
        ("  ", None),
        ("fox", Word("fox")),
        ('"and"', Word("and")),
        (r'"a \"b\" \\ c"', Word(r'a "b" \ c')),
        ("!fox", Not(Word("fox"))),
        ("not fox", Not(Word("fox"))),
        ("hello!", Word("hello!")),
        (r"/a\/b\d/", Pattern(r"a/b\d")),
        ("a b", All((Word("a"), Word("b")))),
        ("a AND b", All((Word("a"), Word("b")))),
        ("a b or c", Either((All((Word("a"), Word("b"))), Word("c")))),
        ("a (b or c)", All((Word("a"), Either((Word("b"), Word("c")))))),
        ("reward<0.5", Compare("reward", "<", 0.5)),
        ("reward < .5", Compare("reward", "<", 0.5)),
        ("reward!=1", Compare("reward", "!=", 1.0)),
        ("reward:none", Compare("reward", ":", None)),
        ("tokens>=12k", Compare("tokens", ">=", 12_000.0)),
        ("time>1:30", Compare("time", ">", 90.0)),
        ("time>1.5m", Compare("time", ">", 90.0)),
        ("time<500ms", Compare("time", "<", 0.5)),
        ("tools>3", Compare("calls", ">", 3.0)),
        ("state:error", Compare("stage", ":", "error")),
        ("ex=7", Compare("example", "=", "7")),
        ("#<2 try>1", All((Compare("number", "<", 2.0), Compare("attempt", ">", 1.0)))),
        ("in>1k out<9", All((Compare("input", ">", 1000.0), Compare("output", "<", 9.0)))),
        ("tool:search", Compare("tool", ":", "search")),
        ("error:/time.?out/", Compare("error", ":", Pattern("time.?out"))),
        ("error:Model->Key", Compare("error", ":", "Model->Key")),
        ('error:"none"', Compare("error", ":", "none")),
        ("example>10", Compare("example", ">", "10")),
        ("stage:ERROR", Compare("stage", ":", "error")),
        ("truncated:true", Compare("truncated", ":", "yes")),
        ("exact>0", Compare("exact", ">", 0.0)),
        ('"two words"=1', Compare("two words", "=", 1.0)),
        ("metrics.Reward=1", Compare("metrics.Reward", "=", 1.0)),
        ('"and"=1', Compare("and", "=", 1.0)),
    ],
)
def test_what_is_written_is_read(text: str, node: Node | None) -> None:
    assert parse_filter(text, METRICS) == node


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("rewrd<1", [(1, "there is no field rewrd", "Did you mean reward")]),
        ("exct<1", [(1, "there is no field exct", "Did you mean exact")]),
        ("a reward<big", [(10, "reward is compared with a number, not with big", "")]),
        ("stage:mdel", [(7, "stage is never mdel", "Did you mean model")]),
        ("class:endpont", [(7, "class is never endpont", "Did you mean endpoint")]),
        ("tool<3", [(1, "tool is text: it takes : = !=, not <", "")]),
        ("reward:/1/", [(8, "reward is a number, which a regular expression cannot match", "")]),
        ("reward<", [(8, "there is no value behind reward<", "")]),
        ("<3", [(1, "there is no field before <", "")]),
        ("(a", [(1, "this ( is not closed", "")]),
        ("a)", [(2, "there is no ( that this ) closes", "")]),
        ("()", [(1, "there is nothing between ( and )", "")]),
        ('"a', [(1, 'this " is not closed', "")]),
        ('""', [(1, "these quotes hold no text", "")]),
        ("/a", [(1, "this regular expression has no / at its end", "")]),
        ("/(/", [(1, "this is no regular expression", "")]),
        ("//", [(1, "this is no regular expression: it is empty", "")]),
        ("a or", [(3, "`or` stands between two conditions", "")]),
        ("or a", [(1, "`or` stands between two conditions", "")]),
        ("and a", [(1, "`and` stands between two conditions", "")]),
        ("a and", [(3, "`and` stands between two conditions", "")]),
        ("a not", [(3, "`not` stands before a condition", "")]),
        (
            "rewrd<1 and (turns>many or tool:x",
            [
                (1, "there is no field rewrd", ""),
                (13, "this ( is not closed", ""),
                (20, "turns", ""),
            ],
        ),
    ],
)
def test_every_mistake_is_reported_with_its_column(
    text: str, faults: list[tuple[int, str, str]]
) -> None:
    with pytest.raises(FilterError) as refused:
        parse_filter(text, METRICS)
    assert refused.value.columns == [column for column, _, _ in faults]
    for found, (column, what, hint) in zip(refused.value.faults, faults, strict=True):
        assert found.where == f"filter, character {column}"
        assert found.what.startswith(what)
        assert found.hint.startswith(hint)


@pytest.mark.parametrize("text", ["(" * 5000, "!" * 5000 + "a", "not " * 2000 + "a", "a" * 20_000])
def test_what_is_too_deep_or_too_long_is_refused(text: str) -> None:
    with pytest.raises(FilterError) as refused:
        parse_filter(text)
    assert len(refused.value.faults) == 1


texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
patterns = st.from_regex(r"\A([a-z ]|\\d|/){1,8}\Z").map(Pattern)
numbers = st.floats(allow_nan=False, allow_infinity=False)
operators = st.sampled_from(OPERATORS)


@st.composite
def comparisons(draw: st.DrawFn) -> Compare:
    field = draw(st.sampled_from([*FIELDS, *METRICS[:2], "metrics.and"]))
    if kind_of(field) == NUMBERS:
        return Compare(field, draw(operators), draw(numbers | st.none()))
    operator = draw(st.sampled_from((":", "=", "!=")))
    if FIELDS[field].choices:
        choices = [c for c in FIELDS[field].choices if c not in ("true", "false")]
        return Compare(field, operator, draw(st.sampled_from(choices) | st.none()))
    return Compare(field, operator, draw(texts | patterns | st.none()))


nodes: st.SearchStrategy[Node] = st.recursive(
    texts.map(Word) | patterns | comparisons(),
    lambda inner: (
        inner.map(Not)
        | st.lists(inner, min_size=2, max_size=3).map(lambda parts: All(tuple(parts)))
        | st.lists(inner, min_size=2, max_size=3).map(lambda parts: Either(tuple(parts)))
    ),
    max_leaves=8,
)


@given(nodes)
def test_what_is_printed_is_read_as_the_same(node: Node) -> None:
    assert parse_filter(str(node), METRICS) == node


signs = st.sampled_from([*'()!/"\\ <>=:ab', " and ", " or ", "not ", "reward", "tool:", "0.5"])


@given(st.text(max_size=40) | st.lists(signs, max_size=15).map("".join))
def test_any_text_is_a_filter_or_is_refused_with_columns_inside_of_it(text: str) -> None:
    try:
        node = parse_filter(text, METRICS)
    except FilterError as error:
        assert error.faults
        assert all(1 <= column <= len(text) + 1 for column in error.columns)
    else:
        assert node is None or parse_filter(str(node), METRICS) == node
