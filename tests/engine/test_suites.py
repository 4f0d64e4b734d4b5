"""Files with several evaluations: one engine, shared limits, runs of their own."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from program import Finished, Program, Run, chat_answer, wait_until
from servers import FaultServer, Reply

from tui_eval.engine.live_feed import LiveFeed
from tui_eval.engine.suites_at_work import at_work_on
from tui_eval.events import (
    CommandAnswered,
    EvaluationMoved,
    Event,
    MoveLimit,
    Noticed,
    Pause,
    Rerun,
    Resume,
    RunStarted,
    Stop,
)
from tui_eval.fold.run_state import RunState
from tui_eval.fold.suite_state import SuiteState
from tui_eval.runs.lock import holder

CHAT = "/v1/chat/completions"

NUMBERED = """
    import tui_eval as vf

    def load_environment(fail: bool = False, mark: str = ""):
        print(f"loading {mark}")
        if fail:
            raise ValueError("no such split")

        async def scored(completion):
            print(f"scoring {mark}")
            return 1.0

        return vf.SingleTurnEnv(
            dataset=[{"question": f"{mark}{i}", "answer": "x"} for i in range(40)],
            rubric=vf.Rubric(funcs=[scored]),
        )
"""


@pytest.fixture
def suite(program: Program, fault_server: FaultServer) -> Suites:
    program.environment("numbered", NUMBERED)
    program.environment("other", NUMBERED)
    return Suites(program, fault_server)


class Suites:
    """Writes files of evaluations of `numbered` at a server, and runs them."""

    def __init__(self, program: Program, server: FaultServer) -> None:
        self.program = program
        self.server = server
        server.script(CHAT, [Reply(body=chat_answer("yes"))])

    def write(self, *own: str, top: str = "") -> None:
        """One table for each text; lines are separated by semicolons."""
        lines = [
            'model = "m"', f'api_base_url = "{self.server.url}/v1"', "num_examples = 2",
            "rollouts_per_example = 2", *top.split("; "),
        ]  # fmt: skip
        if "save_results" not in top:
            lines.append("save_results = true")
        for one in own:
            name = "" if "env_id" in one else 'env_id = "numbered"'
            lines += ["[[eval]]", name, *one.split("; ")]
        (self.program.folder / "suite.toml").write_text("\n".join(lines))

    def run(self, *args: str) -> Finished:
        return self.program.run("suite.toml", *args)

    def runs(self) -> dict[str, Run]:
        """By the mark of their evaluation."""
        every = self.program.runs(self.program.folder / "outputs")
        return {run.metadata["env_args"].get("mark", ""): run for run in every}


def marked(mark: str, more: str = "") -> str:
    return f'env_args = {{ mark = "{mark}"{more} }}'


@pytest.mark.parametrize(
    ("name", "rollouts"),
    [
        ("benchmark", [18, 30, 30]),
        ("compare", [40, 40, 40]),
        ("detailed", [24, 24, 24]),
        ("sweep", [12] * 6),
    ],
)
def test_the_files_that_come_with_the_program_run_as_they_are(
    program: Program, name: str, rollouts: list[int]
) -> None:
    shipped = Path(__file__).parents[2] / "configs" / "eval" / f"{name}.toml"
    done = program.run(str(shipped))
    assert done.code == 0, done
    runs = program.runs(program.state)
    assert sorted(len(run.rows) for run in runs) == rollouts
    assert all(row["error"] is None for run in runs for row in run.rows)
    count = len(rollouts)
    table = done.out[done.out.rindex("environment") :].split("pass@r:")[0].splitlines()
    rows = [line for line in table if re.search(r" \d+ +\d+ +-?\d\.\d\d", line)]
    assert len(rows) == len(set(rows)) == count, done.out
    assert f"{count} of {count} evaluations finished" in done.out
    assert all(str(run.path) in done.out for run in runs)


def test_the_shared_limit_is_never_passed_and_kept_full_over_all_evaluations(
    suite: Suites,
) -> None:
    suite.server.script(CHAT, [Reply(body=chat_answer("yes"), delay=0.5)])
    suite.write(*(marked(str(n)) for n in range(6)), top="max_concurrent = 8")
    done = suite.run()
    assert done.code == 0, done
    assert suite.server.most_at_once == 8
    assert len(suite.server.requests) == 24
    history = suite.server.at_once
    last_begun = max(at for (_, n), (at, m) in pairwise(history) if m > n)
    first_full = next(at for at, n in history if n == 8)
    full = sum(
        until - at for (at, n), (until, _) in pairwise(history)
        if n >= 6 and first_full <= at < last_begun
    )  # fmt: skip
    assert full > 0.6 * (last_begun - first_full), history


def test_without_a_limit_for_all_the_greatest_holds_and_each_keeps_its_own(
    suite: Suites,
) -> None:
    slow = [Reply(body=chat_answer("yes"), delay=0.2)]
    suite.server.script(CHAT, slow)
    with FaultServer() as other:
        other.script(CHAT, slow)
        elsewhere = f'api_base_url = "{other.url}/v1"'
        suite.write(
            f"{marked('a')}; max_concurrent = 1; num_examples = 6",
            f"{marked('b')}; max_concurrent = 3; num_examples = 8; {elsewhere}",
        )
        done = suite.run()
        assert done.code == 0, done
        assert suite.server.most_at_once == 1
        moments = [(at, 0, n) for at, n in suite.server.at_once]
        moments += [(at, 1, n) for at, n in other.at_once]
    now, seen = [0, 0], set()
    for _, server, count in sorted(moments):
        now[server] = count
        seen.add(tuple(now))
    assert max(map(sum, seen)) == 3, "the greatest limit holds over both"
    assert (1, 2) in seen, "what the limit of one leaves free the other takes"


def test_the_limit_of_an_endpoint_is_one_for_all_who_use_it(suite: Suites) -> None:
    suite.server.script(CHAT, [Reply(body=chat_answer("yes"), delay=0.1)])
    configs = suite.program.folder / "configs"
    configs.mkdir()
    (configs / "endpoints.toml").write_text(
        f'[[endpoint]]\nendpoint_id = "one"\nmodel = "m"\nurl = "{suite.server.url}/v1"\n'
        "max_concurrent = 2\n"
    )
    (suite.program.folder / "suite.toml").write_text(
        'model = "one"\nnum_examples = 3\nrollouts_per_example = 1\nenv_id = "numbered"\n'
        f"[[eval]]\n{marked('a')}\n[[eval]]\n{marked('b')}\n"
    )
    done = suite.run()
    assert done.code == 0, done
    assert (suite.server.most_at_once, len(suite.server.requests)) == (2, 6)


def test_an_evaluation_that_cannot_begin_leaves_the_others_alone(suite: Suites) -> None:
    suite.write(marked("a"), marked("b", ", fail = true"), marked("c"))
    done = suite.run()
    assert done.code == 2, done
    assert "[2/3] numbered" in done.err and "ValueError: no such split" in done.err
    assert {mark: len(run.rows) for mark, run in suite.runs().items()} == {"a": 4, "c": 4}
    assert "2 of 3 evaluations finished" in done.out


def test_an_evaluation_whose_output_cannot_be_written_fails_alone(suite: Suites) -> None:
    suite.write(marked("a"), f'{marked("b")}; output_dir = "taken/below"', marked("c"))
    (suite.program.folder / "taken").write_text("a file")
    done = suite.run("--no-preflight")
    assert done.code == 2, done
    assert "the run cannot be written here" in done.err
    assert suite.runs().keys() == {"a", "c"}


def test_everything_wrong_is_told_at_once_and_nothing_begins(suite: Suites) -> None:
    suite.write(marked("a"), 'env_id = "nowhere"', "max_retires = 2", 'api_key_var = "NO_SUCH_KEY"')
    done = suite.run("--resume", "some/run")
    assert done.code == 2, done
    assert "unknown key 'max_retires'" in done.err
    assert "nowhere" in done.err
    assert "some/run is one run, and the file has 4 evaluations" in done.err
    assert not suite.program.runs()
    assert not suite.server.requests


@pytest.mark.parametrize("other", ['api_key_var = "NO_SUCH_KEY"', "env_args = { nope = 1 }", ""])
def test_columns_of_every_evaluation_are_looked_at(suite: Suites, other: str) -> None:
    suite.write(other, 'state_columns = ["completoin"]')
    done = suite.run()
    assert done.code == 2, done
    assert "-C completoin" in done.err
    assert ("NO_SUCH_KEY" in done.err) == ("KEY" in other)
    assert ("argument nope" in done.err) == ("nope" in other)
    assert not suite.program.runs()


def test_a_column_that_no_state_had_is_told_with_its_evaluation(suite: Suites) -> None:
    suite.write(marked("a"), f'{marked("b")}; state_columns = ["totally_unknown"]')
    done = suite.run()
    assert done.code == 0, done
    assert done.err.count("-C totally_unknown") == 1
    (told,) = [line for line in done.out.splitlines() if "in no rollout's state" in line]
    assert told.startswith("[2/2] numbered (") and ": column totally_unknown: " in told


def test_what_an_environment_prints_goes_to_the_log_of_its_own_run(
    suite: Suites,
) -> None:
    suite.write(marked("first"), marked("second"))
    assert suite.run().code == 0
    runs = suite.runs()
    assert runs["second"].log.count("loading second") == 1
    for mark, other in (("first", "second"), ("second", "first")):
        assert runs[mark].log.count(f"scoring {mark}") == 4
        assert f"scoring {other}" not in runs[mark].log


def test_what_bypasses_python_and_what_the_first_check_prints_is_kept_in_the_first_log(
    suite: Suites,
) -> None:
    raw = NUMBERED.replace("import tui_eval", "import os\n    import tui_eval", 1).replace(
        'print(f"scoring {mark}")', 'os.system(f"echo raw {mark}")'
    )
    suite.program.environment("numbered", raw.replace('print(f"', 'os.system(f"echo '))
    suite.write(marked("first"), marked("second"))
    assert suite.run().code == 0
    log = suite.runs()["first"].log
    assert log.count("loading first") == log.count("loading second") == 1
    assert log.count("raw first") == log.count("raw second") == 4
    suite.program.environment("numbered", NUMBERED)
    suite.write(marked("first"), marked("second"), top="output_dir = 'again'")
    assert suite.run().code == 0
    (printed,) = (p for p in suite.program.folder.glob("again/**/engine.log")
                  if "scoring first" in p.read_text())  # fmt: skip
    assert printed.read_text().count("loading first") == 1


def test_only_the_verbose_ones_among_the_evaluations_log_all(suite: Suites) -> None:
    suite.write(f"{marked('a')}; verbose = true", marked("b"))
    assert suite.run().code == 0
    assert suite.runs()["a"].log.count("answered, 10 + 5 tokens") == 4
    assert "DEBUG" not in suite.runs()["b"].log


def test_a_stop_is_over_in_time_and_what_has_not_begun_leaves_nothing(suite: Suites) -> None:
    suite.server.script(CHAT, [Reply(body=chat_answer("yes"))] * 6 + [Reply(hang=True)])
    suite.write(*(marked(mark) for mark in "abc"), top="max_concurrent = 2")
    process = suite.program.start("suite.toml")
    wait_until(lambda: len(suite.server.requests) >= 8, "the second one hangs")
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    done = suite.program.finish(process)
    assert time.monotonic() - began < 2.5
    assert done.code == 130, done
    assert {mark: len(run.rows) for mark, run in suite.runs().items()} == {"a": 4, "b": 2}
    assert "Go on: tui-eval run suite.toml --resume" in done.out

    suite.server.script(CHAT, [Reply(body=chat_answer("yes"))])
    asked = len(suite.server.requests)
    again = suite.run("--resume")
    assert again.code == 0, again
    assert {mark: len(run.rows) for mark, run in suite.runs().items()} == dict.fromkeys("abc", 4)
    assert len(suite.server.requests) == asked + 2 + 4
    assert all(len(set(run.places())) == 4 for run in suite.runs().values())
    assert "[1/3] numbered" in again.out and "complete already, 4 rollouts" in again.out
    assert "goes on, 2 of 4 rollouts done" in again.out
    assert again.out.count(": begins, ") == 1
    once_more = suite.run("--resume")
    assert once_more.code == 0, once_more
    assert once_more.out.count("complete already, 4 rollouts") == 3
    assert "begins" not in once_more.out
    assert len(suite.server.requests) == asked + 2 + 4, "complete ones return at once"
    assert len(suite.program.runs()) == 3


def test_identical_evaluations_have_runs_of_their_own_also_when_they_go_on(suite: Suites) -> None:
    suite.server.script(CHAT, [Reply(body=chat_answer("yes"))] * 6 + [Reply(400)])
    suite.write(marked("a"), marked("a"), top="max_concurrent = 1")
    assert suite.run().code == 3
    before = {run.path: len(run.rows) for run in suite.program.runs()}
    assert sorted(before.values()) == [4, 4]
    suite.server.script(CHAT, [Reply(body=chat_answer("yes"))])
    done = suite.run("--resume")
    assert done.code == 0, done
    assert {run.path for run in suite.program.runs()} == before.keys()
    assert all(len(run.rows) == 4 for run in suite.program.runs())


def test_what_differs_goes_on_only_where_that_is_accepted(suite: Suites) -> None:
    named = [f"{marked(mark)}; name = '{mark}'" for mark in "ab"]
    suite.write(*named)
    assert suite.run().code == 0
    suite.write(*(f"{one}; num_examples = 3" for one in named), top="temperature = 0.5")
    done = suite.run("--resume", "--accept-changes")
    assert done.code == 0, done
    assert [len(run.rows) for run in suite.program.runs()] == [6, 6]
    for run in suite.program.runs():
        assert 'name = "sampling_args"' in (run.path / "run.toml").read_text()
    suite.write(*named, top="temperature = 0.7")
    assert suite.run("--resume").code == 0
    assert [len(run.rows) for run in suite.program.runs()] != [6, 6], "other ones are new"


def test_a_run_that_a_table_names_is_gone_on_with_by_that_evaluation_alone(suite: Suites) -> None:
    suite.write(marked("a"), marked("b"))
    assert suite.run().code == 0
    run = suite.runs()["a"]
    named = f'resume = "{run.path}"; num_examples = 3'
    suite.write(f"{marked('a')}; {named}", marked("b"))
    done = suite.run()
    assert done.code == 0, done
    assert len(run.rows) == 6
    assert len(suite.program.runs()) == 3
    done = suite.run("--resume")
    assert done.code == 0, done
    assert len(suite.program.runs()) == 3, "the other one goes on with its newest"
    suite.write(f"{marked('a')}; {named}", f"{marked('a')}; {named}")
    done = suite.run()
    assert done.code == 2, done
    assert "two evaluations cannot go on with the same run" in done.err


def test_a_budget_that_was_typed_is_one_for_all(suite: Suites) -> None:
    suite.write(*(marked(mark) for mark in "abc"), top="max_concurrent = 1")
    done = suite.run("--max-total-tokens", "90")
    assert done.code == 4, done
    assert {mark: len(run.rows) for mark, run in suite.runs().items()} == {"a": 4, "b": 2}
    assert "90 tokens are used, the limit is 90" in done.err
    done = suite.run("--max-total-tokens", "900", "--resume")
    assert done.code == 0, done
    assert {mark: len(run.rows) for mark, run in suite.runs().items()} == dict.fromkeys("abc", 4)


def test_a_budget_in_a_table_is_that_evaluations_own(suite: Suites) -> None:
    suite.write(marked("a"), f"{marked('b')}; max_total_tokens = 30; max_concurrent = 1",
                marked("c"))  # fmt: skip
    done = suite.run()
    assert done.code == 4, done
    rows = {mark: len(run.rows) for mark, run in suite.runs().items()}
    assert rows == {"a": 4, "b": 2, "c": 4}


def test_a_budget_of_cost_for_all_needs_every_price(suite: Suites) -> None:
    suite.write(marked("a"), marked("b"))
    done = suite.run("--max-cost", "1")
    assert done.code == 2, done
    assert "--max-cost: the prices of m are not known" in done.err


def test_json_has_one_object_with_every_evaluation(suite: Suites) -> None:
    suite.write(marked("a"), marked("b", ", fail = true"), f"{marked('c')}; name = 'last'")
    done = suite.run("--json")
    assert done.code == 2, done
    assert done.out.count("\n") == 1
    found = json.loads(done.out)
    assert (found["version"], found["exit_code"]) == (1, 2)
    first, second, third = found["evaluations"]
    assert (first["status"], first["counts"]["used"]) == ("finished", 4)
    assert first["path"] == str(suite.runs()["a"].path)
    assert first["settings"]["max_concurrent"] == 32
    assert (second["status"], second["exit_code"]) == ("refused", 2)
    assert "no such split" in second["error"]
    assert (third["title"], third["varies"]) == ("last", {"env_args.mark": "c"})


def test_abbreviated_leaves_out_the_table(suite: Suites) -> None:
    suite.write(marked("a"), marked("b"))
    done = suite.run("-A")
    assert "pass@r" not in done.out
    assert "2 of 2 evaluations finished" in done.out


def test_evaluations_that_nobody_saved_can_be_by_the_line_that_is_told(suite: Suites) -> None:
    suite.write(marked("a"), marked("b"), top="save_results = false")
    done = suite.run("-A")
    assert done.out.count(str(suite.program.state)) == 4  # listed, and in the line
    (line,) = [line for line in done.out.splitlines() if line.startswith("Save them: tui-eval ")]
    saved = suite.program.run(*shlex.split(line)[3:])
    assert saved.code == 0, saved
    assert suite.runs().keys() == {"a", "b"}


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


def test_errors_are_told_with_their_evaluation(suite: Suites) -> None:
    suite.server.script(CHAT, [Reply(body=chat_answer("yes"))] * 4 + [Reply(400)])
    suite.write(marked("a"), marked("b"), top="max_concurrent = 1")
    done = suite.run()
    assert done.code == 3, done
    told = [line for line in done.err.splitlines() if "error: [2/2] numbered (mark=b)" in line]
    assert len(told) == 3
    assert "further ModelError -> BadRequestError are counted and not printed" in done.err
    assert "[2/2] numbered (mark=b): finished, 4 rollouts, 4 errored" in done.out


def test_an_error_of_peoples_code_is_told_with_its_place(suite: Suites) -> None:
    suite.program.environment("numbered", NUMBERED.replace("return 1.0", "return 1 / 0"))
    suite.write(marked("a"), marked("b"))
    done = suite.run()
    assert done.code == 3, done
    assert "float division" in done.err or "division by zero" in done.err
    assert "(environments/numbered.py:11 in scored)" in done.err


BLOCKING = """
    import time
    import tui_eval as vf

    def load_environment(mark: str = ""):
        def scored(completion, **kwargs):
            if completion[-1]["content"] == "block":
                time.sleep(60)
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
    wait_until(lambda: len(suite.server.requests) >= 7, "the loop is held")
    if how == signal.SIGTERM:
        process.send_signal(how)
    else:
        (held,) = [one for run in suite.runs().values() if (one := holder(run.path / "lock"))]
        wait_until(lambda: len(suite.runs()["b"].rows) == 2, "what was answered is on disk")
        os.kill(held.pid, how)
    began = time.monotonic()
    done = suite.program.finish(process)
    assert time.monotonic() - began < 4
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
                os.kill(os.getpid(), signal.SIGKILL)
            return state

    def load_environment(mark: str = ""):
        return Killed(dataset=[{"question": "?"}], rubric=vf.Rubric(funcs=[]))
