"""`tui-eval config explain` and files of evaluations, as a user has them."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from command_here import command_here
from program import Program, chat_answer
from run_here import run_here
from servers import FaultServer, Reply

ROOT = Path(__file__).parent.parent.parent
SHIPPED = sorted((ROOT / "configs" / "eval").glob("*.toml"))
CHAT = "/v1/chat/completions"
GOOD = Reply(body=chat_answer("yes"))

ONE = """
model = "demo"
[[eval]]
env_id = "reverse-text"
num_examples = 2
rollouts_per_example = 1
save_results = true
"""


def test_every_setting_has_its_value_and_its_place(program: Program) -> None:
    program.environment("capitals", "raise SystemExit('imported')")
    done = command_here(
        program,
        *("config", "explain", "reverse-text", "-m", "demo", "-n", "4", "--set", "env_args.seed=3"),
        *("--header", "Authorization: Bearer secret", "-a", '{"api_key": "secret", "k": 1}'),
        *("-S", '{"top_p": 1, "extra_headers": {"A": "secret"}}'),
    )
    assert done.code == 0, done
    rows = {line.split()[0]: line.split(maxsplit=1)[1] for line in done.out.splitlines()}
    assert rows["num_examples"].split() == ["4", "--num-examples"]
    assert rows["rollouts_per_example"].split() == ["3", "built-in"]
    assert rows["api_base_url"].split()[0] == "embedded:demo"
    assert "configs/endpoints.toml:" in rows["api_base_url"]
    assert rows["env_args"].startswith('{"api_key": "***", "k": 1, "seed": 3}')
    assert rows["sampling_args"].startswith('{"top_p": 1, "extra_headers": {"A": "***"}}')
    assert rows["headers"].startswith('{"Authorization": "***"}')
    assert "secret" not in done.out
    assert not program.runs()


def test_of_further_evaluations_only_what_differs_is_printed(program: Program) -> None:
    done = command_here(program, "config", "explain", str(ROOT / "configs" / "eval" / "sweep.toml"))
    assert done.code == 0, done
    blocks = done.out.split("\n\n")
    assert [block.splitlines()[0] for block in blocks] == [
        f"[{number}/6] word-guess" for number in range(1, 7)
    ]
    names = [line.split()[0] for line in blocks[3].splitlines()[1:]]
    assert names == ["temperature", "env_args"]


def test_what_is_wrong_is_reported_beside_the_settings(program: Program) -> None:
    done = command_here(program, "config", "explain", "reverse-text", "-m", "demmo", "-n", "7")
    assert done.code == 2, done
    assert "Did you mean demo?" in done.err
    assert "num_examples" in done.out and "--num-examples" in done.out


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_the_shipped_files_are_without_fault(program: Program, path: Path) -> None:
    done = command_here(program, "config", "explain", str(path))
    assert (done.code, done.err) == (0, ""), done


def test_there_are_four_shipped_files() -> None:
    assert [path.stem for path in SHIPPED] == ["benchmark", "compare", "detailed", "sweep"]


def test_a_file_with_one_evaluation_runs(program: Program) -> None:
    (program.folder / "one.toml").write_text(ONE)
    done = program.run("one.toml", "-n", "9", "--set", "rollouts_per_example=2")
    assert done.code == 0, done
    warning = "warning: Beside one.toml these flags are ignored: -n/--num-examples."
    assert warning in done.err
    assert "Loading evaluations: one.toml" in done.out
    run = program.only_run()
    assert len(run.rows) == 4
    assert run.path.is_relative_to(program.folder / "outputs")
    again = run_here(
        program, "one.toml", "--resume", str(run.path), "--set", "rollouts_per_example=2"
    )
    assert again.code == 0, again
    assert len(program.only_run().rows) == 4


def test_a_file_that_says_resume_resumes_its_run(
    program: Program, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [GOOD, Reply(400, {"error": {"message": "no"}}), GOOD])
    text = ONE.replace('model = "demo"', f'model = "m"\napi_base_url = "{fault_server.url}/v1"')
    (program.folder / "one.toml").write_text(text + "max_concurrent = 1\n")
    assert run_here(program, "one.toml").code == 3
    run = program.only_run()
    (program.folder / "one.toml").write_text(text + f'resume_path = "{run.path}"\n')
    done = run_here(program, "one.toml")
    assert done.code == 0, done
    assert len(program.only_run().rows) == 2
    assert len(fault_server.requests) == 3


def test_everything_wrong_with_a_file_is_reported(program: Program) -> None:
    (program.folder / "bad.toml").write_text('modle = "x"\n[eval]\nenv_id = "x"\n')
    done = run_here(program, "bad.toml")
    assert done.code == 2, done
    assert "bad.toml:1: unknown key 'modle'. Did you mean model" in done.err
    assert "bad.toml:2: [eval] is one table. Write [[eval]]" in done.err


def test_replicas_take_turns_and_get_their_headers(
    program: Program, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [GOOD])
    fault_server.script("/b" + CHAT, [GOOD])
    configs = program.folder / "configs"
    configs.mkdir()
    (configs / "endpoints.toml").write_text(
        f'[[endpoint]]\nendpoint_id = "two"\nmodel = "m"\nurl = "{fault_server.url}/v1"\n'
        f'[[endpoint]]\nendpoint_id = "two"\nmodel = "m"\nurl = "{fault_server.url}/b/v1"\n'
        'headers = { X-Replica = "a secret of the registry" }\n'
    )
    done = run_here(
        program,
        *("reverse-text", "-m", "two", "-n", "4", "-r", "1", "--header", "X-Both: of-the-flag"),
    )
    assert done.code == 0, done
    seen = [(one.path, one.headers.get("X-Replica")) for one in fault_server.requests]
    assert sorted(seen, key=str) == [
        *[("/b" + CHAT, "a secret of the registry")] * 2,
        *[(CHAT, None)] * 2,
    ]
    assert {one.headers["X-Both"] for one in fault_server.requests} == {"of-the-flag"}
    run = program.only_run()
    url = fault_server.url
    assert run.metadata["base_url"] == f"{url}/v1,{url}/b/v1"
    for file in run.path.iterdir():
        assert b"a secret of the registry" not in file.read_bytes(), file


def test_a_key_from_the_env_file_is_sent_and_never_written(
    program: Program, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [GOOD])
    (program.folder / ".env").write_text("MY_KEY=sk-of-the-env-file\n'broken\n")
    url = f"{fault_server.url}/v1"
    done = program.run("reverse-text", "-m", "m", "-b", url, "-k", "MY_KEY", "-n", "1", "-r", "1")
    assert done.code == 0, done
    assert fault_server.requests[0].headers["Authorization"] == "Bearer sk-of-the-env-file"
    assert "warning: .env:2: this line is no NAME=VALUE and was left out" in done.err
    assert "sk-of-the-env-file" not in done.out + done.err
    for file in program.only_run().path.iterdir():
        assert b"sk-of-the-env-file" not in file.read_bytes(), file


def test_the_help_has_headings(program: Program) -> None:
    done = command_here(program, "run", "--help")
    headings = [line for line in done.out.splitlines() if line.endswith(":") and line[0] != " "]
    assert headings == [
        "Model:", "Sampling:", "Environment:", "Scope:", "Concurrency and limits:", "Scoring:",
        "Saving and resuming:", "This command:",
    ]  # fmt: skip
    assert done.out.count("--help") == 1


def test_a_file_that_says_debug_prints_plain_lines(program: Program) -> None:
    (program.folder / "one.toml").write_text(f"debug = true\n{ONE}")
    done = program.run("one.toml")
    assert done.code == 0, done
    assert "Progress:" in done.out


def test_the_keys_are_printed_as_settings_that_can_be_read_back(program: Program) -> None:
    printed = command_here(program, "config", "keys")
    assert (printed.code, printed.err) == (0, ""), printed
    keys = tomllib.loads(printed.out)["keys"]
    assert keys["run"]["pause"] == ["space", "p"]
    assert keys["list"]["filter"] == "/"
    program.settings.write_text(printed.out)
    again = command_here(program, "config", "keys")
    assert (again.code, again.out, again.err) == (0, printed.out, "")


def test_all_that_is_wrong_with_the_settings_is_reported_and_no_run_fails_for_it(
    program: Program,
) -> None:
    program.settings.write_text('theme = "lihgt"\n[keys]\nlist.filtre = "x"\n')
    reported = command_here(program, "config", "keys")
    assert reported.code == 2
    assert f"{program.settings}:1: theme: 'lihgt'" in reported.err
    assert "Did you mean light?" in reported.err
    assert f"{program.settings}:3: keys.list.filtre" in reported.err
    run = program.run("reverse-text", "-m", "demo", "-n", "1", "-r", "1")
    assert run.code == 0, run
    (line,) = (line for line in run.err.splitlines() if "lihgt" in line)
    assert "2 faults in the settings, see tui-eval config keys" in line


def test_the_page_on_the_screen_names_settings_that_there_are(program: Program) -> None:
    page = (ROOT / "docs" / "screen.md").read_text()
    program.settings.write_text(page.split("```toml\n")[1].split("```")[0])
    assert command_here(program, "config", "keys").code == 0
