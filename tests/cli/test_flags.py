"""Flags of a run, short and long, each by what it does at a server, on disk or on the terminal."""

from __future__ import annotations

import pytest
from program import Program, chat_answer
from run_here import run_here
from servers import FaultServer, Reply
from terminal import Terminal

from tui_eval.cli.run import command

CHAT = "/v1/chat/completions"
GOOD = Reply(body=chat_answer("yes"))
REFUSED = Reply(400, {"error": {"message": "no"}})

PROBE = """
    import tui_eval as vf

    class Probe(vf.SingleTurnEnv):
        async def setup_state(self, state):
            state["word"] = self.word
            return state

    def good(completion):
        with open("scored", "a") as file:
            file.write("x")
        return 0.6

    def load_environment(word="easy"):
        rows = [{"question": f"Say {word} {n}"} for n in range(20)]
        return Probe(
            dataset=rows, rubric=vf.Rubric(funcs=[good]), word=word, system_prompt="old"
        )
"""


@pytest.fixture
def probe(program: Program, fault_server: FaultServer) -> Program:
    program.environment("probe", PROBE)
    fault_server.script(CHAT, [GOOD])
    return program


def at(server: FaultServer, *args: str) -> list[str]:
    return ["probe", "-m", "m", "-b", f"{server.url}/v1", "-n", "2", "-r", "1", *args]


SHORT = {
    "model": "-m", "registry": "-e", "url": "-b", "key": "-k", "temperature": "-T", "tokens": "-t",
    "sampling": "-S", "arguments": "-a", "settings": "-x", "examples": "-n", "rollouts": "-r",
    "at once": "-c", "columns": "-C", "save": "-s", "verbose": "-v", "short summary": "-A",
}  # fmt: skip
LONG = {
    "model": "--model", "registry": "--endpoints-path", "url": "--api-base-url",
    "key": "--api-key-var", "temperature": "--temperature", "tokens": "--max-tokens",
    "sampling": "--sampling-args", "arguments": "--env-args", "settings": "--extra-env-kwargs",
    "examples": "--num-examples", "rollouts": "--rollouts-per-example",
    "at once": "--max-concurrent", "columns": "--state-columns", "save": "--save-results",
    "verbose": "--verbose", "short summary": "--abbreviated-summary",
}  # fmt: skip


@pytest.mark.parametrize(
    ("short", "long", "value"),
    [
        ("-p", "--provider", ["anthropic"]),
        ("-o", "--output-dir", ["kept"]),
        ("-R", "--resume", ["a/run"]),
        ("-i", "--independent-scoring", []),
        ("-N", "--no-interleave-scoring", []),
        ("-d", "--debug", []),
        ("-d", "--no-screen", []),
        ("-u", "--tui", []),
    ],
)
def test_a_flag_that_a_test_below_types_short_is_the_same_typed_long(
    short: str, long: str, value: list[str]
) -> None:
    found = [command.make_context("run", ["probe", flag, *value]).params for flag in (short, long)]
    assert found[0] == found[1]
    assert found[0] != command.make_context("run", ["probe"]).params


@pytest.mark.parametrize("flag", [SHORT, LONG], ids=["short", "long"])
def test_everyday_flags(probe: Program, fault_server: FaultServer, flag: dict[str, str]) -> None:
    probe.env["MY_KEY"] = "sk-of-the-flag"
    (probe.folder / "r.toml").write_text(
        '[[endpoint]]\nendpoint_id = "mini"\nmodel = "org/mini"\nurl = "http://127.0.0.1:9/v1"\n'
    )
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"), delay=0.1)])
    given = {
        "model": "mini", "registry": "r.toml", "url": f"{fault_server.url}/v1", "key": "MY_KEY",
        "temperature": "0.5", "tokens": "77", "sampling": '{"top_p": 0.25}',
        "arguments": '{"word": "hard"}', "settings": '{"system_prompt": "new"}',
        "examples": "2", "rollouts": "4", "at once": "3", "columns": "word",
    }  # fmt: skip
    words = [word for name, value in given.items() for word in (flag[name], value)]
    done = probe.run("probe", *words, flag["save"], flag["verbose"], flag["short summary"])
    assert done.code == 0, done
    bodies = [request.json() for request in fault_server.requests]
    (auth,) = {request.headers["Authorization"] for request in fault_server.requests}
    run = probe.only_run()
    assert {body["model"] for body in bodies} == {"org/mini"}, "model, registry"
    assert len(bodies) == 8, "url"
    assert auth == "Bearer sk-of-the-flag", "key"
    assert {body["temperature"] for body in bodies} == {0.5}
    assert {body["max_tokens"] for body in bodies} == {77}
    assert {body["top_p"] for body in bodies} == {0.25}
    requested = sorted(body["messages"][1]["content"] for body in bodies)
    assert requested == ["Say hard 0"] * 4 + ["Say hard 1"] * 4, "arguments, examples, rollouts"
    assert {body["messages"][0]["content"] for body in bodies} == {"new"}, "settings"
    assert fault_server.most_at_once == 3
    assert [row["word"] for row in run.rows] == ["hard"] * 8, "columns"
    assert run.path.is_relative_to(probe.folder / "outputs"), "save"
    for said in ("Say hard 1", "state word = 'hard'", "'raw': 0.6", "generation_ms"):
        assert said in done.err, "verbose"
    assert "Results:" in done.out and "Latency" not in done.out, "short summary"


