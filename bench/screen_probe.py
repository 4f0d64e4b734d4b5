"""`tui-eval` on a terminal with a timer beside it: how late its event loop comes to things.

python -m bench.screen_probe OUT ARGUMENT...
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

from bench.measured_command import listen_in
from tui_eval.tui import app as app_module

TICK_S = 0.005

ticks: list[tuple[float, float, float]] = []
"""Unix seconds, milliseconds by which the timer was late, CPU seconds of this process."""


class ProbedApp(app_module.TuiEvalApp):
    """The app as it is, and a timer on its loop."""

    _ticking: asyncio.Task[None] | None = None

    def on_load(self) -> None:
        """Starts the timer with the loop."""
        self._ticking = asyncio.create_task(_tick())


async def _tick() -> None:
    loop = asyncio.get_running_loop()
    while True:
        before = loop.time()
        await asyncio.sleep(TICK_S)
        lag_ms = (loop.time() - before - TICK_S) * 1000
        ticks.append((time.time(), lag_ms, time.process_time()))


def main() -> None:
    """Runs the command line behind OUT and writes OUT as JSON."""
    out, *arguments = sys.argv[1:]
    notes: dict[str, Any] = {"samples": [], "path": "", "status": ""}
    listen_in(notes)
    app_module.TuiEvalApp = ProbedApp  # type: ignore[misc]
    from tui_eval.cli.main import cli

    notes["code"] = cli(arguments)
    Path(out).write_text(json.dumps({**notes, "lags": ticks}))
    sys.exit(notes["code"])


if __name__ == "__main__":
    main()
