"""A resumed run is the same run: differences are listed, refused, and accepted on request."""

from __future__ import annotations

import os
import signal
import textwrap
import tomllib
from typing import Any

import pytest
from kept_run import CHAT, ENV, GOOD, evaluate, write
from program import TWO_TURNS, Program, Run, wait_until
from run_here import run_here
from servers import FaultServer, Reply

from tui_eval.runs.journal_records import read_journal
from tui_eval.runs.layout import RunDir


def plan_of(run: Run) -> dict[str, Any]:
    return tomllib.loads((run.path / "run.toml").read_text())


@pytest.mark.slow
def test_every_difference_is_listed_refused_and_accepted_only_on_request(
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


@pytest.mark.slow
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


@pytest.mark.slow
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
    change = f'--resume {run.path}: env_version is "0.4", the run has "0.3"'
    refused = run_here(program, "run", "--resume", str(run.path))
    assert refused.code == 2, refused
    assert change in refused.err
    newest = evaluate(program, fault_server, "-n", "1", "-s", "--resume")
    assert newest.code == 2, newest
    assert change.replace(f"{program.folder}/", "") in newest.err


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


@pytest.mark.slow
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


@pytest.mark.slow
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


RANK = """
    def rank(completions):
        return [float(len(completions)) for _ in completions]
"""


@pytest.mark.slow
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
    questions = [one.json()["messages"][-1]["content"] for one in fault_server.requests[6:]]
    assert sorted(questions) == ["q0", "q1", "q1"]
    rewards = {(row["example_id"], row["tui_eval"]["rollout"]): row["reward"] for row in run.rows}
    assert {rewards[1, number] for number in range(4)} == {4.0}
    assert rewards[0, 3] == 4.0


@pytest.mark.slow
def test_complete_runs_that_are_not_taken_say_why(
    program: Program, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [GOOD])
    program.environment("whole", TWO_TURNS)
    url = f"{fault_server.url}/v1"
    words = ("whole", "-m", "m", "-b", url, "-n", "1", "-o", "kept")
    assert run_here(program, *words, "-r", "1").code == 0
    (first,) = program.runs(program.folder / "kept")
    more = run_here(program, *words, "-r", "2", "--resume")
    which = f"Passed over whole with m, 1 of 1: {first.path.relative_to(program.folder)}"
    assert f"{which} (-r is 2, the run has 1 rollouts of each)" in more.err, more
    warmer = run_here(program, *words, "-r", "1", "-T", "0.5", "--resume")
    assert f"{which} (it is complete, and sampling_args.temperature is 0.5" in warmer.err, warmer
    taken = run_here(program, *words, "-r", "1", "--resume")
    assert taken.err.count("Passed over") == 1, taken
    assert "(-r is 1, the run has 2 rollouts of each)" in taken.err
