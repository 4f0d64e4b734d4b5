"""A run that goes on is the same run: what differs is listed, refused or accepted, and kept."""

from __future__ import annotations

import os
import shutil
import signal
import textwrap
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from program import TWO_TURNS, Finished, Program, Run, chat_answer, wait_until
from run_here import run_here
from servers import FaultServer, Reply

from tui_eval.runs.journal_records import read_journal
from tui_eval.runs.layout import RunDir

CHAT = "/v1/chat/completions"
GOOD = Reply(body=chat_answer("yes"))
BAD = Reply(400, {"error": {"message": "no"}})

ENV = """
    import tui_eval as vf

    def load_environment(level=1):
        rows = [{"question": f"q{n}WORD", "answer": "a"} for n in range(10)]
        return vf.SingleTurnEnv(dataset=rows, rubric=vf.Rubric(funcs=[FUNCTION]))
"""


def write(program: Program, word: str = "", function: str = "lambda answer: 1.0") -> None:
    program.environment("kept", ENV.replace("WORD", word).replace("FUNCTION", function))


@dataclass(frozen=True)
class Kept:
    """A folder with a finished run of three examples, the server that was asked, and a copy."""

    folder: Path
    server: FaultServer
    copy: Path


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    """The run is made once; every test finds it, or nothing, in the same folder."""
    folder = tmp_path_factory.mktemp("kept")
    program = Program(folder)
    write(program)
    with FaultServer() as server:
        server.script(CHAT, [GOOD])
        done = evaluate(program, server, "-n", "3", "-s")
        program.end_all()
        assert done.code == 0, done
        copy = tmp_path_factory.mktemp("copy")
        shutil.copytree(folder, copy, dirs_exist_ok=True)
        yield Kept(folder, server, copy)


@pytest.fixture
def fault_server(kept: Kept) -> FaultServer:
    kept.server.script(CHAT, [GOOD])
    kept.server.requests.clear()
    return kept.server


@pytest.fixture
def program(kept: Kept) -> Iterator[Program]:
    for path in kept.folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    program = Program(kept.folder)
    yield program
    program.end_all()


@pytest.fixture
def begun(kept: Kept, program: Program) -> Run:
    """The finished run of three examples."""
    shutil.copytree(kept.copy, kept.folder, dirs_exist_ok=True)
    return program.only_run()


def evaluate(program: Program, server: FaultServer, *more: str) -> Finished:
    return run_here(program, "kept", "-m", "m", "-b", f"{server.url}/v1", "-r", "1", *more)


def plan_of(run: Run) -> dict[str, Any]:
    return tomllib.loads((run.path / "run.toml").read_text())


def test_every_difference_is_listed_refused_and_accepted_only_if_asked(
    program: Program, fault_server: FaultServer, begun: Run
) -> None:
    write(program, " again")
    changed = (
        *("run", "--resume", str(begun.path), "-n", "5", "-m", "other", "-T", "0.5"),
        *("-b", fault_server.url.replace("127.0.0.1", "localhost") + "/v1"),
        *("-a", '{"level": 2}', "-x", '{"max_seq_len": 9}'),
    )
    before = {file: file.read_bytes() for file in begun.path.iterdir()}
    refused = run_here(program, *changed)
    assert refused.code == 2, refused
    for said in (
        'model is "other", the run has "m"',
        "base_url is",
        "sampling_args.temperature is 0.5, the run has nothing",
        "env_args.level is 2, the run has nothing",
        "extra_env_kwargs.max_seq_len is 9, the run has nothing",
        'dataset is "3 examples',
        "--accept-changes",
    ):
        assert said in refused.err, said
    assert {file: file.read_bytes() for file in begun.path.iterdir()} == before
    done = run_here(program, *changed, "--accept-changes")
    assert done.code == 0, done
    assert 'Accepted: model is "other", the run has "m"' in done.err
    assert begun.places() == [(n, 0) for n in range(5)]
    kept = plan_of(begun)["changes"]
    assert {one["name"] for one in kept} >= {
        *("model", "base_url", "dataset", "sampling_args.temperature"),
        *("env_args.level", "extra_env_kwargs.max_seq_len"),
    }  # fmt: skip
    assert all(one["at"] and one["before"] and one["now"] for one in kept)
    assert plan_of(begun)["model"] == "other"
    again = run_here(program, "run", "--resume", str(begun.path))
    assert again.code == 0, again
    assert plan_of(begun)["changes"] == kept
    for order in (["--shuffle"], ["--shuffle-seed", "3"]):
        other = run_here(program, "run", "--resume", str(begun.path), *order, "--accept-changes")
        assert other.code == 2, other
        assert f"{order[0][2:].replace('-', '_')} is" in other.err


