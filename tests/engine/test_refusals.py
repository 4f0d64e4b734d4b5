"""Refusals before the first request: every fault at once, exit code 2."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from program import Finished, Program
from run_here import run_here

from tui_eval.install_commands import install_command

DEMO = ("-m", "demo", "-n", "1", "-r", "1")


@pytest.fixture(autouse=True)
def nothing_is_left_on_disk(program: Program) -> Iterator[None]:
    """A refused request makes no run, saved or unsaved."""
    yield
    assert not program.runs()
    assert not list(program.folder.rglob("results.jsonl"))


def assert_refused(done: Finished, *said: str) -> None:
    assert done.code == 2, done
    for text in said:
        assert text in done.err, done
    assert "Traceback" not in done.err


def test_an_unknown_environment_names_the_places_and_the_nearest(program: Program) -> None:
    done = run_here(program, "calculater", *DEMO)
    assert_refused(done, "calculater", str(program.folder / "environments"), "calculator")


def test_an_unknown_environment_says_how_one_is_installed(program: Program) -> None:
    (program.folder / "environments").mkdir()
    (program.folder / "environments" / "my_math.py").write_text("")
    done = run_here(program, "acme/some-math", *DEMO)
    assert_refused(
        done,
        "environment acme/some-math: there is no such environment",
        "prime env install acme/some-math",
        install_command(["some-math"]),
    )
    done = run_here(program, "my-maths", *DEMO)
    assert_refused(done, "Did you mean my-math?", install_command(["my-maths"]))
    assert "prime env install" in done.err


def test_every_fault_is_reported_at_once(program: Program) -> None:
    done = program.run(
        *("nope", "-m", "gpt-4.1-mino", "-n", "0", "-r", "many", "-T", "nan"),
        *("-a", "[1]", "-S", "{", "-c", "-7", "-t", "1.5"),
    )
    assert_refused(
        done,
        "-n/--num-examples: 0 is too small; expected 1 or more, or -1 for all",
        "-r/--rollouts-per-example: 'many' is not a whole number",
        "-T/--temperature: 'nan' is not a number",
        "-a/--env-args: '[1]' is an array; expected an object",
        "-S/--sampling-args: '{' is not valid JSON",
        "-c/--max-concurrent: -7 is too small",
        "-t/--max-tokens: '1.5' is not a whole number",
        "gpt-4.1-mini",
        "environment nope",
    )


def test_an_unknown_flag_is_refused_with_the_nearest(program: Program) -> None:
    assert_refused(run_here(program, "calculator", "--num-exemples", "3"), "--num-examples")


def test_an_unknown_client_type_names_the_known(program: Program) -> None:
    done = run_here(program, "calculator", *DEMO, "--api-client-type", "openai")
    assert_refused(done, "--api-client-type", "openai_chat_completions", "anthropic_messages")


def test_a_missing_key_variable_is_named(program: Program) -> None:
    done = run_here(program, "calculator", "-n", "1")
    assert_refused(done, "--model gpt-4.1-mini", "OPENAI_API_KEY", "not set")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("1 / 0\n", ["ZeroDivisionError", "broken.py:1"]),
        ("import no_such_package\n", ["no_such_package", "broken.py:1"]),
        ("def load_environment(:\n", ["SyntaxError", "broken.py"]),
        ("x = 1\n", ["load_environment"]),
        ("def load_environment():\n    raise ValueError('no data')\n", ["no data", "broken.py:2"]),
        ("def load_environment():\n    return 3\n", ["int"]),
        ("import sys\nsys.exit(9)\n", ["SystemExit"]),
    ],
    ids=["import", "missing", "syntax", "no-loader", "loader", "wrong-type", "exits"],
)
def test_a_broken_environment_says_what_and_where(
    program: Program, source: str, said: list[str]
) -> None:
    program.environment("broken", source)
    assert_refused(run_here(program, "broken", *DEMO), *said)


def test_an_unknown_environment_argument_names_the_valid_ones(program: Program) -> None:
    done = run_here(program, "calculator", *DEMO, "-a", '{"num_exampels": 3}')
    assert_refused(done, "num_exampels", "num_examples")


@pytest.mark.parametrize(
    ("dataset", "said"),
    [
        ('[{"text": "hi"}]', ["prompt", "question", "text"]),
        ("[]", ["no rows"]),
        ('"absent.jsonl"', ["absent.jsonl"]),
        ("lambda: 1 / 0", ["ZeroDivisionError"]),
    ],
)
def test_a_dataset_that_cannot_be_used_says_why(
    program: Program, dataset: str, said: list[str]
) -> None:
    made = f"vf.SingleTurnEnv(dataset={dataset})"
    source = f"import tui_eval as vf\ndef load_environment():\n    return {made}"
    program.environment("datum", source)
    assert_refused(run_here(program, "datum", *DEMO), *said)


@pytest.mark.parametrize("flags", [(), ("-s",), ("--no-preflight",)])
@pytest.mark.parametrize("threshold", ["'high'", "float('nan')", "10**400"])
def test_a_threshold_that_is_no_number_is_reported_with_all_else(
    program: Program, flags: tuple[str, ...], threshold: str
) -> None:
    program.environment(
        "high",
        f"""
        import tui_eval as vf

        def load_environment():
            env = vf.SingleTurnEnv(dataset=[{{"question": "1"}}], rubric=vf.Rubric())
            env.pass_threshold = {threshold}
            return env
        """,
    )
    done = run_here(program, "high", *DEMO, "-T", "warm", *flags)
    assert_refused(done, "-T/--temperature", "which is no number")
    assert f"its pass_threshold is {eval(threshold)!r}"[:40] in done.err


def test_a_run_whose_files_cannot_be_made_leaves_nothing(program: Program) -> None:
    program.environment(
        "odd",
        """
        import tui_eval as vf

        def load_environment():
            env = vf.SingleTurnEnv(dataset=[{"question": "1"}], rubric=vf.Rubric())
            env.sampling_args = 7
            return env
        """,
    )
    done = program.run("odd", *DEMO, "-s")
    assert done.code == 2
    assert "environment odd: what it is cannot be read: TypeError" in done.err
    assert not list(program.folder.rglob("odd--demo*/*"))


def test_an_endpoint_where_nothing_listens_is_refused_at_once(program: Program) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    done = run_here(program, "calculator", "-m", "m", "-b", f"http://127.0.0.1:{port}/v1")
    assert_refused(done, f"nothing listens on port {port}")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_refused(program: Program, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    assert_refused(run_here(program, "calculator", *DEMO, "-o", str(closed)), "closed", "-o")


def test_an_output_folder_that_is_a_file_is_refused(program: Program, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run_here(program, "calculator", *DEMO, "-o", str(tmp_path / "file"))
    assert_refused(done, "cannot be written", "-o")


@pytest.mark.parametrize("path", ["nowhere", "."])
def test_a_resume_path_that_is_no_run_is_refused(program: Program, path: str) -> None:
    assert_refused(run_here(program, "calculator", "-m", "demo", "--resume", path), path)


def test_a_malformed_registry_is_an_error_and_nothing_is_sent(program: Program) -> None:
    configs = program.folder / "configs"
    configs.mkdir()
    (configs / "endpoints.toml").write_text(
        '[[endpoint]]\nendpoint_id = "a"\nmodle = "m"\nurl = "http://127.0.0.1:1"\n'
    )
    done = run_here(program, "calculator", "-m", "a")
    assert_refused(done, "unknown key 'modle'", "Did you mean model", "model is missing")


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs a folder that nobody may write")
def test_a_folder_that_nobody_may_write_is_refused(program: Program) -> None:
    done = run_here(program, "calculator", *DEMO, "-o", "/proc/outputs")
    assert_refused(done, "/proc/outputs", "cannot be written", "-o")
