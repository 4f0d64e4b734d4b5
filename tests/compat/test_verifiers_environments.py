"""Environments as people write them for verifiers, run by their files and packages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from program import Program, Run, chat_answer
from run_here import run_here
from servers import FaultServer, Reply
from verifiers_cases import ENVIRONMENTS

from tui_eval.parsers.xml_parser import XMLParser

pytestmark = pytest.mark.slow

Rows = list[dict[str, Any]]
# Examples, rollouts of each, and what load_environment gets.
EVALUATIONS: list[tuple[str, int, int, dict[str, Any]]] = [
    ("reverse-letters", 5, 2, {}),
    ("boxed-sums", 4, 2, {"count": 8}),
    ("proverb-ends", 2, 2, {"dataset_name": "proverbs"}),
    ("guess-the-number", 4, 2, {}),
    ("double-check", 4, 2, {}),
    ("shop-tools", 4, 3, {}),
    ("notebook-session", 4, 3, {}),
    ("mixed-sums", 4, 2, {}),
    ("judged-titles", 2, 2, {"judge_base_url": "URL"}),
    ("original-names", 3, 3, {}),
    ("thinking-quiz", 2, 3, {"use_think": True}),
    ("thinking-quiz", 2, 3, {"use_think": False}),
    ("serial-story", 2, 2, {}),
    ("counting-gym", 3, 2, {}),
]
MORE = {"guess-the-number": 'state_columns = ["seen_at_cleanup"]'}
PROVERBS = {"a stitch in time": "saves nine", "all that glitters": "is not gold", "no pain": "no"}


@dataclass(frozen=True)
class Evaluated:
    """A run of all of them on the embedded endpoint."""

    runs: dict[tuple[str, bool | None], Run]
    judge: FaultServer

    def rows(self, env_id: str, use_think: bool | None = None) -> Rows:
        """The rows of one, none of them errored, in the order of the examples."""
        rows = sorted(self.runs[env_id, use_think].rows, key=lambda row: row["example_id"])
        (requested,) = [
            examples * rollouts
            for name, examples, rollouts, given in EVALUATIONS
            if (name, given.get("use_think")) == (env_id, use_think)
        ]
        assert len(rows) == requested
        assert [(row["error"], row["is_completed"]) for row in rows] == [(None, True)] * len(rows)
        scores = [score for row in rows for score in row["tui_eval"]["scores"]]
        assert [score for score in scores if score.get("error")] == []
        return rows


def table(env_id: str, examples: int, rollouts: int, env_args: dict[str, Any], judge: str) -> str:
    given = ", ".join(f"{name} = {json.dumps(value)}" for name, value in env_args.items())
    return f"""
