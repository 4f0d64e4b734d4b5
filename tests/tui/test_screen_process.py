"""The process of the screen holds no client, no SDK and nobody's environment."""

from __future__ import annotations

import json
import subprocess
import sys

from program import Program, chat_answer
from servers import FaultServer, Reply

WATCH_A_RUN = """
import asyncio, json, sys
from tui_eval.cli.lazy_feed import LazyFeed
from tui_eval.tui.app import TuiEvalApp

async def main():
    feed = LazyFeed(json.loads(sys.argv[1]))
    app = TuiEvalApp(feed)
    async with app.run_test() as pilot:
        while app.state.end is None:
            await pilot.pause(0.02)
        await pilot.press("j", "2", "3")
    feed.inner.engine.wait()
    feed.inner.engine.clean_up()
    return app.state.finished

finished = asyncio.run(main())
print(json.dumps([finished, sorted(sys.modules)]))
"""


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
    said = subprocess.run(
        [sys.executable, "-c", WATCH_A_RUN, request],
        cwd=program.folder,
        env=program.env,
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    finished, modules = json.loads(said.stdout)
    assert finished == 6
    unwanted = {"openai", "anthropic", "datasets", "pandas", "observed", "tui_eval.environments"}
    assert not unwanted & set(modules)
    assert not [name for name in modules if name.startswith(("tui_eval.clients", "tui_eval.rubr"))]
