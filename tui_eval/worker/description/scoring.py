"""Reward functions that would fail at every call, found before rollouts are paid for."""

from __future__ import annotations

import dis
import importlib.util
import inspect
from collections.abc import Callable, Iterator
from inspect import Parameter
from types import CodeType
from typing import TYPE_CHECKING, Any

from tui_eval.environments.env_group import EnvGroup, EnvGroupRubric
from tui_eval.errors import Fault, Notice, nearest, warning
from tui_eval.install_commands import extra_command
from tui_eval.rubrics.functions import has_own
from tui_eval.rubrics.judge_rubric import JudgeRubric
from tui_eval.rubrics.math_rubric import MathRubric
from tui_eval.rubrics.reward_call import group_values, name_of, read_signature, values_for
from tui_eval.rubrics.reward_call import metric_names as names_of
from tui_eval.rubrics.rubric import Rubric
from tui_eval.rubrics.rubric_group import RubricGroup

if TYPE_CHECKING:
    from tui_eval.environments.environment import Environment

_OURS = tuple(kind.add_scores for kind in (Rubric, JudgeRubric, RubricGroup, EnvGroupRubric))
_CARE = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException", "find_spec", "sys"}
"""A function that names one of these may do without the module, or makes it importable."""


def scoring_faults(env: Environment) -> list[Fault]:
    """Faults of an environment's rubrics that make every rollout fail.

    Rubrics that score in a way of their own are left alone: they may give their functions more.
    """
    faults = []
    for rubric in rubrics_of(env):
        if isinstance(rubric, MathRubric) and importlib.util.find_spec("math_verify") is None:
            what = "MathRubric needs the package math-verify"
            faults.append(Fault(f"environment {env.env_id}", what, extra_command("math")))
        if _calls_as_we_do(rubric):
            faults += [fault for func in rubric.funcs for fault in _unknown(func, rubric)]
    return list(dict.fromkeys(faults))


def group_functions(env: Environment) -> list[str]:
    """The names of the reward functions that compare the rollouts of an example."""
    found = [
        name_of(func)
        for rubric in rubrics_of(env)
        if _calls_as_we_do(rubric)
        for func in rubric.funcs
        if read_signature(func).is_group
    ]
    return list(dict.fromkeys(found))


def metric_names(env: Environment) -> list[str]:
    """The names of an environment's metrics, as far as they are known."""
    return list(dict.fromkeys(name for one in rubrics_of(env) for name in names_of(one.funcs)))


def has_more_metrics(env: Environment) -> bool:
    """Whether its rubrics may have further metrics: one scores in a way of its own."""
    rubrics = list(rubrics_of(env))
    return not rubrics or not all(map(_calls_as_we_do, rubrics))


def rubrics_of(env: Environment) -> Iterator[Rubric]:
    """Every rubric that scores an environment's rollouts, those inside of others too."""
    if env.score_rollouts and env.rubric is not None:
        yield from _with_inner(env.rubric)
    if isinstance(env, EnvGroup) and env.score_rollouts:
        for member in env.members:
            yield from rubrics_of(member)


def _with_inner(rubric: Rubric) -> Iterator[Rubric]:
    yield rubric
    if isinstance(rubric, RubricGroup):
        for inner in rubric.rubrics:
            yield from _with_inner(inner)


def _calls_as_we_do(rubric: Rubric) -> bool:
    kind = type(rubric)
    own = any(has_own(rubric, Rubric, name) for name in ("score_rollout", "score_group"))
    return not own and kind.add_scores in _OURS


def _unknown(func: Callable[..., Any], rubric: Rubric) -> Iterator[Fault]:
    """One fault for each required parameter that is never given."""
    try:
        parameters = inspect.signature(func).parameters.values()
    except (TypeError, ValueError):  # some functions written in C have no signature
        return
    is_group = read_signature(func).is_group
    known = group_values([], {}) if is_group else values_for({}, {})
    names = [*known, *rubric.class_objects]
    for parameter in parameters:
        is_named = parameter.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
        if not is_named or parameter.default is not Parameter.empty or parameter.name in names:
            continue
        name = parameter.name
        hint = f"{nearest(name, names)} Known are {', '.join(names)}".strip()
        what = f"nothing is known for its parameter {name!r}"
        yield Fault(f"reward function {name_of(func)}", what, hint)


def missing_modules(env: Environment) -> list[Notice]:
    """One warning for each reward function and module: it would fail at its first call.

    That is no fault: a function may import what it needs under a condition.
    """
    found = [
        warning(
            f"reward function {name_of(func)} imports {module}, which is not installed "
            f"({code.co_filename}:{line}); `tui-eval env check {env.env_id}` says what to install"
        )
        for rubric in rubrics_of(env)
        for func in rubric.funcs
        for code, line, module in _missing(func)
    ]
    return list(dict.fromkeys(found))


def _missing(func: Callable[..., Any]) -> Iterator[tuple[CodeType, int, str]]:
    code = getattr(getattr(func, "__func__", func), "__code__", None)
    if not isinstance(code, CodeType):
        return
    codes = list(_with_inner_code(code))
    if _CARE.isdisjoint(name for one in codes for name in one.co_names):
        for one in codes:
            for line, module in _imports(one):
                if not _module_is_there(module):
                    yield one, line, module


def _with_inner_code(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_inner_code(constant)


def _imports(code: CodeType) -> Iterator[tuple[int, str]]:
    """Line and top module of each absolute import that is in no `try`."""
    line = code.co_firstlineno
    constants: list[Any] = [None, None]
    steps = dis.Bytecode(code)
    guarded = [range(entry.start, entry.end) for entry in steps.exception_entries]  # type: ignore[attr-defined]
    for step in steps:
        line = getattr(step.positions, "lineno", None) or line
        if step.opname in ("LOAD_CONST", "LOAD_SMALL_INT"):
            constants = [constants[1], step.argval]
        is_absolute = step.opname == "IMPORT_NAME" and constants[0] == 0  # dots before it
        if is_absolute and not any(step.offset in one for one in guarded):
            yield line, str(step.argval).partition(".")[0]


def _module_is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return True  # it is there in a way of its own
