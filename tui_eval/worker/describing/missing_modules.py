"""Modules that reward functions import only when they are called, and that are not there."""

from __future__ import annotations

import dis
import importlib.util
from collections.abc import Callable, Iterator
from types import CodeType
from typing import TYPE_CHECKING, Any

from tui_eval.errors import Notice, warning
from tui_eval.rubrics.calling import name_of
from tui_eval.worker.describing.scoring import rubrics_of

if TYPE_CHECKING:
    from tui_eval.environments.environment import Environment

_CARE = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException", "find_spec", "sys"}
"""A function that names one of these may do without the module, or makes it importable."""


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
    codes = list(_with_inner(code))
    if _CARE.isdisjoint(name for one in codes for name in one.co_names):
        for one in codes:
            for line, module in _imports(one):
                if not _is_there(module):
                    yield one, line, module


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_inner(constant)


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


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return True  # it is there in a way of its own
