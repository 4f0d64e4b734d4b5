"""Our modules for those of verifiers, and the errors of names that we lack."""

from __future__ import annotations

import importlib
import sys
from functools import cache
from typing import Any, NoReturn

from tui_eval.compat.alias import is_from_import
from tui_eval.errors import nearest

ROOT = "verifiers"
_ADAPTERS = "tui_eval.environments.adapters"
_UTILS = "tui_eval.compat.verifiers"

MODULES: dict[str, str | None] = {
    "verifiers": "tui_eval",
    "verifiers.cli": "tui_eval.cli",
    "verifiers.cli.plugins": None,
    "verifiers.cli.plugins.prime": "tui_eval.cli.prime_plugin",
    "verifiers.clients": "tui_eval.clients",
    "verifiers.clients.anthropic_messages_client": "tui_eval.clients.anthropic_messages",
    "verifiers.clients.client": "tui_eval.clients.base",
    "verifiers.clients.openai_chat_completions_client": "tui_eval.clients.openai_chat_completions",
    "verifiers.clients.openai_chat_completions_token_client": (
        "tui_eval.clients.openai_chat_completions_token"
    ),
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
    "verifiers.utils.env_utils": "tui_eval.environments.loader",
    "verifiers.utils.error_utils": "tui_eval.errors",
    "verifiers.utils.usage_utils": "tui_eval.environments.usage",
    "verifiers.utils.heartbeat": f"{_UTILS}.async_utils",
    "verifiers.utils.import_utils": f"{_UTILS}.eval_utils",
    "verifiers.utils.metric_utils": f"{_UTILS}.eval_utils",
    "verifiers.utils.response_utils": f"{_UTILS}.message_utils",
    "verifiers.utils.thread_utils": f"{_UTILS}.async_utils",
    "verifiers.utils.tool_utils": f"{_UTILS}.message_utils",
    **{
        f"verifiers.utils.{name}": f"{_UTILS}.{name}"
        for name in (
            *("async_utils", "client_utils", "data_utils", "eval_utils", "logging_utils"),
            *("message_utils", "path_utils", "save_utils", "version_utils"),
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
"""Reasons why a class, function or module of verifiers is not here, and advice, by its name."""


_OLDER = "it is of an older verifiers"
_TOOL_CALLS = f"{_OLDER}. A ToolEnv counts its tool calls itself: leave the rubric out"
_TOOL_ENV = f"{_OLDER}. Use ToolEnv with the same functions as tools"
_CODE = f"{_OLDER}. Use ToolEnv with a function that runs code, and MathRubric"
_TRAINED = f"{_OLDER}, and for training: import it in the script that trains, from verifiers-rl"
_SECOND = (
    "it is of the second interface of verifiers, from its version 0.2, which tui-eval does not "
    "run: load_environment must return an Environment. Run it with that version of verifiers"
)

OLDER: dict[str, str] = {
    **dict.fromkeys(("ToolRubric", "tool_rubric"), _TOOL_CALLS),
    **dict.fromkeys(("SmolaToolRubric", "smola_tool_rubric"), _TOOL_CALLS),
    **dict.fromkeys(("SmolaToolEnv", "smola_tool_env", "smolagents"), _TOOL_ENV),
    **dict.fromkeys(("CodeMathEnv", "CodeMathRubric", "codemath_env", "codemath_rubric"), _CODE),
    **dict.fromkeys(("CodeEnv", "code_env"), _CODE),
    **dict.fromkeys(("SmolaParser", "smola_parser"), f"{_OLDER}. Use XMLParser"),
    **dict.fromkeys(
        ("DoubleCheckEnv", "doublecheck_env"),
        f"{_OLDER}. Use MultiTurnEnv(max_turns=2) with an env_response that asks again",
    ),
    **dict.fromkeys(("MathEnv", "math_env"), f"{_OLDER}. Use SingleTurnEnv with a MathRubric"),
    **dict.fromkeys(("SimpleEnv", "simple_env"), f"{_OLDER}. Use SingleTurnEnv"),
    **dict.fromkeys(("MultiStepEnv", "multistep_env"), f"{_OLDER}. Use MultiTurnEnv"),
    "reward_function": f"{_OLDER}. Give the plain function to Rubric(funcs=[...])",
    "oai_tools": f"{_OLDER}. Use tool_defs",
    **dict.fromkeys(
        (
            *("GRPOEnvTrainer", "GenerateInputs", "ProcessedOutputs", "VLLMClient"),
            *("vllm_client", "inference", "imports", "model_utils"),
        ),
        _TRAINED,
    ),
    **dict.fromkeys(
        (
            *("v1", "tasksets", "taskset", "harnesses", "harness"),
            *("Taskset", "TaskSet", "TasksetConfig", "Harness", "HarnessConfig"),
        ),
        _SECOND,
    ),
}
"""Advice, by a class's, function's or module's own name."""


_NOT_HERE = "Do without it, or run the environment with verifiers itself"
_REASONS = REASONS | OLDER


def other_attribute(name: str) -> Any:
    """A further attribute of the package: a module (`vf.types`), or a class in place of theirs.

    Raises:
        AttributeError: There is none of that name; says what to do.
        ImportError: `from verifiers import` names a class that is not here; says what to do.
    """
    theirs = f"{ROOT}.{name}"
    if theirs in MODULES:
        if sys.modules.get(ROOT) is sys.modules["tui_eval"]:
            return importlib.import_module(theirs)
        if MODULES[theirs] == f"tui_eval.{name}":
            return importlib.import_module(f"tui_eval.{name}")
    if name in _REASONS and name[0].isupper():
        if is_from_import(sys._getframe(1)):
            raise ImportError(missing_name(name), name=ROOT)
        return _refused_class(name)
    raise AttributeError(missing_name(name))


@cache
def _refused_class(name: str) -> type:
    """A class for type hints and `isinstance`: nothing is one, and using it says what to do."""

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise ImportError(missing_name(name), name=ROOT)

    members = {
        "__new__": refuse,
        "__init_subclass__": classmethod(refuse),
        "__module__": ROOT,
        "__doc__": missing_name(name),
        "is_refused": True,
    }
    return type(name, (), members)


def missing_name(name: str) -> str:
    """The error of a class or function that we do not have."""
    known: list[str] = sys.modules["tui_eval"].__all__
    return _with_advice(name, name, nearest(name, known) or _nearest_of_other_versions(name))


def _nearest_of_other_versions(name: str) -> str:
    """The nearest name that another version of verifiers has, and what is used now."""
    hint = nearest(name, OLDER, most=1)
    other = hint.removeprefix("Did you mean ").removesuffix("?")
    return f"{hint} But {OLDER[other]}" if other else ""


def missing_module(name: str) -> str:
    """The error of a module of verifiers, by its whole name, that we do not have."""
    parts = [part for part in name.split(".") if part in _REASONS]
    own = parts[-1] if parts else name.rpartition(".")[2]
    known = {module.rpartition(".")[2] for module in MODULES}
    return _with_advice(name, own, nearest(own, sorted(known)))


def _with_advice(whole_name: str, name: str, hint: str) -> str:
    what = f"tui_eval has no {whole_name!r}"
    if name in _REASONS:
        return f"{what}: {_REASONS[name]}"
    return f"{what}. {hint or _NOT_HERE}"
