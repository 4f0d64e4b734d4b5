"""Names that modules of verifiers import from each other: each is found in every module."""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import tui_eval
from tui_eval.messages import ContentPart
from tui_eval.state import State

_FUNCTIONS = {
    "async_utils": ("maybe_await", "maybe_retry", "maybe_semaphore", "with_sem"),
    "client_utils": (
        *("resolve_client_config", "resolve_client_configs"),
        *("setup_anthropic_client", "setup_openai_client"),
    ),
    "eval_utils": ("compute_pass_at_k", "filter_inputs", "load_toml"),
    "logging_utils": ("print_time",),
    "message_utils": (
        *("concat_messages", "format_messages", "from_raw_message", "messages_to_printable"),
        *("normalize_messages", "sanitize_tool_calls"),
        *("parse_response_message", "parse_response_tokens"),
        *("convert_func_to_tool_def", "is_valid_tool_content_parts"),
    ),
    "openai_helpers": (
        *("AUTH_ERRORS", "DEFAULT_REASONING_FIELDS", "OpenAIChatMessage", "OpenAIChatMessages"),
        *("content_to_text", "get_usage_field", "handle_openai_overlong_prompt"),
        "parse_reasoning_content",
    ),
    "path_utils": ("is_valid_eval_results_path",),
    "save_utils": (
        *("GenerateOutputsBuilder", "load_outputs", "make_dataset", "push_results_to_hf_hub"),
        *("save_metadata", "save_new_outputs", "save_outputs", "state_to_output"),
        "validate_resume_metadata",
    ),
}
_HOMES = {
    "resolve_client": "tui_eval.clients",
    "StateUsageTracker": "tui_eval.environments.usage",
    **{
        name: f"tui_eval.compat.verifiers.{module}"
        for module, names in _FUNCTIONS.items()
        for name in names
    },
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        return getattr(tui_eval, name)
    return getattr(importlib.import_module(home), name)


# Types that only hints name.
MessageContent: TypeAlias = str | list[ContentPart]
ThinkingBlock: TypeAlias = dict[str, Any]
StopCondition: TypeAlias = Callable[[State], Awaitable[bool]]
RolloutCleanup: TypeAlias = Callable[[State], Awaitable[None]]
EnvironmentTeardown: TypeAlias = Callable[[], Awaitable[None]]
