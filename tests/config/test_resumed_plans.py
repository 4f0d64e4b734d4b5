"""Settings that a resumed run keeps, reads again, and leaves behind."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from made_plans import make_plan
from setting_places import REGISTRY, faults, plan, plans, write

from tui_eval.config import local_servers
from tui_eval.config.command_line import parse_resume_words, resume_words
from tui_eval.config.litellm_names import name_model
from tui_eval.config.local_servers import LocalServer
from tui_eval.config.options import TYPED_KEY_VAR
from tui_eval.config.plan import Request, RunPlan, plan_to_toml, read_plan
from tui_eval.config.resumed_endpoints import needed_again
from tui_eval.engine.setup.prepare import client_config
from tui_eval.shipped import shipped


def kept(**raw: Any) -> RunPlan:
    """The plan of a run as its run.toml has it."""
    write("run.toml", plan_to_toml(plan(**raw)))
    return read_plan(Path("run.toml"))


def again(before: RunPlan, **raw: Any) -> RunPlan:
    found, wrong = make_plan(Request(raw=raw), before)
    assert found is not None, wrong
    return found


def refused(before: RunPlan, **raw: Any) -> str:
    found, wrong = make_plan(Request(raw=raw), before)
    assert found is None
    return "\n".join(map(str, wrong))


@pytest.mark.parametrize("typed", [{}, {"endpoints_path": "../configs"}])
def test_headers_are_read_from_the_registry_of_the_run_wherever_it_is_resumed(
    here: Path, monkeypatch: pytest.MonkeyPatch, typed: dict[str, str]
) -> None:
    before = kept(model="mini", **({"endpoints_path": "configs"} if typed else {}))
    assert before.registry == str(here / "configs" / "endpoints.toml")
    assert "of the registry" not in Path("run.toml").read_text()
    write("elsewhere/configs/endpoints.toml", "")
    monkeypatch.chdir("elsewhere")
    found = again(before, **typed)
    assert found.endpoints[0].headers == {"X-Team": "of the registry"}
    assert found.registry == before.registry
    renamed = again(before, model="two", accept_changes=True)
    assert renamed.model == "served-twice", "its aliases are those of its registry"


def test_what_an_endpoint_understands_is_kept_by_a_resume(here: Path) -> None:
    reported = 'reasoning_field = "none"\nencrypted_reasoning = false\n[endpoint.headers]'
    write("configs/endpoints.toml", REGISTRY.replace("[endpoint.headers]", reported))
    before = kept(model="mini")
    write("configs/endpoints.toml", REGISTRY)
    found = again(before)
    assert found.profile == {"reasoning_field": "none", "encrypted_reasoning": False}
    (config,) = client_config(found).per_endpoint()
    assert (config.reasoning_field, config.encrypted_reasoning) == ("none", False)
    assert config.token_limit is None
    assert again(kept(model="mini")).profile == {}


def test_the_shipped_registry_is_kept_by_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = kept(model="demo")
    assert before.registry == "shipped"
    write("configs/endpoints.toml", REGISTRY)
    assert again(before).base_url == "embedded:demo"
    assert shipped("configs", "endpoints.toml").is_file()


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        (None, "is gone. Name the registry that has it: -e FILE"),
        ('[[endpoint]]\nendpoint_id = "other"\nmodel = "m"\nurl = "http://x"\n',
         "has no 'mini' any more. Name the registry that has it: -e FILE"),
        (REGISTRY.replace("api.example", "new.example"),
         "is not at https://api.example/v1 any more. Name the registry"),
        ("nonsense", "endpoints.toml:1"),
    ],
)  # fmt: skip
def test_a_registry_that_no_longer_has_the_headers_is_named(
    here: Path, text: str | None, reported: str
) -> None:
    before = kept(model="mini")
    if text is None:
        Path("configs/endpoints.toml").unlink()
    else:
        write("configs/endpoints.toml", text)
    said = refused(before)
    assert str(here / "configs" / "endpoints.toml") in said
    assert reported in said
    assert "Type it again: --header 'X-Team: ...'" in said
    write("saved.toml", REGISTRY)
    assert again(before, endpoints_path="saved.toml").registry == str(here / "saved.toml")
    assert again(before, headers=["X-Team: typed"]).endpoints[0].headers == {"X-Team": "typed"}


def test_only_headers_of_no_registry_are_needed_again(here: Path) -> None:
    assert needed_again(kept(model="mini")) == []
    typed = kept(model="mini", headers=["X-Mine: secret", "X-Team: mine"])
    assert needed_again(typed) == ["--header 'X-Mine: ...'"]


def test_a_budget_is_not_inherited_and_the_folder_is(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = kept(model="mini", max_cost="1", max_total_tokens="5", no_preflight=True)
    assert (before.max_cost, before.max_total_tokens) == (1, 5)
    os.mkdir("elsewhere")
    monkeypatch.chdir("elsewhere")
    found = again(before)
    assert (found.max_cost, found.max_total_tokens) == (None, None)
    assert (found.folder, found.no_preflight) == (str(here), True)
    assert again(before, max_cost="2").max_cost == 2


def test_a_budget_of_a_file_is_lifted_by_none(here: Path) -> None:
    one = '[[eval]]\nenv_id = "a"\nmodel = "mini"\nmax_cost = 1\n'
    write("one.toml", one)
    assert plan("one.toml", max_cost="none").max_cost is None
    write("two.toml", one + one.replace('"a"', '"b"'))
    assert [each.max_cost for each in plans("two.toml", max_cost="none")] == [None, None]
    assert [each.max_cost for each in plans("two.toml", max_cost="5")] == [1, 1], "one for all"
    assert [each.max_cost for each in plans("two.toml", sets=["max_cost=none"])] == [None, None]


@pytest.mark.parametrize(
    ("name", "reported"),
    [
        ("max_cost", "--max-cost: 0 is too small; expected more than 0."),
        ("max_total_tokens", "--max-total-tokens: 0 is too small; expected 1 or more."),
    ],
)
def test_a_budget_of_nothing_is_refused(here: Path, name: str, reported: str) -> None:
    (said,) = faults(model="mini", **{name: "0"})
    assert said == f"{reported} To spend nothing say --dry-run; for no limit leave it out"


def test_what_was_set_beside_a_file_is_typed_again_without_secrets(here: Path) -> None:
    raw = {
        "sets": ["temperature=0.5", "env_args.api_key=sk-1", "headers.X-Team=secret",
                 'env_args={"api_key": "sk-2"}'],
        "heartbeat_url": "http://x/?key=secret",
        "no_preflight": True,
        "max_cost": "1",
        "json": True,
    }  # fmt: skip
    words = resume_words(raw)
    assert words == [
        *("--no-preflight", "--set", "temperature=0.5", "--set", "env_args.api_key=***"),
        *("--set", "headers.X-Team=***", "--set", "env_args=***"),
    ]
    assert parse_resume_words(words) is None
    (said,) = faults(model="mini", sets=["env_args.api_key=***"])
    assert said == "--set: *** stands for what is secret in env_args.api_key; type its value"


def test_what_is_typed_again_is_what_was_requested() -> None:
    raw = {"no_preflight": True, "heartbeat_url": "http://x/", "heartbeat_status": True,
           "sets": ["temperature=0.5", "name=a=b"]}  # fmt: skip
    assert parse_resume_words(resume_words(raw)) == raw
    assert parse_resume_words([]) == {}


def test_a_key_that_was_typed_is_requested_by_its_flag(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TYPED_KEY_VAR, "sk-1")
    before = kept(model="m", api_base_url="http://x/v1", api_key_var=TYPED_KEY_VAR)
    monkeypatch.delenv(TYPED_KEY_VAR)
    assert refused(before) == (
        "--api-key: the key that was typed is not kept with the run. "
        "Type it again: --api-key KEY, or name a variable that holds it: -k VAR"
    )


def test_an_agents_model_that_is_not_found_is_offered_by_local_servers(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [LocalServer(8000, "vLLM", ["qwen"])]
    monkeypatch.setattr("tui_eval.config.litellm_names.find_servers", lambda: found)
    assert local_servers.LOCAL_SERVERS == []
    (fault,) = name_model(Request(raw={"model": "nobody/qwen"}))
    offer = "http://localhost:8000 (vLLM) serves 'qwen': -b http://localhost:8000/v1 --model qwen."
    assert offer in str(fault)
