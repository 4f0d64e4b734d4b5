from __future__ import annotations

import asyncio
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from made_states import rollout, until

from tui_eval.install_commands import extra_command
from tui_eval.parsers.parser import Parser
from tui_eval.rubrics import math_rubric
from tui_eval.rubrics.comparer import Comparers
from tui_eval.rubrics.math_rubric import MathRubric


@pytest.mark.parametrize(
    ("answer", "said", "score"),
    [
        ("42", r"So it is \boxed{42}.", 1.0),
        ("42", r"So it is \boxed{43}.", 0.0),
        (42, r"\boxed{42.0}", 1.0),
        ("1/2", r"\boxed{\frac{1}{2}}", 1.0),
        (r"\frac{1}{2}", r"\boxed{0.5}", 1.0),
        ("x^2+1", r"\boxed{1 + x^2}", 1.0),
        ("42", "42", 1.0),
        ("42", "", 0.0),
        ("42", r"<think>\boxed{42}</think> \boxed{41}", 0.0),
        ("42", r"<think>\boxed{41}</think> \boxed{42}", 1.0),
        ("42", "There is no number here", 0.0),
    ],
)
@pytest.mark.process
async def test_answers_are_compared_as_mathematics(answer, said, score):
    state = rollout(answer, said=said)
    await MathRubric().score_rollout(state)
    assert state["error"] is None
    assert state["metrics"] == {"correct_answer": score}
    assert state["reward"] == score


@pytest.mark.process
async def test_it_comes_after_the_functions_that_are_given():
    def length(completion):
        return 3.0

    rubric = MathRubric([length], [0.5], Parser())
    state = rollout("7", said="7")
    await rubric.score_rollout(state)
    assert [record["name"] for record in state.scores] == ["length", "correct_answer"]
    assert state["reward"] == 2.5


@pytest.mark.process
async def test_a_correct_answer_without_mathematics_is_an_error():
    state = rollout("", said=r"\boxed{1}")
    await MathRubric().score_rollout(state)
    assert "no mathematics in the correct answer ''" in str(state["error"])


@pytest.mark.slow
@pytest.mark.process
async def test_an_answer_that_takes_for_ever_is_an_error_and_holds_nothing_up():
    endless, next_one = rollout("1", said=r"\boxed{10^{10^{10}}}"), rollout("42")
    rubric = MathRubric(timeout_seconds=0.5)
    await rubric.score_rollout(endless)
    assert endless["metrics"] == {}
    assert "'correct_answer' failed: TimeoutError" in str(endless["error"])
    assert "longer than its time limit of 0.5 s" in str(endless["error"])
    patient = MathRubric(timeout_seconds=math.inf)
    await patient.score_rollout(next_one)
    assert next_one["reward"] == 1.0


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="reads the processor time of a process")
async def test_a_comparison_that_gets_no_processor_for_a_while_has_its_whole_limit():
    comparers, limit_s = Comparers(), 0.5
    await asyncio.to_thread(comparers.compare, "1", "1.0", 60)
    pid = comparers._idle[0]._process.pid

    def used_s():
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    before = used_s()
    comparing = asyncio.create_task(
        asyncio.to_thread(comparers.compare, "1", "10^{10^{10}}", limit_s)
    )
    await until(lambda: used_s() > before + 0.1)
    os.kill(pid, signal.SIGSTOP)
    stopped, last = time.monotonic(), used_s()
    await until(lambda: time.monotonic() > stopped + 2 * limit_s)
    os.kill(pid, signal.SIGCONT)
    await until(lambda: comparing.done() or used_s() > last + 0.1)
    assert not comparing.done()
    with pytest.raises(TimeoutError, match="longer than its time limit"):
        await comparing


@pytest.mark.slow
@pytest.mark.process
async def test_a_comparison_whose_process_is_killed_is_an_error_and_the_next_has_another():
    comparers = Comparers()
    assert comparers.compare("1", "1.0", 60) is True
    (comparer,) = comparers._idle
    comparer._process.kill()
    with pytest.raises(ChildProcessError, match="ended with code -9"):
        comparers.compare("1", "1", 60)
    assert comparers.compare("1", "2", 60) is False


@pytest.mark.process
def test_a_path_object_among_the_places_of_modules_is_passed_over(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "path", [tmp_path, *sys.path])
    assert Comparers().compare("1", "1.0", 60) is True


@pytest.mark.process
def test_a_comparing_process_ends_with_a_program_that_is_killed():
    code = (
        "import os, signal; from tui_eval.rubrics.comparer import Comparers; c = Comparers();"
        "c.compare('1', '1', 60); c._idle[0]._connection.send(('1', '10^{10^{10}}', 0.5));"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    # It has the same standard error, which is read until nobody is left who could write to it.
    killed = subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE, timeout=120)
    assert (killed.returncode, killed.stderr) == (-9, b"")


@pytest.mark.process
async def test_not_more_comparisons_run_at_once_than_requested(monkeypatch):
    comparers = Comparers()
    monkeypatch.setattr(math_rubric, "_COMPARERS", comparers)
    states = [rollout() for _ in range(12)]
    await MathRubric(max_workers=1).score_group(states)
    assert [state["reward"] for state in states] == [1.0] * 12
    assert len(comparers._idle) == 1


async def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "math_verify", None)
    state = rollout()
    await MathRubric().score_rollout(state)
    assert extra_command("math") in str(state["error"])
