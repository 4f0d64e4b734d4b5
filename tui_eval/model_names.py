"""Names of models: whether the one that answered is the one that was requested."""

from __future__ import annotations

import re

_TAG = re.compile(r"(?:[-:]latest|:free|:beta|:nitro|:floor|:online|\.gguf)$")
"""Parts of a name that say how a model is served, not which one it is."""
_SNAPSHOT = re.compile(r"[-@](?:\d{4}-\d{2}-\d{2}|\d{8}|\d{6}|\d{4}|\d{3})(?:-v\d+:\d+)?$")
"""Dates and numbers of snapshots: -2024-08-06, -20250929, -0613, @001."""


def is_same_model(requested: str, answered: str) -> bool:
    """Whether two names may be those of one model, such as an alias and its dated snapshot.

    Folders and providers in front of a name do not count, and neither do its case and its tag. Two
    snapshots of a model are two models.
    """
    first, second = _plain(requested), _plain(answered)
    return first in (second, _SNAPSHOT.sub("", second)) or _SNAPSHOT.sub("", first) == second


def _plain(name: str) -> str:
    return _TAG.sub("", name.strip().lower().rstrip("/").rpartition("/")[2])
