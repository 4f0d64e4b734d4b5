"""The plain listener: follows an engine and prints its events as lines, for CI, pipes and logs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from typing import Any

from tui_eval.cli.console.log_tail import RunLogs
from tui_eval.cli.console.printer import Printer
from tui_eval.cli.console.printing import warn
from tui_eval.cli.console.report import report_held
from tui_eval.cli.signals import ending_signals, interrupt_on_signals
from tui_eval.engine.transport.launcher import (
    STOPS_WITHIN_S,
    STOPS_WITHOUT_DISK_S,
    EngineProcess,
    Launch,
)
from tui_eval.feeds.live_feed import LiveFeed
from tui_eval.runs.layout import RunDir

TICK_S = 0.05


def run_in_console(
    launch: Launch,
    at_end: Callable[[RunDir], None] = lambda run: None,
    more: Callable[[RunDir], Mapping[str, Any]] = lambda run: {},
    *,
    quiet: bool = False,
) -> int:
    """Runs an engine with plain lines; returns the exit code of the run.

    With `json` among the options, stdout gets one JSON object and nothing else.

    Args:
        at_end: Called with the run when it is over, however it ended.
        more: Keys of a run's JSON object beside its summary.
        quiet: Progress is not printed.
    """
    _warn_of_settings()
    console = Console(launch, quiet=quiet)
    asyncio.run(console.main())
    interrupt_on_signals()
    code = console.sum_up(more)
    run = console.printer.run
    if run is not None and console.held is None:
        at_end(run)
    return code


def _warn_of_settings() -> None:
    """Warns of faults in people's own settings, which lines do not use."""
    from tui_eval.config.user_settings import user_file

    if os.path.lexists(user_file()):
        from tui_eval.tui.base.preferences import Preferences

        if warning := Preferences.read().warning:
            warn(f"warning: {warning}")


class Console:
    """Follows an engine to its end and forwards signals to it; `printer` prints what it reports.

    Args:
        quiet: Neither the start nor progress is printed.
    """

    def __init__(self, launch: Launch, *, quiet: bool) -> None:
        raw = launch.request.get("raw") or {}
        self._feed = LiveFeed(launch)
        self.printer = Printer(self._feed.saved, as_json=bool(raw.get("json")), quiet=quiet)
        self._env_id = launch.request.get("env_id")
        self._abbreviated = bool(raw.get("abbreviated_summary"))
        self._logs = RunLogs(verbose=bool(raw.get("verbose")))
        self._signals = 0

    async def main(self) -> None:
        """Follows the engine to its end, or a signal's."""
        loop = asyncio.get_running_loop()
        for number in ending_signals():
            loop.add_signal_handler(number, self._signalled)
        if self._env_id:
            self.printer.print_loading(self._env_id)
        await self._feed.start()
        if self._signals and self._feed.engine is not None:
            self._feed.engine.kill()  # nothing has begun yet
            await self._close()
            return
        while not self.printer.is_over and self.held is None:
            await asyncio.sleep(TICK_S)
            for event in self._feed.drain():
                if self.printer.handle(event):
                    self._logs.handle(event)
            self._logs.show()
            self.printer.print_progress()
        await self._close()

    @property
    def held(self) -> EngineProcess | None:
        """The engine, where a disk keeps it from ending."""
        engine = self._feed.engine
        return engine if engine is not None and engine.is_held else None

    async def _close(self) -> None:
        await self._feed.close()
        if (engine := self._feed.engine) is not None:
            if self.printer.state.refusal is not None:
                engine.stop()  # its end is reported, and its last call to the disk may never return
            await asyncio.to_thread(engine.wait)
            engine.clean_up()
        if self.held is None:
            self._logs.show_rest()

    def _signalled(self) -> None:
        self._signals += 1
        engine = self._feed.engine
        if engine is None:
            return  # `main` looks once there is one
        if self._signals > 1:
            engine.kill()
        else:
            warn("Stopping; finished rollouts are kept.")
            is_refused = self.printer.state.refusal is not None
            engine.stop(STOPS_WITHOUT_DISK_S if is_refused else STOPS_WITHIN_S)
            asyncio.get_running_loop().run_in_executor(None, engine.wait)

    def sum_up(self, more: Callable[[RunDir], Mapping[str, Any]]) -> int:
        """Pushes runs and prints the results of all; returns the exit code."""
        printer = self.printer
        if self.held is not None:
            return report_held(self.held, printer.state, as_json=printer.as_json)
        return printer.sum_up(more, abbreviated=self._abbreviated)
