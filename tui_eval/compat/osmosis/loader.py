"""An environment of an agent loop, a dataset and eval functions, by their names."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tui_eval.compat.osmosis.agent_loop import AppStandIn, RolloutAgentLoop
from tui_eval.compat.osmosis.dataset import read_dataset
from tui_eval.compat.osmosis.environment import AgentLoopEnv
from tui_eval.compat.osmosis.eval_functions import EvalFunction, eval_rubric, read_eval_function
from tui_eval.compat.osmosis_alias import install_osmosis_alias
from tui_eval.environments.author_errors import describe
from tui_eval.errors import Fault, RefusedError, nearest

MODULE = "-m/--module"
EVAL_FN = "--eval-fn"
_MOST_NAMES = 12

T = TypeVar("T")


def load_environment(
    module: str,
    dataset: str,
    eval_fns: Sequence[str],
    offset: int = 0,
    max_turns: int = 10,
    pass_threshold: float = 1.0,
) -> AgentLoopEnv:
    """The environment of an agent loop.

    Args:
        module: The agent loop, as `module:name`; modules of the working directory are found.
        dataset: Path of a .jsonl, .json, .csv or .parquet file.
        eval_fns: The functions that score, as `module:name`; the first one gives the reward.
        offset: Rows of the dataset to leave out, from its begin.
        max_turns: Passed to the agent: how often it may call the model.
        pass_threshold: The score from which on a run counts as passed.

    Raises:
        RefusedError: With everything that is wrong.
    """
    faults: list[Fault] = []

    def attempt(load: Callable[[], T]) -> T | None:
        try:
            return load()
        except RefusedError as error:
            faults.extend(error.faults)
            return None

    try:
        install_osmosis_alias()
    except RuntimeError as error:
        raise RefusedError([Fault("osmosis_ai", str(error))]) from None
    look_in_working_directory()
    agent_loop = attempt(lambda: load_agent_loop(module))
    rows = attempt(lambda: read_dataset(Path(dataset), offset))
    functions = attempt(lambda: load_eval_functions(eval_fns))
    if agent_loop is None or functions is None or faults:
        raise RefusedError(faults)
    return AgentLoopEnv(
        agent_loop,
        max_turns=max_turns,
        dataset=rows,
        rubric=eval_rubric(functions),
        pass_threshold=pass_threshold,
    )


def look_in_working_directory() -> None:
    """Lets modules of the working directory be imported, before all others."""
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)


def load_agent_loop(path: str) -> RolloutAgentLoop:
    """The agent loop at `module:name`, of a class an object; refused where there is none."""
    where = f"{MODULE} {path}"
    found = _find(path, where)
    if inspect.isclass(found) and issubclass(found, RolloutAgentLoop):
        try:
            return found()
        except Exception as error:
            what = f"making it raised {describe(error, Path.cwd())}"
            raise RefusedError([Fault(where, what, "It is made without arguments")]) from error
    if isinstance(found, RolloutAgentLoop):
        return found
    what = f"this is a {type(found).__name__}, no RolloutAgentLoop"
    if isinstance(found, AppStandIn):
        what = "this is the application that create_app made"
    hint = "Name an object of a subclass of RolloutAgentLoop, or the subclass"
    raise RefusedError([Fault(where, what, hint)])


def load_eval_functions(paths: Sequence[str]) -> list[EvalFunction]:
    """The functions at each `module:name`; refused with everything that is wrong."""
    found: list[EvalFunction] = []
    faults: list[Fault] = []
    for path in dict.fromkeys(paths):
        where = f"{EVAL_FN} {path}"
        if list(paths).count(path) > 1:
            faults.append(Fault(where, "it is given twice", "Name each function once"))
        try:
            found.append(read_eval_function(path, _find(path, where), where))
        except RefusedError as error:
            faults += error.faults
    if not paths:
        faults.append(Fault(EVAL_FN, "none is given", "Name at least one: --eval-fn module:name"))
    if faults:
        raise RefusedError(faults)
    return found


def _find(path: str, where: str) -> Any:
    module_name, colon, name = path.partition(":")
    if (
        not colon
        or not name.isidentifier()
        or not all(map(str.isidentifier, module_name.split(".")))
    ):
        raise RefusedError([Fault(where, "this is not of the form module:name")])
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        what = f"importing {module_name} raised {describe(error, Path.cwd())}"
        hint = ""
        if isinstance(error, ModuleNotFoundError) and error.name == module_name:
            hint = f"Modules are looked for in {Path.cwd()} and among installed ones"
        raise RefusedError([Fault(where, what, hint)]) from error
    if not hasattr(module, name):
        names = [known for known in vars(module) if not known.startswith("_")]
        known = ", ".join(names[:_MOST_NAMES]) + (", ..." if len(names) > _MOST_NAMES else "")
        what = f"module {module_name} has no {name}"
        raise RefusedError([Fault(where, what, nearest(name, names) or f"It has {known}")])
    return getattr(module, name)
