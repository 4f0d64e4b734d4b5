"""State columns that no code of an environment writes, as far as its files say."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.environments.env_group import EnvGroup
from tui_eval.errors import is_ours
from tui_eval.worker.describing.scoring import rubrics_of

if TYPE_CHECKING:
    from tui_eval.environments.environment import Environment


def unwritten_columns(columns: Sequence[str], env: Environment) -> list[str]:
    """The columns that are not written out in the environment's code."""
    code = "".join(_sources(env)) if columns else ""
    return [name for name in columns if not any(f"{quote}{name}{quote}" in code for quote in "\"'")]


def _sources(env: Environment) -> Iterator[str]:
    """The text of each file of people's that holds a class or a reward function."""
    for member in env.members if isinstance(env, EnvGroup) else ():
        yield from _sources(member)
    rubrics = list(rubrics_of(env))
    parts: list[Any] = [kind for one in (env, *rubrics) for kind in type(one).__mro__]
    parts += [func for rubric in rubrics for func in rubric.funcs]
    files: set[str | None] = set()
    for part in parts:
        with contextlib.suppress(TypeError):  # written in C, or no function
            files.add(inspect.getsourcefile(part))
    for file in files:
        if file is not None and not is_ours(file):
            with contextlib.suppress(OSError):
                yield Path(file).read_text("utf-8-sig", "replace")
