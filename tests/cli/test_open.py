"""`tui-eval open` without a path."""

from __future__ import annotations

import json

from program import Program


def test_the_newest_run_is_opened(program: Program) -> None:
    none = program.run("open")
    assert none.code == 2
    assert "there is no run" in none.err
    for environment, args in (("reverse-text", ["-s"]), ("word-guess", [])):
        assert program.run(environment, "-m", "demo", "-n", "1", "-r", "1", *args).code == 0
        opened = program.run("open")
        assert opened.code == 0, opened
        assert f"{environment}--demo-scripted-policy" in opened.out


def test_a_run_directory_or_its_file_alone_is_opened(program: Program) -> None:
    assert program.run("word-guess", "-m", "demo", "-n", "1", "-r", "1", "-s").code == 0
    (run,) = program.folder.glob("outputs/evals/*/*")
    with (run / "results.jsonl").open("a", encoding="utf-8") as results:
        results.write("junk\n")
    for path in (run / "results.jsonl", run):
        opened = program.run(str(path))
        assert opened.code == 0, opened
        assert f"Results saved to: {run}" in opened.out
    assert "results.jsonl, line 2: not JSON at character 1" in opened.err


def test_a_file_of_any_name_is_no_environment(program: Program) -> None:
    said = [{"role": "user", "content": "two?"}, {"role": "assistant", "content": "2"}]
    (program.folder / "said.txt").write_text(json.dumps({"messages": said}) + "\n")
    opened = program.run("said.txt")
    assert opened.code == 0 and "Results saved to:" in opened.out
    (program.folder / "notes.txt").write_text("nothing of that kind\n")
    refused = program.run("notes.txt")
    assert refused.code == 2
    assert "notes.txt: no rollouts can be read from this" in refused.err
