"""`tui-eval` with a notebook: runs the command as it is and writes down what it used.

python -m bench.measured_command OUT ARGUMENT...
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path
from typing import Any

from tui_eval.events import EngineSampled, Event, RunFinished, RunStarted
from tui_eval.feeds.live_feed import LiveFeed


def cpu_seconds(who: int) -> float:
    """User and system time of this process or of its ended children."""
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def listen_in(notes: dict[str, Any]) -> None:
    """Has every feed of this process note what the engine reports of itself."""
    drain = LiveFeed.drain

    def noting(feed: LiveFeed, most: int = 5000) -> list[Event]:
        events = drain(feed, most)
        for event in events:
            if isinstance(event, EngineSampled):
                notes["samples"].append([event.at, event.cpu_s, event.memory_mb, event.finished])
            elif isinstance(event, RunStarted):
                notes["path"] = event.path
            elif isinstance(event, RunFinished):
                notes["status"] = event.status
        return events

    LiveFeed.drain = noting  # type: ignore[method-assign, assignment]


def main() -> None:
    """Runs the command line behind OUT and writes OUT as JSON."""
    out, *arguments = sys.argv[1:]
    notes: dict[str, Any] = {"samples": [], "path": "", "status": ""}
    listen_in(notes)
    from tui_eval.cli.main import cli

    notes["code"] = cli(arguments)
    notes["own_cpu"] = cpu_seconds(resource.RUSAGE_SELF)
    notes["engine_cpu"] = cpu_seconds(resource.RUSAGE_CHILDREN)
    Path(out).write_text(json.dumps(notes))
    sys.exit(notes["code"])


if __name__ == "__main__":
    main()
