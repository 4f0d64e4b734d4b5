"""Endpoints of a model: registry, provider, URL, or a refusal that says what there is."""

from __future__ import annotations

import re
import socket
from pathlib import Path
from typing import Any

import pytest
from made_plans import make_plan
from servers import FaultServer, Reply
from setting_places import expanded, faults, plan, source, write

from tui_eval.clients import _class_of
from tui_eval.config import local_servers
from tui_eval.config.explanation import explanation
from tui_eval.config.local_servers import find_servers
from tui_eval.config.options import CLIENT_TYPES, PROVIDERS
from tui_eval.config.plan import Request, RunPlan, plan_to_toml, read_plan
from tui_eval.config.providers import PROVIDER_TABLE

pytestmark = pytest.mark.usefixtures("here")


def test_the_tables_know_the_same_names() -> None:
    assert [_class_of(kind).__name__ for kind in CLIENT_TYPES] == [
        "OpenAIChatCompletionsClient",
        "OpenAICompletionsClient",
        "OpenAIChatCompletionsTokenClient",
        "OpenAIResponsesClient",
        "AnthropicMessagesClient",
    ]
    assert tuple(PROVIDER_TABLE) == PROVIDERS


def test_replicas_are_endpoints_that_take_turns() -> None:
    one = plan(model="two")
    assert [end.model_dump() for end in one.endpoints] == [
        {"url": "http://127.0.0.1:1/v1", "key_var": "", "headers": {}, "max_concurrent": 4},
        {"url": "http://127.0.0.1:2/v1", "key_var": "", "headers": {"X-Replica": "second"},
         "max_concurrent": 0},
    ]  # fmt: skip
    assert one.base_url == "http://127.0.0.1:1/v1,http://127.0.0.1:2/v1"


def test_what_is_typed_holds_for_every_replica() -> None:
    one = plan(model="two", api_key_var="EXAMPLE_KEY", headers=["X-Replica: typed"])
    assert [end.key_var for end in one.endpoints] == ["EXAMPLE_KEY"] * 2
    assert [end.headers for end in one.endpoints] == [{"X-Replica": "typed"}] * 2


def test_a_typed_url_stands_in_place_of_all_replicas() -> None:
    one = plan(model="two", api_base_url="http://127.0.0.1:9/v1")
    assert [end.url for end in one.endpoints] == ["http://127.0.0.1:9/v1"]
    assert (one.model, one.endpoints[0].max_concurrent) == ("served-twice", 0)


def test_headers_and_prices_of_the_registry_do_not_go_to_another_url() -> None:
    one = plan(model="mini", api_base_url="http://127.0.0.1:9/v1", api_key_var="")
    assert one.endpoints[0].model_dump() == {
        "url": "http://127.0.0.1:9/v1", "key_var": "", "headers": {}, "max_concurrent": 0,
    }  # fmt: skip
    own = plan(model="mini", api_base_url="https://api.example/v2")
    assert (one.input_price, plan(model="mini").input_price, own.input_price) == (None, 0.4, 0.4)


