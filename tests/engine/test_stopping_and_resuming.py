"""Interrupted runs stop cleanly within two seconds and are resumed where they were."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from program import Program, Run, chat_answer, wait_until
from run_here import run_here
from servers import FaultServer, Reply

from tui_eval.runs.journal_records import read_journal
from tui_eval.runs.layout import RunDir

CHAT = "/v1/chat/completions"
GOOD = Reply(body=chat_answer("yes"))

CLEANUPS = """
    import pathlib
    import tui_eval as vf

    class Env(vf.SingleTurnEnv):
        @vf.cleanup
        async def leave_a_mark(self, state):
            pathlib.Path(f"cleaned-{state['example_id']}").touch()

        @vf.teardown
        async def say_goodbye(self):
            pathlib.Path("torn-down").touch()

    def load_environment():
        return Env(
            dataset=[{"question": str(i)} for i in range(10)],
            rubric=vf.Rubric(funcs=[lambda completion: 1.0]),
        )
"""


def hold_after(server: FaultServer, answers: int) -> None:
    """So many good answers, then none."""
    server.script(CHAT, [*[GOOD] * answers, Reply(hang=True)])


def prompts_sent(server: FaultServer) -> Counter[str]:
    """How often each question came in."""
    return Counter(request.json()["messages"][-1]["content"] for request in server.requests)


def held(server: FaultServer, *args: str) -> list[str]:
    return ["held", "-m", "m", "-b", f"{server.url}/v1", "-r", "1", *args]


def started(program: Program, server: FaultServer, *args: str) -> subprocess.Popen[str]:
    return program.start(*held(server, *args))


def rows_written(program: Program, count: int) -> Run:
    def there() -> Run | None:
        runs = program.runs()
        return runs[0] if runs and len(runs[0].rows) >= count else None

    return wait_until(there, f"{count} rows on disk")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_cleanly_and_the_run_is_resumed_later(
    program: Program, fault_server: FaultServer, number: int
) -> None:
    program.environment("held", CLEANUPS)
    hold_after(fault_server, 4)
    process = started(program, fault_server, "-n", "10", "-c", "3", "-s")
    run = rows_written(program, 4)
    wait_until(lambda: len(fault_server.requests) == 7, "three calls in flight")
    process.send_signal(number)
    done = program.finish(process)
    assert done.code == 130, done
    assert "Interrupted: 4 of 10 rollouts are done." in done.out
    assert f"Resume: tui-eval run --resume {run.path}" in done.out
    assert run.metadata["status"] == "interrupted"
    assert len(list(program.folder.glob("cleaned-*"))) == 7
    assert (program.folder / "torn-down").exists()
    assert not (run.path / "lock").exists()

    before = prompts_sent(fault_server)
    fault_server.script(CHAT, [GOOD])
    again = run_here(program, "run", "--resume", str(run.path))
    assert again.code == 0, again
    assert run.places() == [(i, 0) for i in range(10)]
    assert run.metadata["n_used"] == 10
    assert sum((prompts_sent(fault_server) - before).values()) == 6
    assert program.only_run().path == run.path


def test_a_run_that_is_complete_returns_at_once(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment("held", CLEANUPS)
    fault_server.script(CHAT, [GOOD])
    run_here(program, *held(fault_server, "-n", "3", "-s"))
    run = program.only_run()
    before = (run.path / "results.jsonl").read_bytes()
    again = run_here(program, "run", "--resume", str(run.path))
    assert again.code == 0, again
    assert (run.path / "results.jsonl").read_bytes() == before
    assert len(fault_server.requests) == 3


def test_a_second_signal_ends_it_at_once(program: Program, fault_server: FaultServer) -> None:
    program.environment("held", "import time\n" + BLOCKING)
    fault_server.script(CHAT, [GOOD])
    process = started(program, fault_server, "-n", "1")
    wait_until(lambda: (program.folder / "blocking").exists(), "the loop is held")
    process.send_signal(signal.SIGINT)
    assert "Stopping" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    assert program.finish(process).code == 130


BLOCKING = """
import pathlib
import tui_eval as vf

def hold(state):
    if state["example_id"] == LAST:
        pathlib.Path("blocking").touch()
        BLOCK
    return 1.0

def load_environment():
    return vf.SingleTurnEnv(
        dataset=[{"question": str(i)} for i in range(3)],
        rubric=vf.Rubric(funcs=[hold]),
    )
