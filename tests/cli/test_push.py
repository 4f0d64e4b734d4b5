"""Rollouts on the Hugging Face hub, a stand-in on loopback, and what happens where it refuses."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet
import pytest
from command_here import command_here
from hub_stand_in import HubStandIn
from program import Program
from terminal import Terminal

DEMO = ("-m", "demo", "-n", "2", "-r", "2", "-s")


@pytest.fixture
def hub(program: Program, tmp_path: Path) -> Iterator[HubStandIn]:
    with HubStandIn() as hub:
        program.env |= hub.environment(str(tmp_path / "hf"))
        yield hub


def test_a_run_pushes_its_rollouts_once_it_is_finished(program: Program, hub: HubStandIn) -> None:
    done = program.run("calculator", *DEMO, "--save-to-hf-hub", "-D", "my-org/my-env-results")
    assert done.code == 0, done
    assert "Pushed 4 rollouts to the dataset my-org/my-env-results" in done.err
    assert [(one["organization"], one["name"]) for one in hub.created] == [
        ("my-org", "my-env-results")
    ]
    (data,) = [content for name, content in hub.files.items() if name.endswith(".parquet")]
    pushed = pyarrow.parquet.read_table(io.BytesIO(data)).to_pylist()
    rows = program.only_run().rows
    assert len(pushed) == 4
    for name in ("example_id", "answer", "reward", "metrics", "token_usage", "stop_condition"):
        assert [row[name] for row in pushed] == [row.get(name) for row in rows], name
    assert pushed[0]["completion"][0]["role"] == "assistant"
    assert json.loads(pushed[0]["tui_eval"])["rollout"] == rows[0]["tui_eval"]["rollout"]


@pytest.mark.slow
def test_the_evaluations_of_a_file_push_to_datasets_of_their_own(
    program: Program, hub: HubStandIn
) -> None:
    (program.folder / "suite.toml").write_text(
        'model = "demo"\nnum_examples = 2\nrollouts_per_example = 1\nenv_id = "reverse-text"\n'
        "[[eval]]\nsave_to_hf_hub = true\ntemperature = 0.1\n"
        "[[eval]]\ntemperature = 0.2\n[[eval]]\nsave_to_hf_hub = true\ntemperature = 0.3\n"
    )
    done = program.run("suite.toml", "--json")
    assert done.code == 0, done
    name = "reverse-text_demo-scripted-policy_n2_r1"
    reported = [one.get("hub", {}).get("text", "") for one in json.loads(done.out)["evaluations"]]
    assert [text.partition(" to the dataset ")[2] for text in reported] == [
        f"{name}_1", "", f"{name}_3",
    ]  # fmt: skip


ONE = """
model = "demo"
num_examples = 2
rollouts_per_example = 1
save_results = true
save_to_hf_hub = true
[[eval]]
env_id = "reverse-text"
"""
NAME = "reverse-text_demo-scripted-policy_n2_r1"


@pytest.mark.slow
def test_a_file_with_one_evaluation_pushes_it_under_a_name_of_its_own_and_json_has_it(
    program: Program, hub: HubStandIn
) -> None:
    (program.folder / "one.toml").write_text(ONE)
    done = program.run("one.toml", "--json")
    assert done.code == 0, done
    reported = json.loads(done.out)["hub"]
    assert reported == {"pushed": True, "text": f"Pushed 2 rollouts to the dataset {NAME}"}
    assert [one["name"] for one in hub.created] == [NAME]


@pytest.mark.slow
def test_what_a_file_requests_is_pushed_from_the_screen_too(
    program: Program, hub: HubStandIn
) -> None:
    (program.folder / "one.toml").write_text(ONE)
    terminal = Terminal(program.folder, program.env, "one.toml")
    terminal.wait_for("finished in")
    terminal.type("q")
    terminal.wait_for(f"Pushed 2 rollouts to the dataset {NAME}")
    assert terminal.finish() == 0
    terminal.close()


@pytest.mark.slow
def test_a_run_that_is_resumed_is_pushed_as_it_was_requested(
    program: Program, hub: HubStandIn
) -> None:
    stopped = program.run("reverse-text", *DEMO, "-H", "--max-total-tokens", "1", "-c", "1")
    assert stopped.code == 4, stopped
    assert "The run is not finished, so it is not pushed" in stopped.err
    path = str(program.only_run().path)
    done = program.run("--resume", path, "--max-total-tokens", "1000000")
    assert done.code == 0, done
    assert "Pushed 4 rollouts to the dataset reverse-text_" in done.err


@pytest.mark.slow
def test_a_push_that_fails_leaves_the_files_and_says_how_to_try_again(
    program: Program, hub: HubStandIn
) -> None:
    hub.refuses = 403
    done = program.run("reverse-text", *DEMO, "-H", "-D", "my-org/x", "--json")
    assert (done.code, json.loads(done.out)["exit_code"]) == (8, 8), done
    run = program.only_run()
    assert len(run.rows) == 4
    assert "error: dataset my-org/x: the hub did not take it:" in done.err
    assert f"Try again: tui-eval push {run.path} -D my-org/x" in done.err
    assert "Traceback" not in done.err
    assert "hf_standin" not in done.err + done.out
    again = program.run("push", str(run.path))
    assert again.code == 1, again
    assert "error: dataset my-org/x: the hub did not take it:" in again.err, "as it was requested"
    hub.refuses = 0
    again = program.run("push", str(run.path), "-D", "my-org/x", "--private")
    assert again.code == 0, again
    assert again.out == "Pushed 4 rollouts to the dataset my-org/x\n"
    created = hub.created[-1]
    assert created.get("visibility") == "private" or created.get("private") is True


@pytest.mark.slow
def test_pushes_that_fail_are_the_exit_code_of_a_file_of_evaluations(
    program: Program, hub: HubStandIn
) -> None:
    hub.refuses = 403
    (program.folder / "two.toml").write_text(
        ONE.replace("[[eval]]", "[[eval]]\ntemperature = 0.1") + ONE[ONE.index("[[eval]]") :]
    )
    done = program.run("two.toml", "--json")
    reported = json.loads(done.out)
    assert (done.code, reported["exit_code"]) == (8, 8), done
    assert [one["exit_code"] for one in reported["evaluations"]] == [8, 8]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("token", "whoami", "said"),
    [
        ("", 200, "--save-to-hf-hub: nobody is logged in to the Hugging Face hub. Log in with"),
        ("hf_other", 401, "--save-to-hf-hub: the hub does not know the token (401)"),
    ],
)
def test_a_push_that_nobody_may_make_is_refused_before_the_run(
    program: Program, hub: HubStandIn, token: str, whoami: int, said: str
) -> None:
    hub.whoami = whoami
    program.env["HF_TOKEN"] = token
    done = program.run("reverse-text", *DEMO, "-H")
    assert done.code == 2, done
    assert said in done.err
    assert program.runs() == [] and not hub.created


def test_a_hub_that_does_not_answer_is_a_warning(program: Program, hub: HubStandIn) -> None:
    hub.whoami = 503
    done = program.run("reverse-text", *DEMO, "-H", "-D", "their-org/x", "--dry-run")
    assert done.code == 0, done
    assert "may fail: it answered with 503" in done.err
    hub.whoami = 200
    done = program.run("reverse-text", *DEMO, "-H", "-D", "their-org/x", "--dry-run")
    assert "their-org/x is under none of the accounts of the token (me)" in done.err


def test_what_cannot_be_pushed_is_refused(program: Program, hub: HubStandIn) -> None:
    nothing = program.folder / "empty"
    nothing.mkdir()
    (nothing / "results.jsonl").write_text("")
    assert "no finished rollout" in command_here(program, "push", str(nothing)).err
    missing = command_here(program, "push", "nowhere")
    assert missing.code == 2
    assert "there is no such file" in missing.err
    assert hub.requests == []


@pytest.mark.slow
def test_a_program_pushes_what_the_command_pushes(program: Program, hub: HubStandIn) -> None:
    done = _python(program, 'hf_hub_dataset_name="my-org/mine"')
    assert done.returncode == 0, done.stderr
    assert [one["name"] for one in hub.created] == ["mine"]
    (data,) = [content for name, content in hub.files.items() if name.endswith(".parquet")]
    pushed = pyarrow.parquet.read_table(io.BytesIO(data)).to_pylist()
    rows = program.only_run().rows
    assert [row["reward"] for row in pushed] == [row["reward"] for row in rows]
    assert json.loads(pushed[0]["tui_eval"])["rollout"] == rows[0]["tui_eval"]["rollout"]


@pytest.mark.slow
def test_a_program_whose_push_fails_has_its_outputs_and_a_line_in_the_log(
    program: Program, hub: HubStandIn
) -> None:
    hub.refuses = 403
    done = _python(program, 'hf_hub_dataset_name="my-org/mine"')
    assert done.returncode == 0, done.stderr
    assert done.stdout == "2\n"
    again = f"tui-eval push {program.only_run().path} -D my-org/mine"
    assert "dataset my-org/mine: the hub did not take it:" in done.stderr
    assert again in done.stderr


def _python(program: Program, named: str) -> subprocess.CompletedProcess[str]:
    """A program that runs two rollouts and pushes them; it prints how many it got."""
    source = f"""
import tui_eval as vf

env = vf.load_environment("reverse-text")
demo = vf.ClientConfig(api_base_url="embedded:demo", api_key_var="")
got = env.evaluate_sync(
    demo, "demo-scripted-policy", num_examples=2, push_to_hf_hub=True, {named}
)
print(len(got["outputs"]))
"""
    return subprocess.run(
        [sys.executable, "-c", source],
        cwd=program.folder,
        env=program.env,
        capture_output=True,
        text=True,
    )
