"""What would fail once it costs something is refused before: endpoint, key, model, rewards."""

from __future__ import annotations

import json
import signal
import socket
from collections.abc import Iterable
from pathlib import Path

import pytest
from program import Finished, Program, chat_answer, wait_until
from servers import FaultServer, Reply

CHAT, MODELS = "/v1/chat/completions", "/v1/models"

ECHO = """
    import tui_eval as vf
    {before}

    def load_environment():
        return vf.SingleTurnEnv(dataset=[{{"question": "a", "answer": "b"}}], rubric={rubric})
"""


def listed(*names: str) -> Reply:
    return Reply(body={"object": "list", "data": [{"id": name} for name in names]})


def echo(program: Program, rubric: str = "vf.Rubric()", before: str = "") -> None:
    program.environment("echo", ECHO.format(rubric=rubric, before=before))


def run(program: Program, server: FaultServer, *more: str) -> Finished:
    server.script(CHAT, [Reply(body=chat_answer("yes"))])
    url = f"{server.url}/v1"
    return program.run("echo", "-m", "qwen3", "-b", url, "-n", "1", "-r", "1", *more)


def assert_refused_unpaid(done: Finished, server: FaultServer, *said: str) -> None:
    assert done.code == 2, done
    for text in said:
        assert text in done.err, done
    assert not [one for one in server.requests if one.path == CHAT]


def test_a_model_that_the_endpoint_does_not_list_is_warned_of_with_the_nearest(
    program: Program, fault_server: FaultServer
) -> None:
    echo(program)
    fault_server.script(MODELS, [listed("qwen3-8b", "other")])
    done = run(program, fault_server)
    assert done.code == 0, done
    told = "does not list the model 'qwen3', and may not serve it. Did you mean qwen3-8b?"
    assert told in done.err, done
    assert "does not list" not in run(program, fault_server, "--no-preflight").err


@pytest.mark.parametrize("suffix", ["", "/v1/", "/v1/chat/completions"])
@pytest.mark.parametrize("below", ["/v1", ""])
def test_every_spelling_of_a_base_url_reaches_preflight_and_requests(
    program: Program, fault_server: FaultServer, below: str, suffix: str
) -> None:
    echo(program)
    fault_server.script(f"{below}/models", [listed("other")])
    fault_server.script(f"{below}/chat/completions", [Reply(body=chat_answer("yes"))])
    done = program.run(
        *("echo", "-m", "qwen3", "-b", fault_server.url + suffix, "-n", "2", "-r", "2")
    )
    assert done.code == 0, done
    assert "does not list the model 'qwen3'" in done.err, done
    assert "2 used" in done.out, done


def run_all(program: Program, *own: str) -> Finished:
    """One evaluation of one rollout for each text, as one run."""
    top = 'model = "qwen3"\nnum_examples = 1\nrollouts_per_example = 1\n'
    tables = "\n".join(f"[[eval]]\n{one}" for one in own)
    (program.folder / "all.toml").write_text(top + tables)
    return program.run("all.toml")


def assert_used(program: Program, server: FaultServer, replies: list[Reply]) -> None:
    """Each endpoint is asked for its models, and then for its answer."""
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


def test_an_endpoint_that_lists_its_models_slowly_is_used_soon(
    program: Program, fault_server: FaultServer
) -> None:
    slow = [Reply(hang=True), Reply(body=b" " * 10_000, drip=0.1)]
    assert_used(program, fault_server, slow)


@pytest.mark.parametrize("told", ["by its status", "inside a 200"])
@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_named_by_its_variable(
    program: Program, fault_server: FaultServer, status: int, told: str
) -> None:
    echo(program)
    program.env["MY_KEY"] = "secret-value"
    refused = {"error": {"code": status, "message": "no such key"}}
    fault_server.script(MODELS, [Reply(status) if told == "by its status" else Reply(body=refused)])
    done = run(program, fault_server, "-k", "MY_KEY")
    assert_refused_unpaid(done, fault_server, f"the key in MY_KEY is refused (HTTP {status})")
    assert "secret-value" not in done.err
    assert fault_server.requests[0].headers["Authorization"] == "Bearer secret-value"


def test_without_a_key_the_models_are_asked_for_as_the_requests_ask(
    program: Program, fault_server: FaultServer
) -> None:
    echo(program)
    fault_server.script(MODELS, [listed("qwen3")])
    done = run(program, fault_server, "-k", "")
    assert done.code == 0, done
    asked = {one.path: one.headers.get("Authorization") for one in fault_server.requests}
    assert len(asked) == 2, asked
    assert len(set(asked.values())) == 1, asked