@pytest.mark.parametrize("name", [name for name in PROVIDERS if name not in ("local", "vllm")])
def test_a_provider_brings_url_key_and_protocol(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    provider = PROVIDER_TABLE[name]
    monkeypatch.setenv(provider.var, "k")
    one = plan(model="own/model", provider=name)
    assert (one.model, one.base_url, one.key_var) == ("own/model", provider.url, provider.var)
    kind = "anthropic_messages" if name == "anthropic" else "openai_chat_completions"
    assert one.client_type == kind


def test_a_local_server_needs_no_key_but_gets_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VLLM_API_KEY", raising=False)
    assert plan(model="m", provider="vllm").key_var == ""
    monkeypatch.setenv("VLLM_API_KEY", "k")
    assert plan(model="m", provider="local").key_var == "VLLM_API_KEY"


def test_a_provider_wins_over_the_registry_and_flags_win_over_both(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    one = plan(model="mini", provider="openai")
    assert (one.model, one.base_url) == ("org/mini", "https://api.openai.com/v1")
    assert (one.key_var, one.endpoints[0].headers) == ("OPENAI_API_KEY", {})
    typed = plan(model="mini", provider="openai", api_base_url="http://127.0.0.1:9/v1",
                 api_key_var="EXAMPLE_KEY", api_client_type="openai_responses")  # fmt: skip
    assert (typed.base_url, typed.key_var) == ("http://127.0.0.1:9/v1", "EXAMPLE_KEY")
    assert typed.client_type == "openai_responses"


def test_an_unknown_provider_is_reported_with_the_known() -> None:
    assert faults(model="m", provider="opnai")[0].startswith(
        "-p/--provider: 'opnai' is not known. Known are openai, anthropic, openrouter, prime"
    )


@pytest.mark.parametrize(
    ("given", "reported"),
    [
        (["X-A"], "--header: 'X-A' is no header; expected 'Name: Value'"),
        ([": v"], "--header: '' is no name of a header"),
        (["a b: v"], "--header: 'a b' is no name of a header"),
        (["X-A: b\nX-B: c"], "--header: the value of header X-A must be one line of ASCII text"),
        (["X-A: café"], "--header: the value of header X-A must be one line of ASCII text"),
    ],
)
def test_what_is_no_header_is_reported(given: list[str], reported: str) -> None:
    assert faults(model="mini", headers=given)[0].startswith(reported)


def test_headers_are_split_at_the_first_colon_and_stripped() -> None:
    one = plan(model="two", headers=["X-A :  b:c ", "X-D:"])
    assert one.endpoints[0].headers == {"X-A": "b:c", "X-D": ""}


def test_the_source_of_what_the_registry_says_is_its_line() -> None:
    found = expanded(model="mini")
    here = "configs/endpoints.toml:2"
    assert source(found, "api_base_url") == ("https://api.example/v1", here)
    assert source(found, "model_at_endpoint") == ("org/mini", here)
    assert source(found, "model") == ("mini", "--model")
    assert source(expanded(model="m", provider="vllm"), "api_base_url")[1] == "provider vllm"


def test_what_an_endpoint_understands_is_explained_with_its_line_and_stays_there() -> None:
    write(
        "mine/endpoints.toml",
        """[[endpoint]]
endpoint_id = "x"
model = "y"
url = "http://h"
token_limit = "max_completion_tokens"
""",
    )
    found = expanded(model="x", endpoints_path="mine")
    assert source(found, "token_limit") == ("max_completion_tokens", "mine/endpoints.toml:1")
    assert plan(model="x", endpoints_path="mine").profile == {
        "token_limit": "max_completion_tokens"
    }
    assert plan(model="x", endpoints_path="mine", api_base_url="http://other").profile == {}


def test_a_url_may_say_which_version_of_azure_is_requested_and_nothing_else() -> None:
    url = "https://mine.openai.azure.com/openai/deployments/x/chat/completions"
    assert plan(model="x", api_base_url=f"{url}?api-version=1").base_url == f"{url}?api-version=1"
    (fault,) = faults(model="x", api_base_url=f"{url}?api-version=1&key=secret")
    assert "has a query (?) other than api-version" in fault and "secret" not in fault


def test_a_folder_is_a_registry_too(monkeypatch: pytest.MonkeyPatch) -> None:
    write("mine/endpoints.toml", '[[endpoint]]\nendpoint_id = "x"\nmodel = "y"\nurl = "http://h"\n')
    assert plan(model="x", endpoints_path="mine").model == "y"
    (fault,) = faults(model="x", endpoints_path="nothing")
    assert fault == "nothing: the registry cannot be read: No such file or directory"
    write("old/endpoints.py", 'ENDPOINTS = {"x": {"model": "z", "url": "http://h"}}\n')
    assert plan(model="x", endpoints_path="old").model == "z"


def test_a_registry_with_a_fault_is_none_for_who_names_a_url_either() -> None:
    write("r.toml", '[[endpoint]]\nendpoint_id = "x"\nmodle = "y"\nurl = "http://h"\n')
    reported = faults(model="x", endpoints_path="r.toml", api_base_url="http://127.0.0.1:9/v1")
    assert reported[0].startswith("r.toml:3: unknown key 'modle'")
    assert faults(model="x", endpoints_path="r.toml", provider="local") == reported


def test_a_registry_in_python_stops_nobody_who_names_a_url() -> None:
    write("old/endpoints.py", "ENDPOINTS = {}\n")
    one = plan(model="x", endpoints_path="old", api_base_url="http://127.0.0.1:9/v1")
    assert (one.model, one.base_url) == ("x", "http://127.0.0.1:9/v1")


@pytest.mark.parametrize(
    ("second", "reported"),
    [
        ('model = "other"', "model is 'other', another 'a' has 'm'"),
        ('model = "m"\ntype = "openai_responses"', "api_client_type is 'openai_responses', anoth"),
        ('model = "m"\ninput_price = 2', "input_price is 2.0, another 'a' has none"),
    ],
)
def test_replicas_must_be_alike(second: str, reported: str) -> None:
    write(
        "r.toml",
        '[[endpoint]]\nendpoint_id = "a"\nmodel = "m"\nurl = "http://h/1"\n'
        f'[[endpoint]]\nendpoint_id = "a"\nurl = "http://h/2"\n{second}\n',
    )
    (fault,) = faults(model="a", endpoints_path="r.toml")
    assert fault.startswith(f"r.toml:5: {reported}")
    assert "(see r.toml:1)" in fault


def serving(server: FaultServer, *models: str) -> int:
    """Lets a server list its models; returns its port."""
    entries = {"data": [{"id": name} for name in models]}
    server.script("/v1/models", [Reply(body=entries)])
    return int(server.url.rsplit(":", 1)[1])


def test_servers_on_this_machine_are_offered_where_a_model_is_not_found(
    fault_server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = serving(fault_server, "a", "qwen", "c", "d; ls")
    monkeypatch.setattr(local_servers, "LOCAL_SERVERS", [(port, "vLLM")])
    (fault,) = faults(model="d; ls")
    assert fault.endswith("-m 'd; ls'. Or name its URL with -b, or its provider with -p")
    (fault,) = faults(model="qwen")
    url = f"http://localhost:{port}"
    assert f"{url} (vLLM) serves 'qwen': -b {url}/v1 -m qwen." in fault
    (fault,) = faults(model="other")
    assert f"{url} (vLLM) serves 'a', 'qwen', 'c' and others: -b {url}/v1 -m a." in fault
    assert {request.path for request in fault_server.requests} == {"/v1/models"}
    assert "authorization" not in {name.lower() for name in fault_server.requests[0].headers}


@pytest.mark.parametrize("key", ["model", "endpoint_id"])
def test_a_file_is_named_with_what_to_write_into_it(
    key: str, fault_server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = serving(fault_server, "qwen")
    monkeypatch.setattr(local_servers, "LOCAL_SERVERS", [(port, "vLLM")])
    (fault,) = faults(write("e.toml", f'env_id = "my-env"\n{key} = "qwen"\n'))
    url = f"http://localhost:{port}"
    assert f"e.toml:2, {key}: no endpoint is called 'qwen'" in fault
    offer = f"""{url} (vLLM) serves 'qwen': api_base_url = "{url}/v1" and model = "qwen"."""
    assert offer in fault
    assert "Or write model with its api_base_url or its provider" in fault
    assert " -b " not in fault and " -p" not in fault
    table = f'env_id = "my-env"\napi_base_url = "{url}/v1"\nmodel = "qwen"\n'
    assert plan(write("w.toml", table)).base_url == f"{url}/v1"


def test_settings_of_every_replica_are_explained() -> None:
    path = write(
        "r.toml",
        '[[endpoint]]\nendpoint_id = "r"\nmodel = "m"\nurl = "http://127.0.0.1:1/v1"\n'
        '[[endpoint]]\nendpoint_id = "r"\nmodel = "m"\nurl = "http://127.0.0.1:2/v1"\n'
        'key = "EXAMPLE_KEY"\nheaders = { X-Replica = "second" }\n',
    )
    found = expanded(model="r", endpoints_path=path)
    both = "r.toml:1, r.toml:5"
    assert source(found, "api_key_var") == (["", "EXAMPLE_KEY"], both)
    reported = "\n".join(explanation(found.evaluations))
    assert re.search(r'^api_key_var +"", EXAMPLE_KEY +r.toml:1, r.toml:5$', reported, re.M), (
        reported
    )
    assert source(found, "headers") == ({"X-Replica": "second"}, "r.toml:5")
    assert source(expanded(model="r", endpoints_path=path, api_key_var=""), "api_key_var") == (
        "", "--api-key-var",
    )  # fmt: skip
    literal = "sk-" + "a1b2" * 8
    Path(path).write_text(Path(path).read_text().replace("EXAMPLE_KEY", literal))
    reported = "\n".join(explanation(expanded(model="r", endpoints_path=path).evaluations))
    assert "X-Replica" in reported and "second" not in reported and literal not in reported


def test_every_header_that_is_wrong_is_reported() -> None:
    reported = "'foo' is no header; '' is no name of a header; expected 'Name: Value'"
    wrong = ["foo", "X-Good: 1", ": x"]
    (fault,) = faults(model="mini", headers=wrong)
    assert fault == f"--header: {reported}"
    listed = write("e.toml", f'env_id = "a"\nmodel = "mini"\nheaders = {wrong}\n')
    assert faults(listed) == [f"e.toml:3: headers: {reported}"]


def test_for_a_model_that_is_found_no_server_is_called(
    fault_server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_servers, "LOCAL_SERVERS", [(serving(fault_server, "mini"), "vLLM")])
    plan(model="mini")
    plan(model="own", api_base_url="http://127.0.0.1:9/v1")
    plan(model="own", provider="vllm")
    assert fault_server.requests == []


@pytest.mark.parametrize(
    "reply",
    [
        Reply(404), Reply(body=b"<html>"), Reply(body=[]), Reply(body={"data": 3}),
        Reply(body={"data": [{"name": "x"}]}), Reply(body={"data": []}), Reply(reset=True),
        Reply(hang=True), Reply(301, headers={"Location": "http://example.invalid/"}),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_no_model_server_is_not_offered(
    fault_server: FaultServer, reply: Reply, monkeypatch: pytest.MonkeyPatch
) -> None:
    if reply.hang:
        monkeypatch.setattr(local_servers, "ANSWERS_WITHIN_S", 0.2)
    fault_server.script("/v1/models", [reply])
    assert find_servers([(int(fault_server.url.rsplit(":", 1)[1]), "vLLM")]) == []


def test_a_port_where_nobody_listens_is_passed_over(fault_server: FaultServer) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = serving(fault_server, "m")
        (found,) = find_servers([(free.getsockname()[1], "Ollama"), (port, "vLLM")])
    assert (found.name, found.models) == ("vLLM", ["m"])


def resumed(before: RunPlan, **raw: Any) -> tuple[RunPlan | None, list[str]]:
    again, reported = make_plan(Request(raw=raw), before)
    return again, [str(fault) for fault in reported]


def test_the_plan_of_a_run_keeps_no_value_of_a_header(here: Any) -> None:
    text = plan_to_toml(plan(model="mini", headers=["Authorization: Bearer secret"]))
    assert "secret" not in text and "of the registry" not in text
    (here / "run.toml").write_text(text)
    headers = read_plan(here / "run.toml").endpoints[0].headers
    assert headers == {"X-Team": "***", "Authorization": "***"}


def test_a_resumed_run_has_its_headers_from_the_registry_or_from_the_flag(here: Any) -> None:
    (here / "run.toml").write_text(plan_to_toml(plan(model="mini", headers=["X-Mine: secret"])))
    before = read_plan(here / "run.toml")
    again, reported = resumed(before)
    assert again is None
    assert reported == [
        "--resume: the value of the header X-Mine is not kept with the run. Type it again: "
        "--header 'X-Mine: ...'"
    ]
    again, reported = resumed(before, headers=["X-Mine: secret"])
    assert reported == [] and again is not None
    assert again.endpoints[0].headers == {"X-Team": "of the registry", "X-Mine": "secret"}
    assert (again.input_price, again.model) == (0.4, "org/mini")


def test_demo_is_called_in_its_own_protocol_only() -> None:
    (fault,) = faults(model="demo", api_client_type="openai_responses")
    assert fault.startswith("--api-client-type: demo does not speak openai_responses")


def test_demo_is_known_beside_any_registry_and_gives_way_to_ones_own() -> None:
    assert plan(model="demo").base_url == "embedded:demo"
    own = '[[endpoint]]\nendpoint_id = "demo"\nmodel = "mine"\nurl = "http://127.0.0.1:3/v1"\n'
    write("configs/endpoints.toml", own)
    assert plan(model="demo").model == "mine"


def test_one_set_that_is_wrong_hides_no_other() -> None:
    wrong = faults(sets=["nosuch=1", "num_examples=abc", "env_args.foo"])
    for text in ("nosuch", "'abc'", "env_args.foo"):
        assert text in str(wrong)


@pytest.mark.parametrize("name", ["bad name!!", "a/b/c", "me/-x", "me/a--b", "x" * 97, "me/"])
def test_a_dataset_name_that_the_hub_would_refuse_is_reported_at_the_start(name: str) -> None:
    assert "is no name of a dataset" in str(faults(save_to_hf_hub=True, hf_hub_dataset_name=name))


@pytest.mark.parametrize("name", ["mine", "me/my_data-1.0"])
def test_a_dataset_name_that_the_hub_takes_is_taken(name: str) -> None:
    assert plan(model="mini", save_to_hf_hub=True, hf_hub_dataset_name=name)
