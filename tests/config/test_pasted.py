"""Text around a pasted key or URL is left out, and reported without its content."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from tui_eval.clients.credentials import credentials_of
from tui_eval.config.endpoints import read_registry
from tui_eval.config.expansion import expand
from tui_eval.config.plan import Request
from tui_eval.pasted import unwrapped
from tui_eval.types import ClientConfig

KEY = "sk-test-1234567890"
URL = "http://127.0.0.1:8000/v1"


@pytest.mark.parametrize(
    "wrapped",
    [f" {KEY}", f"{KEY}\n", f'"{KEY}"', f"'{KEY}'\r\n", f"\ufeff{KEY}\u200b", f"\u201c{KEY}\u201d"],
)
def test_a_pasted_key_is_sent_bare_and_reported_without_its_text(
    wrapped: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("PASTED_KEY", wrapped)
    with caplog.at_level(logging.WARNING):
        found = credentials_of(ClientConfig(api_base_url=URL, api_key_var="PASTED_KEY"))
    assert found.key == KEY
    assert "around the key in PASTED_KEY were left out" in caplog.text
    assert KEY not in caplog.text


def test_a_key_that_is_nothing_but_white_space_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASTED_KEY", " \n")
    with pytest.raises(Exception, match="PASTED_KEY"):
        credentials_of(ClientConfig(api_base_url=URL, api_key_var="PASTED_KEY"))


@pytest.mark.parametrize("wrapped", [f" {URL} ", f'"{URL}"', f"{URL}\u200b\n"])
def test_a_pasted_url_is_taken_bare(wrapped: str) -> None:
    assert ClientConfig(api_base_url=wrapped).api_base_url == URL
    assert unwrapped(URL, "the URL") == URL


def test_a_run_reports_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASTED_KEY", f"{KEY}\n")
    raw = {"model": "m", "api_base_url": f" {URL}\u200b", "api_key_var": "PASTED_KEY"}
    for _ in range(2):  # the second time the variable is clean, and it is reported all the same
        found = expand(Request(env_id="reverse-text", raw=raw))
        reported = [str(one) for one in found.notices]
        begins = "warning: White space, quotes or invisible characters around"
        assert f"{begins} the URL of the endpoint were left out" in reported
        assert f"{begins} the key in PASTED_KEY were left out" in reported
    (evaluation,) = found.evaluations
    assert evaluation.plan is not None
    assert [one.url for one in evaluation.plan.served_at] == [URL]


def test_a_url_of_the_registry_is_taken_bare(tmp_path: Path) -> None:
    file = tmp_path / "endpoints.toml"
    file.write_text(f'[[endpoint]]\nendpoint_id = "a"\nmodel = "m"\nurl = " {URL}\\n"\n')
    found, faults = read_registry(file)
    assert faults == []
    assert found["a"][0].url == URL
