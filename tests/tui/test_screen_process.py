"""The process of the screen holds no client, no SDK and nobody's environment."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from compared_runs import two_runs
from program import Program, chat_answer
from servers import FaultServer, Reply

WATCH_A_RUN = """
import asyncio, json, sys
from tui_eval.engine.transport.launcher import Launch
from tui_eval.feeds.live_feed import LiveFeed
from tui_eval.tui.app import TuiEvalApp

async def main():
    feed = LiveFeed(Launch(json.loads(sys.argv[1])))
    app = TuiEvalApp(feed)
    async with app.run_test() as pilot:
        while app.state.end is None:
            await pilot.pause(0.02)
        await pilot.press("j", "2", "3")
    feed.engine.wait()
    feed.engine.clean_up()
    return app.state.finished

finished = asyncio.run(main())
print(json.dumps([finished, sorted(sys.modules)]))
"""

COMPARE_RUNS = """
import asyncio, json, sys
from pathlib import Path
from tui_eval.tui.base.app import ScreenApp
from tui_eval.tui.compare.screen import CompareRuns

async def main():
    app = ScreenApp(CompareRuns([Path(name) for name in sys.argv[1:]]))
    async with app.run_test() as pilot:
        while not app.screen.is_ready:
            await pilot.pause(0.02)
        await pilot.press("enter")
        while not getattr(app.screen, "is_ready", False) or app.screen is app.first:
            await pilot.pause(0.02)

asyncio.run(main())
print(json.dumps(sorted(sys.modules)))
"""


FIRST_FRAME = """
import asyncio, json, sys
from tui_eval.tui.app import TuiEvalApp
from tui_eval.engine.transport.launcher import Launch
from tui_eval.feeds.live_feed import LiveFeed

class First(TuiEvalApp):
    def _start(self):
        print(json.dumps(sorted(sys.modules)))
        self.exit()

async def main():
    async with First(LiveFeed(Launch({}))).run_test() as pilot:
        while pilot.app.is_running:
            await asyncio.sleep(0.01)

asyncio.run(main())
"""


def said_by(program: Program, script: str, *args: str) -> Any:
    """The JSON output of a separate Python script."""
    said = subprocess.run(
        [sys.executable, "-c", script, *args],
        cwd=program.folder,
        env=program.env,
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return json.loads(said.stdout)


def test_what_no_first_frame_shows_is_loaded_after_it(program: Program) -> None:
    modules = set(said_by(program, FIRST_FRAME))
    assert "tui_eval.tui.run.screen" in modules
    later = {"numpy", "pygments.lexers.python", "tui_eval.events", "tui_eval.runs.index"}
    later |= {"tui_eval.fold.summary", "tui_eval.fold.query.nodes"}
    later |= {"tomllib", "tui_eval.config.toml_files"}
    later |= {"tui_eval.tui.trajectory.syntax"}
    dialogs = ("base.dialogs.dialog", "base.keys.palette", "copying.copyable")
    later |= {f"tui_eval.tui.{name}" for name in dialogs}
    assert not later & modules


def test_comparing_runs_imports_no_client_and_no_environment(program: Program) -> None:
    modules = said_by(program, COMPARE_RUNS, *map(str, two_runs(program.folder)))
    unwanted = {"openai", "anthropic", "datasets", "pandas", "tui_eval.environments"}
    assert not unwanted & set(modules)
    assert not [name for name in modules if name.startswith(("tui_eval.clients", "tui_eval.rubr"))]


def test_watching_a_run_imports_no_client_and_no_environment(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment(
        "observed",
        """
        import tui_eval as vf

        def load_environment():
            return vf.SingleTurnEnv(
                dataset=[{"question": str(i)} for i in range(3)],
                rubric=vf.Rubric(funcs=[lambda completion: 1.0]),
            )
        """,
    )
    fault_server.script("/v1/chat/completions", [Reply(body=chat_answer("yes"))])
    raw = {"model": "m", "api_base_url": f"{fault_server.url}/v1", "rollouts_per_example": "2"}
    request = json.dumps({"env_id": "observed", "raw": raw})
    finished, modules = said_by(program, WATCH_A_RUN, request)
    assert finished == 6
    unwanted = {"openai", "anthropic", "datasets", "pandas", "observed", "tui_eval.environments"}
    assert not unwanted & set(modules)
    assert not [name for name in modules if name.startswith(("tui_eval.clients", "tui_eval.rubr"))]


FILL_IN_A_FORM = """
import asyncio, json, sys, time
from tui_eval.tui.form.backend import FormBackend
from tui_eval.feeds.live_feed import LiveFeed
from tui_eval.config.draft import Draft
from tui_eval.tui.app import TuiEvalApp
from tui_eval.tui.form.screen import ConfigureScreen

async def main():
    draft = Draft()
    draft.form.put("env_id", "observed")
    draft.form.put("model", "demo")
    form = ConfigureScreen(FormBackend(), draft, time.time)
    app = TuiEvalApp(LiveFeed(), form=form)
    async with app.run_test() as pilot:
        while form.plan is None:
            await pilot.pause(0.02)
        await pilot.press("enter")
        while app.screen.list.is_waiting:
            await pilot.pause(0.02)
    return form.plan["rollouts"]

print(json.dumps([asyncio.run(main()), sorted(sys.modules)]))
"""


@pytest.mark.slow
def test_filling_in_a_form_imports_no_sdk_and_no_environment(program: Program) -> None:
    program.environment(
        "observed",
        """
        import tui_eval as vf

        def load_environment():
            rows = [{"question": str(i)} for i in range(3)]
            return vf.SingleTurnEnv(dataset=rows, rubric=vf.Rubric(funcs=[lambda: 1.0]))
        """,
    )
    rollouts, modules = said_by(program, FILL_IN_A_FORM)
    assert rollouts == 9
    unwanted = {"openai", "anthropic", "datasets", "pandas", "observed"}
    unwanted |= {"tui_eval.environments.environment", "tui_eval.environments.loader"}
    assert not unwanted & set(modules)
