"""The endpoint registry: read whole, or every fault with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui_eval.config.endpoints import EMBEDDED, Endpoint, read_registry, registry_path

GOOD = """
[[endpoint]]
endpoint_id = "mini"
model = "gpt-4.1-mini"
url = "https://api.openai.com/v1"
key = "OPENAI_API_KEY"

[[endpoint]]
endpoint_id = "sonnet"
model = "claude"
api_base_url = "https://api.anthropic.com"
api_key_var = "ANTHROPIC_API_KEY"
api_client_type = "anthropic_messages"
"""


def read(folder: Path, text: str | bytes) -> tuple[dict[str, list[Endpoint]], list[str]]:
    path = folder / "models" / "endpoints.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    found, faults = read_registry(path)
    assert all(fault.where.startswith(str(path)) for fault in faults)
    return found, [str(fault).removeprefix(str(path)) for fault in faults]


def test_both_spellings_of_a_field_are_read(tmp_path: Path) -> None:
    found, faults = read(tmp_path, GOOD)
    assert faults == []
    assert found["mini"] == [
        Endpoint("mini", "gpt-4.1-mini", "https://api.openai.com/v1", "OPENAI_API_KEY",
                 "openai_chat_completions")
    ]  # fmt: skip
    assert found["sonnet"][0] == Endpoint(
        "sonnet", "claude", "https://api.anthropic.com", "ANTHROPIC_API_KEY", "anthropic_messages"
    )


def test_what_an_endpoint_understands_is_read_and_is_alike_in_its_replicas(
    tmp_path: Path,
) -> None:
    lines = 'token_limit = "max_tokens"\nreasoning_field = "none"\nencrypted_reasoning = false\n'
    first, second = GOOD.strip().split("\n\n")
    found, faults = read(tmp_path, f"{first}\n{lines}")
    assert faults == []
    assert found["mini"][0].profile == {
        "token_limit": "max_tokens",
        "reasoning_field": "none",
        "encrypted_reasoning": False,
    }
    _, (fault,) = read(tmp_path, f"{first}\n{lines}\n{first}\n\n{second}")
    assert "Replicas have the same profile" in fault


def test_an_alias_that_stands_twice_has_replicas_in_order(tmp_path: Path) -> None:
    again = GOOD.replace("api.openai.com", "replica.example").split("\n\n")[0]
    found, faults = read(tmp_path, GOOD + again)
    assert faults == []
    assert [one.url for one in found["mini"]] == [
        "https://api.openai.com/v1",
        "https://replica.example/v1",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[[endpoint]]\nmodel = "m"', ["endpoint_id is missing", "url is missing"]),
        ("[[endpoint]]", ["endpoint_id is missing", "model is missing", "url is missing"]),
        ('[endpoint]\nmodel = "m"', ["[endpoint] is one table. Write [[endpoint]]"]),
        ("endpoint = [1]", ["this is 1, no table. Write [[endpoint]]"]),
        ('[[models]]\nmodel = "m"', ["unknown table 'models'. Endpoints are [[endpoint]] tables"]),
        ("[[endpoint", ["this is no TOML: "]),
        (b"\xff\xfe", ["this is no TOML: "]),
    ],
)
def test_what_is_wrong_with_the_file_is_reported(
    tmp_path: Path, text: str | bytes, expected: list[str]
) -> None:
    found, faults = read(tmp_path, text)
    assert found == {}
    assert len(faults) == len(expected)
    assert all(words in fault for words, fault in zip(expected, faults, strict=True))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('modle = "m"', "unknown key 'modle'. Did you mean model?"),
        ('api_base_url = "http://x"', "url and api_base_url are the same field; keep one"),
        ('api_key_var = "K"', "key and api_key_var are the same field; keep one"),
        ('type = "grpc"', "unknown client type 'grpc'. Known are openai_chat_completions"),
        ("type = 3", "type must be text that is not empty"),
        ('headers = ""', "headers: '' is no header; expected 'Name: Value'"),
        ("headers = 3", "headers: 3 is not a list of texts"),
        ("headers = { a = 3 }", "headers: the value of header a must be one line of ASCII text"),
        ('extra_headers = { "a b" = "c" }', "extra_headers: 'a b' is no name of a header"),
        ("input_price = -1", "input_price must be a number from 0 on: USD per million tokens"),
        ('output_price = "1"', "output_price must be a number from 0 on"),
        ("cached_input_price = -1", "cached_input_price must be a number from 0 on"),
        ("cache_write_price = inf", "cache_write_price must be a number from 0 on"),
        ("max_concurrent = 0", "max_concurrent must be a whole number from 1 on"),
        ('stream = "yes"', "stream must be true or false"),
        ("token_limit = 5", 'token_limit must be "max_tokens" or "max_completion_tokens"'),
        ('reasoning_field = "x"', 'reasoning_field must be "as_received" or "none" or "reasoning'),
        ('encrypted_reasoning = "no"', "encrypted_reasoning must be true or false"),
        ("encrypted_reasoning = 1", "encrypted_reasoning must be true or false"),
        ("max_concurrent = true", "max_concurrent must be a whole number from 1 on"),
    ],
)
def test_a_wrong_key_is_reported_with_its_line(tmp_path: Path, line: str, expected: str) -> None:
    first, second = GOOD.strip().split("\n\n")
    found, faults = read(tmp_path, f"{second}\n\n{first}\n{line}\n")
    assert list(found) == ["sonnet"]
    assert len(faults) == 1
    assert faults[0].startswith(":13: ")
    assert expected in faults[0]


@pytest.mark.parametrize("url", ["10.0.0.7:8000/v1", "ftp://h/v1", "http://", "embedded:other"])
def test_what_is_no_url_is_reported_with_its_line(tmp_path: Path, url: str) -> None:
    text = f'[[endpoint]]\nendpoint_id = "a"\nmodel = "m"\nurl = "{url}"\n'
    assert read(tmp_path, text) == (
        {},
        [f":4: {url!r} is no URL; it begins with http:// or https:// and a host"],
    )


def test_a_password_in_a_url_is_not_shown(tmp_path: Path) -> None:
    text = '[[endpoint]]\nendpoint_id = "a"\nmodel = "m"\nurl = "ftp://me:hunter2@h"\n'
    _, (fault,) = read(tmp_path, text)
    assert "is no URL" in fault and "hunter2" not in fault


def test_all_faults_of_all_tables_are_reported(tmp_path: Path) -> None:
    _, faults = read(tmp_path, '[[endpoint]]\nurl = 1\n[[endpoint]]\nfoo = "x"\n[other]\n')
    assert len(faults) == 8


def test_a_registry_that_is_not_there_is_reported(tmp_path: Path) -> None:
    found, faults = read_registry(tmp_path / "nothing.toml")
    assert found == {}
    assert "cannot be read: No such file" in str(faults[0])


@pytest.mark.parametrize("name", ["e" * 300, "e\0"])
def test_a_registry_that_can_have_no_such_name_is_reported(name: str) -> None:
    found, (fault,) = read_registry(registry_path(name))
    assert found == {}
    assert str(fault).startswith(f"{name}: the registry cannot be read: ")


def test_the_shipped_registry_is_read_where_there_is_none_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found, faults = read_registry(registry_path(None))
    assert faults == []
    assert {"gpt-4.1-mini", "qwen3-235b-i", "claude-sonnet", "demo"} <= found.keys()
    assert found["demo"][0].url == EMBEDDED
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "endpoints.toml").write_text(GOOD)
    assert list(read_registry(registry_path(None))[0]) == ["mini", "sonnet", "demo"]
