"""A disk that refuses: the run pauses with the reason, keeps its rows, and resumes."""

from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from engine_listener import EngineListener, listening
from program import TWO_TURNS, Program, Run, chat_answer
from servers import FaultServer, Reply
from steered_runs import BAD, CHAT, GOOD, HANG, as_on_disk, figures
from tiers import first_always

from tui_eval.commands import Cancel, Rerun, SaveAs, Unpause
from tui_eval.engine.transport.launcher import Launch
from tui_eval.events import CommandAnswered, GateMoved, RunMoved, Stage
from tui_eval.feeds.live_feed import LiveFeed
from tui_eval.runs.journal_records import read_journal
from tui_eval.runs.layout import RunDir
from tui_eval.runs.lock import holder


def limit_files(one: EngineListener, size: int) -> None:
    """From now on no file of the engine may grow past a size: as on a full disk."""
    pid = one.feed.engine.pid
    hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)[1]
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, hard))


NO_LIMIT = resource.RLIM_INFINITY


PRINTING = """
    import tui_eval as vf

    class Env(vf.SingleTurnEnv):
        async def setup_state(self, state):
            print("seen", state["example_id"], flush=True)
            return state

    def load_environment():
        return Env(
            dataset=[{"question": str(i)} for i in range(8)],
            rubric=vf.Rubric(funcs=[lambda completion: 1.0]),
        )
"""
LIMITED = """
import os, pathlib, resource

def load_environment():
    if pathlib.Path("limit").exists():
        hard = resource.prlimit(os.getppid(), resource.RLIMIT_FSIZE)[1]
        resource.prlimit(os.getppid(), resource.RLIMIT_FSIZE, (20_000, hard))  # the engine
"""
SOON = Reply(body=chat_answer("yes"), delay=0.3)


async def test_a_full_disk_pauses_the_run_and_it_resumes_once_there_is_room(
    program: Program, fault_server: FaultServer, request_of: Callable[..., dict[str, Any]]
) -> None:
    fault_server.script(CHAT, [GOOD, SOON])
    async with listening(LiveFeed(Launch(request_of(num_examples="8", max_concurrent="2")))) as one:
        await one.until(lambda: one.state.finished >= 1, "a row is written")
        limit_files(one, 100)
        await one.until(lambda: one.state.refusal, "the disk refuses")
        await one.until(lambda: not one.state.gate_open, "the gate is closed")
        assert one.state.refusal.why == "file too large"
        await one.until(lambda: one.state.refusal.records == 2, "what came waits")
        requests_before = len(fault_server.requests)
        status = json.loads(program.run("status", "--json").out)
        assert status["status"] == "paused"
        refused = {"why": "file too large", "path": status["path"], "rows": 0, "answers": 2}
        assert status["disk_refuses"] == refused
        assert "cannot be written, file too large; 0 rows and 2 answers wait" in (
            program.run("status").out
        )
        one.feed.send(Unpause())
        run = program.only_run()
        written = (run.path / "results.jsonl").read_bytes()
        assert written.endswith(b"\n")
        assert len(fault_server.requests) == requests_before < 8
        limit_files(one, NO_LIMIT)
        await one.until(lambda: one.state.end, "the run ends")
    assert one.state.end.exit_code == 0
    assert sorted(run.places()) == [(i, 0) for i in range(8)]
    assert len(fault_server.requests) == 8
    assert (run.path / "results.jsonl").read_bytes().startswith(written)
    assert read_journal(RunDir(run.path)).answers == {}
    assert figures(one.state) == figures(as_on_disk(run))


