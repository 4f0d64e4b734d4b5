"""Secrets do not reach the disk, and what reaches it can be read."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_eval.events import HEAD, RolloutFinished
from tui_eval.runs.formats.rows import read_row
from tui_eval.runs.redaction import Redactor


def test_a_secret_becomes_as_many_asterisks() -> None:
    assert Redactor(["sk-12345"])(b"key sk-12345, sk-1234") == b"key ********, sk-1234"


def test_short_values_are_no_secrets() -> None:
    assert Redactor(["EMPTY", "", "x"])(b"EMPTY x") == b"EMPTY x"


def test_the_longer_of_two_secrets_goes_first() -> None:
    assert Redactor(["secret", "secret-and-more"])(b"secret-and-more") == b"*" * 15


@pytest.mark.parametrize("secret", ['pass"word', "pass\\word", "pässword", 'a\\"b\\c'])
def test_secrets_are_found_in_json_and_in_json_within_json(secret: str) -> None:
    inner = json.dumps({"arguments": secret}, ensure_ascii=False)
    line = json.dumps({"text": secret, "call": inner}, ensure_ascii=False).encode() + b"\n"
    redacted = Redactor([secret]).line(line)
    row = json.loads(redacted)
    assert set(row["text"]) == {"*"}
    assert set(json.loads(row["call"])["arguments"]) == {"*"}


@pytest.mark.parametrize("write", [quote, repr, json.dumps, partial(quote, safe="")])
@pytest.mark.parametrize("secret", ["abc+def/gh==", "pass'wo\"rd", "pässword ß", "a\\b'c d%e"])
def test_secrets_are_found_as_urls_and_python_and_ascii_write_them(
    secret: str, write: Callable[[str], str]
) -> None:
    text = f"at {write(secret)} it"
    line = json.dumps({"text": text}).encode() + b"\n"
    redacted = json.loads(Redactor([secret]).line(line))["text"]
    assert set(redacted[3:-3].strip("'\"")) == {"*"}


@pytest.mark.parametrize("secret", ["reward", "1795123456", "000000", "example_id", 'null,"a'])
def test_a_careless_key_does_not_break_the_line(secret: str) -> None:
    row = {"example_id": 1, "reward": 0.30000000000000004, "error": None, "a": "reward example_id",
           "start": 1795123456.18, "large": 1000000000, "say": "my key is 1795123456"}  # fmt: skip
    line = (json.dumps(row, separators=(",", ":")) + "\n").encode()
    redacted = json.loads(Redactor([secret]).line(line))
    assert redacted.keys() == row.keys()
    assert (redacted["reward"], redacted["start"], redacted["large"]) == (
        row["reward"],
        row["start"],
        row["large"],
    )
    assert secret not in redacted["a"] + redacted["say"]


@given(st.text(min_size=6, max_size=10), st.text(max_size=20), st.text(max_size=20))
def test_no_secret_is_left_in_any_text(secret: str, before: str, after: str) -> None:
    line = json.dumps({"text": before + secret + after}, ensure_ascii=False).encode() + b"\n"
    redacted = Redactor([secret]).line(line)
    assert redacted.endswith(b"\n")
    assert secret not in json.loads(redacted)["text"]


def test_a_secret_that_the_cut_would_go_through_is_taken_out_before() -> None:
    secret = "sk-verysecret"
    text = "x" * (HEAD - 6) + secret
    saved = {"example_id": 0, "metrics": {}, "prompt": text, "completion": text, "tui_eval": {}}
    line = Redactor([secret]).line(json.dumps(saved).encode() + b"\n")
    event = read_row(1, 0, memoryview(line))
    assert isinstance(event, RolloutFinished)
    assert (event.question, event.answer) == ("x" * (HEAD - 6) + "*" * 6,) * 2
