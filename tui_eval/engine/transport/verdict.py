"""Why the engine ended a worker, and what the row of the rollout that made it so says."""

from __future__ import annotations

import msgspec

from tui_eval.worker.end_causes import IGNORED, MEMORY, TIMEOUT
from tui_eval.worker.vital_signs import LastCall


class Verdict(msgspec.Struct, frozen=True):
    """What made the engine end a worker.

    Args:
        call: What it ran.
        cause: One of `worker.end_causes`: what limit it went past, or `IGNORED` where the call was
            cancelled for one and went on.
        limit: That limit for people: `4 s`.
        place: Where the code stood, in brackets; empty where that is not known.
        is_certain: No other rollout can have done it.
    """

    call: LastCall
    cause: str
    limit: str
    place: str = ""
    is_certain: bool = False

    @property
    def why(self) -> str:
        """What happened, for people."""
        what = self.call.what or "Its code"
        if self.cause == MEMORY:
            return f"{what} took its worker past {self.limit} (--worker-memory)"
        option = "--call-timeout"
        if self.cause == TIMEOUT:
            what, option = "The rollout", "--timeout"
        held = f"and held its worker{self.place}"
        if self.cause == IGNORED:
            held = "and ignored its end"
        return f"{what} took longer than {self.limit} ({option}), {held}"