def test_other_prompts_of_what_is_done_are_noticed_and_more_examples_are_not(
    program: Program, fault_server: FaultServer, begun: Run
) -> None:
    write(program, " changed")
    refused = run_here(program, "run", "--resume", str(begun.path), "-n", "4")
    assert refused.code == 2, refused
    assert "dataset is" in refused.err
    write(program)
    done = run_here(program, "run", "--resume", str(begun.path), "-n", "4")
    assert done.code == 0, done
    assert begun.places() == [(n, 0) for n in range(4)]
    assert "changes" not in {k for k, v in plan_of(begun).items() if v}


def test_another_version_of_the_package_is_noticed(
    program: Program, fault_server: FaultServer, begun: Run
) -> None:
    info = program.folder / "environments" / "kept-2.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: kept\nVersion: 2.0\n")
    program.env["PYTHONPATH"] = os.pathsep.join(
        [str(info.parent), program.env.get("PYTHONPATH", "")]
    )
    refused = run_here(program, "run", "--resume", str(begun.path))
    assert refused.code == 2, refused
    assert 'env_version is "2.0", the run has null' in refused.err


def test_another_version_of_a_local_environment_is_noticed(
    program: Program, fault_server: FaultServer
) -> None:
    folder = program.folder / "environments" / "kept"
    folder.mkdir(parents=True)
    (folder / "kept.py").write_text(textwrap.dedent(ENV.replace("FUNCTION", "lambda answer: 1.0")))
    project = folder / "pyproject.toml"
    project.write_text('[project]\nname = "kept"\nversion = "0.3"\n')
    fault_server.script(CHAT, [GOOD])
    done = evaluate(program, fault_server, "-n", "1", "-s")
    assert done.code == 0, done
    (path,) = folder.glob("outputs/evals/*/*")
    run = Run(path)
    assert run.metadata["version_info"]["env_version"] == "0.3"
    project.write_text('[project]\nname = "kept"\nversion = "0.4"\n')
    told = f'--resume {run.path}: env_version is "0.4", the run has "0.3"'
    refused = run_here(program, "run", "--resume", str(run.path))
    assert refused.code == 2, refused
    assert told in refused.err
    newest = evaluate(program, fault_server, "-n", "1", "-s", "--resume")
    assert newest.code == 2, newest
    assert told.replace(f"{program.folder}/", "") in newest.err


def test_another_protocol_is_listed_whether_it_was_typed_or_stands_in_the_registry(
    program: Program, fault_server: FaultServer, begun: Run
) -> None:
    said = 'client_type is "openai_responses", the run has "openai_chat_completions"'
    path = str(begun.path)
    typed = run_here(
        program, "run", "--resume", path, "-n", "4", "--api-client-type", "openai_responses"
    )
    assert (typed.code, said in typed.err) == (2, True), typed
    registry = program.folder / "configs" / "endpoints.toml"
    registry.parent.mkdir()
    entry = (
        f'[[endpoint]]\nendpoint_id = "m"\nmodel = "m"\nurl = "{fault_server.url}/v1"\n'
        'api_client_type = "openai_responses"\n'
    )
    registry.write_text(entry)
    named = run_here(program, "run", "--resume", path, "-n", "4", "-m", "m")
    assert (named.code, said in named.err) == (2, True), named


def test_what_was_typed_is_not_said_to_stay_as_it_was(
    program: Program, fault_server: FaultServer
) -> None:
    write(program)
    fault_server.script(CHAT, [Reply(403, {"error": {"message": "no"}}), GOOD])
    at = ("-n", "1", "-s", "--resume")
    evaluate(program, fault_server, "-n", "1", "-s", "-T", "0.2", "-a", '{"level": 2}')
    done = evaluate(program, fault_server, *at, "-T", "0.9", "--accept-changes")
    assert done.code == 0, done
    assert "Accepted: sampling_args.temperature is 0.9, the run has 0.2" in done.err
    assert "It keeps its own sampling_args" not in done.err
    assert "It keeps its own env_args.level: 2" in done.err


def test_accepting_changes_of_a_new_run_is_said_to_have_no_effect(program: Program) -> None:
    done = run_here(program, "reverse-text", "-m", "demo", "-n", "1", "-r", "1", "--accept-changes")
    assert done.code == 0, done
    assert "--accept-changes has no effect without resume" in done.err


def test_what_nobody_can_accept_stays_refused(
    program: Program, fault_server: FaultServer, begun: Run
) -> None:
    path = str(begun.path)
    done = run_here(program, "reverse-text", "--resume", path, "-n", "2", "--accept-changes")
    assert done.code == 2, done
    assert "environment is 'reverse-text', the run has 'kept'" in done.err
    assert "-n is 2, the run has 3 examples" in done.err
    assert "base_url" not in done.err


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


def test_resume_alone_starts_anew_where_less_is_asked_for(
    program: Program, fault_server: FaultServer, begun: Run
) -> None:
    done = evaluate(program, fault_server, "-n", "2", "-s", "--resume")
    assert done.code == 0, done
    assert "starting a new one" in done.err
    assert len(program.runs()) == 2


