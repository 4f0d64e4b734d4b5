"""From a request to one validated plan, to run.toml and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_plans import make_plan
from pydantic_core import PydanticUndefined

from tui_eval.config.expansion import Expander
from tui_eval.config.options import BY_NAME
from tui_eval.config.plan import Request, RunPlan, plan_to_toml, read_plan
from tui_eval.config.secret_values import masked
from tui_eval.errors import RefusedError

REGISTRY = """
[[endpoint]]
endpoint_id = "mini"
model = "org/mini"
url = "https://api.example/v1"
key = "EXAMPLE_KEY"
[[endpoint]]
endpoint_id = "sonnet"
model = "claude"
url = "https://other.example"
api_client_type = "anthropic_messages"
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a registry, and the key that it names."""
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "endpoints.toml").write_text(REGISTRY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EXAMPLE_KEY", "k")
    return tmp_path


def planned(before: RunPlan | None = None, **raw: Any) -> RunPlan:
    plan, faults = make_plan(Request(env_id="my-env", raw={"model": "mini", **raw}), before)
    assert plan is not None, faults
    return plan


def faults_of(
    before: RunPlan | None = None, env_id: str | None = "my-env", **raw: Any
) -> list[str]:
    plan, faults = make_plan(Request(env_id=env_id, raw=raw), before)
    assert plan is None
    return [str(fault) for fault in faults]


def test_an_alias_brings_model_url_key_and_protocol() -> None:
    plan = planned()
    assert (plan.alias, plan.model, plan.base_url) == ("mini", "org/mini", "https://api.example/v1")
    assert (plan.key_var, plan.client_type) == ("EXAMPLE_KEY", "openai_chat_completions")
    assert planned(model="sonnet").client_type == "anthropic_messages"
    assert (plan.num_examples, plan.rollouts_per_example, plan.max_concurrent) == (5, 3, 32)


def test_what_is_typed_wins() -> None:
    plan = planned(
        num_examples="7", api_key_var="", api_client_type="anthropic_messages", env_args='{"a": 1}'
    )
    assert (plan.num_examples, plan.key_var, plan.env_args) == (7, "", {"a": 1})
    assert plan.client_type == "anthropic_messages"


def test_the_registrys_key_goes_to_its_own_host_and_this_machine_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = planned(api_base_url="http://127.0.0.1:9/v1")
    assert (plan.base_url, plan.model) == ("http://127.0.0.1:9/v1", "org/mini")
    assert plan.key_var == "EXAMPLE_KEY"
    assert planned(api_base_url="https://api.example/v2").key_var == "EXAMPLE_KEY"
    for url in ("http://x/v1", "http://api.example/v1", "https://api.example.org/v1"):
        (fault,) = faults_of(model="mini", api_base_url=url)
        assert "gets no key of api.example" in fault and "-k VAR" in fault
    assert planned(api_base_url="http://x/v1", api_key_var="").key_var == ""
    assert planned(api_base_url="http://x/v1", api_key_var="EXAMPLE_KEY").key_var == "EXAMPLE_KEY"
    monkeypatch.delenv("EXAMPLE_KEY")
    assert planned(api_base_url="http://[::1]:9/v1").key_var == ""


def test_a_model_of_no_registry_needs_a_url() -> None:
    plan = planned(model="my/own", api_base_url="http://127.0.0.1:9/v1")
    assert (plan.alias, plan.model, plan.key_var) == ("my/own", "my/own", "")
    (fault,) = faults_of(model="minni")
    assert "no endpoint is called 'minni'" in fault
    assert "Did you mean mini?" in fault and "-b" in fault


def test_the_default_model_is_looked_up_like_any_other() -> None:
    (fault,) = faults_of()
    assert "'gpt-4.1-mini'" in fault


def test_a_missing_key_is_reported_by_the_name_of_its_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert planned(api_base_url="http://x/v1", api_key_var="EXAMPLE_KEY").key_var == "EXAMPLE_KEY"
    monkeypatch.delenv("EXAMPLE_KEY")
    (fault,) = faults_of(model="mini")
    assert "EXAMPLE_KEY: this variable, which holds the key, is not set" in fault
    monkeypatch.setenv("EXAMPLE_KEY", "")
    assert faults_of(model="mini") == [fault]


@pytest.mark.parametrize(
    "url",
    ["localhost:8000", "ftp://x", "http://", "https:///v1", "http://[x", "http://h:v1", "http://h:0",
     "http://h:65536/v1"],
)  # fmt: skip
def test_what_is_no_url_is_refused(url: str) -> None:
    (fault,) = faults_of(model="m", api_base_url=url)
    assert fault.startswith(f"-b/--api-base-url: {url!r} is no URL")


@pytest.mark.parametrize(
    ("given", "reported"),
    [
        ('{"model": "x"}', "-S/--sampling-args: model is a setting of its own. Say -m"),
        ('{"messages": []}', "-S/--sampling-args: messages are the environment's own"),
        ('{"stream": true}', "-S/--sampling-args: stream is a setting of its own. Say --stream"),
        ('{"n": 2}', "-S/--sampling-args: n = 2: a rollout takes one answer"),
    ],
)
def test_what_is_no_sampling_parameter_is_refused(given: str, reported: str) -> None:
    (fault,) = faults_of(model="mini", sampling_args=given)
    assert fault.startswith(reported)


def test_what_is_no_url_is_reported_without_its_password() -> None:
    (fault,) = faults_of(model="m", api_base_url="http://user:hunter2@h:v1")
    assert "is no URL" in fault and "hunter2" not in fault


def test_all_faults_are_reported_at_once() -> None:
    faults = faults_of(env_id=None, model="nope", num_examples="x", api_client_type="grpc")
    starts = ["-n/--num-examples", "--api-client-type", "ENVIRONMENT", "-m/--model"]
    assert [fault.split(":")[0] for fault in faults] == starts


def test_faults_of_the_registry_are_reported(place: Path) -> None:
    (place / "configs" / "endpoints.toml").write_text("[[endpoint]]\nfoo = 1\n")
    assert len(faults_of(model="mini")) == 4
    assert len(faults_of(model="own", api_base_url="http://x/v1")) == 4
    faults = faults_of(model="mini", endpoints_path="nothing.toml")
    assert "nothing.toml: the registry cannot be read" in faults[0]


def test_sampling_args_win_over_the_single_flags() -> None:
    plan = planned(temperature="0.5", max_tokens="9", sampling_args='{"temperature": 1, "x": 2}')
    assert plan.sampling_args == {"temperature": 1, "max_tokens": 9, "x": 2}
    assert planned(temperature="0.5").sampling_args == {"temperature": 0.5}


def test_a_named_folder_saves() -> None:
    assert not planned().save
    assert planned(save_results=True).save
    plan = planned(output_dir="there")
    assert (plan.save, plan.output_dir) == (True, "there")


@pytest.mark.parametrize("target", ["my-env", None])
def test_the_run_to_resume_may_be_set_like_any_setting(target: str | None) -> None:
    request = Request(env_id=target, raw={"model": "mini", "sets": ["resume=there"]})
    assert Expander(request).resume == "there"


def test_a_resumed_run_keeps_what_is_not_typed() -> None:
    before = planned(num_examples="7", temperature="0.5", state_columns="a,b", save_results=True)
    plan, faults = make_plan(Request(), before)
    assert (plan, faults) == (before, [])
    more, _ = make_plan(Request(raw={"num_examples": "9", "max_concurrent": "2"}), before)
    assert more is not None
    assert (more.num_examples, more.max_concurrent, more.save) == (9, 2, True)
    everything, _ = make_plan(Request(raw={"num_examples": "-1"}), before)
    assert everything is not None and everything.num_examples == -1


@pytest.mark.parametrize(
    ("raw", "reported"),
    [
        ({"model": "sonnet"}, 'model is "claude", the run has "org/mini"'),
        ({"rollouts_per_example": "2"}, "-r is 2, the run has 3 rollouts of each"),
        ({"env_args": "{}"}, "env_args.a is nothing, the run has 1"),
        ({"env_args": '{"a": 1, "b": null}'}, "env_args.b is null, the run has nothing"),
        ({"temperature": "0.6"}, "sampling_args.temperature is 0.6, the run has 0.5"),
        ({"num_examples": "6"}, "-n is 6, the run has 7 examples"),
    ],
)
def test_a_resumed_run_must_stay_the_same(raw: dict[str, str], reported: str) -> None:
    before = planned(num_examples="7", env_args='{"a": 1}', temperature="0.5")
    faults = faults_of(before, **raw)
    assert any(reported in fault for fault in faults)
    assert all(f.startswith("--resume: ") and "start a new run" in f.lower() for f in faults)


def test_a_run_of_all_examples_does_not_become_smaller() -> None:
    (fault,) = faults_of(planned(num_examples="-1"), num_examples="3")
    assert "-n is 3, the run has all examples" in fault


def test_another_environment_is_not_resumed() -> None:
    (fault,) = faults_of(planned(), env_id="other")
    assert "environment is 'other', the run has 'my-env'" in fault


def test_a_run_of_a_program_without_url_is_refused() -> None:
    before = RunPlan(env_id="e", alias="m", model="m", base_url="", given_inputs=True)
    reported = [str(fault) for fault in make_plan(Request(), before)[1]]
    assert reported[0].startswith("--resume: '' is no URL")
    assert "a program gave the inputs of this run" in reported[1]


def test_null_in_arguments_survives(place: Path) -> None:
    plan = planned(env_args='{"seed": null, "xs": [1, null]}', sampling_args='{"stop": null}')
    (place / "run.toml").write_text(plan_to_toml(plan))
    assert read_plan(place / "run.toml") == plan


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.text(max_size=5) | st.just("token"), JSON, max_size=3)


@given(
    OBJECTS,
    OBJECTS,
    st.text(max_size=10),
    st.lists(st.text(max_size=5), max_size=3),
    st.none() | st.text(max_size=5),
)
def test_a_plan_written_and_read_is_the_same_but_for_its_secrets(
    tmp_path_factory: pytest.TempPathFactory,
    env_args: dict[str, Any],
    sampling_args: dict[str, Any],
    name: str,
    columns: list[str],
    output_dir: str | None,
) -> None:
    plan = RunPlan(
        env_id=name, env_args=env_args, sampling_args=sampling_args, alias=name, model=name,
        base_url="http://x", state_columns=columns, output_dir=output_dir,
    )  # fmt: skip
    path = tmp_path_factory.getbasetemp() / "run.toml"
    path.write_bytes(plan_to_toml(plan).encode())
    without_secrets = {"env_args": masked(env_args), "sampling_args": masked(sampling_args)}
    assert read_plan(path) == plan.model_copy(update=without_secrets)


def test_a_bad_plan_reports_all_its_faults(place: Path) -> None:
    path = place / "run.toml"
    path.write_text('env_id = 3\nmodle = "x"\nrollouts_per_example = 0\nclient_type = "grpc"\n')
    with pytest.raises(RefusedError) as caught:
        read_plan(path)
    reported = str(caught.value)
    for words in ("env_id: ", "alias: ", "model: ", "base_url: ", "rollouts_per_example: "):
        assert words in reported
    assert "client_type: " in reported
    assert "unknown key 'modle'. Did you mean model" in reported


@pytest.mark.parametrize(
    ("text", "words"),
    [(None, "has no run.toml"), ("[[", "no TOML"), ('env_args = "{"', "env_args")],
)
def test_what_is_no_plan_is_refused(place: Path, text: str | None, words: str) -> None:
    path = place / "run.toml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(RefusedError, match=words):
        read_plan(path)


def test_a_key_of_prime_may_stand_in_its_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("PRIME_API_KEY", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    (fault,) = faults_of(model="x", api_base_url="http://h/v1", api_key_var="PRIME_API_KEY")
    assert "Run `prime login`" in fault
    (tmp_path / ".prime").mkdir()
    (tmp_path / ".prime" / "config.json").write_text('{"api_key": "pk-of-a-test"}')
    plan = planned(model="x", api_base_url="http://h/v1", api_key_var="PRIME_API_KEY")
    assert plan.key_var == "PRIME_API_KEY"


def test_the_defaults_of_options_are_those_of_the_plan() -> None:
    options = {
        name: option.default
        for name, option in BY_NAME.items()
        if option.default is not None and name in RunPlan.model_fields
    }
    plan = {name: RunPlan.model_fields[name].default for name in options}
    others = {name: (options[name], plan[name]) for name in options if options[name] != plan[name]}
    assert options["max_concurrent"] == plan["max_concurrent"]
    assert others == {
        "env_dir_path": ("./environments", "environments"),
        "model": ("gpt-4.1-mini", PydanticUndefined),
    }
