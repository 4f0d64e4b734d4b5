"""Names that are spellings of one model."""

from __future__ import annotations

import pytest

from tui_eval.model_names import is_same_model


@pytest.mark.parametrize(
    ("requested", "answered"),
    [
        ("gpt-4o", "gpt-4o-2024-08-06"),
        ("gpt-4", "gpt-4-0613"),
        ("claude-sonnet-4-5", "claude-sonnet-4-5-20250929"),
        ("claude-3-5-sonnet-latest", "claude-3-5-sonnet-20241022"),
        ("openai/gpt-4o", "gpt-4o-2024-08-06"),
        ("gpt-4o", "openai/gpt-4o"),
        ("gemini-2.0-flash", "models/gemini-2.0-flash-001"),
        ("llama3", "llama3:latest"),
        ("Qwen/Qwen3-8B", "qwen3-8b"),
        ("qwen3-8b", "/models/Qwen3-8B.gguf"),
        ("meta/llama-3:free", "meta/llama-3"),
        ("m", "m"),
    ],
)
def test_spellings_of_one_model(requested: str, answered: str) -> None:
    assert is_same_model(requested, answered)


@pytest.mark.parametrize(
    ("requested", "answered"),
    [
        ("gpt-4o", "gpt-4o-mini"),
        ("gpt-4o", "gpt-3.5-turbo"),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-08-06"),
        ("deepseek-v2", "deepseek-v3"),
        ("qwen3-8b", "qwen3-14b"),
        ("llama3:8b", "llama3:70b"),
    ],
)
def test_other_models(requested: str, answered: str) -> None:
    assert not is_same_model(requested, answered)
