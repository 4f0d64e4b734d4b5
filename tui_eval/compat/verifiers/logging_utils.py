"""`verifiers.utils.logging_utils`: where records go, and how times are written."""

from __future__ import annotations

from tui_eval.environments.author_logs import JsonFormatter as JsonFormatter
from tui_eval.environments.author_logs import log_level as log_level
from tui_eval.environments.author_logs import quiet_verifiers as quiet_verifiers
from tui_eval.environments.author_logs import setup_logging as setup_logging
from tui_eval.environments.outputs import (
    print_prompt_completions_sample as print_prompt_completions_sample,
)

LOGGER_NAME = "verifiers"
"""The logger above authors' own."""

_UNITS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


def print_time(time_s: float) -> str:
    """Seconds for people, in at most two units: `250ms`, `12s`, `2m 5s`, `1h`, `3d 4h`."""
    if time_s < 1:
        return f"{time_s * 1000:.0f}ms"
    if time_s < 60:
        return f"{time_s:.0f}s"
    place = next(place for place, (size, _) in enumerate(_UNITS) if time_s >= size)
    (large, name), (small, below) = _UNITS[place : place + 2]
    rest = time_s % large // small
    return f"{time_s // large:.0f}{name}" + (f" {rest:.0f}{below}" if rest > 0 else "")