"""


def test_no_run_is_left_running_where_the_engine_dies_as_it_begins(suite: Suites) -> None:
    suite.program.environment("numbered", KILLED)
    suite.write(marked("a"), marked("b"))
    done = suite.run()
    assert done.code == 1, done
    assert [run.metadata["status"] for run in suite.runs().values()] == ["failed"] * 2
    assert not list(suite.program.folder.rglob("lock"))


def test_environments_with_a_folder_of_their_own_keep_what_stands_beside_them(
    suite: Suites,
) -> None:
    for name in ("one", "two"):
        folder = suite.program.folder / "environments" / f"{name}_env"
        folder.mkdir()
        (folder / f"{name}_words.py").write_text(f"WORD = {name!r}\n")
        (folder / f"{name}_env.py").write_text(
            "import tui_eval as vf\n\n\n"
            "def scored(completion):\n"
            f"    import {name}_words\n\n"
            f"    return float({name}_words.WORD == {name!r})\n\n\n"
            "def load_environment():\n"
            '    rows = [{"question": str(i)} for i in range(9)]\n'
            "    return vf.SingleTurnEnv(dataset=rows, rubric=vf.Rubric(funcs=[scored]))\n"
        )
    suite.write('env_id = "one-env"', 'env_id = "two-env"', 'env_id = "one-env"; temperature = 0.1')
    done = suite.run()
    assert done.code == 0, done
    found = suite.program.folder.rglob("results.jsonl")
    rows = [row for path in found for row in Run(path.parent).rows]
    assert len(rows) == 12
    assert all(row["reward"] == 1.0 for row in rows), [row["error"] for row in rows]


class Seat:
    """A listener, with what it heard folded both ways."""

    def __init__(self, feed: LiveFeed) -> None:
        self.feed = feed
        self.suite = SuiteState()
        self.state = RunState()
        self.heard: list[Event] = []

    async def until(self, condition: Any, what: str) -> Any:
        async with asyncio.timeout(30):
            while not (value := condition()):
                for event in self.feed.drain():
                    self.heard.append(event)
                    self.suite.apply(event)
                    self.state.apply(event)
                await asyncio.sleep(0.01)
            return value
        raise AssertionError(what)


@asynccontextmanager
async def seat(feed: LiveFeed) -> AsyncIterator[Seat]:
    await feed.start()
    try:
        yield Seat(feed)
    finally:
        await feed.close()
        if feed.engine is not None:
            feed.engine.stop()
            await asyncio.to_thread(feed.engine.wait)
            feed.engine.clean_up()


@pytest.fixture
def here(suite: Suites, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(suite.program.folder)
    for name, value in suite.program.env.items():
        monkeypatch.setenv(name, value)


REQUEST = {"env_id": "suite.toml", "raw": {}}


@pytest.mark.usefixtures("here")
async def test_one_evaluation_can_be_joined_left_and_stopped_at_its_own_socket(
    suite: Suites,
) -> None:
    suite.server.script(CHAT, [Reply(body=chat_answer("yes"), delay=0.2)])
    suite.write(
        f"{marked('a')}; num_examples = 20; max_concurrent = 2",
        f"{marked('b')}; max_concurrent = 2",
        top="max_concurrent = 4",
    )
    async with seat(LiveFeed(REQUEST)) as root:
        await root.until(lambda: root.suite.running, "the first one runs")
        first = root.suite.evaluations[0]
        held = holder(Path(first.last.path) / "lock")
        assert held is not None and held.socket == first.last.socket
        async with seat(LiveFeed(socket_path=held.socket)) as one:
            await one.until(lambda: one.state.finished >= 2, "its rollouts are told")
            assert one.state.run is not None and one.state.run.path == first.last.path
        async with seat(LiveFeed(socket_path=held.socket)) as one:
            await one.until(lambda: one.state.finished >= 4, "it goes on when left")
            one.feed.send(Stop())
            await one.until(lambda: one.state.end, "it ends")
            assert one.state.end is not None and one.state.end.status == "interrupted"
        await root.until(lambda: root.suite.end, "the others go on")
        assert [one.last.status for one in root.suite.evaluations] == ["interrupted", "finished"]
        assert root.suite.end is not None and root.suite.end.exit_code == 130
        assert all(one.last.saved for one in root.suite.evaluations)
        assert not root.state.run and not [e for e in root.heard if isinstance(e, RunStarted)]
    assert 4 <= len(suite.runs()["a"].rows) < 40
    assert len(suite.runs()["b"].rows) == 4


@pytest.mark.usefixtures("here")
async def test_the_limit_of_all_moves_and_one_that_has_fewer_of_its_own_keeps_them(
    suite: Suites,
) -> None:
    suite.server.script(CHAT, [Reply(hang=True)])
    tables = (f"{marked('a')}; max_concurrent = 1", marked("b"), marked("c"))
    suite.write(*tables, top="max_concurrent = 2")
    async with seat(LiveFeed(REQUEST)) as root:
        await root.until(lambda: len(suite.server.requests) == 2, "two are in flight")
        root.feed.send(MoveLimit(6))
        await root.until(lambda: len(suite.server.requests) == 6, "six are")
        await root.until(lambda: root.suite.limit_moved, "everybody hears it")
        assert root.suite.started is not None and root.suite.started.max_concurrent == 6
        await root.until(
            lambda: [one.last.running for one in root.suite.evaluations] == [1, 4, 1],
            "the first one has no more",
        )
        root.feed.send(Rerun())
        await root.until(
            lambda: any(isinstance(one, CommandAnswered) and not one.done for one in root.heard),
            "a suite has no rollouts",
        )


@pytest.mark.usefixtures("here")
async def test_nothing_is_begun_again_while_an_engine_works_on_it(suite: Suites) -> None:
    suite.server.script(CHAT, [Reply(body=chat_answer("yes"), delay=0.05)])
    suite.write(*(f"{marked(mark)}; num_examples = 6" for mark in "ab"), top="max_concurrent = 2")
    file = suite.program.folder / "suite.toml"
    other = file.with_name("other.toml")
    other.write_text(file.read_text())
    async with seat(LiveFeed(REQUEST)) as root:
        await root.until(lambda: root.suite.running, "the first one runs")
        root.feed.send(Pause())
        again = await asyncio.to_thread(suite.run, "--resume")
        assert again.code == 2, again
        assert "suite.toml: process " in again.err
        assert "is working on these evaluations. Join them: tui-eval open suite.toml" in again.err
        path = root.suite.evaluations[0].last.path
        assert f"/{Path(path).name}: process" in again.err
        same = await asyncio.to_thread(suite.program.run, "other.toml", "--resume")
        assert same.code == 2, same
        assert f"{Path(path).name}: process" in same.err
        assert "Join it: tui-eval open" in same.err
        root.feed.send(Resume())
        await root.until(lambda: root.suite.end, "it ends")
    assert {mark: len(run.rows) for mark, run in suite.runs().items()} == {"a": 12, "b": 12}
    assert len(suite.program.runs()) == 2
    assert suite.run("--resume").code == 0


@pytest.mark.usefixtures("here")
async def test_who_joins_the_whole_later_hears_how_all_of_it_stands(suite: Suites) -> None:
    suite.server.script(CHAT, [Reply(body=chat_answer("yes"), delay=0.05)])
    suite.write(*(f"{marked(mark)}; num_examples = 10" for mark in "ab"), top="max_concurrent = 4")
    async with seat(LiveFeed(REQUEST)) as root:
        await root.until(lambda: root.suite.over, "the first one is over")
        root.feed.send(Pause())
        await root.until(lambda: not root.suite.gate_open, "the gate is closed")
        held = at_work_on(suite.program.folder / "suite.toml")
        assert held is not None
        async with seat(LiveFeed(socket_path=held.socket)) as late:
            await late.until(lambda: not late.suite.gate_open, "it hears all of it")
            assert [one.last.status for one in late.suite.evaluations] == ["finished", "running"]
            late.feed.send(Resume())
            await late.until(lambda: late.suite.end, "it ends")
    assert at_work_on(suite.program.folder / "suite.toml") is None


@pytest.mark.usefixtures("here")
async def test_a_pause_at_the_root_holds_all_and_numbers_are_told_seldom(suite: Suites) -> None:
    suite.server.script(CHAT, [Reply(body=chat_answer("yes"), delay=0.05)])
    suite.write(
        *(f"{marked(mark)}; num_examples = 10" for mark in "abc"),
        top="max_concurrent = 4; save_results = false",
    )
    async with seat(LiveFeed(REQUEST)) as root:
        await root.until(lambda: root.suite.running, "the first one runs")
        root.feed.send(Pause())
        await root.until(lambda: not root.state.gate_open, "the gate is closed")
        await asyncio.sleep(0.3)
        asked = len(suite.server.requests)
        await asyncio.sleep(0.5)
        assert len(suite.server.requests) == asked < 60
        root.feed.send(Resume())
        await root.until(lambda: root.suite.end, "it ends")
        assert root.suite.end is not None and root.suite.end.exit_code == 0
        moved = [event for event in root.heard if isinstance(event, EvaluationMoved)]
        for place in range(3):
            own = [event for event in moved if event.index == place]
            assert own[0].status == "running" and own[-1].status == "finished"
            assert (own[-1].total, own[-1].finished, own[-1].reward) == (20, 20, 1.0)
            assert not own[-1].saved
            assert all(b.at - a.at > 0.2 for a, b in pairwise(own[1:-1]))
        assert not [e for e in root.heard if isinstance(e, Noticed) and e.level == "warning"]
