"""The time of day for events, which a clock that is set does not move.

Durations are differences of these times. The system's clock may be set by hours meanwhile (a
virtual machine that is resumed, a first answer of NTP): it is read once, when the process begins.
"""

from __future__ import annotations

import time

_CLOCK = getattr(time, "CLOCK_BOOTTIME", None) or getattr(time, "CLOCK_MONOTONIC", None)
"""The latter counts the time of a machine that is suspended on macOS."""


def steady() -> float:
    """Seconds since some moment, those of a machine that was suspended among them."""
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)


_BEGAN = time.time() - steady()


def now() -> float:
    """Unix seconds."""
    return _BEGAN + (time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK))
