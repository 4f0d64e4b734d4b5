"""Suites that are resumed, with which changes, and within which budgets."""

from __future__ import annotations

import pytest
from program import chat_answer
from servers import Reply
from suites import CHAT, Suites, marked


@pytest.mark.slow
def test_identical_evaluations_have_runs_of_their_own_also_when_they_are_resumed(
    suite: Suites,
) -> None:
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


def test_what_differs_continues_only_where_that_is_accepted(suite: Suites) -> None:
    named = [f"{marked(mark)}; name = '{mark}'" for mark in "ab"]
    suite.write(*named)
    assert suite.run().code == 0
    suite.write(*(f"{one}; num_examples = 3" for one in named), top="temperature = 0.5")
    done = suite.run("--resume", "--accept-changes")
    assert done.code == 0, done
    assert [len(run.rows) for run in suite.program.runs()] == [6, 6]
    for run in suite.program.runs():
        assert 'name = "sampling_args.temperature"' in (run.path / "run.toml").read_text()
    suite.write(*named, top="temperature = 0.7")
    assert suite.resumed("--resume") == [None, None], "other ones are new"


@pytest.mark.slow
def test_a_run_that_a_table_names_is_resumed_by_that_evaluation_alone(suite: Suites) -> None:
    suite.write(marked("a"), marked("b"))
    assert suite.run().code == 0
    run = suite.runs()["a"]
    before = {one.path for one in suite.program.runs()}
    named = f'resume = "{run.path}"; num_examples = 3'
    suite.write(f"{marked('a')}; {named}", marked("b"))
    done = suite.run()
    assert done.code == 0, done
    assert len(run.rows) == 6
    assert len(suite.program.runs()) == 3
    (other,) = {one.path for one in suite.program.runs()} - before
    assert suite.resumed("--resume") == [run.path, other], "the other one resumes its newest"
    suite.write(f"{marked('a')}; {named}", f"{marked('a')}; {named}")
    done = suite.refusal()
    assert done.code == 2, done
    assert "two evaluations cannot resume the same run" in done.err


@pytest.mark.slow
def test_each_continues_only_with_runs_of_the_folder_that_it_names(suite: Suites) -> None:
    kept = suite.program.folder / "kept"
    suite.write(marked("a"), marked("b"))
    assert suite.run().code == 0
    suite.write(f"{marked('a')}; output_dir = 'kept'", marked("b"))
    done = suite.run("--resume")
    assert done.code == 0, done
    assert len(suite.program.runs(kept)) == 1, "a run elsewhere is not its own"
    assert len(suite.program.runs()) == 2
    found = [suite.program.runs(kept)[0].path, suite.runs()["b"].path]
    assert suite.resumed("--resume") == found


@pytest.mark.slow
def test_an_evaluation_of_all_examples_is_resumed_as_one_of_as_many(suite: Suites) -> None:
    suite.write(f"{marked('a')}; num_examples = -1", f"{marked('b')}; num_examples = 50")
    assert suite.run().code == 0
    before = {run.path: len(run.rows) for run in suite.program.runs()}
    assert list(before.values()) == [80, 80]
    suite.write(*(f"{marked(mark)}; num_examples = 40" for mark in "ab"))
    assert {*suite.resumed("--resume")} == before.keys()


@pytest.mark.slow
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


def test_a_budget_of_cost_for_all_says_once_where_it_is_blind(suite: Suites) -> None:
    suite.write(marked("a"), marked("b"))
    done = suite.run("--max-cost", "1")
    assert done.code == 0, done
    assert (done.out + done.err).count("--max-cost is blind: nobody knows the prices of m.") == 1
