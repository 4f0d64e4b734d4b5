"""The name `verifiers` is an alias, or stays with the package that is installed."""

from __future__ import annotations

import subprocess
import sys

import pytest
from program import Program, Run, chat_answer
from servers import FaultServer, Reply
from verifiers_cases import ENVIRONMENTS


@pytest.mark.slow
def test_no_alias_leaves_the_name_to_the_installed_package(program: Program) -> None:
    package = program.folder / "site" / "verifiers"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("class SingleTurnEnv:\n    __module__ = 'verifiers.x'\n")
    program.env["PYTHONPATH"] = str(package.parent)
    program.environment(
        "mine",
        """
        import tui_eval as vf
        import verifiers

        def is_theirs():
            return float(verifiers is not vf)

        def load_environment(ours: bool = True):
            if not ours:
                return verifiers.SingleTurnEnv()
            return vf.SingleTurnEnv(dataset=[{"question": "q"}], rubric=vf.Rubric([is_theirs]))
        """,
    )
    usual = ["mine", "-m", "demo", "-n", "1", "-r", "1"]
    assert program.run(*usual, "-o", "usual").code == 0
    assert program.run(*usual, "-o", "left-alone", "--no-alias").code == 0
    rewards = {}
    for name in ("usual", "left-alone"):
        (run,) = program.runs(program.folder / name)
        rewards[name] = run.rows[0]["reward"]
    assert rewards == {"usual": 0.0, "left-alone": 1.0}
    # What resumes a run does as the run did.
    for name, reward in rewards.items():
        (run,) = program.runs(program.folder / name)
        _forget_rows(run)
        assert program.run("-R", str(run.path), "-d").code == 0
        assert [row["reward"] for row in run.rows] == [reward]
    done = program.run(*usual, "--no-alias", "-a", '{"ours": false}')
    assert done.code == 2
    assert "made with the installed package verifiers." in done.err
    assert "leave out --no-alias" in done.err


@pytest.mark.slow
@pytest.mark.parametrize("installed", [False, True])
def test_in_python_an_environment_loads_as_it_is_or_with_the_alias(
    program: Program, fault_server: FaultServer, installed: bool
) -> None:
    fault_server.script("/v1/chat/completions", [Reply(body=chat_answer("Poppy"))])
    if installed:
        (program.folder / "verifiers.py").write_text("SingleTurnEnv = object\n")
    code = f"""if True:
        from contextlib import nullcontext
        from pathlib import Path
        import tui_eval as vf
        from tui_eval.compat import verifiers_alias
        with verifiers_alias() if {installed} else nullcontext():
            folder = Path({str(ENVIRONMENTS)!r})
            env = vf.load_environment("original-names", environments_dir=folder)
        client = vf.ClientConfig(api_base_url="{fault_server.url}/v1", api_key_var="KEY")
        done = env.evaluate_sync(client, "m", num_examples=2, rollouts_per_example=2)
        print([output["reward"] for output in done["outputs"]])
    """
    done = run_python(program, code)
    assert done.stdout.strip() == "[1.0, 1.0, 1.0, 1.0]", done.stderr


def test_an_installed_verifiers_keeps_its_name_in_python(program: Program) -> None:
    (program.folder / "verifiers.py").write_text("SingleTurnEnv = object\n")
    program.environment(
        "theirs",
        """
        import verifiers as vf

        def load_environment():
            return vf.SingleTurnEnv()
        """,
    )
    code = """if True:
        import tui_eval as vf
        try:
            vf.load_environment("theirs")
        except vf.RefusedError as error:
            print(error)
    """
    assert "returned a object, not an Environment" in run_python(program, code).stdout


def run_python(program: Program, code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        env={**program.env, "KEY": "sk-of-a-test"},
        cwd=program.folder,
    )


def test_no_alias_without_the_package_says_what_to_do(program: Program) -> None:
    done = program.run(
        *("original-names", "-m", "demo", "--env-dir-path", str(ENVIRONMENTS), "--no-alias")
    )
    assert done.code == 2
    assert "No module named 'verifiers'" in done.err
    assert "leave out --no-alias" in done.err


def test_a_name_that_we_do_not_have_stops_the_run_before_it_begins(program: Program) -> None:
    program.environment("boxes", "from verifiers import SandboxEnv\n")
    done = program.run("boxes", "-m", "demo")
    assert done.code == 2
    assert "tui_eval has no 'SandboxEnv': it needs a sandbox" in done.err
    assert "boxes.py:1" in done.err


def _forget_rows(run: Run) -> None:
    (run.path / "results.jsonl").write_text("")
    (run.path / "results.index").unlink(missing_ok=True)
