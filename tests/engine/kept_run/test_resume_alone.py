"""`--resume` without a path: which run of the folder it resumes."""

from __future__ import annotations

import pytest
from kept_run import CHAT, GOOD, evaluate, write
from program import Program, Run
from servers import FaultServer, Reply

BAD = Reply(400, {"error": {"message": "no"}})


@pytest.mark.slow
def test_resume_alone_extends_a_finished_run_to_more_examples_and_no_more_rollouts(
    program: Program, fault_server: FaultServer, begun: Run
) -> None:
    done = evaluate(program, fault_server, "-n", "5", "-s", "--resume")
    assert done.code == 0, done
    assert program.only_run().path == begun.path
    assert len(fault_server.requests) == 2
    done = evaluate(program, fault_server, "-n", "5", "-r", "2", "-s", "--resume")
    assert done.code == 0, done
    assert len(program.runs()) == 2 and begun.places() == [(n, 0) for n in range(5)]
    (new,) = [run for run in program.runs() if run.path != begun.path]
    assert new.places() == [(n, r) for n in range(5) for r in range(2)]


def test_resume_alone_starts_a_new_run_where_less_is_requested(
    program: Program, fault_server: FaultServer, begun: Run
) -> None:
    done = evaluate(program, fault_server, "-n", "2", "-s", "--resume")
    assert done.code == 0, done
    assert "starting a new one" in done.err
    assert len(program.runs()) == 2


def test_resume_alone_returns_at_once_where_all_is_done(
    program: Program, fault_server: FaultServer, begun: Run
) -> None:
    requests_before = len(fault_server.requests)
    done = evaluate(program, fault_server, "-n", "3", "-s", "--resume")
    assert done.code == 0, done
    assert "3 of 3 done" in done.err
    assert len(program.runs()) == 1
    assert len(fault_server.requests) == requests_before


@pytest.mark.slow
def test_resume_alone_extends_no_other_run_where_one_has_all_that_is_requested(
    program: Program, fault_server: FaultServer, begun: Run
) -> None:
    evaluate(program, fault_server, "-n", "1", "-s")
    requests_before = len(fault_server.requests)
    done = evaluate(program, fault_server, "-n", "3", "-s", "--resume")
    assert done.code == 0, done
    assert f"{begun.path.relative_to(program.folder)}: 3 of 3 done" in done.err
    assert len(fault_server.requests) == requests_before


@pytest.mark.slow
def test_resume_alone_takes_the_run_of_the_same_settings_not_a_newer_one(
    program: Program, fault_server: FaultServer, begun: Run
) -> None:
    fault_server.script(CHAT, [Reply(403, {"error": {"message": "no"}}), GOOD])
    evaluate(program, fault_server, "-n", "1", "-T", "0.7")
    done = evaluate(program, fault_server, "-n", "4", "-s", "--resume")
    assert done.code == 0, done
    assert "3 of 3 done" in done.err
    assert Run(begun.path).places() == [(n, 0) for n in range(4)]


@pytest.mark.slow
@pytest.mark.parametrize("first", ["-1", "50"])
def test_resume_alone_knows_how_many_examples_a_run_of_all_has(
    program: Program, fault_server: FaultServer, first: str
) -> None:
    write(program)
    fault_server.script(CHAT, [GOOD] * 9 + [BAD, GOOD])
    evaluate(program, fault_server, "-n", first, "-s", "-c", "1")
    run = program.only_run()
    fault_server.script(CHAT, [GOOD, BAD, GOOD])
    evaluate(program, fault_server, "-n", "2", "-s", "-c", "1")
    less = evaluate(program, fault_server, "-n", "4", "--resume", str(run.path))
    assert less.code == 2, less
    assert "-n is 4, the run has 10 examples" in less.err
    done = evaluate(program, fault_server, "-n", "10", "-s", "--resume")
    assert done.code == 0, done
    assert f"Resuming the run {run.path.relative_to(program.folder)}: 10 of 10 done" in done.err
    assert not any(row["error"] for row in run.rows)
    assert len(program.runs()) == 2


@pytest.mark.slow
def test_resume_alone_takes_no_unsaved_run_of_another_folder(
    program: Program, fault_server: FaultServer
) -> None:
    write(program)
    fault_server.script(CHAT, [GOOD, BAD, GOOD])
    assert evaluate(program, fault_server, "-n", "2", "-c", "1").code == 3
    run = program.only_run()
    program.folder = program.folder / "another"
    program.folder.mkdir()
    write(program)
    done = evaluate(program, fault_server, "-n", "2", "--resume")
    assert done.code == 0, done
    assert "starting a new one" in done.err
    path, folder = run.path, program.folder.parent
    assert f"kept with m, 2 of 2, 1 errored, unsaved: {path} (it was begun in {folder})" in done.err


@pytest.mark.slow
def test_resume_alone_passes_over_a_run_whose_plan_cannot_be_read(
    program: Program, fault_server: FaultServer, begun: Run
) -> None:
    evaluate(program, fault_server, "-n", "3", "-s")
    (broken,) = [run for run in program.runs() if run.path != begun.path]
    (broken.path / "run.toml").write_text("torn = ")
    done = evaluate(program, fault_server, "-n", "3", "-s", "--resume")
    assert done.code == 0, done
    assert f"{begun.path.relative_to(program.folder)}: 3 of 3 done" in done.err


@pytest.mark.slow
def test_resume_alone_takes_no_saved_run_outside_of_the_folder_that_is_named(
    program: Program, fault_server: FaultServer, begun: Run
) -> None:
    done = evaluate(program, fault_server, "-n", "3", "-o", "kept", "--resume")
    assert done.code == 0, done
    (new,) = program.runs(program.folder / "kept")
    assert len(new.rows) == 3
    again = evaluate(program, fault_server, "-n", "3", "-o", "kept", "--resume")
    assert f"{new.path.relative_to(program.folder)}: 3 of 3 done" in again.err