[[eval]]
env_id = "{env_id}"
num_examples = {examples}
rollouts_per_example = {rollouts}
env_args = {{ {given.replace("URL", judge)} }}
{MORE.get(env_id, "")}
"""


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evaluated]:
    """All of them in one file, run once."""
    program = Program(tmp_path_factory.mktemp("evaluated"))
    folder = program.folder / "proverbs"
    folder.mkdir()
    rows = [{"start": s, "end": e, "source": "old"} for s, e in PROVERBS.items()]
    (folder / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*rows, rows[0]]))
    program.env |= {"HF_HOME": str(program.folder / "hf"), "HF_HUB_OFFLINE": "1"}
    program.env["JUDGE_API_KEY"] = "sk-of-a-judge"
    with FaultServer() as judge:
        judge.script("/v1/chat/completions", [Reply(body=chat_answer("Yes, it does."))])
        top = f'model = "demo"\ntemperature = 0.0\nenv_dir_path = {json.dumps(str(ENVIRONMENTS))}\n'
        tables = [table(*one, judge=f"{judge.url}/v1") for one in EVALUATIONS]
        (program.folder / "all.toml").write_text(top + "".join(tables))
        done = program.finish(program.start("all.toml"), 240)
        program.end_all()
        assert done.code == 0, done
        assert done.err == ""
        runs = {
            (run.metadata["env_id"], run.metadata["env_args"].get("use_think")): run
            for run in program.runs()
        }
        yield Evaluated(runs, judge)


def said(row: dict[str, Any]) -> str:
    return row["completion"][-1]["content"]


def test_a_single_file_with_a_hugging_face_dataset(evaluated: Evaluated) -> None:
    rows = evaluated.rows("reverse-letters")
    parser = XMLParser(["reasoning", "answer"])
    for row in rows:
        answer = parser.parse_answer(said(row)) or ""
        right = sum(a == b for a, b in zip(answer, row["answer"], strict=False))
        share = right / row["info"]["letters"]
        assert row["metrics"]["letters_right"] == pytest.approx(share)
        total = share + 0.2 * row["metrics"]["format_reward_func"]
        assert row["reward"] == pytest.approx(total)
        assert (row["task"], row["stop_condition"]) == ("reverse-letters", "max_turns_reached")
        assert [message["role"] for message in row["prompt"]] == ["system", "user"]
        assert row["answer"] == row["info"]["word"][::-1]
        assert row["metrics"]["words_said"] == len(said(row).split())
    assert {row["metrics"]["num_turns"] for row in rows} == {1.0}
    assert max(row["metrics"]["format_reward_func"] for row in rows) == 1.0


def test_a_package_with_a_pin_and_dataset_builders(evaluated: Evaluated) -> None:
    rows = evaluated.rows("boxed-sums")
    assert {row["answer"] for row in rows} <= {str(8 * i + 3) for i in range(8)}
    for row in rows:
        right = f"\\boxed{{{row['answer']}}}" in said(row)
        assert (row["metrics"]["correct_answer"], row["reward"]) == (right, right)
        assert row["metrics"]["short"] == 1.0
        assert "boxed" in row["prompt"][0]["content"]
    assert sum(row["reward"] for row in rows) >= 6


def test_a_dataset_by_its_name_with_prompts_made_by_map(evaluated: Evaluated) -> None:
    for row in evaluated.rows("proverb-ends"):
        start = row["prompt"][1]["content"].removesuffix(" ...")
        assert row["answer"] == PROVERBS[start]
        assert row["info"] == {"source": "old", "words": len(row["answer"].split())}
        assert row["metrics"]["has_end"] == ("<end>" in said(row))
        assert row["reward"] == 0.5 * row["metrics"]["has_end"]
        assert row["metrics"]["under_limit"] == (row["info"]["words"] < 3)


def test_an_installed_environment(program: Program) -> None:
    program.env["PYTHONPATH"] = str(ENVIRONMENTS)
    done = run_here(program, "owner/original-names@1.0", "-m", "demo", "-n", "1", "-r", "2")
    assert done.code == 0, done
    assert [row["error"] for row in program.only_run().rows] == [None, None]


def test_a_game_over_several_turns(evaluated: Evaluated) -> None:
    rows = evaluated.rows("guess-the-number")
    for row in rows:
        won = row["stop_condition"] == "has_final_env_response"
        assert row["reward"] == row["metrics"]["won"] == won
        assert said(row).startswith("Right!") == won
        assert 1 <= row["metrics"]["guess_count"] <= 6
        hints = [m["content"] for m in row["completion"] if m["role"] == "user"]
        assert all("higher" in hint or "lower" in hint or "Right" in hint for hint in hints)
        assert row["info"] == {"range": [1, 50], "allowed": 6}
    assert any(row["reward"] for row in rows)


def test_cleanup_and_teardown_of_a_game(evaluated: Evaluated) -> None:
    for row in evaluated.rows("guess-the-number"):
        won = row["stop_condition"] == "has_final_env_response"
        assert row["seen_at_cleanup"] == ["won" if won else "guessing", True]
    log = evaluated.runs["guess-the-number", None].log
    printed = [line.partition(" PRINT ")[2] for line in log.splitlines()]
    assert printed[printed.index("Games: 8") + 1] == "The table is closed."


def test_a_package_in_src_that_calls_twice_in_plain_text(evaluated: Evaluated) -> None:
    rows = evaluated.rows("double-check")
    for row in rows:
        assert row["stop_condition"] in ("asked_twice", "max_turns_reached")
        assert row["metrics"]["num_turns"] == 2
        first, question, second = row["completion"]
        assert "Are you sure?" in question["content"]
        right = f"\\boxed{{{row['answer']}}}" in second["content"]
        assert row["reward"] == row["metrics"]["correct_answer"] == right
        boxes = [message["content"].split("boxed")[1] for message in (first, second)]
        assert row["metrics"]["changed_mind"] == (boxes[0] != boxes[1])


def test_tools_with_dicts_that_are_async_or_raise(evaluated: Evaluated) -> None:
    rows = evaluated.rows("shop-tools")
    results: list[str] = []
    for row in rows:
        names = {tool["name"] for tool in row["tool_defs"]}
        assert names == {"in_stock", "place_order"}
        calls = row["metrics"]["in_stock_calls"] + row["metrics"]["place_order_calls"]
        tool_messages = [m for m in row["completion"] if m["role"] == "tool"]
        assert row["metrics"]["total_tool_calls"] == calls == len(tool_messages)
        assert row["metrics"]["calls_with_arguments"] <= calls
        assert row["metrics"]["results_seen"] == calls
        assert (row["stop_condition"], row["reward"]) == ("no_tools_called", 1.0)
        results += [message["content"] for message in tool_messages]
    assert any(text.startswith("{'ordered'") for text in results)
    assert any(text == "The shop could not do that (KeyError)." for text in results)


def test_tools_with_hidden_arguments(evaluated: Evaluated) -> None:
    rows = evaluated.rows("notebook-session")
    for row in rows:
        assert all("notebook" not in tool["parameters"]["properties"] for tool in row["tool_defs"])
        assert row["reward"] == (row["metrics"]["write_note_calls"] > 0)
        written = [m for m in row["completion"] if m["role"] == "tool" and "written" in str(m)]
        assert len(written) == row["metrics"]["write_note_calls"]
    assert {row["reward"] for row in rows} == {0.0, 1.0}
    assert any("Note 1 written." in json.dumps(row["completion"]) for row in rows)


def test_a_group_of_environments(evaluated: Evaluated) -> None:
    rows = evaluated.rows("mixed-sums")
    assert [(row["example_id"], row["task"]) for row in rows[::2]] == [
        (0, "plus"),
        (1, "plus"),
        (2, "minus"),
        (3, "minus"),
    ]
    for row in rows:
        right = float(row["answer"] in said(row))
        other = {"plus": "minus", "minus": "plus"}[row["task"]]
        assert row["reward"] == row["metrics"][f"right_{row['task']}"] == right
        assert f"right_{other}" not in row["metrics"]
    assert sum(row["reward"] for row in rows) >= 6


def test_a_judge_on_another_endpoint(evaluated: Evaluated) -> None:
    rows = evaluated.rows("judged-titles")
    assert [(row["reward"], row["metrics"]["said_something"]) for row in rows] == [(1.0, 1.0)] * 4
    requests = evaluated.judge.requests
    requested = [request.json()["messages"][-1]["content"] for request in requests]
    assert len(requested) == 4
    for row in rows:
        question = row["prompt"][-1]["content"]
        assert any(f"Story: {question}" in text and said(row) in text for text in requested)
    assert {r.headers["authorization"] for r in requests} == {"Bearer sk-of-a-judge"}


def test_a_judge_without_its_key_is_refused_with_the_keys_name(program: Program) -> None:
    done = run_here(
        program,
        *("judged-titles", "-m", "demo", "--env-dir-path", str(ENVIRONMENTS)),
        *("-a", '{"judge_base_url": "http://127.0.0.1:9/v1"}'),
    )
    assert done.code == 2
    assert "JUDGE_API_KEY" in done.err
    assert "MissingKeyError" in done.err


def test_rewards_of_a_group_few_shot_and_a_stop_string(evaluated: Evaluated) -> None:
    rows = evaluated.rows("original-names")
    for example in range(3):
        group = [row for row in rows if row["example_id"] == example]
        texts = [said(row) for row in group]
        assert not any("." in text for text in texts)
        for row in group:
            rarity = 1 / texts.count(said(row))
            assert row["metrics"]["rarity"] == pytest.approx(rarity)
            assert row["reward"] == pytest.approx(rarity + 0.5)
        best = max(map(len, texts))
        assert [r["metrics"]["best_of"] for r in group] == [float(len(t) == best) for t in texts]
    assert [m["role"] for m in rows[0]["prompt"]] == ["system", "user", "assistant", "user"]


@pytest.mark.parametrize("use_think", [True, False])
def test_think_parsers_and_a_rubric_of_ones_own(evaluated: Evaluated, use_think: bool) -> None:
    rows = evaluated.rows("thinking-quiz", use_think)
    for row in rows:
        has_end = "</think>" in said(row)
        tail = said(row).split("</think>")[-1].strip() if has_end or not use_think else ""
        assert row["metrics"]["chose"] == tail.rstrip(".").endswith(row["answer"])
        assert row["reward"] == row["metrics"]["chose"] + 0.25
        assert row["metrics"]["bonus"] == 0.25
        assert row["metrics"]["format_reward_func"] in ({0.0, 1.0} if use_think else {1.0})


def test_hooks_of_a_rollout(evaluated: Evaluated) -> None:
    rows = evaluated.rows("serial-story")
    for row in rows:
        assert (row["reward"], row["stop_condition"]) == (1.0, "max_turns_reached")
        assert row["metrics"]["short_prompts"] == 4
        assert len(row["completion"]) == 1
        assert said(row).count("\n") >= 2


def test_an_object_like_those_of_gym(evaluated: Evaluated) -> None:
    rows = evaluated.rows("counting-gym")
    for row in rows:
        assert row["reward"] == pytest.approx(1.5)
        assert (row["metrics"]["num_turns"], row["stop_condition"]) == (4, "is_done")
        assert row["prompt"][-1]["content"].startswith("Say something")
