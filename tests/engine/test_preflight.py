"""Faults that would cost something are refused before: endpoint, key, model, folder."""

from __future__ import annotations

import signal
import socket
from pathlib import Path

import pytest
from echo_runs import CHAT, MODELS, assert_refused_unpaid, echo, listed, run, run_all
from program import Program, chat_answer, wait_until
from run_here import run_here
from servers import FaultServer, Reply
from tiers import first_always


def test_a_model_that_the_endpoint_does_not_list_is_warned_of_with_the_nearest(
    program: Program, fault_server: FaultServer
) -> None:
    echo(program)
    fault_server.script(MODELS, [listed("qwen3-8b", "other")])
    done = run(program, fault_server)
    assert done.code == 0, done
    warning = "does not list the model 'qwen3', and may not serve it. Did you mean qwen3-8b?"
    assert warning in done.err, done
    assert "does not list" not in run(program, fault_server, "--no-preflight").err


@pytest.mark.parametrize("suffix", ["", "/v1/", "/v1/chat/completions"])
@pytest.mark.parametrize("below", first_always(["/v1", ""]))
def test_every_spelling_of_a_base_url_reaches_preflight_and_requests(
    program: Program, fault_server: FaultServer, below: str, suffix: str
) -> None:
    echo(program)
    fault_server.script(f"{below}/models", [listed("other")])
    fault_server.script(f"{below}/chat/completions", [Reply(body=chat_answer("yes"))])
    done = run_here(
        program, *("echo", "-m", "qwen3", "-b", fault_server.url + suffix, "-n", "2", "-r", "2")
    )
    assert done.code == 0, done
    assert "does not list the model 'qwen3'" in done.err, done
    assert "2 used" in done.out, done


def assert_used(program: Program, server: FaultServer, replies: list[Reply]) -> None:
    """Each endpoint gets a request for its models, and then one for its answer."""
    echo(program)
    own = []
    for number, reply in enumerate(replies):
        server.script(f"/{number}{MODELS}", [reply])
        server.script(f"/{number}{CHAT}", [Reply(body=chat_answer("yes"))])
        own.append(f'env_id = "echo"\napi_base_url = "{server.url}/{number}/v1"')
    done = run_all(program, *own)
    assert done.code == 0, done
    paths = [one.path for one in server.requests]
    for number in range(len(replies)):
        assert f"/{number}{MODELS}" in paths
        assert paths.count(f"/{number}{CHAT}") == 1


@pytest.mark.slow
def test_an_endpoint_that_does_not_say_no_is_used(
    program: Program, fault_server: FaultServer
) -> None:
    answers = [
        listed("other", "qwen3"),
        listed("qwen3:latest"),
        listed("models/qwen3"),
        listed("other/*", "qwen*"),
        listed(),
        Reply(404),
        Reply(405),
        Reply(500),
        Reply(302, headers={"Location": "http://127.0.0.1:9/"}),
        Reply(body=b"<html>"),
        Reply(body={"data": [{"id": "first page"}], "has_more": True}),
        Reply(reset=True),
    ]
    assert_used(program, fault_server, answers)


@pytest.mark.slow
def test_an_endpoint_that_lists_its_models_slowly_is_used_soon(
    program: Program, fault_server: FaultServer
) -> None:
    slow = [Reply(hang=True), Reply(body=b" " * 10_000, drip=0.1)]
    assert_used(program, fault_server, slow)


@pytest.mark.parametrize("shown", ["by its status", "inside a 200"])
@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_named_by_its_variable(
    program: Program, fault_server: FaultServer, status: int, shown: str
) -> None:
    echo(program)
    program.env["MY_KEY"] = "secret-value"
    refused = {"error": {"code": status, "message": "no such key"}}
    fault_server.script(
        MODELS, [Reply(status) if shown == "by its status" else Reply(body=refused)]
    )
    done = run(program, fault_server, "-k", "MY_KEY")
    assert_refused_unpaid(done, fault_server, f"the key in MY_KEY is refused (HTTP {status})")
    assert "secret-value" not in done.err
    assert fault_server.requests[0].headers["Authorization"] == "Bearer secret-value"


def test_without_a_key_the_models_are_requested_as_the_requests_do(
    program: Program, fault_server: FaultServer
) -> None:
    echo(program)
    fault_server.script(MODELS, [listed("qwen3")])
    done = run(program, fault_server, "-k", "")
    assert done.code == 0, done
    keys = {one.path: one.headers.get("Authorization") for one in fault_server.requests}
    assert len(keys) == 2, keys
    assert len(set(keys.values())) == 1, keys


