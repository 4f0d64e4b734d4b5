"""Makes the screen the same on every machine."""

from __future__ import annotations

import pytest
import textual.constants
from frames import wait_for_idle_apps


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


@pytest.fixture
def every_frame() -> None:
    """A test of how, or how often, is drawn has each frame drawn when it is due."""


@pytest.fixture(autouse=True)
def idle_wait(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pilot waits for what the app has to do, and no longer; all is drawn in `make slow`."""
    every = "every_frame" in request.fixturenames or request.config.getoption("--slow")
    wait_for_idle_apps(monkeypatch, every_frame=bool(every))


@pytest.fixture
def nobody_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks a form at once after typing."""
    for pause in ("CHECKS_AFTER_S", "ENGINE_CHECKS_AFTER_S"):
        monkeypatch.setattr(f"tui_eval.tui.form.screen.{pause}", 0.01)
