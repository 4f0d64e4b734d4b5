"""`tui-eval ls`, `note`, `compare` and `export`, as a user types them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_here import command_here
from program import Program

from tui_eval.cli.compare.trajectory_lines import alignment_lines
from tui_eval.fold.compare.alignment import align
from tui_eval.fold.trajectory import from_row

ROWS = [(0, 0, 1.0), (0, 1, 0.0), (1, 0, 0.25), (1, 1, None)]


def saved(
    folder: Path, name: str, rewards: dict[tuple[int, int], float] | None = None, **meta: Any
) -> str:
    """A run that another program saved."""
    path = folder / name
    path.mkdir(parents=True)
    lines = []
    for example, number, reward in ROWS:
        reward = (rewards or {}).get((example, number), reward)
        text = f"answer {example} {number} {name} \x1b[31m"
        lines.append(
            {
                "example_id": f"ex{example}",
                "prompt": [{"role": "user", "content": f"question {example}"}],
                "completion": [{"role": "assistant", "content": text}],
                "reward": reward or 0.0,
                "error": "ModelError: no" if reward is None else None,
                "metrics": {"score": float(number)},
            }
        )
    (path / "results.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    metadata = {"env_id": "e", "model": "m", "num_examples": 2, "rollouts_per_example": 2, **meta}
    (path / "metadata.json").write_text(json.dumps(metadata))
    return str(path)


def test_rollouts_are_listed_filtered_and_sorted(program: Program) -> None:
    run = saved(program.folder, "one")
    done = command_here(program, "ls", run)
    assert done.code == 0 and done.err == "4 rollouts\n"
    head, *lines = done.out.splitlines()
    assert head.split() == ["ex", "#", "reward", "turns", "tools", "tokens", "time", "state"]
    assert [line.split()[1:4] for line in lines] == [
        ["ex0", "0", "1.00"],
        ["ex0", "1", "0.00"],
        ["ex1", "0", "0.25"],
        ["ex1", "1", "–"],
    ]
    assert lines[3].startswith("✗") and lines[3].endswith("ModelError: no  endpoint")
    done = command_here(program, "ls", run, "--where", "reward<1", "--sort", "-reward", "-n", "1")
    assert [line.split()[1:3] for line in done.out.splitlines()[1:]] == [["ex1", "0"]]
    assert done.err == "1 of 2 rollouts of 4\n"
    done = command_here(
        program, "ls", run, "--where", 'text:"0 1 one" or error:modelerror', "--json"
    )
    objects = [json.loads(line) for line in done.out.splitlines()]
    assert [(one["example_id"], one["number"]) for one in objects] == [("ex0", 1), ("ex1", 1)]
    assert objects[0]["metrics"] == {"score": 1.0} and objects[1]["reward"] is None
    assert done.err == ""


def test_a_filter_that_makes_no_sense_is_refused_with_all_that_is_wrong(program: Program) -> None:
    run = saved(program.folder, "one")
    done = command_here(program, "ls", run, "--where", "scre<1 and reward<x", "--sort", "rewrd")
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines() == [
        "error: filter, character 1: there is no field scre. Did you mean score?",
        "error: filter, character 19: reward is compared with a number, not with x",
        "error: --sort: there is no column rewrd. Did you mean reward?",
    ]
    done = command_here(program, "ls", run, "--where", "(", "--json")
    assert done.code == 2 and json.loads(done.out)["faults"]
    assert command_here(program, "ls", str(program.folder / "none")).code == 2
    assert "tui-eval demo" in command_here(program, "ls").err


def test_a_folder_that_holds_one_run_names_it(program: Program) -> None:
    saved(program.folder / "results" / "evals" / "e--m", "one")
    for command in (["ls", "results"], ["open", "results"], ["./results"], ["report", "results"]):
        assert command_here(program, *command).code == 0, command
    for command in (["open", "results/evals"], ["results/evals"], ["./results/evals/e--m"]):
        assert command_here(program, *command).code == 0, command
    saved(program.folder / "results" / "evals" / "e--m", "two")
    for command in (["ls", "results"], ["open", "results"], ["./results"]):
        done = command_here(program, *command)
        assert done.code == 2 and "holds 2 runs. Name one: results/evals/e--m/one, " in done.err


@pytest.mark.slow
def test_an_expression_that_explodes_ends_the_command_and_not_the_patience(
    program: Program,
) -> None:
    run = saved(program.folder, "one")
    path = Path(run) / "results.jsonl"
    path.write_text(path.read_text().replace("ModelError: no", "a" * 60))
    done = command_here(program, "ls", run, "--where", "error:/(a+)+$x/")
    assert done.code == 2 and "takes too long" in done.err


def test_notes_are_kept_and_found(program: Program) -> None:
    run = saved(program.folder, "one")
    assert (
        command_here(program, "note", run, "ex1", "--tag", "odd", "--text", "look \x1b[2J").code
        == 0
    )
    done = command_here(program, "note", run, "ex1", "0", "--tag", "hard", "--untag", "odd")
    assert done.code == 0 and '#hard  "look ␛[2J"' in done.out
    done = command_here(program, "ls", run, "--where", "tag:hard and note:look")
    assert [line.split()[1:3] for line in done.out.splitlines()[1:]] == [["ex1", "0"]]
    done = command_here(program, "note", run, "ex9")
    assert done.code == 2 and "no rollout 0 of an example ex9" in done.err


def test_runs_are_compared(program: Program) -> None:
    a = saved(program.folder, "one")
    better = {(1, 0): 1.0, (1, 1): 1.0}
    b = saved(program.folder, "two", better, sampling_args={"temperature": 1})
    done = command_here(program, "compare", a, b)
    assert done.code == 0
    for reported in (
        "Settings that differ:\n  temperature: A: –  B: 1\n",
        "A and B: 2 examples in both",
        "fixed 1, broken 0, both wrong 0, both right 1",
        "ex1   0.25   1.00   +0.75  fixed",
    ):
        assert reported in done.out
    found = json.loads(command_here(program, "compare", a, b, "--json", "--only", "fixed").out)
    (pair,) = found["comparisons"]
    assert pair["comparable"] and pair["changes"]["fixed"] == 1
    assert [one["example_id"] for one in pair["examples"]] == ["ex1"]
    assert pair["numbers"]["reward"]["difference"] == pytest.approx(0.375)
    (program.folder / "empty.jsonl").touch()
    assert "\nB  empty.jsonl\n" in command_here(program, "compare", a, "empty.jsonl").out


def test_trajectories_are_compared(program: Program) -> None:
    a, b = saved(program.folder, "one"), saved(program.folder, "two")
    done = command_here(program, "compare", a, "--example", "ex0")
    assert done.code == 0
    assert "= prompt\n    user: question 0\n≠ turn 1  <- they part here\n" in done.out
    assert "A assistant: answer 0 0 one" in done.out
    assert "B assistant: answer 0 1 one" in done.out
    done = command_here(program, "compare", a, b, "--example", "ex0", "--number", "1", "--json")
    turns = json.loads(done.out)["turns"]
    assert turns[1]["first"][0]["text"].startswith("answer 0 1 one")
    assert turns[1]["second"][0]["text"].startswith("answer 0 0 two")
    done = command_here(program, "compare", a, "--example", "ex0", "--number", "1", "--json")
    turns = json.loads(done.out)["turns"]
    assert turns[1]["second"][0]["text"].startswith("answer 0 0 one"), "the other one"
    done = command_here(program, "compare", a, "--example", "ex7")
    assert done.code == 2 and "no finished rollout 0 of an example ex7" in done.err
    done = command_here(program, "compare", a)
    assert done.code == 2 and "there is only one run" in done.err


def test_long_lines_of_compared_trajectories_show_where_they_part() -> None:
    common = "They begin alike and go on so for a long time,\nfor many words, "
    sides = []
    for number, end in ((4, "and 17 is what comes of it in the end"), (5, "and 19")):
        call = {"id": "c", "name": "look", "arguments": json.dumps({"q": common, "page": number})}
        said = {"role": "assistant", "content": common * 9 + end, "tool_calls": [call]}
        said["reasoning_content"] = f"{number} it is, so {common}"
        result = {"role": "tool", "tool_call_id": "c", "content": common * 2}
        sides.append(from_row(0, {"completion": [said, result]}))
    assert list(alignment_lines(align(*sides))) == [
        "≠ turn 1  <- they part here",
        "  A reasoning: 4 it is, so They begin alike and go on so for a long time, for ma…",
        "  A assistant: …or many words, and 17 is what comes of it in the end",
        '  A tool: …y words, ", "page": 4}',
        "  A    -> They begin alike and go on so for a long time, for many words, Th…",
        "  B reasoning: 5 it is, so They begin alike and go on so for a long time, for ma…",
        "  B assistant: …or many words, and 19",
        '  B tool: …y words, ", "page": 5}',
        "  B    -> They begin alike and go on so for a long time, for many words, Th…",
    ]


def test_a_byte_that_is_no_utf_8_is_reported_where_its_text_is_printed_or_exported(
    program: Program,
) -> None:
    run = saved(program.folder, "one")
    results = program.folder / "one" / "results.jsonl"
    results.write_bytes(results.read_bytes().replace(b"answer 0 1", b"x" * 5000 + b"\xff"))
    reported = "warning: results.jsonl, line 2: not UTF-8 at byte "
    done = command_here(program, "compare", run, "--example", "ex0")
    assert done.code == 0 and reported in done.err
    for name in ("out.csv", "out.jsonl"):
        done = command_here(program, "export", run, "-o", name)
        assert done.code == 0 and done.err.count(reported) == 1


def test_what_is_chosen_is_exported(program: Program) -> None:
    run = saved(program.folder, "one")
    done = command_here(program, "export", run, "--where", "reward<1", "-o", "some.jsonl")
    assert (done.code, done.out) == (0, "2 rollouts written to some.jsonl\n")
    lines = (program.folder / "some.jsonl").read_text().splitlines()
    assert [json.loads(line)["reward"] for line in lines] == [0.0, 0.25]
    done = command_here(program, "export", run, "--format", "csv", "-o", "-")
    assert done.code == 0 and len(done.out.splitlines()) == 5
    done = command_here(program, "export", run, "--format", "html")
    (page,) = program.folder.glob("*-one.html")
    assert done.out == f"4 rollouts written to {page.name}\n"
    assert "<details" in page.read_text()
    kept = (program.folder / "one" / "results.jsonl").read_bytes()
    done = command_here(program, "export", run, "-o", f"{run}/results.jsonl", "--overwrite")
    assert done.code == 2 and "results.jsonl: this is a file of the run itself" in done.err
    assert (program.folder / "one" / "results.jsonl").read_bytes() == kept
    done = command_here(program, "export", run, "-o", "some.txt")
    assert done.code == 2 and "--format jsonl|csv" in done.err
    done = command_here(program, "export", run, "-o", "some.jsonl")
    assert done.code == 2 and "there already" in done.err