""".replace("LAST", "0").replace("BLOCK", "time.sleep(600)")


@pytest.mark.parametrize(
    "block", ["time.sleep(600)", "while True: pass", "re.match('(a+)+$', 'a' * 40 + 'b')"]
)
def test_code_that_holds_the_loop_does_not_hold_the_stop(
    program: Program, fault_server: FaultServer, block: str
) -> None:
    source = BLOCKING.replace("time.sleep(600)", block).replace("== 0", "== 2")
    program.environment("held", "import time, re\n" + source)
    fault_server.script(CHAT, [GOOD])
    process = started(program, fault_server, "-n", "3", "-c", "1", "-s")
    wait_until(lambda: (program.folder / "blocking").exists(), "the loop is held")
    process.send_signal(signal.SIGTERM)
    done = program.finish(process)
    assert done.code == 130, done
    run = program.only_run()
    assert run.places() == [(0, 0), (1, 0)]
    assert "2 of 3 rollouts are done" in done.out


def test_errored_rollouts_run_again_unless_they_are_to_be_kept(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment("held", CLEANUPS)
    bad = Reply(400, {"error": {"message": "bad"}})
    fault_server.script(CHAT, [GOOD, bad, GOOD, bad, GOOD])
    done = run_here(program, *held(fault_server, "-n", "4", "-c", "1", "-s"))
    assert done.code == 3, done
    run = program.only_run()
    kept = program.run("run", "--resume", str(run.path), "--keep-errors")
    assert kept.code == 3, kept
    assert len(fault_server.requests) == 4
    again = run_here(program, "run", "--resume", str(run.path))
    assert again.code == 0, again
    assert run.places() == [(i, 0) for i in range(4)]
    assert len(fault_server.requests) == 6
    aside = (run.path / "superseded.jsonl").read_text().splitlines()
    assert len(aside) == 2


def test_a_killed_engine_loses_nothing_that_was_finished(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment("held", CLEANUPS)
    hold_after(fault_server, 5)
    process = started(program, fault_server, "-n", "10", "-s")
    run = rows_written(program, 5)
    os.kill(engine_pid(run), signal.SIGKILL)
    done = program.finish(process)
    assert done.code == 1, done
    assert "can be resumed" in done.err
    with open(run.path / "results.jsonl", "ab") as file:
        file.write(b'{"example_id": 9, "torn')
    fault_server.script(CHAT, [GOOD])
    again = run_here(program, "run", "--resume", str(run.path))
    assert again.code == 0, again
    assert run.places() == [(i, 0) for i in range(10)]


def engine_pid(run: Run) -> int:
    import json

    pid = json.loads((run.path / "lock").read_bytes())["pid"]
    assert isinstance(pid, int)
    return pid


def test_the_engine_stops_when_its_listener_is_killed(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment("held", CLEANUPS)
    hold_after(fault_server, 2)
    process = started(program, fault_server, "-n", "10", "-s")
    run = rows_written(program, 2)
    pid = engine_pid(run)
    process.kill()
    process.communicate()
    wait_until(lambda: not Path(f"/proc/{pid}").exists(), "the engine is gone")
    assert run.metadata["status"] == "interrupted"
    assert len(run.rows) == 2


def test_resume_alone_takes_the_newest_run_that_matches(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment("held", CLEANUPS)
    hold_after(fault_server, 3)
    process = started(program, fault_server, "-n", "5")
    run = rows_written(program, 3)
    process.send_signal(signal.SIGINT)
    program.finish(process)
    fault_server.script(CHAT, [GOOD])
    url = f"{fault_server.url}/v1"
    other = run_here(program, "held", "-m", "other", "-b", url, "-n", "1", "-r", "1", "--resume")
    assert other.code == 0, other
    assert "No incomplete run matches; starting a new one." in other.err
    assert f"Passed over held with m, 3 of 5, unsaved: {run.path} (another model)" in other.err
    again = run_here(program, "held", "-m", "m", "-b", url, "-n", "5", "-r", "1", "--resume", "-s")
    assert again.code == 0, again
    assert f"Resuming the unsaved run {run.path}: 3 of 5 done" in again.err
    (saved,) = program.runs(program.folder / "outputs")
    assert saved.path.name == run.path.name
    assert saved.places() == [(i, 0) for i in range(5)]
    assert not run.path.exists()


@pytest.mark.parametrize("named", [False, True])
def test_a_run_that_an_engine_works_on_is_found_and_joined_not_begun_again(
    program: Program, fault_server: FaultServer, named: bool
) -> None:
    program.environment("held", CLEANUPS)
    hold_after(fault_server, 3)
    process = started(program, fault_server, "-n", "5")
    run = rows_written(program, 3)
    requests_before = len(fault_server.requests)
    where = [str(run.path)] if named else []
    done = run_here(program, *held(fault_server, "-n", "5", "--resume", *where))
    assert done.code == 2, done
    assert "is writing this run" in done.err
    assert f"Join it: tui-eval open {run.path}" in done.err
    assert program.only_run().path == run.path
    assert len(fault_server.requests) == max(requests_before, 5), "nothing was requested twice"
    process.send_signal(signal.SIGINT)
    program.finish(process)


@pytest.mark.slow
def test_resume_alone_takes_a_saved_run_before_a_newer_unsaved_one(program: Program) -> None:
    words = ("calculator", "-m", "demo", "-r", "1")
    assert run_here(program, *words, "-n", "2", "-s").code == 0
    saved = program.only_run()
    assert run_here(program, *words, "-n", "2").code == 0
    again = run_here(program, *words, "-n", "3", "-s", "--resume")
    assert again.code == 0, again
    assert f"Resuming the run {saved.path.relative_to(program.folder)}: 2 of 2 done" in again.err
    assert len(saved.rows) == 3


@pytest.mark.slow
def test_resume_alone_passes_over_runs_with_other_rollouts_and_says_why(program: Program) -> None:
    words = ("calculator", "-m", "demo", "-s")
    assert run_here(program, *words, "-n", "3", "-r", "1", "--max-total-tokens", "1").code == 4
    first = program.only_run()
    again = run_here(program, *words, "-n", "3", "-r", "2", "--resume")
    assert again.code == 0, again
    assert "No incomplete run matches; starting a new one." in again.err
    assert f"{first.path.relative_to(program.folder)} (-r is 2, the run has 1" in again.err
    assert sorted(len(run.places()) for run in program.runs()) == [len(first.rows), 6]
    fewer = run_here(program, *words, "-n", "2", "-r", "1", "--resume")
    assert "(-n is 2, the run has 3 examples)" in fewer.err
    equal = run_here(program, *words, "-n", "3", "-r", "2", "--resume")
    assert "6 of 6 done" in equal.err and len(program.runs()) == 3


def test_resume_alone_finds_a_run_in_the_folder_that_is_named(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment("held", CLEANUPS)
    hold_after(fault_server, 3)
    process = started(program, fault_server, "-n", "5", "-o", "kept")
    wait_until(lambda: len(fault_server.requests) == 5, "all are in flight")
    (run,) = wait_until(lambda: program.runs(program.folder / "kept"), "the run is there")
    wait_until(lambda: len(run.rows) == 3, "three rows are there")
    process.send_signal(signal.SIGINT)
    program.finish(process)
    fault_server.script(CHAT, [GOOD])
    again = run_here(program, *held(fault_server, "-n", "5", "-o", "kept", "--resume"))
    assert again.code == 0, again
    assert f"Resuming the run {run.path.relative_to(program.folder)}: 3 of 5 done" in again.err
    assert run.places() == [(i, 0) for i in range(5)]
    assert len(program.runs(program.folder / "kept")) == 1


def test_settings_that_would_mix_two_runs_are_refused(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment("held", CLEANUPS)
    fault_server.script(CHAT, [GOOD])
    run_here(program, *held(fault_server, "-n", "3", "-s"))
    path = str(program.only_run().path)
    done = run_here(
        program, *("reverse-text", "-m", "demo", "-n", "2", "-r", "5", "-T", "1", "--resume", path)
    )
    assert done.code == 2, done
    for said in (
        "environment is 'reverse-text', the run has 'held'",
        'model is "demo-scripted-policy", the run has "m"',
        'base_url is "embedded:demo"',
        "-n is 2, the run has 3",
        "sampling_args",
    ):
        assert said in done.err


GROUPED = """
    import tui_eval as vf

    def rank(completions, states):
        assert len(completions) == 3, len(completions)
        assert all(state["mark"] == "kept" for state in states)
        assert all(len(state["trajectory"]) == 1 for state in states)
        lengths = [len(c[-1]["content"]) for c in completions]
        return [float(n == max(lengths)) for n in lengths]

    class Env(vf.SingleTurnEnv):
        async def setup_state(self, state):
            state["mark"] = "kept"
            return state

    def load_environment():
        return Env(dataset=[{"question": "a"}, {"question": "b"}], rubric=vf.Rubric(funcs=[rank]))
