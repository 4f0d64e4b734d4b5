"""Secret settings are neither shown nor written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from setting_places import REGISTRY, faults, plan, plans, write

from tui_eval.config.compatibility import changes
from tui_eval.config.endpoint_resolution import Surroundings
from tui_eval.config.options import Setting
from tui_eval.config.plan import plan_to_toml, read_plan
from tui_eval.config.plan_builder import compose
from tui_eval.config.secret_values import masked, masked_url, secrets_of_url

KEY = "sk-proj-abcdef1234567890"

pytestmark = pytest.mark.usefixtures("here")


def test_a_key_in_place_of_its_variable_is_not_printed() -> None:
    (reported,) = faults(model="mini", api_key_var=KEY)
    assert KEY not in reported
    assert "looks like a key" in reported
    write("configs/endpoints.toml", REGISTRY.replace("EXAMPLE_KEY", KEY))
    (reported,) = faults(model="mini")
    assert KEY not in reported
    assert "looks like a key" in reported


def test_a_variable_that_is_not_set_is_still_named() -> None:
    (reported,) = faults(model="mini", api_key_var="NOT_SET_KEY")
    assert "NOT_SET_KEY" in reported


@pytest.mark.parametrize("url", ["http://h/v1?token=hush", "http://h/v1#hush", "http://h/v1?"])
def test_a_base_url_has_neither_query_nor_fragment(url: str) -> None:
    (reported,) = faults(model="own", api_base_url=url)
    assert "hush" not in reported
    assert "-k" in reported
    assert "--header" in reported


def test_secrets_are_hidden_in_the_plan_and_needed_again(tmp_path: Path) -> None:
    args = f'{{"api_key": "{KEY}", "answer_key": "label"}}'
    url = f"http://u:pw@h/ping?key={KEY}&plain"
    first = plan(model="mini", env_args=args, heartbeat_url=url)
    path = tmp_path / "run.toml"
    path.write_text(plan_to_toml(first))
    assert KEY not in path.read_text()
    assert "u:pw" not in path.read_text()
    before = read_plan(path)
    assert before.env_args == {"api_key": "***", "answer_key": "label"}
    assert before.heartbeat_url == "http://***@h/ping?key=***&***"
    _, wrong = compose({}, before, Surroundings())
    assert [fault.hint.split(" ")[3] for fault in wrong] == ["-a", "--heartbeat-url"]
    again = {
        "env_args": Setting(first.env_args, "-a"),
        "heartbeat_url": Setting(url, "--heartbeat-url"),
    }
    evaluation, wrong = compose(again, before, Surroundings())
    assert wrong == []
    assert evaluation.plan is not None
    assert evaluation.plan.env_args["api_key"] == KEY
    assert changes({"env_args": {"api_key": "other-1", "answer_key": "x"}}, before)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://hc-ping.com/5f0c7a1e-9d1b-4c58-a0cf-3b1f0d2c9e77", "https://hc-ping.com/***"),
        (
            "https://hc-ping.com/5f0c7a1e-9d1b-4c58-a0cf-3b1f0d2c9e77/start",
            "https://hc-ping.com/***/start",
        ),
        ("https://hc-ping.com/Zk3fJq8LwP0xYb7sRt5u/nightly", "https://hc-ping.com/***/nightly"),
        (
            "https://api.telegram.org/bot110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw/sendMessage",
            "https://api.telegram.org/***/sendMessage",
        ),
        (
            "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
            "https://hooks.slack.com/services/***/***/***",
        ),
        (
            "https://uptime.example/api/push/a8Bc2dEf9g?status=up",
            "https://uptime.example/api/push/***?status=***",
        ),
        ("http://127.0.0.1:8000/beat", "http://127.0.0.1:8000/beat"),
        ("http://h/v1/heartbeat/my-nightly-run", "http://h/v1/heartbeat/my-nightly-run"),
    ],
)
def test_tokens_in_the_path_of_a_url_are_hidden(url: str, shown: str, tmp_path: Path) -> None:
    assert masked_url(url) == shown
    path = tmp_path / "run.toml"
    path.write_text(plan_to_toml(plan(model="mini", heartbeat_url=url)))
    before = read_plan(path)
    assert before.heartbeat_url == shown
    _, wrong = compose({}, before, Surroundings())
    assert [fault.hint for fault in wrong] == ["Give it again: --heartbeat-url URL"] * (
        "***" in shown
    )
    for text in secrets_of_url(url):
        assert text not in path.read_text()


def test_what_varies_shows_no_secret() -> None:
    sweep = (
        'model = "mini"\n[[ablation]]\nenv_id = "a"\n[ablation.sweep.env_args]\n'
        f'judge_api_key = ["{KEY}", "{KEY}2"]\nauth = [{{ token = "{KEY}" }}, {{ token = "x" }}]\n'
        "size = [1, 2]\n"
    )
    varies = [one.varies for one in plans(write("e.toml", sweep))]
    assert len(varies) == 8
    assert {one["env_args.judge_api_key"] for one in varies} == {"***"}
    assert {one["env_args.auth"] for one in varies} == {'{"token": "***"}'}
    assert {one["env_args.size"] for one in varies} == {"1", "2"}
    assert KEY not in str(varies)


def test_the_heartbeat_url_of_a_file_shows_no_secret_where_it_varies() -> None:
    token = "5f0c7a1e-9d1b-4c58-a0cf-3b1f0d2c9e77"
    text = (
        f'model = "mini"\n[[eval]]\nenv_id = "a"\nheartbeat_url = "https://hc-ping.com/{token}"\n'
        '[[eval]]\nenv_id = "a"\nheartbeat_url = "https://hc-ping.com/other"\n'
    )
    assert token not in str([one.varies for one in plans(write("e.toml", text))])


@pytest.mark.parametrize(
    "name", ["api_keys", "passwords", "accessToken", "openaiApiKey", "clientSecret", "HFToken"]
)
def test_several_secrets_and_those_in_camel_case_are_hidden_too(name: str) -> None:
    for value in (KEY, [KEY]):
        assert masked({name: value}) == {name: "***"}


@pytest.mark.parametrize("name", ["max_tokens", "maxTokens", "keys", "tokenizer"])
def test_what_is_called_nearly_like_a_secret_is_shown(name: str) -> None:
    assert masked({name: [1]}) == {name: [1]}


@pytest.mark.parametrize("name", ["use_token", "skip_key", "password"])
def test_a_switch_is_no_secret(tmp_path: Path, name: str) -> None:
    planned = plan(model="mini", env_args=json.dumps({name: True}))
    path = tmp_path / "run.toml"
    path.write_text(plan_to_toml(planned))
    assert read_plan(path).env_args == {name: True}
