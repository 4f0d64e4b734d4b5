"""Which module of ours each module of verifiers is, and what to do without the rest."""

from __future__ import annotations

ROOT = "verifiers"
_ADAPTERS = "tui_eval.environments.adapters"

MODULES: dict[str, str | None] = {
    "verifiers": "tui_eval",
    "verifiers.cli": "tui_eval.cli",
    "verifiers.cli.plugins": None,
    "verifiers.cli.plugins.prime": "tui_eval.cli.prime_plugin",
    "verifiers.clients": "tui_eval.clients",
    "verifiers.clients.anthropic_messages_client": "tui_eval.clients.anthropic_messages",
    "verifiers.clients.client": "tui_eval.clients.base",
    "verifiers.clients.openai_chat_completions_client": "tui_eval.clients.openai_chat",
    "verifiers.clients.openai_chat_completions_token_client": "tui_eval.clients.openai_token",
    "verifiers.clients.openai_completions_client": "tui_eval.clients.openai_completions",
    "verifiers.clients.openai_responses_client": "tui_eval.clients.openai_responses",
    "verifiers.decorators": "tui_eval.environments.decorators",
    "verifiers.envs": None,
    "verifiers.envs.env_group": "tui_eval.environments.env_group",
    "verifiers.envs.environment": "tui_eval.environments.environment",
    "verifiers.envs.experimental": None,
    "verifiers.envs.experimental.gym_env": f"{_ADAPTERS}.gym_env",
    "verifiers.envs.experimental.mcp_env": f"{_ADAPTERS}.mcp_env",
    "verifiers.envs.gym_env": f"{_ADAPTERS}.gym_env",
    "verifiers.envs.integrations": None,
    "verifiers.envs.integrations.openenv_env": f"{_ADAPTERS}.openenv_env",
    "verifiers.envs.integrations.reasoning_gym_env": f"{_ADAPTERS}.reasoning_gym_env",
    "verifiers.envs.integrations.reasoninggym_env": f"{_ADAPTERS}.reasoning_gym_env",
    "verifiers.envs.integrations.textarena_env": f"{_ADAPTERS}.textarena_env",
    "verifiers.envs.multiturn_env": "tui_eval.environments.multi_turn",
    "verifiers.envs.reasoninggym_env": f"{_ADAPTERS}.reasoning_gym_env",
    "verifiers.envs.singleturn_env": "tui_eval.environments.single_turn",
    "verifiers.envs.stateful_tool_env": "tui_eval.environments.stateful_tool_env",
    "verifiers.envs.textarena_env": f"{_ADAPTERS}.textarena_env",
    "verifiers.envs.tool_env": "tui_eval.environments.tool_env",
    "verifiers.errors": "tui_eval.errors",
    "verifiers.parsers": "tui_eval.parsers",
    "verifiers.parsers.maybe_think_parser": "tui_eval.parsers.parser",
    "verifiers.parsers.parser": "tui_eval.parsers.parser",
    "verifiers.parsers.think_parser": "tui_eval.parsers.parser",
    "verifiers.parsers.xml_parser": "tui_eval.parsers.xml_parser",
    "verifiers.rubrics": "tui_eval.rubrics",
    "verifiers.rubrics.experimental": None,
    "verifiers.rubrics.experimental.hybrid_math_rubric": "tui_eval.rubrics.hybrid_math_rubric",
    "verifiers.rubrics.judge_rubric": "tui_eval.rubrics.judge_rubric",
    "verifiers.rubrics.math_rubric": "tui_eval.rubrics.math_rubric",
    "verifiers.rubrics.rubric": "tui_eval.rubrics.rubric",
    "verifiers.rubrics.rubric_group": "tui_eval.rubrics.rubric_group",
    "verifiers.types": "tui_eval.types",
    "verifiers.utils": None,
    "verifiers.utils.config_utils": "tui_eval.environments.keys",
    "verifiers.utils.decorators": "tui_eval.environments.decorators",
    "verifiers.utils.env_utils": "tui_eval.environments.loading",
    "verifiers.utils.error_utils": "tui_eval.errors",
    "verifiers.utils.usage_utils": "tui_eval.environments.usage",
    **{
        f"verifiers.utils.{name}": f"tui_eval.compat.verifiers.{name}"
        for name in (
            *("async_utils", "client_utils", "data_utils", "eval_utils", "heartbeat"),
            *("import_utils", "logging_utils", "message_utils", "metric_utils", "path_utils"),
            *("response_utils", "save_utils", "thread_utils", "tool_utils", "version_utils"),
        )
    },
}
"""Ours by theirs; None for a package that only holds others."""

_WITH_VERIFIERS = "Run the environment with verifiers itself"
_SANDBOX = f"it needs a sandbox, and this version of tui-eval has none yet. {_WITH_VERIFIERS}"
_AGENT = f"it runs an agent in a sandbox behind a tunnel, which tui-eval has not. {_WITH_VERIFIERS}"
_BROWSER = f"it drives a browser of Browserbase, which tui-eval does not do. {_WITH_VERIFIERS}"
_CONNECTION = "MCPEnv has connections of its own: derive from MCPEnv, or take its `mcp_tools`"
_TRAINING = (
    "it trains models, and tui-eval only evaluates them. Import it in the script that trains, "
    "where the packages verifiers and verifiers-rl are installed, or train with prime-rl"
)

REASONS: dict[str, str] = {
    **dict.fromkeys(
        ("SandboxEnv", "PythonEnv", "SandboxMixin", "sandbox_env", "python_env", "sandbox_mixin"),
        _SANDBOX,
    ),
    **dict.fromkeys(
        (
            *("CliAgentEnv", "HarborEnv", "OpenCodeEnv", "RLMEnv", "RolloutGatewayMixin"),
            *("OpenCodeQAEnv", "opencode_qa_env"),
            *("cli_agent_env", "harbor_env", "opencode_env", "rlm_env", "rollout_gateway_mixin"),
        ),
        _AGENT,
    ),
    **dict.fromkeys(("BrowserEnv", "browser_env"), _BROWSER),
    **dict.fromkeys(("MCPServerConnection", "MCPToolWrapper"), _CONNECTION),
    **dict.fromkeys(
        (
            *("GRPOConfig", "GRPOTrainer", "RLConfig", "RLTrainer", "rl", "trainers"),
            *("get_model", "get_model_and_tokenizer", "grpo_defaults", "lora_defaults"),
        ),
        _TRAINING,
    ),
}
"""Why a class, function or module of verifiers is not here, and what to do, by its own name."""
