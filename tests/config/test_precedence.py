"""Precedence of the places of a setting, and that its source is shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from setting_places import expanded, faults, plan, source, write

from tui_eval.config.expansion import expand
from tui_eval.config.options import CLIENT_TYPES, OPTIONS
from tui_eval.config.plan import Request

pytestmark = pytest.mark.usefixtures("here")

PLACES = st.fixed_dictionaries(
    {place: st.none() | st.integers(1, 99) for place in ("set", "typed", "own", "top", "env")}
)
OWN_SETTINGS = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def pyproject(value: int | None) -> None:
    line = "" if value is None else f"num_examples = {value}"
    write("environments/my_env/pyproject.toml", f"[tool.tui-eval.eval]\n{line}\n")
    write("environments/my_env/my_env.py", "raise SystemExit('never imported')\n")


def strongest(values: dict[str, Any], order: list[tuple[str, str]]) -> tuple[int, str]:
    return next(
        ((values[place], where) for place, where in order if values[place] is not None),
        (5, "built-in"),
    )


IN_PYPROJECT = ("env", "environments/my_env/pyproject.toml:2")


@given(PLACES)
@OWN_SETTINGS
def test_on_a_command_line_what_was_typed_is_strongest(values: dict[str, Any]) -> None:
    pyproject(values["env"])
    raw: dict[str, Any] = {"model": "mini"}
    if values["typed"] is not None:
        raw["num_examples"] = str(values["typed"])
    if values["set"] is not None:
        raw["sets"] = [f"num_examples={values['set']}"]
    found = expanded("my-env", **raw)
    order = [("set", "--set"), ("typed", "--num-examples"), IN_PYPROJECT]
    assert source(found, "num_examples") == strongest(values, order)
    (one,) = found.evaluations
    assert one.plan is not None and one.plan.num_examples == strongest(values, order)[0]


@given(PLACES)
@OWN_SETTINGS
def test_beside_a_file_flags_are_ignored(values: dict[str, Any]) -> None:
    pyproject(values["env"])

    def line(place: str) -> str:
        return "" if values[place] is None else f"num_examples = {values[place]}"

    path = write("e.toml", f'model = "mini"\n{line("top")}\n[[eval]]\nenv_id = "my-env"\n'
                           f"{line('own')}\n")  # fmt: skip
    raw: dict[str, Any] = {}
    if values["typed"] is not None:
        raw["num_examples"] = str(values["typed"])
    if values["set"] is not None:
        raw["sets"] = [f"num_examples={values['set']}"]
    found = expanded(path, **raw)
    order = [("set", "--set"), ("own", "e.toml:5"), ("top", "e.toml:2"), IN_PYPROJECT]
    assert source(found, "num_examples") == strongest(values, order)
    assert bool(found.notices) == (values["typed"] is not None)


@pytest.mark.parametrize(
    ("top", "own", "expected"),
    [
        ("temperature = 1", "temperature = 2", {"temperature": 2}),
        ("temperature = 1", "sampling = { temperature = 2 }", {"temperature": 2}),
        ("sampling = { temperature = 1, a = 1 }", "temperature = 2", {"temperature": 2, "a": 1}),
        ("sampling = { a = 1 }", "sampling = { b = 2 }", {"b": 2}),
        ("max_tokens = 9", "sampling = { b = 2 }", {"b": 2, "max_tokens": 9}),
        ("", "temperature = 1\nsampling = { temperature = 2 }", {"temperature": 2}),
    ],
)
def test_sampling_parameters_of_the_stronger_place_hold(
    top: str, own: str, expected: dict[str, Any]
) -> None:
    path = write("e.toml", f'model = "mini"\n{top}\n[[eval]]\nenv_id = "x"\n{own}\n')
    assert plan(path).sampling_args == expected


def test_a_sampling_parameter_is_reported_at_the_place_that_it_came_from() -> None:
    top = "sampling = { temperature = 1, a = 1 }\nmax_tokens = 9"
    path = write("e.toml", f'model = "mini"\n{top}\n[[eval]]\nenv_id = "x"\ntemperature = 2\n')
    found = expanded(path)
    assert source(found, "temperature") == (2, "e.toml:6")
    assert source(found, "max_tokens") == (9, "e.toml:3")
    assert source(found, "sampling_args") == ({"a": 1}, "e.toml:2")


@pytest.mark.parametrize(
    ("assignment", "field", "value"),
    [
        ("num_examples=-1", "num_examples", -1),
        ("n=3", "", "--set: unknown key 'n'"),
        ("num_examples=many", "", "--set num_examples: 'many' is not a whole number"),
        ("temperature=0.5", "sampling_args", {"temperature": 0.5, "top_p": 1}),
        ("sampling.top_p=0.5", "sampling_args", {"temperature": 2, "top_p": 0.5}),
        ('sampling={"a": 1}', "sampling_args", {"a": 1}),
        ("env_args.split=test", "env_args", {"split": "test", "k": 1}),
        ('args.deep.list=[1, "x"]', "env_args", {"k": 1, "deep": {"list": [1, "x"]}}),
        ("env_args.k=null", "env_args", {"k": None}),
        ('env_args={"z": true}', "env_args", {"z": True}),
        ("env_args=3", "", "--set env_args: 3 is not a table"),
        ("name=12", "name", "12"),
        ("state_columns=a,b", "state_columns", ["a", "b"]),
        ('state_columns=["a"]', "state_columns", ["a"]),
        ("independent_scoring=true", "independent_scoring", True),
        ("independent_scoring=yes", "", "--set independent_scoring: 'yes' is neither true nor"),
        ("endpoint_id=sonnet", "model", "claude"),
        ("model=sonnet", "model", "claude"),
        ("model.x=1", "", "--set model.x: model has no keys below it"),
        ("headers.X-A.b=1", "", "--set headers.X-A.b: a header has no keys below it"),
        ("max_tokens=1e999", "", "--set max_tokens: '1e999' is not a whole number"),
        ("env_args.k=1e999", "", "--set env_args.k: 1e999 is too large"),
        ("dry_run=true", "", "--set: unknown key 'dry_run'"),
        ("num_examples", "", "--set: 'num_examples' is no setting; expected KEY=VALUE"),
        (".=1", "", "--set: '.=1' is no setting"),
    ],
)
def test_a_setting_is_replaced_on_purpose(assignment: str, field: str, value: Any) -> None:
    path = write(
        "e.toml",
        'model = "mini"\n[[eval]]\nenv_id = "x"\n[eval.env_args]\nk = 1\n'
        "[eval.sampling]\ntemperature = 2\ntop_p = 1\n",
    )
    if field:
        assert getattr(plan(path, sets=[assignment]), field) == value
    else:
        assert faults(path, sets=[assignment])[0].startswith(value)


def test_the_same_words_work_on_a_command_line() -> None:
    one = plan(model="mini", sets=["env_args.k=1", "env_args.l=2", "headers.X-A=b", "timeout=9"])
    assert (one.env_args, one.timeout) == ({"k": 1, "l": 2}, 9)
    assert one.endpoints[0].headers["X-A"] == "b"
    assert one.sources["env_args"] == "--set"


FLAGS: dict[str, tuple[Any, str, Any]] = {
    "env_args": ('{"a": 1}', "env_args", {"a": 1}),
    "extra_env_kwargs": ('{"max_turns": 2}', "extra_env_kwargs", {"max_turns": 2}),
    "env_dir_path": ("there", "env_dir_path", "there"),
    "python": ("there/bin/python", "python", "there/bin/python"),
    "no_alias": (True, "no_alias", True),
    "temperature": ("0.5", "sampling_args", {"temperature": 0.5}),
    "max_tokens": ("7", "sampling_args", {"max_tokens": 7}),
    "sampling_args": ('{"top_p": 1}', "sampling_args", {"top_p": 1}),
    "num_examples": ("-1", "num_examples", -1),
    "rollouts_per_example": ("8", "rollouts_per_example", 8),
    "examples": ("7, 3,7", "examples", ["7", "3"]),
    "shuffle": (True, "shuffle", True),
    "shuffle_seed": ("3", "shuffle_seed", 3),
    "max_concurrent": ("64", "max_concurrent", 64),
    "max_concurrent_generation": ("32", "max_concurrent_generation", 32),
    "max_concurrent_scoring": ("16", "max_concurrent_scoring", 16),
    "num_workers": ("auto", "num_workers", -1),
    "no_adaptive": (True, "adaptive", False),
    "max_retries": ("3", "max_retries", 3),
    "timeout": ("1.5", "timeout", 1.5),
    "call_timeout": ("2.5", "call_timeout", 2.5),
    "max_cost": ("2", "max_cost", 2.0),
    "max_total_tokens": ("1000", "max_total_tokens", 1000),
    "until": ("width(reward) < 0.1", "until", "width(reward) < 0.1"),
    "independent_scoring": (True, "independent_scoring", True),
    "no_interleave_scoring": (True, "score_at_end", True),
    "pass_threshold": ("0", "pass_threshold", 0.0),
    "save_results": (True, "save", True),
    "output_dir": ("out", "output_dir", "out"),
    "state_columns": ("a, b", "state_columns", ["a", "b"]),
    "save_to_hf_hub": (True, "save_to_hf_hub", True),
    "hf_hub_dataset_name": ("me/it", "hf_hub_dataset_name", "me/it"),
    "heartbeat_url": ("http://127.0.0.1:1/x", "heartbeat_url", "http://127.0.0.1:1/x"),
    "heartbeat_status": (True, "heartbeat_status", True),
    "verbose": (True, "verbose", True),
    "api_base_url": ("http://127.0.0.1:1/v1", "base_url", "http://127.0.0.1:1/v1"),
    "api_key_var": ("", "key_var", ""),
    "stream": (True, "stream", True),
    "api_client_type": ("openai_responses", "client_type", "openai_responses"),
}

ELSEWHERE = {"model", "endpoint_id", "provider", "headers", "endpoints_path", "env_id", "name",
             "no_stream", "worker_memory"}  # fmt: skip
"""Have tests of their own."""

NOT_OF_THE_PLAN = {"disable_env_server", "resume", "debug"}


@pytest.mark.parametrize("name", FLAGS)
def test_every_setting_reaches_the_plan_from_a_flag_and_from_a_file(name: str) -> None:
    text, field, value = FLAGS[name]
    assert getattr(plan(model="mini"), field) != value or name == "api_key_var"
    one = plan(model="mini", **{name: text})
    assert getattr(one, field) == value
    assert one.sources[name].startswith("--")
    option = next(one for one in OPTIONS if one.name == name)
    written = plan(model="mini", sets=[f"{name}={str(text).lower() if text is True else text}"])
    assert getattr(written, field) == value
    assert option.in_files


@pytest.mark.parametrize("client_type", CLIENT_TYPES)
def test_answers_of_every_protocol_may_be_streamed(client_type: str) -> None:
    assert plan(model="mini", api_client_type=client_type, stream=True).stream
    assert not plan(model="mini", api_client_type=client_type).stream


def test_no_setting_is_forgotten_above() -> None:
    in_files = {option.name for option in OPTIONS if option.in_files}
    assert in_files == FLAGS.keys() | ELSEWHERE | NOT_OF_THE_PLAN


def test_only_one_of_two_names_of_the_model_is_shown() -> None:
    found = expanded(write("e.toml", '[[eval]]\nenv_id = "a"\nendpoint_id = "mini"\n'))
    assert source(found, "endpoint_id") == ("mini", "e.toml:3")
    assert source(found, "model") == (None, "e.toml:3")


def test_a_limit_of_cost_is_taken_whether_prices_are_known_or_not() -> None:
    assert plan(model="mini", max_cost="1").max_cost == 1
    assert plan(model="two", max_cost="1").max_cost == 1


def test_the_same_command_resumes_a_run_that_took_defaults() -> None:
    pyproject(9)
    table = "[tool.tui-eval.eval]\nsampling = { top_p = 0.5 }\n"
    write("environments/my_env/pyproject.toml", table)
    before = plan(model="mini", temperature="1")
    found = expand(Request(env_id="my-env", raw={"model": "mini", "temperature": "1"}), before)
    assert found.faults == []
    (again,) = found.evaluations
    assert again.plan is not None
    assert again.plan.sampling_args == {"top_p": 0.5, "temperature": 1.0}


def test_what_a_run_was_is_stronger_than_the_environments_defaults(here: Path) -> None:
    before = plan(model="mini", num_examples="7")
    pyproject(9)
    again = expand(Request(env_id="my-env"), before).evaluations[0].plan
    assert again is not None and again.num_examples == 7
