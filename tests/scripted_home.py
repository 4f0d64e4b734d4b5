"""A backend as a script: what home gets, and its calls."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from scripted_rows import saved_rows
from scripted_run import NOW, ScriptedFeed, all_events, run_started, running_events

from tui_eval import events as ev
from tui_eval.runs.discovery import FoundRun
from tui_eval.runs.layout import RunDir
from tui_eval.tui.home.backend import EndpointInfo, EndpointInfos, EnvironmentInfo

DAY = 24 * 3600.0
UNREACHABLE = "https://broken.example/v1"


USUAL = {"env_id": "calculator", "model": "gpt-4.1-mini"}


def pin_time_zone() -> None:
    """Dates are shown in the machine's time: here in one."""
    os.environ["TZ"] = "UTC"
    time.tzset()


def found_run(name: str, **changes: Any) -> FoundRun:
    """A complete run of ours, unless changed."""
    env, model = (changes.get(key, usual) for key, usual in USUAL.items())
    folder = f"{env}--{model}".replace("/", "--")
    fields: dict[str, Any] = {
        "run": RunDir(Path(f"outputs/evals/{folder}/{name}")),
        "format": "tui-eval",
        **USUAL,
        "reward": 0.61,
        "low": 0.47,
        "high": 0.75,
        "n": 48,
        "done": 48,
        "total": 48,
        "date": NOW - 3600,
        "written_at": NOW - 3500,
        "pid": 0,
        "socket": "",
        "saved": True,
    }
    return FoundRun(**(fields | changes))


def running_run(**changes: Any) -> FoundRun:
    fields = {
        "pid": 4242,
        "socket": "run.sock",
        "done": 30,
        "n": 28,
        "errored": 2,
        "date": NOW - 74,
        "reward": 0.58,
        "low": 0.44,
        "high": 0.72,
    }
    return found_run("3f9a2c10", **(fields | changes))


def several_runs() -> list[FoundRun]:
    """Every state that there is."""
    old = RunDir(Path("environments/wordle/outputs/evals/wordle--gpt-4.1-mini/0a1b2c3d"))
    state = RunDir(Path("/srv/evals/state/tui-eval/evals/reverse-text--demo/77aa01ff"))
    narrow = {"reward": 0.42, "low": 0.33, "high": 0.51}
    qwen = "qwen/qwen3-235b-a22b-instruct-2507"
    return [
        found_run("11aa22bb", date=NOW - 5 * 3600, given={"prompt": "short", "temperature": 0.2}),
        running_run(),
        found_run("9e8d7c6b", model=qwen, done=41, total=60, n=40, errored=1,
                  date=NOW - DAY, **narrow),
        found_run("77aa01ff", run=state, env_id="reverse-text", model="demo-scripted-policy",
                  saved=False, done=8, total=8, n=8, reward=0.93, low=0.71, high=0.99,
                  date=NOW - 2 * DAY),
        found_run("5c5c5c5c", env_id="word-guess", model=qwen, done=1000, total=1000, n=996,
                  errored=4, reward=0.7123, low=0.684, high=0.7406, date=NOW - 9 * DAY),
        found_run("0a1b2c3d", run=old, env_id="wordle", format="verifiers", reward=1.83, low=1.65,
                  high=2.01, n=15, done=15, total=15, date=NOW - 48 * DAY),
        found_run("ffffffff", env_id="intertwine/sv-env-network-logs", model="Qwen/Qwen3.5-2B",
                  done=0, total=12000, n=0, reward=None, low=None, high=None,
                  date=NOW - 300 * DAY),
    ]  # fmt: skip


