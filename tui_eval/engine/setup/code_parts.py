"""What the code of an environment is now, part by part: files, rewards, judges."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import msgspec

from tui_eval.config.changes import Change, text_change
from tui_eval.config.plan import RunPlan
from tui_eval.config.secret_values import masked, masked_url
from tui_eval.engine.setup.scoring_faults import rubrics_of
from tui_eval.environments.environment import Environment
from tui_eval.environments.local_code import local_code, sources_of
from tui_eval.errors import warning
from tui_eval.rubrics.calling import name_of
from tui_eval.rubrics.judge_rubric import JudgeRubric
from tui_eval.runs.plain_json import Cleaner
from tui_eval.runs.versions import (
    DATASET,
    CodeVersion,
    Versions,
    differing_versions,
    installed_now,
    read_versions,
    write_versions,
)

if TYPE_CHECKING:
    from tui_eval.engine.setup.prepared import Prepared

# A process keeps the modules that it has imported, whatever becomes of their files.
_FILES: WeakKeyDictionary[Environment, tuple[dict[str, str], list[str]]] = WeakKeyDictionary()

log = logging.getLogger("tui_eval.engine")

FILE = "code."
"""Before the name of a file."""

MOST_FILES_SHOWN = 5
MOST_SHOWN = 6


def code_now(plan: RunPlan, env: Environment) -> CodeVersion:
    """The code that an environment was made of, as it is on disk, and what it was made with.

    Nothing that people's objects do here may end a start: what cannot be reported is logged.
    """
    try:
        return _code_now(plan, env)
    except Exception:
        log.warning("what the environment's code is could not be told", exc_info=True)
        return CodeVersion()


def code_changes(before: Mapping[str, str], now: Mapping[str, str]) -> list[Change]:
    """The parts of the code that are not what they were; those of the dataset are reported
    elsewhere.

    Of many files the first are named.
    """
    names = [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)]
    files = [name for name in names if name.startswith(FILE)]
    others = [name for name in names if not name.startswith(FILE) and name != DATASET]
    reported = [*files[:MOST_FILES_SHOWN], *others]
    found = [text_change(name, before.get(name), now.get(name)) for name in reported]
    if more := len(files) - MOST_FILES_SHOWN:
        count = f"{more} more file{'s' if more > 1 else ''}"
        found += [text_change("code", count, f"other text in {count}")] if more > 0 else []
    return found


def keep_versions(prepared: Prepared, *, is_resumed: bool) -> None:
    """Writes down what the run is worked on with, where it is not what it was, and its number.

    What is installed now and was not then is reported.

    Raises:
        OSError: The file cannot be written.
    """
    versions = read_versions(prepared.run) if is_resumed else Versions()
    before = msgspec.json.encode(versions)
    prepared.code.parts.setdefault(DATASET, prepared.plan.examples_digest)
    prepared.code_number = versions.number_of(prepared.code)
    now = installed_now(prepared.env_version)
    last = versions.installed[-1].versions if versions.installed else {}
    if now.versions != last:
        found = differing_versions([last, now.versions], prepared.code.imported)
        if found:
            prepared.notices.append(
                warning(f"Versions are not what they were: {differing_text(found)}")
            )
        versions.installed.append(now)
    if msgspec.json.encode(versions) != before:
        write_versions(prepared.run, versions)


def differing_text(found: Mapping[str, Sequence[str | None]], most: int = MOST_SHOWN) -> str:
    """Versions that differ, the first so many of them with their names."""
    texts = [
        f"{name} {' → '.join(one or 'none' for one in values)}"
        for name, values in list(found.items())[:most]
    ]
    more = len(found) - len(texts)
    return ", ".join(texts) + (f" and {more} more" if more > 0 else "")


def _code_now(plan: RunPlan, env: Environment) -> CodeVersion:
    kept = _FILES.get(env)
    if kept is None:
        kept = _FILES[env] = _files_now(plan, env)
    files, imported = kept
    at = datetime.now(UTC).isoformat(timespec="seconds")
    return CodeVersion({**files, **dict(_settings(env))}, imported, at)


def _files_now(plan: RunPlan, env: Environment) -> tuple[dict[str, str], list[str]]:
    """Digests of an environment's files, and the first names of what they import."""
    code = local_code(env, plan.env_id, Path(plan.env_dir_path))
    files = {}
    for label, path in sorted(code.files.items()):
        with contextlib.suppress(OSError):
            files[f"{FILE}{label}"] = _hash(path.read_bytes())
    return files, sorted(code.imported)


def _settings(env: Environment) -> Iterator[tuple[str, str]]:
    """Weights of reward functions, and what judges are asked with, each under a name of its own."""
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
