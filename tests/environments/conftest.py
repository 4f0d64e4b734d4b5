from __future__ import annotations

import pytest
from stub_client import Recorder

from tui_eval.observer import CURRENT


@pytest.fixture
async def recorder():
    """The observer of every rollout that the test runs."""
    recording = Recorder()
    token = CURRENT.set(recording)
    yield recording
    CURRENT.reset(token)
