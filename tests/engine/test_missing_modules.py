"""Modules that reward functions import and that are not there: warned of before the first call."""

from __future__ import annotations

import pytest
from command_here import command_here
from program import Program, chat_answer
from servers import FaultServer, Reply

GRADED = """
    import tui_eval as vf

    def grade(completion):
        from no_such_grader.metrics import score
        return score(completion)

    def careful(completion):
        try:
            import no_such_extra
        except:
            return 0.5
        from json import dumps
        return 1.0

    def load_environment(graded=True):
        return vf.SingleTurnEnv(
            dataset=[{"question": "a"}], rubric=vf.Rubric(funcs=[careful, grade][: 1 + graded])
        )
"""


def test_evaluations_of_a_file_are_warned_of_with_their_own_arguments(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment("echo", GRADED)
    head = f'model = "qwen3"\napi_base_url = "{fault_server.url}/v1"\nenv_id = "echo"\n'
    two = "[[eval]]\nenv_args = {graded = false}\n[[eval]]\n"
    (program.folder / "two.toml").write_text(head + two)
    done = command_here(program, "two.toml", "--dry-run", "--json")
    assert done.code == 0 and done.out.count("no_such_grader") == 1, done


@pytest.mark.slow
def test_a_grader_that_is_not_there_is_warned_of_before_the_first_call(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment("echo", GRADED)
    fault_server.script("/v1/chat/completions", [Reply(body=chat_answer("yes"))])
    url = f"{fault_server.url}/v1"
    done = program.run("echo", "-m", "qwen3", "-b", url, "-n", "1", "-r", "1")
    warned = "warning: reward function grade imports no_such_grader, which is not installed ("
    assert warned in done.err and "echo.py:5); `tui-eval env check echo` says what" in done.err
    assert "no_such_extra" not in done.err
    head = f'model = "qwen3"\napi_base_url = "{url}"\nnum_examples = 1\nenv_id = "echo"\n'
    two = "[[eval]]\n[[eval]]\nrollouts_per_example = 2\n"
    (program.folder / "two.toml").write_text(head + two)
    suite = program.run("two.toml", "-d")
    assert suite.err.count(warned) == 1, suite
