from __future__ import annotations

import pytest
from stub_client import Recorder

from tui_eval.observer import CURRENT


@pytest.fixture
async def recorder():
    """The observer of every rollout that the test runs."""
    heard = Recorder()
    token = CURRENT.set(heard)
    yield heard
    CURRENT.reset(token)
