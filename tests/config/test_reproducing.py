"""The command line that runs the same run again."""

from __future__ import annotations

import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
from made_plans import make_plan

from tui_eval.config.options import BY_NAME, OPTIONS
from tui_eval.config.plan import Request, RunPlan, plan_to_toml
from tui_eval.config.reproduction import command_from

pytestmark = pytest.mark.usefixtures("here")


LEFT_OUT = frozenset((
    "name", "headers", "resume", "keep_errors", "accept_changes", "disable_env_server",
    "save_to_hf_hub", "hf_hub_dataset_name", "heartbeat_url", "heartbeat_status", "debug", "tui",
    "abbreviated_summary", "json", "dry_run", "no_preflight", "sets",
))  # fmt: skip
"""Options that are no part of a run: how it is watched, whom it notifies, what is not kept."""


def planned(env_id: str, raw: dict[str, Any]) -> RunPlan:
    plan, faults = make_plan(Request(env_id=env_id, raw=raw))
    assert plan is not None, faults
    return plan


def read(line: str) -> tuple[str, dict[str, Any]]:
    """Options of a command line, as the command itself reads it."""
    words = shlex.split(line)
    assert words[:2] == ["tui-eval", "run"]
    by_flag = {flag: option for option in OPTIONS for flag in option.flags}
    raw: dict[str, Any] = {}
    rest = words[3:]
    while rest:
        option = by_flag[rest.pop(0)]
        raw[option.name] = True if option.kind == "flag" else rest.pop(0)
    return words[2], raw


def again(plan: RunPlan) -> tuple[RunPlan, str]:
    line, left_out = command_from(tomllib.loads(plan_to_toml(plan)))
    assert left_out == []
    return planned(*read(line)), line


@pytest.mark.parametrize(
    "raw",
    [
        {"model": "mini"},
        {"model": "mini", "temperature": "0.5", "max_tokens": "64", "num_examples": "-1"},
        {"model": "mini", "sampling_args": '{"top_p": 0.9, "stop": null}', "temperature": "0"},
        {"model": "own", "api_base_url": "http://localhost:9/v1", "api_key_var": ""},
        {"model": "own", "api_base_url": "http://localhost:9/v1", "api_key_var": "EXAMPLE_KEY"},
        {"model": "mini", "endpoints_path": "configs", "stream": True},
        {"model": "mini", "examples": "7,3", "num_examples": "40"},
        {"model": "mini", "examples": '["a,b", "[c]"]', "state_columns": '["d,e"]'},
        {"model": "mini", "no_stream": True, "api_client_type": "anthropic_messages"},
        {
            "model": "mini",
            "env_args": '{"split": "it\'s", "n": [1, null]}',
            "extra_env_kwargs": '{"max_turns": 3}',
            "shuffle": True,
            "shuffle_seed": "4",
            "state_columns": "a,b",
            "no_adaptive": True,
            "no_interleave_scoring": True,
            "independent_scoring": True,
            "timeout": "9",
            "max_concurrent": "0",
            "max_retries": "2",
            "save_results": True,
        },
    ],
)
def test_the_command_gives_the_same_plan(raw: dict[str, Any]) -> None:
    plan = planned("my-env", raw)
    repeated, line = again(plan)
    without = {"sources"}
    assert repeated.model_dump(exclude=without) == plan.model_dump(exclude=without), line


def test_what_a_file_says_is_said_in_the_command() -> None:
    Path("one.toml").write_text('[[eval]]\nenv_id = "my-env"\nmodel = "mini"\nnum_examples = 9\n')
    line, _ = command_from(tomllib.loads(plan_to_toml(planned("one.toml", {}))))
    assert line == "tui-eval run my-env -m mini -n 9"


def test_one_rollout_of_a_run_is_requested_by_the_id_of_its_example() -> None:
    info = tomllib.loads(plan_to_toml(planned("my-env", {"model": "mini", "num_examples": "9"})))
    assert command_from(info, example="7")[0] == "tui-eval run my-env -m mini --examples 7 -r 1"
    line, _ = command_from(info, example="a,b")
    assert line == """tui-eval run my-env -m mini --examples '["a,b"]' -r 1"""
    assert planned(*read(line)).examples == ["a,b"]
    with pytest.raises(ValueError, match="is empty or has spaces around it"):
        command_from(info, example=" a")


def test_secrets_are_left_out_and_named() -> None:
    raw = {
        "model": "mini",
        "headers": ["X-Team: evals"],
        "env_args": '{"api_key": "sk-0123456789abcdef"}',
        "heartbeat_url": "https://user:pass@beat.example/?key=1",
        "save_to_hf_hub": True,
    }
    line, left_out = command_from(tomllib.loads(plan_to_toml(planned("my-env", raw))))
    assert "sk-" not in line and "beat.example" not in line and "-H" not in line.split()
    assert "***" in line
    assert left_out == ["--header X-Team", "env_args.api_key", "--heartbeat-url", "-H"]


def test_headers_of_replicas_come_with_their_registry() -> None:
    info = tomllib.loads(plan_to_toml(planned("my-env", {"model": "two"})))
    assert "X-Replica" in info["endpoints"][1]["headers"]
    assert command_from(info) == ("tui-eval run my-env -m two", [])


def test_the_command_of_another_programs_run_says_what_is_known() -> None:
    info = {
        "env_id": "gsm8k",
        "model": "gpt-4.1-mini",
        "base_url": "https://api.openai.com/v1",
        "num_examples": 20,
        "rollouts_per_example": 3,
        "sampling_args": {"temperature": 0.7, "max_tokens": None},
        "env_args": {},
    }
    line, left_out = command_from(info)
    assert line == (
        "tui-eval run gsm8k -m gpt-4.1-mini -b https://api.openai.com/v1 -T 0.7"
        """ -S '{"max_tokens": null}' -n 20"""
    )
    assert left_out == []


def test_inputs_of_a_program_have_no_command() -> None:
    with pytest.raises(ValueError, match="a program gave"):
        command_from({"env_id": "e", "model": "m", "given_inputs": True})
    with pytest.raises(ValueError, match="environment"):
        command_from({"model": "m"})


def test_every_option_is_in_the_command_or_left_out_on_purpose() -> None:
    from tui_eval.config.reproduction import MODEL, PLAIN, TURNED

    known = {*PLAIN, *TURNED, *MODEL, *LEFT_OUT, "env_id", "sampling_args"}
    assert {one for one in BY_NAME if BY_NAME[one].flags} - known == set()
