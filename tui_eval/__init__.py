"""What environment authors import: `import tui_eval as vf`. Names load on first use."""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_HOMES: dict[str, tuple[str, ...]] = {
    "tui_eval.clients.base": ("Client",),
    "tui_eval.clients.openai_chat": ("OpenAIChatCompletionsClient",),
    "tui_eval.clients.anthropic_messages": ("AnthropicMessagesClient",),
    "tui_eval.environments.decorators": ("cleanup", "stop", "teardown"),
    "tui_eval.environments.environment": ("Environment",),
    "tui_eval.environments.loading": ("load_environment",),
    "tui_eval.environments.multi_turn": ("MultiTurnEnv",),
    "tui_eval.environments.single_turn": ("SingleTurnEnv",),
    "tui_eval.environments.tool_env": ("ToolEnv",),
    "tui_eval.errors": (
        "BrowserSandboxError",
        "EmptyModelResponseError",
        "Error",
        "ErrorChain",
        "InfraError",
        "InvalidModelResponseError",
        "ModelError",
        "OverlongPromptError",
        "SandboxError",
        "ScoringError",
        "ToolCallError",
        "ToolError",
        "ToolParseError",
        "TunnelError",
    ),
    "tui_eval.messages": (
        "AssistantMessage",
        "ContentPart",
        "CustomBaseModel",
        "GenericContentPart",
        "ImageUrlContentPart",
        "ImageUrlSource",
        "InputAudioContentPart",
        "InputAudioSource",
        "Message",
        "Messages",
        "SystemMessage",
        "TextContentPart",
        "TextMessage",
        "ToolCall",
        "ToolMessage",
        "UserMessage",
    ),
    "tui_eval.parsers.parser": ("Parser",),
    "tui_eval.parsers.xml_parser": ("XMLParser",),
    "tui_eval.rubrics.rubric": ("Rubric",),
    "tui_eval.rubrics.rubric_group": ("RubricGroup",),
    "tui_eval.state": ("State",),
    "tui_eval.types": (
        "ClientConfig",
        "ClientType",
        "DatasetBuilder",
        "EndpointClientConfig",
        "FinishReason",
        "GroupRewardFunc",
        "IndividualRewardFunc",
        "Info",
        "Response",
        "ResponseMessage",
        "RewardFunc",
        "RolloutInput",
        "RolloutTiming",
        "SamplingArgs",
        "TokenUsage",
        "Tool",
        "TrajectoryStep",
        "Usage",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", *sorted(_HOME_OF)]


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'tui_eval' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME_OF])
