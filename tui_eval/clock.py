"""The time of day for events, which a clock that is set does not move.

Durations are differences of these times. The system's clock may be set by hours meanwhile (a
virtual machine that is resumed, a first answer of NTP): it is read once, when the process begins.
"""

from __future__ import annotations

import time


def steady() -> float:
    """Seconds since some moment, those of a machine that was suspended among them."""
    for name in ("CLOCK_BOOTTIME", "CLOCK_MONOTONIC"):  # the latter counts them on macOS
        number = getattr(time, name, None)
        if number is not None:
            return time.clock_gettime(number)
    return time.monotonic()


_BEGAN = time.time() - steady()


def now() -> float:
    """Unix seconds."""
    return _BEGAN + steady()
