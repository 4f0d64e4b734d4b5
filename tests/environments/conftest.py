from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from stub_client import Recorder  # noqa: E402

from tui_eval.observer import CURRENT  # noqa: E402


@pytest.fixture
async def recorder():
    """The observer of every rollout that the test runs."""
    heard = Recorder()
    token = CURRENT.set(heard)
    yield heard
    CURRENT.reset(token)
