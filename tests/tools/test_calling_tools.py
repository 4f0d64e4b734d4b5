from __future__ import annotations

import functools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_eval.tools.parameters import call_by_name


def plain(a, b=2):
    return (a, b)


def by_place(a, b=2, /, c=3):
    return (a, b, c)


def many(a, b=2, *args, key=None, **more):
    return (a, b, args, key, more)


def only_many(*args):
    return args


def decorated(func):
    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        return func(*args, **kwargs)

    return wrapper


@pytest.mark.parametrize(
    ("func", "arguments", "result"),
    [
        (plain, {"a": 1}, (1, 2)),
        (by_place, {"a": 1, "c": 5}, (1, 2, 5)),
        (by_place, {"c": 5, "b": 4, "a": 1}, (1, 4, 5)),
        (many, {"a": 1}, (1, 2, (), None, {})),
        (many, {"a": 1, "args": []}, (1, 2, (), None, {})),
        (many, {"a": 1, "args": [7, 8]}, (1, 2, (7, 8), None, {})),
        (many, {"args": [7], "b": 3, "a": 1, "key": "k", "x": 0}, (1, 3, (7,), "k", {"x": 0})),
        (only_many, {"args": ["x"]}, ("x",)),
        (only_many, {}, ()),
        (decorated(plain), {"b": 1, "a": 0}, (0, 1)),
        (decorated(many), {"a": 1, "args": [7]}, (1, 2, (7,), None, {})),
        (functools.partial(many, 1), {"b": 3, "args": [7]}, (1, 3, (7,), None, {})),
        (dict, {"x": 1}, {"x": 1}),
    ],
)
def test_arguments_by_name_reach_their_parameters(func: Any, arguments: Any, result: Any):
    before = dict(arguments)
    assert call_by_name(func, arguments) == result
    assert arguments == before


@pytest.mark.parametrize(
    ("func", "arguments", "words"),
    [
        (plain, {}, "missing 1 required"),
        (plain, {"a": 1, "c": 1}, "unexpected keyword argument 'c'"),
        (by_place, {"b": 1}, "missing a required argument: 'a'"),
        (many, {"args": [1]}, "missing a required argument: 'a'"),
        (only_many, {"args": "text"}, "'args' must be a list, not a str"),
        (only_many, {"x": 1}, "unexpected keyword argument 'x'"),
    ],
)
def test_arguments_that_do_not_fit_are_type_errors(func: Any, arguments: Any, words: str):
    with pytest.raises(TypeError, match=words):
        call_by_name(func, arguments)


@given(
    st.dictionaries(st.sampled_from("abcdkx"), st.integers()),
    st.none() | st.lists(st.integers(), max_size=3),
)
def test_every_argument_arrives_once_or_the_call_is_refused(named: Any, rest: Any):
    arguments = dict(named) if rest is None else {**named, "args": rest}
    if "a" not in named:
        with pytest.raises(TypeError):
            call_by_name(many, arguments)
        return
    a, b, args, key, more = call_by_name(many, arguments)
    assert (a, b) == (named["a"], named.get("b", 2))
    assert list(args) == (rest or [])
    assert (key, more) == (None, {k: v for k, v in named.items() if k not in "ab"})
