"""How an environment's code differs from that of a run's rows, and what the run keeps of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from tui_eval.config.changes import Change, text_change
from tui_eval.errors import warning
from tui_eval.runs.versions import (
    DATASET,
    FILE,
    Installed,
    Versions,
    differing_versions,
    installed_now,
    installed_there,
    packages_in,
    read_versions,
    write_versions,
)

if TYPE_CHECKING:
    from tui_eval.engine.setup.prepared import Prepared

MOST_FILES_SHOWN = 5
MOST_SHOWN = 6


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
    prepared.info.code.parts.setdefault(DATASET, prepared.plan.examples_digest)
    prepared.code_number = versions.number_of(prepared.info.code)
    now = _installed(prepared)
    last = versions.installed[-1].versions if versions.installed else {}
    if now.versions != last:
        found = differing_versions([last, now.versions], prepared.info.code.imported)
        if found:
            prepared.notices.append(
                warning(f"Versions are not what they were: {differing_text(found)}")
            )
        versions.installed.append(now)
    if msgspec.json.encode(versions) != before:
        write_versions(prepared.run, versions)


def _installed(prepared: Prepared) -> Installed:
    """What is installed where the environment runs."""
    interpreter = prepared.worker.interpreter if prepared.worker is not None else None
    if interpreter is None:
        return installed_now(prepared.env_version)
    found = interpreter.facts
    packages = {**packages_in(interpreter.added_paths), **found.packages}
    return installed_there(prepared.env_version, found.version, packages)


def differing_text(found: Mapping[str, Sequence[str | None]], most: int = MOST_SHOWN) -> str:
    """Versions that differ, the first so many of them with their names."""
    texts = [
        f"{name} {' → '.join(one or 'none' for one in values)}"
        for name, values in list(found.items())[:most]
    ]
    more = len(found) - len(texts)
    return ", ".join(texts) + (f" and {more} more" if more > 0 else "")
