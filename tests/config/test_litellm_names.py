"""Models by LiteLLM's names: the providers that are known, and what the package itself knows."""

from __future__ import annotations

import sys

import pytest

from tui_eval.config.litellm_names import PROVIDERS, name_model
from tui_eval.config.plan import Request
from tui_eval.errors import Fault
from tui_eval.install_commands import extra_command

pytestmark = pytest.mark.usefixtures("here")


def named(model: str, **raw: str) -> tuple[dict[str, str], list[Fault]]:
    """Settings that a model's name gives, and its faults."""
    request = Request(raw={"model": model, **raw}, litellm_names=True)
    faults = name_model(request)
    return request.raw, faults


def test_a_known_provider_brings_url_key_and_protocol() -> None:
    assert named("anthropic/claude-sonnet-4-5") == (
        {
            "model": "claude-sonnet-4-5",
            "api_base_url": "https://api.anthropic.com",
            "api_key_var": "ANTHROPIC_API_KEY",
            "api_client_type": "anthropic_messages",
        },
        [],
    )
    raw, _ = named("groq/meta/llama", api_key_var="MINE")
    assert (raw["model"], raw["api_key_var"]) == ("meta/llama", "MINE")


@pytest.mark.parametrize("raw", [{"model": "mini"}, {"model": "a/b", "api_base_url": "http://h"}])
def test_an_alias_and_a_url_stay_as_they_are(raw: dict[str, str]) -> None:
    assert named(**raw) == (raw, [])


def test_without_the_package_other_providers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "litellm", None)
    _, (fault,) = named("perplexity/sonar")
    assert str(fault).startswith("--model: 'perplexity/sonar' is no alias of the endpoint registry")
    assert extra_command("litellm") in fault.hint
    assert "--base-url" in fault.hint
    assert "Did you mean mistral/x" in named("mistal/x")[1][0].hint


def test_a_bare_name_of_openais_is_reported_with_its_provider() -> None:
    _, (fault,) = named("gpt-5-mini")
    assert fault.hint.startswith("Did you mean openai/gpt-5-mini")
    assert "xai" not in fault.hint.partition("?")[0]


class TestWithThePackage:
    @pytest.fixture(autouse=True)
    def _installed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        pytest.importorskip("litellm")

    def test_our_table_says_what_it_says(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import litellm

        for name, provider in PROVIDERS.items():
            if provider.key_var:
                monkeypatch.delenv(provider.key_var, raising=False)
            url = litellm.get_llm_provider(f"{name}/m")[3]
            # The protocol of Ollama that we speak is below /v1; DeepSeek's /beta is not for all.
            if url and not name.startswith("ollama") and name != "deepseek":
                assert url == provider.url, name
            if provider.key_var:
                assert provider.key_var in litellm.validate_environment(f"{name}/m")["missing_keys"]

    def test_another_provider_is_resolved(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("PERPLEXITYAI_API_KEY", raising=False)
        monkeypatch.delenv("PERPLEXITY_API_KEY", raising=False)
        raw, faults = named("perplexity/sonar")
        assert faults == []
        assert (raw["model"], raw["api_base_url"]) == ("sonar", "https://api.perplexity.ai")
        assert (raw["api_key_var"], raw["api_client_type"]) == (
            "PERPLEXITYAI_API_KEY", "openai_chat_completions",
        )  # fmt: skip
        monkeypatch.setenv("PERPLEXITY_API_KEY", "sk-x")
        assert named("perplexity/sonar")[0]["api_key_var"] == "PERPLEXITY_API_KEY"

    def test_a_bare_name_that_it_knows_is_of_its_provider(self) -> None:
        raw, faults = named("gpt-4o")
        assert faults == []
        assert (raw["model"], raw["api_base_url"]) == ("gpt-4o", "https://api.openai.com/v1")

    def test_a_server_of_ones_own_needs_no_key(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOSTED_VLLM_API_BASE", "http://127.0.0.1:9/v1")
        raw, _ = named("hosted_vllm/org/model")
        assert (raw["model"], raw["api_base_url"]) == ("org/model", "http://127.0.0.1:9/v1")
        assert raw["api_key_var"] == ""

    @pytest.mark.parametrize("model", ["bedrock/x", "azure_ai/x", "github_copilot/x"])
    def test_what_does_not_speak_the_protocol_is_refused(self, model: str) -> None:
        _, (fault,) = named(model)
        assert fault.what == (
            f"{model!r} is served by {model[:-2]}, whose endpoint is not known to speak "
            "OpenAI's protocol"
        )

    @pytest.mark.parametrize("model", ["nobody/knows", "nothing"])
    def test_what_it_does_not_know_either_is_refused(
        self, model: str, capfd: pytest.CaptureFixture[str]
    ) -> None:
        _, (fault,) = named(model)
        assert f"{model!r} is no alias" in fault.what
        assert "pip install" not in fault.hint
        assert "Provider List" not in capfd.readouterr().out
