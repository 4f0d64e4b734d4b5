"""What is said of a name that we do not have, and what stands for it."""

from __future__ import annotations

import importlib
import sys
from functools import cache
from typing import Any, NoReturn

from tui_eval.compat.alias import is_from_import
from tui_eval.compat.verifiers_names import MODULES, REASONS, ROOT
from tui_eval.errors import nearest

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


_NOT_HERE = "Do without it, or run the environment with verifiers itself"
_REASONS = REASONS | OLDER


def other_attribute(name: str) -> Any:
    """A further attribute of the package: a module (`vf.types`), or a class in place of theirs.

    Raises:
        AttributeError: There is none of that name; says what to do.
        ImportError: `from verifiers import` asks for a class that is not here; says what to do.
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
    """What is said of a class or function that we do not have."""
    known: list[str] = sys.modules["tui_eval"].__all__
    return _with_advice(name, name, nearest(name, known) or _nearest_of_other_versions(name))


def _nearest_of_other_versions(name: str) -> str:
    """The nearest name that another version of verifiers has, and what is used now."""
    hint = nearest(name, OLDER, most=1)
    other = hint.removeprefix("Did you mean ").removesuffix("?")
    return f"{hint} But {OLDER[other]}" if other else ""


def missing_module(name: str) -> str:
    """What is said of a module of verifiers, by its whole name, that we do not have."""
    parts = [part for part in name.split(".") if part in _REASONS]
    own = parts[-1] if parts else name.rpartition(".")[2]
    known = {module.rpartition(".")[2] for module in MODULES}
    return _with_advice(name, own, nearest(own, sorted(known)))


def _with_advice(whole_name: str, name: str, hint: str) -> str:
    what = f"tui_eval has no {whole_name!r}"
    if name in _REASONS:
        return f"{what}: {_REASONS[name]}"
    return f"{what}. {hint or _NOT_HERE}"
