"""Names of verifiers before 0.1.11 and of its second interface, and what to use instead."""

from __future__ import annotations

_OLDER = "it is of an older verifiers"
_TOOL_CALLS = f"{_OLDER}. A ToolEnv counts its tool calls itself: leave the rubric out"
_TOOL_ENV = f"{_OLDER}. Use ToolEnv with the same functions as tools"
_CODE = f"{_OLDER}. Use ToolEnv with a function that runs code, and MathRubric"
_TRAINING = f"{_OLDER}, and for training: import it in the script that trains, from verifiers-rl"
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
        _TRAINING,
    ),
    **dict.fromkeys(
        (
            *("v1", "tasksets", "taskset", "harnesses", "harness"),
            *("Taskset", "TaskSet", "TasksetConfig", "Harness", "HarnessConfig"),
        ),
        _SECOND,
    ),
}
"""What to do, by a class's, function's or module's own name."""