"""


def test_a_rollout_that_waits_for_its_group_is_scored_and_not_generated_again(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment("grouped", GROUPED)
    answers = [Reply(body=chat_answer(text)) for text in ("a", "bbb", "cc", "dddd", "e")]
    fault_server.script(CHAT, [*answers, Reply(hang=True)])
    url = f"{fault_server.url}/v1"
    process = program.start("grouped", "-m", "m", "-b", url, "-n", "2", "-r", "3", "-c", "1", "-s")
    run = rows_written(program, 3)
    wait_until(lambda: len(fault_server.requests) == 6, "the last rollout is in flight")
    assert len(read_journal(RunDir(run.path)).generated) == 2
    os.kill(engine_pid(run), signal.SIGKILL)
    program.finish(process)

    fault_server.script(CHAT, [Reply(body=chat_answer("fff"))])
    again = run_here(program, "run", "--resume", str(run.path))
    assert again.code == 0, again
    assert len(fault_server.requests) == 7
    assert run.places() == [(i, j) for i in range(2) for j in range(3)]
    rewards = {row["completion"][-1]["content"]: row["reward"] for row in run.rows}
    assert rewards == {"a": 0, "bbb": 1, "cc": 0, "dddd": 1, "e": 0, "fff": 0}
    assert not (run.path / "journal.jsonl").exists()


def test_a_run_that_is_being_written_cannot_be_resumed_twice(program: Program) -> None:
    assert run_here(program, "calculator", "-m", "demo", "-n", "1", "-r", "1", "-s").code == 0
    path = program.only_run().path
    with open(path / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = run_here(program, "calculator", "-m", "demo", "--resume", str(path))
    assert done.code == 2, done
    assert "is writing this run" in done.err
    assert len(program.only_run().rows) == 1
