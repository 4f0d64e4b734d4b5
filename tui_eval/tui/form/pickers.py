"""The lists from which fields, tables and files of a form are chosen."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from tui_eval.config.draft import Draft
from tui_eval.config.fields import Field
from tui_eval.config.form import Form
from tui_eval.errors import Fault
from tui_eval.tui.form.backend import FormBackend, Offer
from tui_eval.tui.form.picker import Picker
from tui_eval.tui.form.texts import readme_of


def field_picker(field: Field, form: Form, backend: FormBackend) -> Picker | None:
    """What may stand in a field; None where there is nothing to choose from."""
    text = form.text(field.name)
    if field.name == "env_id":
        return _environments(form, backend, text)
    if field.name == "model":
        registry = form.effective("endpoints_path") if form.text("endpoints_path") else None
        return Picker(
            "Endpoints",
            lambda: asyncio.to_thread(backend.endpoints, registry),
            str(form.effective("model") or ""),
            free=lambda text: "as typed; name its URL or provider as well",
        )
    if field.name == "resume":
        folder = str(form.effective("env_dir_path"))
        return Picker(
            "Runs that can be resumed",
            lambda: asyncio.to_thread(backend.resumable, folder),
            text,
            free=lambda text: "as typed",
        )
    if field.choices:
        return _picker_of(field.label, field.choices, text)
    return None


def _environments(form: Form, backend: FormBackend, text: str) -> Picker:
    folder, no_alias = str(form.effective("env_dir_path")), bool(form.effective("no_alias"))

    async def about(env_id: str) -> str:
        found = await backend.describe(env_id, folder, no_alias=no_alias)
        if found.get("status") == "described":
            return readme_of(found)
        return "\n".join(str(Fault(**fault)) for fault in found["faults"])

    return Picker(
        "Environments",
        lambda: backend.environments(folder),
        text,
        about=about,
        free=lambda text: "as typed",
    )


def table_picker(draft: Draft) -> Picker:
    """The evaluations of a file."""
    current = draft.titles[draft.places.index(draft.place)]
    return _picker_of("Evaluations of the file", draft.titles, current)


def load_picker(backend: FormBackend) -> Picker:
    """Files to load, or any path."""
    return Picker(
        "Load a TOML file",
        lambda: asyncio.to_thread(backend.files),
        free=_exists,
        is_meant=lambda text: Path(text).is_file(),
        label="path",
        how="type a path or a part of one · enter loads",
    )


def save_picker(draft: Draft) -> Picker:
    """Where to save."""
    name = f"configs/eval/{draft.form.env_id or 'new'}.toml"
    text = str(draft.path or name)
    return Picker(
        "Save as",
        lambda: _these(()),
        text=text,
        free=partial(_replaces, draft),
        label="path",
        how="enter saves",
    )


def _picker_of(title: str, names: Sequence[str], current: str) -> Picker:
    return Picker(title, lambda: _these([Offer(name) for name in names]), current)


async def _these(offers: Sequence[Offer]) -> Sequence[Offer]:
    return offers


def _exists(text: str) -> str:
    return "this file" if Path(text).is_file() else "there is no such file"


def _replaces(draft: Draft, text: str) -> str:
    path = Path(text)
    if not path.exists():
        return "a new file"
    changed = "; it was changed since it was read here"
    return f"this file is replaced{changed if path == draft.path and draft.is_behind() else ''}"
