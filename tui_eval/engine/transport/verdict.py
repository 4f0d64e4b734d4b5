"""Why a rollout that ended its worker has no other row than an errored one."""

from __future__ import annotations

from dataclasses import dataclass

from tui_eval.worker.vital_signs import LastCall

TIMEOUT, CALL_TIMEOUT = "timeout", "call_timeout"


@dataclass(frozen=True, slots=True)
class Hold:
    """What made the engine end a worker.

    Args:
        call: What held it.
        cause: The limit that it went past: `TIMEOUT` or `CALL_TIMEOUT`.
        seconds: That limit.
        place: Where the code stood, in brackets; empty where that cannot be known.
        is_certain: No other rollout can have held it.
    """

    call: LastCall
    cause: str
    seconds: float
    place: str
    is_certain: bool

    @property
    def why(self) -> str:
        """The error of the rollout, for people."""
        if self.cause == TIMEOUT:
            what, option = "The rollout", "--timeout"
        else:
            what, option = self.call.what or "A call of its code", "--call-timeout"
        limit = f"{self.seconds:g} s ({option})"
        return f"{what} took longer than {limit}, and held its worker{self.place}"