def test_the_key_of_anthropics_protocol_goes_as_it_wants_it(
    program: Program, fault_server: FaultServer
) -> None:
    echo(program)
    program.env["MY_KEY"] = "secret-value"
    fault_server.script("/v1/models", [Reply(401)])
    done = run_here(
        program,
        *("echo", "-m", "claude", "-b", fault_server.url, "-k", "MY_KEY", "-n", "1"),
        *("--api-client-type", "anthropic_messages"),
    )
    assert_refused_unpaid(done, fault_server, "the key in MY_KEY is refused")
    (request,) = fault_server.requests
    assert request.headers["x-api-key"] == "secret-value"
    assert "Authorization" not in request.headers


def test_all_that_is_wrong_is_reported_at_once(program: Program, fault_server: FaultServer) -> None:
    echo(program, "vf.Rubric(funcs=[good])", "good = lambda anwser: 1.0")
    (program.folder / "file").write_text("")
    fault_server.script(MODELS, [Reply(401)])
    done = run(program, fault_server, "-o", "file/runs")
    assert_refused_unpaid(
        done, fault_server,
        "the endpoint wants a key", "'anwser'", "Did you mean answer",
        "file/runs: the run cannot be written here", "file is no folder",
    )  # fmt: skip


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="has no folder that takes no files")
def test_a_folder_that_takes_no_files_is_reported_with_everything_else(
    program: Program, fault_server: FaultServer
) -> None:
    echo(program)
    fault_server.script(MODELS, [Reply(401)])
    done = run(program, fault_server, "-o", "/proc/runs")
    assert_refused_unpaid(
        done, fault_server, "the endpoint wants a key",
        "/proc/runs: the run cannot be written here",
    )  # fmt: skip


def test_https_to_a_port_that_speaks_http_is_refused_before_anything_begins(
    program: Program, fault_server: FaultServer
) -> None:
    echo(program)
    url = fault_server.url.replace("http:", "https:")
    done = run_here(program, "echo", "-m", "m", "-b", f"{url}/v1", "-n", "1", "-r", "1")
    assert done.code == 2, done
    assert "no TLS there: the port speaks plain http; begin the URL with http://" in done.err


def test_white_space_around_a_url_is_reported_once(
    program: Program, fault_server: FaultServer
) -> None:
    echo(program)
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"))])
    done = run_here(
        program, "echo", "-m", "m", "-b", f" {fault_server.url}/v1\n", "-n", "1", "-r", "1"
    )
    assert done.code == 0, done
    assert done.err.count("around the URL of the endpoint were left out") == 1


def test_without_preflight_a_dead_endpoint_is_met_by_the_rollouts(program: Program) -> None:
    echo(program)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    at = ("-m", "m", "-b", f"http://127.0.0.1:{port}/v1", "-n", "1", "-r", "1")
    process = program.start("echo", *at, "--no-preflight")
    wait_until(program.runs, "the run has begun")
    process.send_signal(signal.SIGINT)
    assert program.finish(process).code == 130


def test_a_missing_key_hides_nothing_else(program: Program) -> None:
    echo(program, "vf.Rubric(funcs=[good])", "good = lambda anwser: 1.0")
    (program.folder / "file").write_text("")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    done = run_here(
        program,
        *("echo", "-m", "good", "-b", url, "-k", "NOKEY", "-C", "completoin", "-o", "file/runs"),
    )
    assert done.code == 2, done
    for text in ("NOKEY: this variable", "-C completoin", "file is no folder", "'anwser'",
                 "nothing listens"):  # fmt: skip
        assert text in done.err, done
    assert done.err.count("NOKEY: this variable") == 1, done


def test_an_unknown_alias_hides_no_other_fault(program: Program) -> None:
    echo(program)
    (program.folder / "file").write_text("")
    done = run_here(
        program, "echo", "-m", "nobody", "-C", "completoin", "-o", "file/runs", "-n", "x"
    )
    assert done.code == 2, done
    for text in ("'nobody'", "-C completoin", "file is no folder", "'x' is not a whole number"):
        assert text in done.err, done


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("-S", '{"n": 3}'), "say -r"),
        (("-S", '{"stream": true}'), "Say --stream"),
    ],
)
def test_what_every_rollout_would_fail_for_is_refused(
    program: Program, fault_server: FaultServer, flags: tuple[str, str], said: str
) -> None:
    echo(program)
    assert_refused_unpaid(run(program, fault_server, *flags), fault_server, said)
