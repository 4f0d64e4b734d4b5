"""Registries in Python: read as data, never run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui_eval.config.endpoints import Endpoint, read_registry

GOOD = """
import os
print("never")
ENDPOINTS = {
    "mini": {"model": "gpt-4.1-mini", "url": "https://api.example/v1", "key": "A_KEY"},
    "sonnet": [
        {"model": "s", "api_base_url": "http://a.example", "type": "anthropic_messages"},
        {"model": "s", "url": "http://b.example", "api_client_type": "anthropic_messages"},
    ],
}
"""


def read(folder: Path, text: str) -> tuple[dict[str, list[Endpoint]], list[str]]:
    file = folder / "endpoints.py"
    file.write_text(text)
    found, faults = read_registry(file)
    return found, [str(fault).replace(str(file), "") for fault in faults]


def test_entries_are_endpoints_and_nothing_is_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found, faults = read(tmp_path, GOOD)
    assert faults == [] and capsys.readouterr().out == ""
    (mini,) = found["mini"]
    assert (mini.model, mini.url, mini.key_var) == (
        "gpt-4.1-mini",
        "https://api.example/v1",
        "A_KEY",
    )
    assert [one.url for one in found["sonnet"]] == ["http://a.example", "http://b.example"]
    assert {one.client_type for one in found["sonnet"]} == {"anthropic_messages"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("X = {}", [": there is no ENDPOINTS = {...}"]),
        ("ENDPOINTS = dict(a=1)", [":1: ENDPOINTS is no dict as it stands. The file is read"]),
        ("ENDPOINTS = {", [":1: this is no Python"]),
        ("ENDPOINTS = {'a': make()}", [":1: the entry of 'a' is no dict", ":1: model", ":1: url"]),
        ("ENDPOINTS = {NAME: {}}", [":1: this alias is no text as it stands"]),
        (
            "import os\nENDPOINTS = {'a': {'model': 'm', 'url': os.environ['U'],\n'keys': 'K'}}",
            [":2: url of 'a' is no text as it stands", ":3: unknown key 'keys'", ":2: url"],
        ),
    ],
)
def test_every_fault_is_found_with_its_line(tmp_path: Path, text: str, words: list[str]) -> None:
    found, faults = read(tmp_path, text)
    assert found == {}
    assert [fault for fault, said in zip(faults, words, strict=True) if said not in fault] == []