@pytest.mark.slow
def test_a_provider_brings_its_protocol(probe: Program, fault_server: FaultServer) -> None:
    probe.env["MY_KEY"] = "sk-ant-of-the-flag"
    message = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "c",
        "content": [{"type": "text", "text": "yes"}], "stop_reason": "end_turn",
        "usage": {"input_tokens": 7, "output_tokens": 2},
    }  # fmt: skip
    fault_server.script("/v1/messages", [Reply(body=message)])
    done = run_here(
        probe,
        *("probe", "-m", "c", "-p", "anthropic", "-b", fault_server.url, "-n", "1", "-r", "1"),
        *("-k", "MY_KEY"),
    )
    assert done.code == 0, done
    (request,) = fault_server.requests
    assert request.path == "/v1/messages"
    assert request.headers["x-api-key"] == "sk-ant-of-the-flag"


def test_a_client_type_is_the_protocol(probe: Program, fault_server: FaultServer) -> None:
    text = {
        "id": "c", "object": "text_completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "text": "yes", "finish_reason": "stop", "logprobs": None}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }  # fmt: skip
    fault_server.script("/v1/completions", [Reply(body=text)])
    done = run_here(probe, *at(fault_server, "--api-client-type", "openai_completions"))
    assert done.code == 0, done
    assert {request.path for request in fault_server.requests} == {"/v1/completions"}
    assert "Say easy 0" in fault_server.requests[0].json()["prompt"]


@pytest.mark.slow
def test_answers_are_streamed_where_endpoint_or_run_say_so(
    probe: Program, fault_server: FaultServer
) -> None:
    fault_server.script("/v1/chat/completions", [Reply(body=chat_answer("yes"))])
    registry = probe.folder / "streams.toml"
    where = f'model = "m"\nurl = "{fault_server.url}/v1"\n'
    registry.write_text(
        f'[[endpoint]]\nendpoint_id = "whole"\n{where}'
        f'[[endpoint]]\nendpoint_id = "streamed"\nstream = true\n{where}'
    )
    for alias, flags, is_streamed in (
        ("whole", [], False),
        ("whole", ["--stream"], True),
        ("streamed", [], True),
        ("streamed", ["--no-stream"], False),
        ("streamed", ["--set", "stream=false"], False),
    ):
        fault_server.requests.clear()
        done = run_here(probe,
            "probe", "-m", alias, "-e", str(registry), "-n", "1", "-r", "1",
            "--no-preflight", *flags,
        )  # fmt: skip
        assert done.code == 0, done
        requested = [request.json() for request in fault_server.requests]
        assert [body.get("stream", False) for body in requested] == [is_streamed]


def test_a_run_is_kept_under_the_folder_that_is_named(program: Program) -> None:
    assert (
        run_here(program, "reverse-text", "-m", "demo", "-n", "1", "-r", "1", "-o", "kept").code
        == 0
    )
    (run,) = program.runs(program.folder / "kept")
    assert len(run.rows) == 1


def test_environments_are_where_the_flag_says(program: Program) -> None:
    program.environment("probe", PROBE)
    mine = (program.folder / "environments").rename(program.folder / "mine")
    (mine / "probe").mkdir()
    (mine / "probe.py").rename(mine / "probe" / "probe.py")
    done = run_here(
        program, *("probe", "-m", "demo", "-n", "1", "-r", "1", "-s", "--env-dir-path", "mine")
    )
    assert done.code == 0, done
    assert len(program.runs(mine / "probe" / "outputs")) == 1


def test_a_threshold_decides_what_passes(probe: Program, fault_server: FaultServer) -> None:
    rates = []
    for threshold in ("0.5", "0.7"):
        args = ("-r", "2", "--pass-threshold", threshold, "-o", threshold)
        assert run_here(probe, *at(fault_server, *args)).code == 0
        (run,) = probe.runs(probe.folder / threshold)
        assert run.metadata["pass_threshold"] == float(threshold)
        rates.append(run.metadata["pass_at_k"]["1"])
    assert rates == [1.0, 0.0], "every reward is 0.6"


def test_an_interrupted_run_is_resumed(probe: Program, fault_server: FaultServer) -> None:
    fault_server.script(CHAT, [GOOD, REFUSED, GOOD])
    assert run_here(probe, *at(fault_server, "-c", "1", "-s")).code == 3
    done = run_here(probe, "run", "-R", str(probe.only_run().path))
    assert done.code == 0, done
    assert len(fault_server.requests) == 3
    assert probe.only_run().places() == [(0, 0), (1, 0)]


def test_a_file_may_say_verbose_and_a_session_reports_its_own_log(
    probe: Program, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [GOOD, REFUSED, GOOD])
    (probe.folder / "one.toml").write_text(
        f'verbose = true\nmodel = "m"\napi_base_url = "{fault_server.url}/v1"\n'
        "max_concurrent = 1\nnum_examples = 2\nrollouts_per_example = 1\n"
        '[[eval]]\nenv_id = "probe"\n'
    )
    first = probe.run("one.toml")
    assert first.code == 3 and "Say easy 0" in first.err
    again = probe.run("run", "--resume", str(probe.only_run().path))
    assert again.code == 0, again
    assert "Say easy 1" in again.err and "Say easy 0" not in again.err


def test_independent_rollouts_are_finished_one_by_one(
    probe: Program, fault_server: FaultServer
) -> None:
    beats = [("-r", "2", "-c", "1", "--heartbeat-url", f"{fault_server.url}/ping")]
    fault_server.script("/ping", [Reply()])
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"), delay=0.05)])
    for args in (*beats, (*beats[0], "-i")):
        assert run_here(probe, *at(fault_server, *args)).code == 0
    found = [one.path for one in fault_server.requests]
    assert found[:6].count("/ping") == 2, "a group of two beats once"
    assert found[6:].count("/ping") == 4, "each rollout beats"


def test_scoring_waits_for_the_last_answer(probe: Program, fault_server: FaultServer) -> None:
    hidden = probe.folder / "environments" / "probe.py"
    hidden.write_text(hidden.read_text().replace('"x"', 'f"{len(calls)} "').replace(
        'state["word"] = self.word', 'calls.append(1); state["word"] = self.word'
    ) + "\ncalls = []\n")  # fmt: skip
    assert run_here(probe, *at(fault_server, "-c", "1", "-N")).code == 0
    assert (probe.folder / "scored").read_text().split() == ["2", "2"]


def test_no_environment_server_is_said_to_be_nothing_new(
    probe: Program, fault_server: FaultServer
) -> None:
    done = run_here(probe, *at(fault_server, "--disable-env-server"))
    assert done.code == 0, done
    assert "disable-env-server has no effect: there is no environment server" in done.err


def test_concurrency_that_is_not_to_change_stays(probe: Program, fault_server: FaultServer) -> None:
    busy = Reply(429, {"error": {"message": "busy"}})  # one that names a time sets a pace instead
    slow = Reply(body=chat_answer("yes"), delay=1.5)
    fault_server.script(CHAT, [*[busy] * 6, slow])
    done = run_here(probe, *at(fault_server, "-r", "6", "-c", "6", "--no-adaptive"))
    assert done.code == 0, done
    assert fault_server.most_at_once == 6


def ended_on_terminal(program: Program, *args: str) -> Terminal:
    """The run on a terminal, left with `q` where it has the screen."""
    terminal = Terminal(program.folder, program.env, *args)
    try:
        terminal.wait_for(
            lambda: "finished in" in terminal.text or b"Results saved" in terminal.raw
        )
        if b"\x1b[?1049h" in terminal.raw:
            terminal.type("q")
        assert terminal.finish() == 0
    finally:
        terminal.close()
    return terminal


def test_debug_prints_lines_where_there_is_a_terminal(program: Program) -> None:
    terminal = ended_on_terminal(program, "calculator", "-m", "demo", "-n", "2", "-s", "-d")
    assert b"\x1b[?1049h" not in terminal.raw
    assert "Progress: ████████████████████ 6/6 (100%)" in terminal.raw.decode()


@pytest.mark.slow
def test_the_screen_comes_where_a_file_says_lines(program: Program) -> None:
    (program.folder / "one.toml").write_text(
        'debug = true\nsave_results = true\nmodel = "demo"\nnum_examples = 2\n'
        '[[eval]]\nenv_id = "calculator"\n'
    )
    terminal = ended_on_terminal(program, "one.toml", "-u")
    assert b"\x1b[?1049h" in terminal.raw


def test_a_screen_without_a_terminal_is_reported_and_lines_come(program: Program) -> None:
    done = program.run("calculator", "-m", "demo", "-n", "1", "-u")
    assert done.code == 0, done
    assert "-u/--tui: there is no terminal, so lines are printed" in done.err
    assert "Progress:" in done.out