@pytest.mark.slow
async def test_rollouts_whose_rows_wait_for_the_disk_are_held(
    program: Program, fault_server: FaultServer, request_of: Callable[..., dict[str, Any]]
) -> None:
    fault_server.script(CHAT, [GOOD, SOON])
    async with listening(LiveFeed(Launch(request_of(num_examples="8", max_concurrent="2")))) as one:
        await one.until(lambda: one.state.finished >= 4, "rows are written")
        results = program.only_run().path / "results.jsonl"
        limit_files(one, results.stat().st_size + 50)  # which the journal does not reach
        await one.until(lambda: one.state.refusal and one.state.refusal.rows, "a row waits")
        first = one.state.finished
        await one.until(lambda: one.state.refusal.rows == 2, "so does the other one in flight")
        await one.until(
            lambda: [one.state.stage[row] for row in (first, first + 1)] == [Stage.HELD] * 2,
            "their rollouts are held",
        )
        status = program.run("status").out
        assert re.search(r"(3|4) rollouts in flight of at most 2", status) is None, status
        limit_files(one, NO_LIMIT)
        await one.until(lambda: one.state.end, "the run ends")
    assert one.state.end.exit_code == 0
    assert sorted(program.only_run().places()) == [(i, 0) for i in range(8)]


@pytest.mark.slow
@pytest.mark.parametrize("has_room_aside", first_always([False, True]))
async def test_errored_rows_run_again_once_there_is_room_to_move_them(
    program: Program,
    fault_server: FaultServer,
    request_of: Callable[..., dict[str, Any]],
    has_room_aside: bool,
) -> None:
    fault_server.script(CHAT, [BAD, *[GOOD] * 6, HANG])
    async with listening(LiveFeed(Launch(request_of(num_examples="8", max_concurrent="1")))) as one:
        await one.until(lambda: one.state.finished == 7, "seven have rows")
        await one.until(lambda: one.state.by_stage[Stage.MODEL] == 1, "the last one hangs")
        run = program.only_run()
        before = (run.path / "results.jsonl").read_bytes()
        errored, rest = before.split(b"\n", 1)
        assert len(rest) > len(errored) + 100
        limit_files(one, len(errored) + 10 if has_room_aside else 100)
        fault_server.script(CHAT, [GOOD])
        one.feed.send(Rerun())
        await one.until(lambda: one.of(CommandAnswered), "it is answered")
        [answer] = one.of(CommandAnswered)
        assert not answer.done and "File too large" in answer.text
        assert one.state.end is None and one.state.taken_back == 0
        assert (run.path / "results.jsonl").read_bytes() == before
        assert not [*run.path.glob("results*.new")]
        limit_files(one, NO_LIMIT)
        await one.until(lambda: one.state.taken_back == 1, "it is moved")
        one.feed.send(Cancel(7))
        await one.until(lambda: one.state.end, "the run ends")
    assert one.state.end.exit_code == 3
    assert sorted(run.places()) == [(i, 0) for i in range(8)]
    assert [row["example_id"] for row in run.rows if row["error"] is not None] == [7]
    assert len((run.path / "superseded.jsonl").read_text().splitlines()) == 1
    assert figures(one.state) == figures(as_on_disk(run))


@pytest.mark.slow
async def test_a_resume_without_room_for_its_journal_waits_and_keeps_the_answers(
    program: Program, fault_server: FaultServer, request_of: Callable[..., dict[str, Any]]
) -> None:
    environment = TWO_TURNS.replace("def load_environment():", LIMITED)
    program.environment("limited", environment.replace('"?"}]', '"?"}] * 8'))
    long = Reply(body=chat_answer("x" * 3000))
    fault_server.script(CHAT, [*[long] * 8, HANG])
    async with listening(LiveFeed(Launch(request_of("limited", num_examples="8")))) as one:
        await one.until(lambda: len(fault_server.requests) == 16, "each has had one answer")
        os.kill(one.feed.engine.pid, signal.SIGKILL)
    run = program.only_run()
    answers = read_journal(RunDir(run.path)).answers
    assert len(answers) == 8
    (program.folder / "limit").touch()
    fault_server.script(CHAT, [GOOD])
    async with listening(
        LiveFeed(Launch({"env_id": None, "raw": {"resume": str(run.path)}}))
    ) as one:
        await one.until(lambda: one.state.refusal or one.state.end, "the disk refuses")
        assert one.state.refusal, one.state.end
        assert one.state.refusal.why == "file too large"
        assert read_journal(RunDir(run.path)).answers == answers
        limit_files(one, NO_LIMIT)
        await one.until(lambda: one.state.end, "the run ends")
    assert one.state.end.exit_code == 0
    assert sorted(run.places()) == [(i, 0) for i in range(8)]
    assert len(fault_server.requests) == 24, "no answer was paid for twice"


