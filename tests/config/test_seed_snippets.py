"""Registries and files of evaluations as users of the replaced command have written them."""

from __future__ import annotations

import pytest
from manual_files import COMPARE, DETAILED, MULTI_MODEL, MY_BENCHMARK, REGISTRY
from setting_places import plan, plans, write

from tui_eval.config.plan import RunPlan

ABLATION = """
model = "gpt-4.1-mini"                      # globals: any valid field
endpoints_path = "endpoints.toml"   # relative -> resolved against the CONFIG FILE's directory
[[eval]]
env_id = "my-env"                   # required (checked for every [[eval]])
num_examples = 5
[eval.env_args]
difficulty = "hard"
[[ablation]]                        # cartesian product
env_id = "my-env"                   # fixed fields (may also be swept: env_id = ["a","b"])
[ablation.sweep]
temperature = [0.0, 0.5]
[ablation.sweep.env_args]
difficulty = ["easy", "hard"]
"""

MODELS = ["gpt-4.1-mini", "qwen/qwen3-235b-a22b-instruct-2507", "claude-sonnet-4-5-20250929"]


@pytest.fixture(autouse=True)
def _keys(here: object, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "PRIME_API_KEY", "ANTHROPIC_API_KEY", "MY_API_KEY"):
        monkeypatch.setenv(name, "k")
    write("configs/endpoints.toml", REGISTRY)


def sizes(found: list[RunPlan]) -> list[tuple[str, int, int]]:
    return [(one.env_id, one.num_examples, one.rollouts_per_example) for one in found]


def test_a_benchmark_of_several_environments() -> None:
    assert sizes(plans(write("configs/eval/my-benchmark.toml", MY_BENCHMARK))) == [
        ("gsm8k", 100, 3),
        ("math-python", 50, 3),
        ("reverse-text", 50, 5),
    ]


def test_settings_of_each_environment() -> None:
    found = plans(write("configs/eval/detailed.toml", DETAILED))
    assert sizes(found) == [("math-python", 50, 3), ("wiki-search", 30, 3)]
    assert [one.env_args for one in found] == [
        {"difficulty": "hard", "split": "test"},
        {"max_turns": 15, "judge_model": "gpt-4.1-mini"},
    ]


@pytest.mark.parametrize("text", [MULTI_MODEL, COMPARE])
def test_one_environment_with_several_models(text: str) -> None:
    found = plans(write("configs/eval/compare.toml", text))
    assert [one.model for one in found] == MODELS
    assert [one.varies["model"] for one in found] == [
        "gpt-4.1-mini", "qwen3-235b-i", "claude-sonnet",
    ]  # fmt: skip
    assert found[2].client_type == "anthropic_messages"


def test_an_ablation_beside_an_evaluation() -> None:
    write("sub/endpoints.toml", REGISTRY)
    found = plans(write("sub/e.toml", ABLATION))
    assert [one.env_args["difficulty"] for one in found] == ["hard", "easy", "hard", "easy", "hard"]
    assert [one.sampling_args.get("temperature") for one in found] == [None, 0.0, 0.0, 0.5, 0.5]


def test_the_default_model_is_an_alias() -> None:
    assert plan("my-env").model == "gpt-4.1-mini"


def test_direct_configuration_without_an_alias() -> None:
    one = plan(model="custom-model", api_base_url="https://my-api.example.com/v1",
               api_key_var="MY_API_KEY")  # fmt: skip
    assert (one.model, one.base_url) == ("custom-model", "https://my-api.example.com/v1")
    assert one.key_var == "MY_API_KEY"