ENVIRONMENTS = [
    EnvironmentInfo(
        "calculator",
        "bundled",
        "/usr/lib/tui_eval/demo/calculator/__init__.py",
        "Sums that a model solves by calling a calculator's tools.",
    ),
    EnvironmentInfo("capitals", "local", "environments/capitals.py", "Asks for capitals."),
    EnvironmentInfo("osmosis-agent", "bundled"),
    EnvironmentInfo("reverse-text", "bundled"),
    EnvironmentInfo("triage-tickets", "local", "environments/triage_tickets/__init__.py"),
    EnvironmentInfo("word-guess", "bundled"),
]
REGISTRY = "in configs/endpoints.toml:"
ENDPOINTS = [
    EndpointInfo("gpt-4.1-mini", "gpt-4.1-mini", "https://api.openai.com/v1", "OPENAI_API_KEY",
                 True, f"{REGISTRY}1"),
    EndpointInfo("claude-sonnet", "claude-sonnet-4-5-20250929", "https://api.anthropic.com",
                 "ANTHROPIC_API_KEY", False, f"{REGISTRY}6"),
    EndpointInfo("house-model", "house/model-7b", UNREACHABLE, "", True, f"{REGISTRY}11"),
    EndpointInfo("demo", "demo-scripted-policy", "", "", True, f"{REGISTRY}16"),
    EndpointInfo("localhost:11434", "qwen3:8b and 2 more", "http://localhost:11434/v1", "", True,
                 "Ollama: -b http://localhost:11434/v1 -m qwen3:8b", True),
]  # fmt: skip


class FormBackend:
    """Returns what it was given; `calls` holds the calls, in order."""

    def __init__(
        self,
        runs: Sequence[FoundRun] = (),
        environments: Sequence[EnvironmentInfo] = ENVIRONMENTS,
        endpoints: Sequence[EndpointInfo] = ENDPOINTS,
        faults: Sequence[str] = (),
    ) -> None:
        self.found = list(runs)
        self.near = list(environments)
        self.served = self.shown = EndpointInfos(list(endpoints), list(faults))
        self.calls: list[tuple[str, str]] = []
        self.started: list[dict[str, Any]] = []
        self.feeds: list[ScriptedFeed] = []
        self.refusal: list[ev.Event] = []
        self.looks = 0
        self.seen: tuple[Path, float] | None = None

    def runs(self) -> list[FoundRun]:
        self.looks += 1
        return list(self.found)

    def last_seen(self) -> tuple[Path, float] | None:
        return self.seen

    def note_seen(self, path: str) -> None:
        self.seen = (Path(path), NOW)

    async def environments(self) -> list[EnvironmentInfo]:
        return self.near

    def endpoints(self) -> EndpointInfos:
        self.shown = self.served
        return self.served

    def have_endpoints_changed(self) -> bool:
        return self.served is not self.shown

    def unreachable(self, url: str) -> str:
        self.calls.append(("reach", url))
        return "nothing listens on port 443 of broken.example" if url == UNREACHABLE else ""

    def _feed(self, events: list[ev.Event], live: bool) -> ScriptedFeed:
        feed = ScriptedFeed(events, saved_rows(), live=live)
        self.feeds.append(feed)
        return feed

    def open(self, run: FoundRun) -> ScriptedFeed:
        self.calls.append(("join" if run.socket else "open", run.run.path.name))
        events = running_events() if run.socket else all_events(saved=run.saved)
        events[0] = run_started(path=str(run.run.place), env_id=run.env_id, saved=run.saved)
        return self._feed(events, bool(run.socket))

    def start(self, request: dict[str, Any]) -> ScriptedFeed:
        self.started.append(request)
        return ScriptedFeed(self.refusal or all_events(), live=False)

    def resume(self, run: FoundRun) -> ScriptedFeed:
        self.calls.append(("resume", run.run.path.name))
        return self._feed(self.refusal or running_events(), live=True)

    def demo(self) -> ScriptedFeed:
        self.calls.append(("demo", ""))
        return self._feed(running_events(), live=True)

    def end(self, feed: Any, *, save: str) -> str:
        self.calls.append(("end", save))
        return ""

    def save(self, path: str) -> str:
        self.calls.append(("save", path))
        self.found = [replace(one, saved=True) for one in self.found]
        return ""
