"""Makes the screen the same on every machine."""

from __future__ import annotations

import pytest
import textual.constants


@pytest.fixture(autouse=True)
def a_plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """No animations, and nothing of the host's taste in colours."""
    monkeypatch.setattr(textual.constants, "TEXTUAL_ANIMATIONS", "none")
    for name in ("NO_COLOR", "TEXTUAL_THEME", "FORCE_COLOR", "COLORFGBG", "STY", "TMUX", "DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("WAYLAND_DISPLAY", "SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