def test_resume_alone_returns_at_once_where_all_is_done(
    program: Program, fault_server: FaultServer, begun: Run
) -> None:
    asked = len(fault_server.requests)
    done = evaluate(program, fault_server, "-n", "3", "-s", "--resume")
    assert done.code == 0, done
    assert "3 of 3 done" in done.err
    assert len(program.runs()) == 1
    assert len(fault_server.requests) == asked


def test_resume_alone_extends_no_other_run_where_one_has_all_that_is_asked_for(
    program: Program, fault_server: FaultServer, begun: Run
) -> None:
    evaluate(program, fault_server, "-n", "1", "-s")
    asked = len(fault_server.requests)
    done = evaluate(program, fault_server, "-n", "3", "-s", "--resume")
    assert done.code == 0, done
    assert f"{begun.path.relative_to(program.folder)}: 3 of 3 done" in done.err
    assert len(fault_server.requests) == asked


def test_resume_alone_takes_the_run_of_the_same_settings_not_a_newer_one(
    program: Program, fault_server: FaultServer, begun: Run
) -> None:
    fault_server.script(CHAT, [Reply(403, {"error": {"message": "no"}}), GOOD])
    evaluate(program, fault_server, "-n", "1", "-T", "0.7")
    done = evaluate(program, fault_server, "-n", "4", "-s", "--resume")
    assert done.code == 0, done
    assert "3 of 3 done" in done.err
    assert Run(begun.path).places() == [(n, 0) for n in range(4)]


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


def test_resume_alone_passes_over_a_run_whose_plan_cannot_be_read(
    program: Program, fault_server: FaultServer, begun: Run
) -> None:
    evaluate(program, fault_server, "-n", "3", "-s")
    (broken,) = [run for run in program.runs() if run.path != begun.path]
    (broken.path / "run.toml").write_text("torn = ")
    done = evaluate(program, fault_server, "-n", "3", "-s", "--resume")
    assert done.code == 0, done
    assert f"{begun.path.relative_to(program.folder)}: 3 of 3 done" in done.err


def test_resume_alone_takes_no_saved_run_outside_of_the_folder_that_is_named(
    program: Program, fault_server: FaultServer, begun: Run
) -> None:
    done = evaluate(program, fault_server, "-n", "3", "-o", "kept", "--resume")
    assert done.code == 0, done
    (new,) = program.runs(program.folder / "kept")
    assert len(new.rows) == 3
    again = evaluate(program, fault_server, "-n", "3", "-o", "kept", "--resume")
    assert f"{new.path.relative_to(program.folder)}: 3 of 3 done" in again.err


RANK = """
    def rank(completions):
        return [float(len(completions)) for _ in completions]
"""


def test_rollouts_that_wait_for_their_group_keep_their_place_in_larger_groups(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment("kept", RANK + ENV.replace("WORD", "").replace("FUNCTION", "rank"))
    fault_server.script(CHAT, [*[GOOD] * 5, Reply(hang=True)])
    at = ("kept", "-m", "m", "-b", f"{fault_server.url}/v1", "-n", "2", "-c", "1", "-s")
    process = program.start(*at, "-r", "3")
    wait_until(lambda: len(fault_server.requests) == 6, "the last rollout is in flight")
    process.send_signal(signal.SIGINT)
    program.finish(process)
    run = program.only_run()
    assert len(read_journal(RunDir(run.path)).generated) == 2
    fault_server.script(CHAT, [GOOD])
    done = run_here(program, "run", "--resume", str(run.path), "-r", "4")
    assert done.code == 0, done
    assert run.places() == [(n, r) for n in range(2) for r in range(4)]
    asked = [one.json()["messages"][-1]["content"] for one in fault_server.requests[6:]]
    assert sorted(asked) == ["q0", "q1", "q1"]
    rewards = {(row["example_id"], row["tui_eval"]["rollout"]): row["reward"] for row in run.rows}
    assert {rewards[1, number] for number in range(4)} == {4.0}
    assert rewards[0, 3] == 4.0


def test_complete_runs_that_are_not_taken_say_why(
    program: Program, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [GOOD])
    program.environment("whole", TWO_TURNS)
    url = f"{fault_server.url}/v1"
    asked = ("whole", "-m", "m", "-b", url, "-n", "1", "-o", "kept")
    assert run_here(program, *asked, "-r", "1").code == 0
    (first,) = program.runs(program.folder / "kept")
    more = run_here(program, *asked, "-r", "2", "--resume")
    which = f"Passed over whole with m, 1 of 1: {first.path.relative_to(program.folder)}"
    assert f"{which} (-r is 2, the run has 1 rollouts of each)" in more.err, more
    warmer = run_here(program, *asked, "-r", "1", "-T", "0.5", "--resume")
    assert f"{which} (it is complete, and sampling_args.temperature is 0.5" in warmer.err, warmer
    taken = run_here(program, *asked, "-r", "1", "--resume")
    assert taken.err.count("Passed over") == 1, taken
    assert "(-r is 1, the run has 2 rollouts of each)" in taken.err
