"""How suites end: stopped, killed, and with what people's code raises."""

from __future__ import annotations

import os
import signal

import pytest
from program import chat_answer, wait_until
from servers import Reply
from suites import CHAT, NUMBERED, Suites, marked

from tui_eval.runs.lock import holder


def test_a_stop_is_over_in_time_and_what_has_not_begun_leaves_nothing(suite: Suites) -> None:
    suite.server.script(CHAT, [Reply(body=chat_answer("yes"))] * 6 + [Reply(hang=True)])
    suite.write(*(marked(mark) for mark in "abc"), top="max_concurrent = 2")
    process = suite.program.start("suite.toml")
    wait_until(lambda: len(suite.server.requests) >= 8, "the second one hangs")
    process.send_signal(signal.SIGINT)
    done = suite.program.finish(process)
    assert done.code == 130, done
    assert {mark: len(run.rows) for mark, run in suite.runs().items()} == {"a": 4, "b": 2}
    assert "Resume: tui-eval run suite.toml --resume" in done.out

    suite.server.script(CHAT, [Reply(body=chat_answer("yes"))])
    requests_before = len(suite.server.requests)
    again = suite.run("--resume")
    assert again.code == 0, again
    assert {mark: len(run.rows) for mark, run in suite.runs().items()} == dict.fromkeys("abc", 4)
    assert len(suite.server.requests) == requests_before + 2 + 4
    assert all(len(set(run.places())) == 4 for run in suite.runs().values())
    assert "[1/3] numbered" in again.out and "complete already, 4 rollouts" in again.out
    assert "resumes, 2 of 4 rollouts done" in again.out
    assert again.out.count(": begins, ") == 1
    once_more = suite.run("--resume")
    assert once_more.code == 0, once_more
    assert once_more.out.count("complete already, 4 rollouts") == 3
    assert "begins" not in once_more.out
    assert len(suite.server.requests) == requests_before + 2 + 4, "complete ones return at once"
    assert len(suite.program.runs()) == 3


def test_every_evaluation_beats_its_heart(suite: Suites) -> None:
    suite.server.script("/beat", [Reply()])
    suite.write(
        *(marked(mark) for mark in "ab"),
        top=f'heartbeat_status = true; heartbeat_url = "{suite.server.url}/beat"',
    )
    assert suite.run().code == 0
    beats = [one.query for one in suite.server.requests if one.path == "/beat"]
    assert beats.count("status=started") == beats.count("status=finished") == 2
    assert beats.count("") >= 2


def test_errors_are_reported_with_their_evaluation(suite: Suites) -> None:
    suite.server.script(CHAT, [Reply(body=chat_answer("yes"))] * 4 + [Reply(400)])
    suite.write(marked("a"), marked("b"), top="max_concurrent = 1")
    done = suite.run()
    assert done.code == 3, done
    errors = [line for line in done.err.splitlines() if "error: [2/2] numbered (mark=b)" in line]
    assert len(errors) == 3
    assert "further ModelError -> BadRequestError are counted and not printed" in done.err
    assert "[2/2] numbered (mark=b): finished with many errors, 4 rollouts, 4 errored" in done.out


def test_an_error_of_peoples_code_is_reported_with_its_place(suite: Suites) -> None:
    suite.program.environment("numbered", NUMBERED.replace("return 1.0", "return 1 / 0"))
    suite.write(marked("a"), marked("b"))
    done = suite.run()
    assert done.code == 3, done
    assert "float division" in done.err or "division by zero" in done.err
    assert "(environments/numbered.py:11 in scored)" in done.err


BLOCKING = """
    import pathlib
    import time
    import tui_eval as vf

    blocked = pathlib.Path("blocked")

    def load_environment(mark: str = ""):
        def scored(completion, **kwargs):
            if completion[-1]["content"] == "block" and not blocked.exists():
                blocked.touch()
                time.sleep(600)
            return 1.0

        return vf.SingleTurnEnv(
            dataset=[{"question": str(i)} for i in range(9)], rubric=vf.Rubric(funcs=[scored])
        )
"""


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_rows_are_whole_however_the_engine_ends(suite: Suites, how: signal.Signals) -> None:
    suite.program.environment("numbered", BLOCKING)
    good = [Reply(body=chat_answer("yes"))]
    suite.server.script(CHAT, good * 6 + [Reply(body=chat_answer("block"))])
    suite.write(*(marked(mark) for mark in "abc"), top="max_concurrent = 1")
    process = suite.program.start("suite.toml")
    wait_until((suite.program.folder / "blocked").exists, "the loop is held")
    if how == signal.SIGTERM:
        process.send_signal(how)
    else:
        (held,) = [one for run in suite.runs().values() if (one := holder(run.path / "lock"))]
        wait_until(lambda: len(suite.runs()["b"].rows) == 2, "what was answered is on disk")
        os.kill(held.pid, how)
    done = suite.program.finish(process)
    assert done.code == (130 if how == signal.SIGTERM else 1), done
    assert {mark: len(run.rows) for mark, run in suite.runs().items()} == {"a": 4, "b": 2}
    assert suite.runs()["b"].metadata["status"] != "running"
    assert not list(suite.program.folder.rglob("lock"))
    suite.server.script(CHAT, good)
    assert suite.run("--resume").code == 0
    assert {mark: len(run.rows) for mark, run in suite.runs().items()} == dict.fromkeys("abc", 4)


KILLED = """
    import os, signal
    import tui_eval as vf

    class Killed(vf.SingleTurnEnv):
        async def setup_state(self, state):
            if self.env_args["mark"] == "b":
                os.kill(os.getppid(), signal.SIGKILL)
            return state

    def load_environment(mark: str = ""):
        return Killed(dataset=[{"question": "?"}], rubric=vf.Rubric(funcs=[]))
"""


def test_no_run_is_left_running_where_the_engine_dies_as_it_begins(suite: Suites) -> None:
    suite.program.environment("numbered", KILLED)
    suite.write(marked("a"), marked("b"))
    done = suite.run()
    assert done.code == 1, done
    status = {mark: run.metadata["status"] for mark, run in suite.runs().items()}
    assert status["b"] == "failed"
    assert status["a"] in ("failed", "finished")
    assert not list(suite.program.folder.rglob("lock"))