def test_the_key_of_anthropics_protocol_goes_as_it_wants_it(
    program: Program, fault_server: FaultServer
) -> None:
    echo(program)
    program.env["MY_KEY"] = "secret-value"
    fault_server.script("/v1/models", [Reply(401)])
    done = program.run(
        *("echo", "-m", "claude", "-b", fault_server.url, "-k", "MY_KEY", "-n", "1"),
        *("--api-client-type", "anthropic_messages"),
    )
    assert_refused_unpaid(done, fault_server, "the key in MY_KEY is refused")
    (asked,) = fault_server.requests
    assert asked.headers["x-api-key"] == "secret-value"
    assert "Authorization" not in asked.headers


def test_all_that_is_wrong_is_told_at_once(program: Program, fault_server: FaultServer) -> None:
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
def test_a_folder_that_takes_no_files_is_told_with_everything_else(
    program: Program, fault_server: FaultServer
) -> None:
    echo(program)
    fault_server.script(MODELS, [Reply(401)])
    done = run(program, fault_server, "-o", "/proc/runs")
    assert_refused_unpaid(
        done, fault_server, "the endpoint wants a key",
        "/proc/runs: the run cannot be written here",
    )  # fmt: skip


UNCALLABLE = {
    "vf.Rubric(funcs=[f])": "reward function f: nothing is known for its parameter 'wanted'",
    "vf.RubricGroup([vf.Rubric(), vf.RubricGroup([vf.Rubric(funcs=[g])])])": "function g: nothing",
    "vf.JudgeRubric(funcs=[h])": "judge_prompt",
    "vf.Rubric(funcs=[i])": "Known are prompts, completions, answers",
}


def echoes(program: Program, server: FaultServer, rubrics: Iterable[str], before: str) -> Finished:
    """Runs an environment with each of the rubrics: `echo-0`, `echo-1` and so on."""
    server.script(CHAT, [Reply(body=chat_answer("yes"))])
    own = []
    for number, rubric in enumerate(rubrics):
        program.environment(f"echo-{number}", ECHO.format(rubric=rubric, before=before))
        own.append(f'env_id = "echo-{number}"\napi_base_url = "{server.url}/v1"')
    return run_all(program, *own)


def test_a_reward_function_that_cannot_be_called_is_refused(
    program: Program, fault_server: FaultServer
) -> None:
    functions = "\n    ".join(f"def {name}(completion, wanted): ..." for name in "fgh")
    functions += "\n    def i(completions, answer): ..."
    done = echoes(program, fault_server, UNCALLABLE, functions)
    assert_refused_unpaid(done, fault_server, *UNCALLABLE.values())


def test_reward_functions_of_a_groups_members_are_looked_at(
    program: Program, fault_server: FaultServer
) -> None:
    echo(program)
    program.environment(
        "echo",
        """
        import tui_eval as vf

        def load_environment():
            bad = vf.Rubric(funcs=[lambda nothing: 1.0])
            data = [{"question": "a"}]
            one, two = vf.SingleTurnEnv(dataset=data), vf.SingleTurnEnv(dataset=data, rubric=bad)
            return vf.EnvGroup([vf.EnvGroup([one, two])])
        """,
    )
    assert_refused_unpaid(run(program, fault_server), fault_server, "'nothing'")


def test_reward_functions_that_get_all_they_need_are_called(
    program: Program, fault_server: FaultServer
) -> None:
    rubrics = [
        "vf.Rubric(funcs=[lambda completion, extra=1: 1.0])",
        "vf.Rubric(funcs=[lambda *args, **kwargs: 1.0])",
        "given",
        "Own(funcs=[lambda mine: 1.0])",
    ]
    before = """
    given = vf.Rubric(funcs=[lambda mine: 1.0])
    given.add_class_object("mine", 1)

    class Own(vf.Rubric):
        async def score_group(self, states):
            for state in states:
                state["reward"], state["metrics"] = self.funcs[0](1), {}
    """
    done = echoes(program, fault_server, rubrics, before.strip())
    assert done.code == 0, done
    assert [row["reward"] for one in program.runs() for row in one.rows] == [1.0] * len(rubrics)


def test_a_missing_package_of_math_is_named(program: Program, fault_server: FaultServer) -> None:
    echo(program, "vf.MathRubric()", "import sys; sys.modules['math_verify'] = None")
    assert_refused_unpaid(run(program, fault_server), fault_server, "tui-eval[math]")