@pytest.mark.slow
async def test_a_run_whose_directory_is_moved_away_waits_until_it_is_back(
    request_of: Callable[..., dict[str, Any]], program: Program, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [GOOD, SOON])
    async with listening(LiveFeed(Launch(request_of(num_examples="4", max_concurrent="1")))) as one:
        await one.until(lambda: one.state.finished >= 1, "a row is written")
        run = program.only_run()
        away = run.path.rename(run.path.with_name("away"))
        await one.until(lambda: one.state.refusal, "the run is not where it was")
        assert one.state.refusal.why == "it is gone"
        run.path.mkdir()
        (run.path / "results.jsonl").touch()  # somebody else's
        one.feed.send(Unpause())
        await one.until(lambda: len(one.of(GateMoved)) >= 2, "it is answered")
        assert not one.state.gate_open
        why = "another one is there now"
        await one.until(lambda: one.state.refusal and one.state.refusal.why == why, why)
        await asyncio.sleep(1.5)  # in which metadata.json would be written
        assert [text for level, text in one.state.notices if "metadata.json" in text] == []
        assert [text for level, text in one.state.notices if "written again" in text] == []
        (run.path / "results.jsonl").unlink()
        run.path.rmdir()
        away.rename(run.path)
        await one.until(lambda: one.state.end, "the run ends")
    assert one.state.end.exit_code == 0
    assert run.places() == [(i, 0) for i in range(4)]
    assert len(fault_server.requests) == 4


@pytest.mark.slow
async def test_a_run_whose_disk_refuses_continues_elsewhere(
    request_of: Callable[..., dict[str, Any]], program: Program, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [GOOD, SOON])
    program.environment("plain", PRINTING)
    async with listening(LiveFeed(Launch(request_of(num_examples="8", max_concurrent="2")))) as one:
        await one.until(lambda: one.state.finished >= 1, "a row is written")
        old, new = program.only_run(), program.folder / "elsewhere" / "saved"
        one.feed.send(SaveAs(str(new)))
        await one.until(lambda: one.of(CommandAnswered), "it is refused while nothing waits")
        assert not new.exists() and not one.of(CommandAnswered)[-1].done
        away = old.path.rename(old.path.with_name("away"))
        await one.until(lambda: one.state.refusal, "the run is not where it was")
        await one.until(lambda: one.state.refusal.records == 2, "what came waits")
        new.parent.mkdir()
        new.parent.joinpath("taken").touch()
        one.feed.send(SaveAs(str(new.with_name("taken"))))
        await one.until(lambda: len(one.of(CommandAnswered)) == 2, "there is something already")
        assert "File exists" in one.of(CommandAnswered)[-1].text and one.state.refusal
        one.feed.send(SaveAs(str(new)))
        await one.until(lambda: one.of(RunMoved), "it continues there")
        moved_at = one.state.finished
        await one.until(lambda: one.state.end, "the run ends")
        read = [one.feed.saved(row, one.state.offset[row], one.state.length[row]) for row in (0, 7)]
    assert one.state.end.exit_code == 0
    assert one.state.run.path == str(new) and one.state.run.saved
    run = Run(new)
    assert sorted(run.places()) == [(i, 0) for i in range(8)]
    assert all(rollout is not None for rollout in read)
    assert len(fault_server.requests) == 8
    assert figures(one.state) == figures(as_on_disk(run))
    assert run.metadata["num_examples"] == 8
    assert moved_at < 6 and all(f"seen {i}" in run.log for i in range(8))
    assert (new / "versions.json").exists()
    before = Run(away)
    assert [*before.rows] == run.rows[: len(before.rows)]
    assert holder(before.path / "lock") is None and not (new / "lock").exists()
    assert_left(program, away, new)
    assert len(fault_server.requests) == 8
    again = program.run("run", "--resume", str(away), "--accept-changes")
    assert again.code == 0 and sorted(before.places()) == sorted(run.places()), again


