"""The present version of an environment's code, part by part, and columns it never names."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import json
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from tui_eval import cuts
from tui_eval.config.secret_values import masked, masked_url
from tui_eval.environments.env_group import EnvGroup
from tui_eval.environments.environment import Environment
from tui_eval.environments.local_code import local_code, sources_of
from tui_eval.errors import is_ours
from tui_eval.rubrics.judge_rubric import JudgeRubric
from tui_eval.rubrics.reward_call import name_of
from tui_eval.runs.plain_json import Cleaner
from tui_eval.runs.redaction import Redactor
from tui_eval.runs.versions import FILE, CodeVersion
from tui_eval.worker.description.scoring import rubrics_of

# A process keeps the modules that it has imported, whatever becomes of their files.
_FILES: WeakKeyDictionary[Environment, tuple[dict[str, str], list[str]]] = WeakKeyDictionary()

log = logging.getLogger("tui_eval.engine")


def code_now(env: Environment, env_id: str, folder: Path) -> CodeVersion:
    """The version of an environment's code on disk, and of the settings it was made with.

    Secrets are taken out here, so that versions are compared without them. No exception of
    people's objects may end a start here: it is logged.

    Args:
        folder: The folder of local environments.
    """
    try:
        kept = _FILES.get(env)
        if kept is None:
            kept = _FILES[env] = _files_now(env, env_id, folder)
        files, imported = kept
        at = datetime.now(UTC).isoformat(timespec="seconds")
        redact = Redactor(cuts.known()).text
        parts = (*files.items(), *_settings(env))
        return CodeVersion({redact(name): redact(text) for name, text in parts}, imported, at)
    except Exception:
        log.warning("the version of the environment's code is not known", exc_info=True)
        return CodeVersion()


def _files_now(env: Environment, env_id: str, folder: Path) -> tuple[dict[str, str], list[str]]:
    """Digests of an environment's files, and the first names of what they import."""
    code = local_code(env, env_id, folder)
    files = {}
    for label, path in sorted(code.files.items()):
        with contextlib.suppress(OSError):
            files[f"{FILE}{label}"] = _hash(path.read_bytes())
    return files, sorted(code.imported)


def _settings(env: Environment) -> Iterator[tuple[str, str]]:
    """Weights of reward functions and settings of judges, each under a name of its own."""
    seen: Counter[str] = Counter()
    for rubric in rubrics_of(env):
        found = [
            (f"rubric.{name_of(function)}", weight)
            for function, weight in zip(rubric.funcs, rubric.weights, strict=False)
            if weight or next(sources_of(function), None)  # not what we count by ourselves
        ]
        if isinstance(rubric, JudgeRubric):
            found += _judge(rubric)
        for name, value in found:
            seen[name] += 1
            number = f"_{seen[name]}" if seen[name] > 1 else ""
            yield f"{name}{number}", _text(value)


def _judge(rubric: JudgeRubric) -> Iterator[tuple[str, Any]]:
    yield "judge.model", rubric.judge_model
    yield "judge.prompt", _hash(str(rubric.judge_prompt).encode("utf-8", "surrogatepass"))
    yield "judge.sampling_args", masked(rubric.judge_sampling_args)
    url = getattr(rubric.judge_client, "base_url", None)
    if url is not None:
        yield "judge.base_url", masked_url(str(url))


def _text(value: Any) -> str:
    return json.dumps(Cleaner().clean(value), sort_keys=True, ensure_ascii=False, default=str)


def _hash(data: bytes) -> str:
    return f"hash {hashlib.sha256(data).hexdigest()[:16]}"


def unwritten_columns(columns: Sequence[str], env: Environment) -> list[str]:
    """The columns that the environment's code does not name."""
    code = "".join(_texts_of_code(env)) if columns else ""
    return [name for name in columns if not any(f"{quote}{name}{quote}" in code for quote in "\"'")]


def _texts_of_code(env: Environment) -> Iterator[str]:
    """The text of each file of people's code that has a class or a reward function."""
    for member in env.members if isinstance(env, EnvGroup) else ():
        yield from _texts_of_code(member)
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