def test_columns_that_are_slips_are_refused_with_the_nearest_names(
    program: Program, fault_server: FaultServer
) -> None:
    echo(
        program,
        "vf.Rubric(funcs=[right])",
        "right = lambda answer: 1.0; right.__name__ = 'exact_match'",
    )
    done = run(program, fault_server, "-C", "judge_respons,reward,my_own,exact_mach")
    assert_refused_unpaid(
        done, fault_server,
        "-C judge_respons: a state has no such key. Did you mean judge_response?",
        "-C exact_mach: a state has no such key. Did you mean exact_match?",
    )  # fmt: skip
    assert "my_own" not in done.err
    assert run(program, fault_server, "-C", "judge_respons", "--no-preflight").code == 0


def test_a_column_that_no_state_had_is_told_at_the_start_and_at_the_end(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment(
        "echo",
        """
        import tui_eval as vf

        class Noting(vf.SingleTurnEnv):
            async def setup_state(self, state):
                state["totally_" + "known"] = None
                state["plainly_known"] = 1
                return await super().setup_state(state)

        def load_environment():
            return Noting(dataset=[{"question": "a", "answer": "b"}], rubric=vf.Rubric())
        """,
    )
    names = "totally_unknown,totally_known,plainly_known,answer,judge_response"
    done = run(program, fault_server, "-C", names)
    assert done.code == 0, done
    (before,) = [line for line in done.err.splitlines() if "-C" in line]
    assert before.startswith(
        "warning: -C totally_unknown, totally_known: the environment's own files"
    )
    nowhere = "in no rollout's state, so null in every row"
    told = f"  totally_unknown: {nowhere}. Did you mean totally_known?"
    lines = done.out.splitlines()
    assert told in lines
    assert f"  judge_response: {nowhere}" in lines
    assert not [line for line in lines if line.startswith(("  totally_known:", "  plainly_known"))]
    (one,) = program.runs()
    missing = {"totally_unknown": "Did you mean totally_known?", "judge_response": ""}
    assert one.metadata["missing_columns"] == missing
    report = program.run("report", str(one.path), "--json")
    assert json.loads(report.out)["missing_columns"] == missing


def test_nothing_is_said_of_columns_where_every_rollout_errored(
    program: Program, fault_server: FaultServer
) -> None:
    echo(program)
    fault_server.script(CHAT, [Reply(400, {"error": {"message": "no"}})])
    url = f"{fault_server.url}/v1"
    args = ("-m", "qwen3", "-b", url, "-n", "1", "-r", "1", "-C", "totally_unknown")
    done = program.run("echo", *args, "--no-preflight")
    assert done.code == 3, done
    assert "totally_unknown" not in done.out + done.err


@pytest.mark.parametrize("where", ["environment", "reward function"])
def test_a_column_that_the_environments_code_names_is_no_slip(
    program: Program, fault_server: FaultServer, where: str
) -> None:
    base, functions = ("Asks", "") if where == "environment" else ("vf.SingleTurnEnv", "[f]")
    program.environment(
        "echo",
        f"""
        import tui_eval as vf

        class Asks(vf.SingleTurnEnv):
            pass

        def f(state):
            state["answers"] = [1]
            return 1.0

        def load_environment():
            rubric = vf.Rubric(funcs={functions or "[]"})
            return {base}(dataset=[{{"question": "a", "answer": "b"}}], rubric=rubric)
        """,
    )
    done = run(program, fault_server, "-C", "answers")
    assert done.code == 0, done


def test_https_to_a_port_that_speaks_http_is_refused_before_anything_begins(
    program: Program, fault_server: FaultServer
) -> None:
    echo(program)
    url = fault_server.url.replace("http:", "https:")
    done = program.run("echo", "-m", "m", "-b", f"{url}/v1", "-n", "1", "-r", "1")
    assert done.code == 2, done
    assert "no TLS there: the port speaks plain http; begin the URL with http://" in done.err


def test_white_space_around_a_url_is_told_once(program: Program, fault_server: FaultServer) -> None:
    echo(program)
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"))])
    done = program.run("echo", "-m", "m", "-b", f" {fault_server.url}/v1\n", "-n", "1", "-r", "1")
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
    done = program.run(
        *("echo", "-m", "good", "-b", url, "-k", "NOKEY", "-C", "completoin", "-o", "file/runs")
    )
    assert done.code == 2, done
    for text in ("NOKEY: this variable", "-C completoin", "file is no folder", "'anwser'",
                 "nothing listens"):  # fmt: skip
        assert text in done.err, done
    assert done.err.count("NOKEY: this variable") == 1, done


def test_an_unknown_alias_hides_no_other_fault(program: Program) -> None:
    echo(program)
    (program.folder / "file").write_text("")
    done = program.run("echo", "-m", "nobody", "-C", "completoin", "-o", "file/runs", "-n", "x")
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