def assert_left(program: Program, path: Path, new: Path) -> None:
    """Asserts that a directory is said to be left, and not resumed: its run continued elsewhere."""
    for look in ("status", "report"):
        assert f"saved as {new} and continued there" in program.run(look, str(path)).err
    for look in ((), ("--dry-run",)):
        refused = program.run("run", "--resume", str(path), *look)
        assert refused.code == 2, refused
        assert f"{path}: the run was saved as {new} and continued there" in refused.err


@pytest.mark.slow
async def test_a_run_whose_files_are_removed_is_kept_whole_elsewhere(
    request_of: Callable[..., dict[str, Any]], program: Program, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [GOOD, SOON])
    async with listening(LiveFeed(Launch(request_of(num_examples="8", max_concurrent="2")))) as one:
        await one.until(lambda: one.state.finished >= 1, "a row is written")
        shutil.rmtree(program.only_run().path)
        await one.until(lambda: one.state.end, "the run ends")
    end, kept = one.state.end, Path(one.state.run.path)
    assert (end.status, end.exit_code) == ("failed", 1)
    assert "somebody else removed" in end.text and f"all of it is in {kept}" in end.text
    run = Run(kept)
    assert 0 < len(run.rows) < 8 and not one.state.run.saved
    requests_before = len(fault_server.requests)
    again = program.run("run", "--resume", str(kept))
    assert again.code == 0, again
    run = program.only_run()  # it is a saved one again
    assert sorted(run.places()) == [(i, 0) for i in range(8)]
    assert requests_before < len(fault_server.requests) <= 8 + 1  # one answer was on the wire


@pytest.mark.slow
def test_of_several_evaluations_the_one_that_waits_for_its_disk_is_named(
    program: Program, fault_server: FaultServer
) -> None:
    environment = """
    import os, resource
    import tui_eval as vf

    def load_environment():
        if not os.path.exists("limited"):  # the second evaluation may load it later
            open("limited", "w").close()
            resource.prlimit(os.getppid(), resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
        return vf.SingleTurnEnv(
            dataset=[{"question": "x" * 3000} for i in range(10)],
            rubric=vf.Rubric(funcs=[lambda completion: 1.0]),
        )
    """
    program.environment("full", environment)
    fault_server.script(CHAT, [GOOD])
    top = f'model = "m"\napi_base_url = "{fault_server.url}/v1"\nsave_results = true\n'
    one = '[[eval]]\nenv_id = "full"\nrollouts_per_example = 1\nnum_examples = 10\n'
    (program.folder / "suite.toml").write_text(top + one + one)
    process = program.start("suite.toml")
    assert process.stderr is not None
    read = []
    for line in process.stderr:
        read.append(line)
        if "Paused: " in line:
            break
    else:
        raise AssertionError("".join(read))
    assert "cannot be written, file too large" in line
    engine = json.loads(next(program.folder.glob("outputs/**/lock")).read_bytes())["pid"]
    infinite = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    resource.prlimit(engine, resource.RLIMIT_FSIZE, infinite)
    done = program.finish(process)
    assert done.code == 0, done
    assert "can be written again" in done.err
    assert [len(run.rows) for run in program.runs()] == [10, 10]
    assert len(fault_server.requests) == 20
