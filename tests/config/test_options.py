"""Typed options become values, or faults that name the flag."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tui_eval.cli.run import parse_request
from tui_eval.config.expansion import parse_typed
from tui_eval.config.options import BY_NAME, OPTIONS, Option
from tui_eval.config.plan import Request
from tui_eval.config.values import list_text, parse_text, parse_values


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("model", "gpt-4.1-mini", "gpt-4.1-mini"),
        ("api_base_url", "http://127.0.0.1:1/v1", "http://127.0.0.1:1/v1"),
        ("api_key_var", "", ""),
        ("num_examples", "10", 10),
        ("num_examples", "-1", -1),
        ("rollouts_per_example", "4", 4),
        ("max_concurrent", "0", 0),
        ("max_concurrent", "-1", -1),
        ("temperature", "0", 0.0),
        ("temperature", "0.7", 0.7),
        ("max_tokens", "1", 1),
        ("sampling_args", '{"top_p": 0.9}', {"top_p": 0.9}),
        ("env_args", '{"a": [1, null, "é"]}', {"a": [1, None, "é"]}),
        ("env_args", {"a": 1}, {"a": 1}),
        ("state_columns", "a, b,,c ", ["a", "b", "c"]),
        ("max_retries", "0", 0),
        ("save_results", True, True),
        ("output_dir", "out", "out"),
        ("resume", "newest", "newest"),
    ],
)
def test_what_is_right_becomes_a_value(name: str, text: Any, value: Any) -> None:
    assert parse_values({name: text}) == ({name: value}, [])


TYPED = {
    "text": "some", "int": "3", "float": "0.5", "json": '{"a": [1, 2.5]}', "list": "a, b",
    "flag": True, "optional_path": "newest", "headers": ["X-A: b", "X-C: d"],
    "sets": ["env_args.a=1", "model=x"],
}  # fmt: skip
NO_PLAIN_TEXT = {"num_workers": "auto", "worker_memory": "2GB", "until": "width(reward) < 0.1"}


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_a_value_that_the_command_line_parsed_is_the_engines(option: Option) -> None:
    text = NO_PLAIN_TEXT.get(option.name, TYPED[option.kind])
    if option.choices:
        text = option.choices[0]
    request, is_right = parse_request({"env_id": "e", "raw": {option.name: text}})
    assert is_right
    found = parse_typed(sent(request))
    of_text = parse_typed(Request(env_id="e", raw={option.name: text}))
    assert found.values or found.sets
    assert json.dumps(found) == json.dumps(of_text)


@pytest.mark.parametrize(
    ("name", "text", "flag", "words"),
    [
        ("model", "", "-m/--model", "empty"),
        ("api_base_url", "", "-b/--api-base-url", "empty"),
        ("output_dir", "", "-o/--output-dir", "empty"),
        (
            "num_examples",
            "0",
            "-n/--num-examples",
            "0 is too small; expected 1 or more, or -1 for all",
        ),
        ("num_examples", "-2", "-n/--num-examples", "-2 is too small"),
        ("num_examples", "ten", "-n/--num-examples", "'ten' is not a whole number"),
        ("num_examples", "1.5", "-n/--num-examples", "'1.5' is not a whole number"),
        ("rollouts_per_example", "0", "-r/--rollouts-per-example", "expected 1 or more"),
        ("max_concurrent", "-2", "-c/--max-concurrent", "expected 0 or more, or -1 for no limit"),
        ("temperature", "hot", "-T/--temperature", "'hot' is not a number"),
        ("temperature", "nan", "-T/--temperature", "'nan' is not a number"),
        ("temperature", "inf", "-T/--temperature", "'inf' is not a number"),
        ("temperature", "-0.1", "-T/--temperature", "-0.1 is too small"),
        ("max_tokens", "0", "-t/--max-tokens", "expected 1 or more"),
        ("max_retries", "-1", "--max-retries", "expected 0 or more"),
        ("env_args", "{a: 1}", "-a/--env-args", "is not valid JSON"),
        ("env_args", "[1]", "-a/--env-args", "is an array; expected an object"),
        ("env_args", '"x"', "-a/--env-args", "is a string"),
        ("env_args", "3", "-a/--env-args", "is a number"),
        ("env_args", "true", "-a/--env-args", "is a boolean"),
        ("env_args", "null", "-a/--env-args", "is null"),
        ("env_args", "", "-a/--env-args", "is not valid JSON"),
        ("env_args", "[" * 100_000, "-a/--env-args", "nested too deep"),
        ("env_args", '{"a": ' + "[" * 220 + "]" * 220 + "}", "-a/--env-args", "100 levels"),
        ("env_args", '{"a": "\\ud800"}', "-a/--env-args", "lone surrogate"),
        ("sampling_args", '{"temperature": NaN}', "-S/--sampling-args", "NaN is not valid JSON"),
        ("sampling_args", '{"x": -Infinity}', "-S/--sampling-args", "-Infinity is not valid JSON"),
        ("sampling_args", '{"x": [1e999]}', "-S/--sampling-args", "1e999 is too large"),
        ("max_concurrent", "9" * 23, "-c/--max-concurrent", "whole numbers have 64 bits"),
        ("max_tokens", "9" * 23, "-t/--max-tokens", "whole numbers have 64 bits"),
    ],
)
def test_what_is_wrong_is_reported_with_its_flag(
    name: str, text: str, flag: str, words: str
) -> None:
    values, faults = parse_values({name: text})
    assert values == {}
    (fault,) = faults
    assert fault.where == flag
    assert words in fault.what


def test_a_command_line_sends_values_and_what_is_wrong_with_the_others() -> None:
    typed = {"model": "m", "max_concurrent": "64", "max_cost": "none", "verbose": True}
    request, is_right = parse_request({"env_id": "e", "raw": typed})
    assert is_right
    assert request["raw"] == {**typed, "max_concurrent": 64, "max_cost": None}
    wrong = {**typed, "temperature": "hot", "api_base_url": " http://h/v1\n"}
    request, is_right = parse_request({"env_id": "e", "raw": wrong})
    assert not is_right
    assert request["raw"]["api_base_url"] == "http://h/v1"
    ((fault,), pasted) = request["parsed"]
    assert fault.where == "-T/--temperature"
    assert "the URL" in pasted[0]


def sent(request: dict[str, Any]) -> Request:
    """A request as an engine gets it."""
    return Request(**json.loads(json.dumps(request)))


@pytest.mark.parametrize(
    "raw",
    [
        {"max_concurrent": "64", "max_cost": "none", "sets": ["env_args.a=1", "model=x"]},
        {"max_concurrent": "many", "until": "width(reward) < 0.1", "headers": ["X-A: b"]},
        {"api_base_url": " http://h/v1\n", "temperature": "hot", "verbose": True},
        {"sets": ["model=x", "wrong"], "examples": "a, b", "worker_memory": "2GB"},
        {"resume": "", "num_workers": "auto", "output_dir": "x" * 300},
    ],
)
@pytest.mark.parametrize("env_id", ["e", "some.toml"])
def test_an_engine_has_the_same_of_a_command_line_as_of_text(env_id: str, raw: Any) -> None:
    request, _ = parse_request({"env_id": env_id, "raw": raw})
    found, of_text = parse_typed(sent(request)), parse_typed(Request(env_id=env_id, raw=raw))
    assert json.dumps(found[:4]) == json.dumps(of_text[:4])
    assert found.pasted == of_text.pasted or "are ignored" in str(found.notices)


@pytest.mark.parametrize(
    ("name", "text"),
    [("env_args", '{"a": ' + "[" * 98 + "]" * 98 + "}"), ("examples", '["\\ud800"]')],
)
def test_the_engine_reads_values_that_pydantic_refuses_in_json(name: str, text: str) -> None:
    request, is_right = parse_request({"env_id": "e", "raw": {name: text}})
    assert is_right
    assert sent(request).raw == request["raw"]


@pytest.mark.parametrize("names", [["7", "x"], ["a,b"], ["[1"], ["[true]"], ["[1,2]"], [" x "]])
def test_the_text_of_a_list_says_the_list(names: list[str]) -> None:
    option = BY_NAME["examples"]
    assert parse_text(option, list_text(option, names)) == [name.strip() for name in names]


def test_all_faults_are_reported_at_once_and_the_rest_is_read() -> None:
    values, faults = parse_values(
        {"num_examples": "x", "env_args": "y", "temperature": "z", "max_tokens": "5", "model": None}
    )
    assert values == {"max_tokens": 5}
    assert [fault.where for fault in faults] == [
        "-n/--num-examples",
        "-a/--env-args",
        "-T/--temperature",
    ]


def test_every_option_has_a_help_and_flags_of_its_own() -> None:
    flags = [flag for option in OPTIONS for flag in option.flags]
    assert len(flags) == len(set(flags))
    assert all(option.help.endswith((".", "]")) for option in OPTIONS)
    assert len(BY_NAME) == len(OPTIONS)
