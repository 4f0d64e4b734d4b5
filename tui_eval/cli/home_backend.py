"""What the home screen asks for, answered by files, engines and a short look at endpoints."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.feeds.lazy_feed import LazyFeed
from tui_eval.own_folders import home_folder
from tui_eval.tui.home.backend import EndpointInfo, EndpointInfos, EnvironmentInfo

if TYPE_CHECKING:
    from textual.screen import Screen

    from tui_eval.config.endpoints import Endpoint
    from tui_eval.errors import Fault
    from tui_eval.feeds.feed import Feed
    from tui_eval.runs.discovery import FoundRun, RunWatcher

LISTS_WITHIN_S = 30.0
PRIME_KEY_VAR = "PRIME_API_KEY"


class LocalHomeBackend:
    """See `tui.near.HomeBackend`.

    Args:
        paths: Where to look for runs besides the usual folders.
    """

    def __init__(self, paths: Sequence[Path] = ()) -> None:
        self._paths = paths
        self._watcher: RunWatcher | None = None
        self._registry: tuple[Path, int] | None = None

    def runs(self) -> list[FoundRun]:
        """See `HomeBackend.runs`."""
        if self._watcher is None:
            from tui_eval.feeds import joined_feed  # noqa: F401  so that opening a run is quick
            from tui_eval.runs.discovery import RunWatcher

            self._watcher = RunWatcher(self._paths)
        return self._watcher.look()

    def last_seen(self) -> tuple[Path, float] | None:
        """See `HomeBackend.last_seen`."""
        from tui_eval.runs.discovery import last_seen

        return last_seen()

    def note_seen(self, path: str) -> None:
        """See `HomeBackend.note_seen`."""
        from tui_eval.runs.discovery import note_seen

        note_seen(path)

    async def environments(self) -> list[EnvironmentInfo]:
        """See `HomeBackend.environments`. An engine looks: this process imports no environment."""
        # In a thread: who imports waits for another thread that loads the same modules.
        await asyncio.to_thread(import_module, "tui_eval.engine.transport.engine_query")
        from tui_eval.engine.transport.engine_query import ask_engine

        found = await ask_engine("--list", within=LISTS_WITHIN_S)
        names = ("env_id", "origin", "path", "summary")
        return [
            EnvironmentInfo(*(str(one[name]) for name in names))
            for one in found.get("environments", ())
        ]

    def endpoints(self) -> EndpointInfos:
        """See `HomeBackend.endpoints`."""
        from tui_eval.config.endpoints import read_registry, registry_path
        from tui_eval.config.env_file import load_env_file
        from tui_eval.config.local_servers import find_servers

        load_env_file()
        self._registry = _changed_at(path := registry_path(None))
        known, faults = read_registry(path)
        found = [near for replicas in known.values() for near in _near(replicas)]
        for server in find_servers():
            url = f"http://localhost:{server.port}/v1"
            use = f"{server.name}: -b {url} -m {shlex.quote(server.models[0])}"
            more = f" and {len(server.models) - 1} more" if len(server.models) > 1 else ""
            models = server.models[0] + more
            found.append(EndpointInfo(f"localhost:{server.port}", models, url, "", True, use, True))
        return EndpointInfos(found, [str(fault) for fault in faults])

    def have_endpoints_changed(self) -> bool:
        """See `HomeBackend.have_endpoints_changed`."""
        from tui_eval.config.endpoints import registry_path

        return _changed_at(registry_path(None)) != self._registry

    def unreachable(self, url: str) -> str:
        """See `HomeBackend.unreachable`. A connection is made and closed; nothing is sent."""
        from tui_eval.engine.setup.reachability import unreachable

        return "; ".join(fault.what for fault in unreachable(url))

    def open(self, run: FoundRun) -> Feed:
        """See `HomeBackend.open`."""
        from tui_eval.feeds.joined_feed import feed_of

        return feed_of(run.run)

    def resume(self, run: FoundRun) -> Feed:
        """See `HomeBackend.resume`."""
        return self.start({"env_id": None, "raw": {"resume": str(run.run.place)}})

    def demo(self) -> Feed:
        """See `HomeBackend.demo`."""
        from tui_eval.config.options import DEMO
        from tui_eval.shipped import shipped

        registry = str(shipped("configs", "endpoints.toml"))  # one's own need not name it
        return self.start({"env_id": "calculator", "raw": {**DEMO, "endpoints_path": registry}})

    def start(self, request: Mapping[str, Any]) -> Feed:
        """The feed of an engine that is started on a request (see `config.plan.Request`)."""
        return LazyFeed(request)

    def end(self, feed: Feed, *, save: str) -> str:
        """See `HomeBackend.end`."""
        started = feed.inner if isinstance(feed, LazyFeed) else None
        if started is not None and (engine := started.engine) is not None:
            engine.stop()
            engine.wait()
            engine.clean_up()
            if engine.is_held:
                return f"The engine, process {engine.pid}, does not end: it waits for the disk"
            started.close_runs()
        return self.save(save) if save else ""

    def save(self, path: str) -> str:
        """See `HomeBackend.save`."""
        from tui_eval.errors import RefusedError
        from tui_eval.runs.layout import RunDir
        from tui_eval.runs.unsaved import keep

        try:
            keep(RunDir(Path(path)))
        except RefusedError as error:
            return "; ".join(map(str, error.faults))
        return ""


def comparison_of(paths: Sequence[Path]) -> Screen[Any]:
    """The screen that compares runs."""
    from tui_eval.tui.compare.screen import CompareRuns

    return CompareRuns(paths)


def form_for(
    env_id: str, before: Screen[Any] | None = None, refused: Sequence[Fault] = ()
) -> Screen[Any]:
    """A form for an evaluation.

    Args:
        env_id: What to begin with; empty for nothing.
        before: The form whose request was refused: what it holds is in this one.
        refused: Why it was.
    """
    from tui_eval.cli.form_backend import EngineFormBackend
    from tui_eval.config.draft import Draft
    from tui_eval.tui.form.screen import ConfigureScreen

    draft = before.draft if isinstance(before, ConfigureScreen) else Draft()
    if env_id:
        draft.form.put("env_id", env_id)
    return ConfigureScreen(EngineFormBackend(), draft, time.time, list(refused))


def _changed_at(path: Path) -> tuple[Path, int]:
    try:
        return path, path.stat().st_mtime_ns
    except OSError:
        return path, 0


def _near(replicas: Sequence[Endpoint]) -> Iterator[EndpointInfo]:
    from tui_eval.config.endpoints import EMBEDDED

    for one in replicas:
        url = "" if one.url == EMBEDDED else one.url
        has_key = not one.key_var or _has_key(one.key_var)
        yield EndpointInfo(one.alias, one.model, url, one.key_var, has_key, _short(one.source))


def _has_key(name: str) -> bool:
    """Whether a variable is set, or Prime's own file has the key that it stands for."""
    if os.environ.get(name):
        return True
    if name != PRIME_KEY_VAR:
        return False
    try:
        settings = json.loads((home_folder() / ".prime" / "config.json").read_text("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(settings, dict) and bool(settings.get("api_key"))


def _short(source: str) -> str:
    """A place in the registry, from here where that is shorter."""
    from tui_eval.shipped import shipped

    if source.startswith(str(shipped("configs"))):
        return "in the registry that comes with the program"
    return f"in {source}"
