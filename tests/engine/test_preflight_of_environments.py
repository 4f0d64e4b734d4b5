"""Faults that would fail every rollout are refused before the first: reward functions, columns."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest
from command_here import command_here
from echo_runs import CHAT, ECHO, assert_refused_unpaid, echo, run, run_all
from program import Finished, Program, chat_answer
from run_here import run_here
from servers import FaultServer, Reply

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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_missing_package_of_math_is_named(program: Program, fault_server: FaultServer) -> None:
    echo(program, "vf.MathRubric()", "import sys; sys.modules['math_verify'] = None")
    url = f"{fault_server.url}/v1"
    done = program.run("echo", "-m", "qwen3", "-b", url, "-n", "1", "-r", "1")
    assert_refused_unpaid(done, fault_server, "tui-eval[math]")


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


def test_a_column_that_no_state_had_is_reported_at_the_start_and_at_the_end(
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
    warning = f"  totally_unknown: {nowhere}. Did you mean totally_known?"
    lines = done.out.splitlines()
    assert warning in lines
    assert f"  judge_response: {nowhere}" in lines
    assert not [line for line in lines if line.startswith(("  totally_known:", "  plainly_known"))]
    (one,) = program.runs()
    missing = {"totally_unknown": "Did you mean totally_known?", "judge_response": ""}
    assert one.metadata["missing_columns"] == missing
    report = command_here(program, "report", str(one.path), "--json")
    assert json.loads(report.out)["missing_columns"] == missing


@pytest.mark.slow
def test_nothing_is_said_of_columns_where_every_rollout_errored(
    program: Program, fault_server: FaultServer
) -> None:
    echo(program)
    fault_server.script(CHAT, [Reply(400, {"error": {"message": "no"}})])
    url = f"{fault_server.url}/v1"
    args = ("-m", "qwen3", "-b", url, "-n", "1", "-r", "1", "-C", "totally_unknown")
    done = run_here(program, "echo", *args, "--no-preflight")
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
