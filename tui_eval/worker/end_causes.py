"""Causes for which an engine ends a worker, and the error that the rollout gets."""

from __future__ import annotations

from tui_eval.errors import CallTimeoutError, Error, RolloutTimeoutError, WorkerEndedError

TIMEOUT, CALL_TIMEOUT, IGNORED, MEMORY = "timeout", "call_timeout", "ignored", "memory"
ITSELF = ""
"""The worker ended by itself, in the rollout's code."""

ERRORS: dict[str, type[Error]] = {
    TIMEOUT: RolloutTimeoutError,
    CALL_TIMEOUT: CallTimeoutError,
    IGNORED: CallTimeoutError,
    MEMORY: WorkerEndedError,
    ITSELF: WorkerEndedError,
}
"""The error of its row."""
