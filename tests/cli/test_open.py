"""`tui-eval open` without a path."""

from __future__ import annotations

import json

import pytest
from command_here import command_here
from program import Program
from run_here import run_here

from tui_eval.cli.main import cli


def test_the_newest_run_is_opened(program: Program) -> None:
    none = command_here(program, "open")
    assert none.code == 2
    assert "there is no run" in none.err
    for environment, args in (("reverse-text", ["-s"]), ("word-guess", [])):
        assert run_here(program, environment, "-m", "demo", "-n", "1", "-r", "1", *args).code == 0
        opened = command_here(program, "open")
        assert opened.code == 0, opened
        assert f"{environment}--demo-scripted-policy" in opened.out


def test_a_run_directory_or_its_file_alone_is_opened(program: Program) -> None:
    assert run_here(program, "word-guess", "-m", "demo", "-n", "1", "-r", "1", "-s").code == 0
    (run,) = program.folder.glob("outputs/evals/*/*")
    with (run / "results.jsonl").open("a", encoding="utf-8") as results:
        results.write("junk\n")
    for path in (run / "results.jsonl", run):
        opened = command_here(program, str(path))
        assert opened.code == 0, opened
        assert f"Results saved to: {run}" in opened.out
    assert "results.jsonl, line 2: not JSON at character 1" in opened.err


def test_a_file_of_any_name_is_no_environment(program: Program) -> None:
    said = [{"role": "user", "content": "two?"}, {"role": "assistant", "content": "2"}]
    (program.folder / "said.txt").write_text(json.dumps({"messages": said}) + "\n")
    opened = command_here(program, "said.txt")
    assert opened.code == 0 and "Results saved to:" in opened.out
    (program.folder / "notes.txt").write_text("nothing of that kind\n")
    refused = command_here(program, "notes.txt")
    assert refused.code == 2
    assert "notes.txt: no rollouts can be read from this" in refused.err


def test_a_file_of_evaluations_that_is_not_there_is_reported(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli(["open", "nowhere.toml"]) == 2
    assert "nowhere.toml: there is no such file" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["open"], ["compare", "--json", "a"]])
def test_what_the_system_refuses_is_reported_without_a_traceback(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    name = "n" * 300
    assert cli([*words, name]) == 1
    said = capsys.readouterr()
    assert said.err.startswith(f"error: {name}")
    assert said.err.endswith(": File name too long\n")
    if "--json" in words:
        assert json.loads(said.out)["status"] == "failed"
