"""People's own settings: read before the first frame, written when they change."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tui_eval.config.user_settings import (
    UserSettings,
    place_of_key,
    read_user_settings,
    user_file,
)
from tui_eval.errors import Fault
from tui_eval.tui.base.keys.keymap import USUAL, Keymap, read_keymap

DRAWS_REDUCED_S = 0.5
"""Seconds between drawings of progress where motion is reduced."""


def drawn_every(app: object, seconds: float) -> float:
    """Seconds between an app's drawings of progress; `seconds` where motion is full."""
    found = getattr(app, "preferences", None)
    return found.draws_every(seconds) if isinstance(found, Preferences) else seconds


@dataclass(eq=False)
class Preferences:
    """Settings, keys, and faults of their file; without a path nothing is saved."""

    settings: UserSettings = field(default_factory=UserSettings)
    keymap: Keymap = USUAL
    path: Path | None = None
    faults: Sequence[Fault] = ()
    _unsaved: dict[tuple[str, ...], Any] = field(default_factory=dict, init=False)
    _writing: threading.Lock = field(default_factory=threading.Lock, init=False)

    @classmethod
    def read(cls, path: Path | None = None) -> Preferences:
        """Reads the settings of a file, by default the user's."""
        path = path or user_file()
        settings, file, faults = read_user_settings(path)
        keymap, wrong = read_keymap(settings.keys, partial(place_of_key, file))
        faults = sorted([*faults, *wrong], key=_line)
        return cls(settings, keymap, path=path, faults=faults)

    @property
    def warning(self) -> str:
        """The faults in one line; empty without any."""
        if not self.faults:
            return ""
        first, *others = self.faults
        first_text = f"{Path(first.where).name}: {first.what}"
        if not others:
            return f"{first_text} · see tui-eval config keys"
        return f"{len(self.faults)} faults in the settings, see tui-eval config keys · {first_text}"

    @property
    def is_still(self) -> bool:
        """Whether motion is reduced."""
        return self.settings.motion == "reduced"

    def draws_every(self, seconds: float) -> float:
        """Seconds between drawings of progress; `seconds` where motion is full."""
        return max(seconds, DRAWS_REDUCED_S) if self.is_still else seconds

    def choose(self, changes: Mapping[tuple[str, ...], Any]) -> None:
        """Takes in changes; `write` saves them."""
        if self.path is not None:
            self._unsaved.update(changes)

    def write(self) -> None:
        """Saves pending changes; takes longer than a frame may.

        Raises:
            OSError: The file cannot be written.
            ValueError: It is no TOML.
        """
        from tui_eval.config.user_settings import save_settings

        with self._writing:
            changes = {keys: self._unsaved.pop(keys) for keys in list(self._unsaved)}
            if self.path is None or not changes:
                return
            try:
                save_settings(self.path, changes)
            except BaseException:
                self._unsaved = changes | self._unsaved
                raise


def _line(fault: Fault) -> int:
    line = fault.where.rpartition(":")[2]
    return int(line) if line.isdigit() else 0
