"""The API of environment authors: `import tui_eval as vf`. Names load on first use."""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.3.0"

_HOMES: dict[str, tuple[str, ...]] = {
    "tui_eval.cli.prime_plugin": (
        "PRIME_PLUGIN_API_VERSION",
        "PrimeCLIPlugin",
        "get_plugin",
    ),
    "tui_eval.client_config": (
        "ClientConfig",
        "ClientType",
        "Endpoint",
        "EndpointClientConfig",
        "Endpoints",
        "EvalConfig",
        "EvalRunConfig",
    ),
    "tui_eval.clients.anthropic_messages": ("AnthropicMessagesClient",),
    "tui_eval.clients.base": ("Client",),
    "tui_eval.clients.openai_chat_completions": ("OpenAIChatCompletionsClient",),
    "tui_eval.clients.openai_completions": ("OpenAICompletionsClient",),
    "tui_eval.clients.openai_responses": ("OpenAIResponsesClient",),
    "tui_eval.clients.openai_chat_completions_token": ("OpenAIChatCompletionsTokenClient",),
    "tui_eval.environments.author_logs": (
        "log_level",
        "quiet_verifiers",
        "setup_logging",
    ),
    "tui_eval.environments.decorators": (
        "cleanup",
        "stop",
        "teardown",
    ),
    "tui_eval.environments.env_group": ("EnvGroup",),
    "tui_eval.environments.environment": ("Environment",),
    "tui_eval.environments.datasets.example_datasets": ("load_example_dataset",),
    "tui_eval.environments.adapters.gym_env": (
        "EpisodicSumRubric",
        "GymEnv",
    ),
    "tui_eval.environments.keys": (
        "MissingKeyError",
        "ensure_keys",
    ),
    "tui_eval.compat.loader": ("load_environment",),
    "tui_eval.environments.adapters.mcp_env": ("MCPEnv",),
    "tui_eval.environments.multi_turn": ("MultiTurnEnv",),
    "tui_eval.environments.adapters.openenv_env": ("OpenEnvEnv",),
    "tui_eval.environments.adapters.reasoning_gym_env": ("ReasoningGymEnv",),
    "tui_eval.environments.recorded_results": (
        "record",
        "tool",
    ),
    "tui_eval.environments.outputs": ("print_prompt_completions_sample",),
    "tui_eval.environments.single_turn": ("SingleTurnEnv",),
    "tui_eval.environments.stateful_tool_env": ("StatefulToolEnv",),
    "tui_eval.environments.adapters.textarena_env": ("TextArenaEnv",),
    "tui_eval.environments.tool_env": ("ToolEnv",),
    "tui_eval.errors": (
        "BrowserSandboxError",
        "EmptyModelResponseError",
        "Error",
        "ErrorChain",
        "InfraError",
        "InvalidModelResponseError",
        "JudgeError",
        "ModelError",
        "OverlongPromptError",
        "PromptRefusedError",
        "RefusedError",
        "SandboxError",
        "ScoringError",
        "ToolCallError",
        "ToolError",
        "ToolParseError",
        "TunnelError",
    ),
    "tui_eval.messages": (
        "AssistantMessage",
        "ChatMessage",
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
    "tui_eval.parsers.answers": (
        "extract_boxed_answer",
        "extract_hash_answer",
    ),
    "tui_eval.parsers.parser": ("MaybeThinkParser", "Parser", "ThinkParser"),
    "tui_eval.parsers.xml_parser": ("XMLParser",),
    "tui_eval.plain_calls.functions": ("thread_safe",),
    "tui_eval.rollout_data": (
        "BaseRolloutInput",
        "DatasetBuilder",
        "ErrorInfo",
        "FinishReason",
        "GenerateMetadata",
        "GenerateOutputs",
        "GroupRewardFunc",
        "IndividualRewardFunc",
        "Info",
        "JsonPrimitive",
        "LogCallback",
        "MessageType",
        "ProgressCallback",
        "Response",
        "ResponseMessage",
        "ResponseTokens",
        "RewardFunc",
        "RolloutInput",
        "RolloutOutput",
        "RolloutScore",
        "RolloutScores",
        "RolloutTiming",
        "SamplingArgs",
        "StartCallback",
        "TokenUsage",
        "Tool",
        "TrajectoryStep",
        "TrajectoryStepTokens",
        "Usage",
        "VersionInfo",
    ),
    "tui_eval.rubrics.judge_rubric": ("JudgeRubric",),
    "tui_eval.rubrics.math_rubric": ("MathRubric",),
    "tui_eval.rubrics.rubric": ("Rubric",),
    "tui_eval.rubrics.rubric_group": ("RubricGroup",),
    "tui_eval.state": ("State",),
}
_CONNECTIONS = {"run_in_process": "tui_eval.engine.in_process"}
"""Names of upper floors for lower ones, loaded on first use; not for authors."""

_OWN_MODULES = ("clock", "cuts")
"""The attributes that `from tui_eval import` reads first: looking for them among names of
verifiers would cost the first frame 20 ms."""

_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", *sorted(_HOME_OF)]


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name) or _CONNECTIONS.get(name)
    if home is None:
        if name.startswith("__") or name in _OWN_MODULES:
            raise AttributeError(f"module 'tui_eval' has no attribute {name!r}")
        return importlib.import_module("tui_eval.compat.verifiers_names").other_attribute(name)
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME_OF])
