"""The backend of home: files, engines, and a check of endpoints."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tui_eval.engine.transport.launcher import Launch
from tui_eval.feeds.live_feed import LiveFeed

if TYPE_CHECKING:
    from tui_eval.config.endpoints import Endpoint
    from tui_eval.feeds.feed import Feed
    from tui_eval.runs.discovery import FoundRun, RunWatcher

LISTS_WITHIN_S = 30.0


class EnvironmentInfo(NamedTuple):
    """An environment that can be run.

    Args:
        origin: `local`, `bundled`, `installed` or `entry point`.
        path: Its file; empty where only an import would find it.
        summary: Its description in a line; empty for none.
    """

    env_id: str
    origin: str
    path: str = ""
    summary: str = ""


class EndpointInfo(NamedTuple):
    """A way to reach a model.

    Args:
        url: Empty for the endpoint that the program brings up itself.
        key_var: The variable with the key; empty where none is needed.
        has_key: Whether there is one, or none is needed.
        source: The registry that names it, or the server that was found on this machine.
        answers: Whether it has answered already.
    """

    alias: str
    model: str
    url: str
    key_var: str = ""
    has_key: bool = True
    source: str = ""
    answers: bool = False


class EndpointInfos(NamedTuple):
    """Endpoints of the registry and of this machine; `faults` are the registry's."""

    listed: list[EndpointInfo]
    faults: list[str]


class HomeBackend:
    """Finds and opens runs. Methods not described as quick are for a thread.

    Args:
        paths: Folders to search for runs besides the usual ones.
    """

    def __init__(self, paths: Sequence[Path] = ()) -> None:
        self._paths = paths
        self._watcher: RunWatcher | None = None
        self._registry: tuple[Path, int] | None = None

    def runs(self) -> list[FoundRun]:
        """The runs found now."""
        if self._watcher is None:
            from tui_eval.feeds import joined_feed  # noqa: F401  so that opening a run is quick
            from tui_eval.runs.discovery import RunWatcher

            self._watcher = RunWatcher(self._paths)
        return self._watcher.look()

    def last_seen(self) -> tuple[Path, float] | None:
        """The run that somebody looked at last, and when, in unix seconds."""
        from tui_eval.runs.discovery import last_seen

        return last_seen()

    def note_seen(self, path: str) -> None:
        """Notes that somebody has looked at a run until now."""
        from tui_eval.runs.discovery import note_seen

        note_seen(path)

    async def environments(self) -> list[EnvironmentInfo]:
        """The environments, found by an engine: this process imports none."""
        # In a thread: an import waits for another thread that loads the same modules.
        await asyncio.to_thread(import_module, "tui_eval.engine.transport.engine_query")
        from tui_eval.engine.transport.engine_query import query_engine

        found = await query_engine("--list", within=LISTS_WITHIN_S)
        return [
            EnvironmentInfo(*(str(one[name]) for name in EnvironmentInfo._fields))
            for one in found.get("environments", ())
        ]

    def endpoints(self) -> EndpointInfos:
        """The endpoints, without the values of keys."""
        from tui_eval.config.endpoints import read_registry, registry_path
        from tui_eval.config.env_file import load_env_file
        from tui_eval.config.local_servers import find_servers

        load_env_file()
        self._registry = _changed_at(path := registry_path(None))
        known, faults = read_registry(path)
        found = [_endpoint_info(one) for one in chain.from_iterable(known.values())]
        for server in find_servers():
            url = f"http://localhost:{server.port}/v1"
            use = f"{server.name}: -b {url} -m {shlex.quote(server.models[0])}"
            more = f" and {len(server.models) - 1} more" if len(server.models) > 1 else ""
            models = server.models[0] + more
            found.append(EndpointInfo(f"localhost:{server.port}", models, url, "", True, use, True))
        return EndpointInfos(found, [str(fault) for fault in faults])

    def have_endpoints_changed(self) -> bool:
        """Whether the registry has changed since the endpoints were read last."""
        from tui_eval.config.endpoints import registry_path

        return _changed_at(registry_path(None)) != self._registry

    def unreachable(self, url: str) -> str:
        """The reason why an endpoint does not answer; empty where it does.

        A connection is made and closed; nothing is sent.
        """
        from tui_eval.engine.setup.reachability import unreachable

        return "; ".join(fault.what for fault in unreachable(url))

    def open(self, run: FoundRun) -> Feed:
        """Quick: the feed of a run, joined at its socket where it has one."""
        from tui_eval.feeds.joined_feed import feed_of

        return feed_of(run.run)

    def start(self, request: Mapping[str, Any]) -> Feed:
        """Quick: the feed of an engine for a request."""
        return LiveFeed(Launch(request))

    def resume(self, run: FoundRun) -> Feed:
        """Quick: the feed of an engine that resumes a run."""
        return self.start({"env_id": None, "raw": {"resume": str(run.run.place)}})

    def demo(self) -> Feed:
        """Quick: the feed of an engine that runs a bundled environment."""
        from tui_eval.config.options import DEMO
        from tui_eval.shipped import shipped

        registry = str(shipped("configs", "endpoints.toml"))  # one's own need not name it
        return self.start({"env_id": "calculator", "raw": {**DEMO, "endpoints_path": registry}})

    def end(self, feed: Feed, *, save: str) -> str:
        """Waits for the end of an engine that was started and stopped here.

        Args:
            save: The run's path where it is to be kept for good; else empty.

        Returns:
            The fault; empty without one.
        """
        if isinstance(feed, LiveFeed) and (engine := feed.engine) is not None:
            engine.stop()
            engine.wait()
            engine.clean_up()
            if engine.is_held:
                return f"The engine, process {engine.pid}, does not end: it waits for the disk"
            feed.close_runs()
        return self.save(save) if save else ""

    def save(self, path: str) -> str:
        """Keeps an unsaved run for good; returns the fault, empty without one."""
        from tui_eval.errors import RefusedError
        from tui_eval.runs.layout import RunDir
        from tui_eval.runs.unsaved import keep

        try:
            keep(RunDir(Path(path)))
        except RefusedError as error:
            return "; ".join(map(str, error.faults))
        return ""


def _changed_at(path: Path) -> tuple[Path, int]:
    try:
        return path, path.stat().st_mtime_ns
    except OSError:
        return path, 0


def _endpoint_info(one: Endpoint) -> EndpointInfo:
    from tui_eval.config.endpoints import EMBEDDED
    from tui_eval.config.env_file import has_key

    url = "" if one.url == EMBEDDED else one.url
    usable = not one.key_var or has_key(one.key_var)
    return EndpointInfo(one.alias, one.model, url, one.key_var, usable, _short(one.source))


def _short(source: str) -> str:
    """A place in the registry, relative where that is shorter."""
    from tui_eval.shipped import shipped

    if source.startswith(str(shipped("configs"))):
        return "in the registry that comes with the program"
    return f"in {source}"
