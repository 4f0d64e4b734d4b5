"""What people need to know of an environment, by the interpreter that it runs in."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

from tui_eval.config.environment_defaults import environment_defaults
from tui_eval.engine.interpreters.interpreter import Interpreter
from tui_eval.engine.interpreters.missing_packages import interpreter_of
from tui_eval.engine.setup.environment_info import describe_environment, shown_defaults
from tui_eval.errors import Fault, RefusedError
from tui_eval.runs.summary_json import refused_object


def describe_where_it_runs(env_id: str, folder: Path, *, no_alias: bool = False) -> dict[str, Any]:
    """The same as `describe_environment`, in its own interpreter where it has one.

    Args:
        folder: Where local environments are.
        no_alias: Leave `import verifiers` to the installed package.
    """
    settings, _ = environment_defaults(env_id, folder)
    python = settings.get("python")
    try:
        named = interpreter_of(python.value, python.source) if python is not None else None
        interpreter = asyncio.run(named) if named is not None else None
    except RefusedError as error:
        return refused_object(error.faults)
    if interpreter is None:
        return describe_environment(env_id, folder, no_alias=no_alias)
    described = _describe_there(interpreter, env_id, folder, no_alias=no_alias)
    return {**described, **shown_defaults(settings)} if "defaults" in described else described


def _describe_there(
    interpreter: Interpreter, env_id: str, folder: Path, *, no_alias: bool
) -> dict[str, Any]:
    words = interpreter.command("tui_eval.engine.setup.environment_info")
    words += [env_id, str(folder)] + (["--no-alias"] if no_alias else [])
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
    try:
        described: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        what = f"{interpreter.path} ended with {done.returncode} before it said what this is"
        return refused_object([Fault(f"environment {env_id}", what)])
    return described
