"""Finding the runs that there are, without reading what is large."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from made_runs import line, write_run

from tui_eval.runs import discovery
from tui_eval.runs.discovery import FoundRun, find_runs, measured
from tui_eval.runs.lock import RunLock

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TUI_EVAL_STATE_DIR", str(tmp_path / "state"))
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def found(*paths: Path) -> dict[str, FoundRun]:
    return {one.run.place.name: one for one in find_runs(paths)}


def test_runs_are_found_under_outputs_environments_and_the_users_state(
    here: Path, tmp_path: Path
) -> None:
    write_run(here / "outputs/evals/a--m/one", [line(0, 0)])
    write_run(here / "environments/my_env/outputs/evals/my-env--org--m/two", [line(0, 0)])
    write_run(tmp_path / "state/evals/a--m/three", [line(0, 0)])
    write_run(tmp_path / "elsewhere/deep/down/four", [line(0, 0)])
    write_run(here / "outputs/.hidden/five", [line(0, 0)])
    assert set(found()) == {"one", "two", "three"}
    assert set(found(tmp_path / "elsewhere", here / "outputs")) == {"one", "two", "three", "four"}
    assert {name: one.saved for name, one in found().items()} == {
        "one": True,
        "two": True,
        "three": False,
    }


def test_what_is_installed_in_a_virtual_environment_is_no_run(tmp_path: Path) -> None:
    write_run(tmp_path / "venv/lib/python3.11/site-packages/theirs/tests/one", [line(0, 0)])
    assert set(found(tmp_path)) == {"one"}
    (tmp_path / "venv/pyvenv.cfg").touch()
    assert not found(tmp_path)


def test_a_file_of_rollouts_in_a_folder_hides_no_runs_below_it(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    write_run(folder / "below", [line(0, 0)])
    for name in ("a.jsonl", "b.jsonl"):
        chat = {"messages": [{"role": "user", "content": name}]}
        (folder / name).write_text(json.dumps(chat) + "\n", encoding="utf-8")
    runs = {str(one.run.results.relative_to(folder)) for one in find_runs([folder])}
    assert runs == {"a.jsonl", "b.jsonl", "below/results.jsonl"}


def test_text_files_in_a_folder_are_recognised_by_their_contents(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    chat = json.dumps({"messages": [{"role": "user", "content": "hello"}]}) + "\n"
    others = {"readme.txt": "Rollouts of Monday.\n" + chat, "prompt.txt": "{{ question }}\n",
              "blank.txt": "\n", "list.txt": "[1]\n", "talk.log": chat}  # fmt: skip
    for name, text in {"chat.txt": chat, "marked.txt": f"\ufeff\n {chat}", **others}.items():
        (folder / name).write_text(text, encoding="utf-8")
    assert set(found(folder)) == {"chat.txt", "marked.txt"}
    assert set(found(folder / "talk.log", folder / "readme.txt")) == {"talk.log", "readme.txt"}
    assert not find_runs()


def test_a_file_without_rewards_has_no_mean(tmp_path: Path) -> None:
    chat = {"messages": [{"role": "user", "content": "hello"}]}
    (tmp_path / "talk.jsonl").write_text(json.dumps(chat) + "\n", encoding="utf-8")
    one = found(tmp_path / "talk.jsonl")["talk.jsonl"]
    assert (one.done, one.reward, one.n) == (1, None, None)


def test_what_an_engine_that_was_killed_did_not_report_is_counted(here: Path) -> None:
    write_run(
        here / "outputs/evals/e--m/one",
        [line(0, 0), line(0, 1, error=True), line(1, 0, error=True)],
        numbers={"reward": {"mean": 1.0, "n": 1}, "counts": {"finished": 2}},
        n_errored=1,
    )
    one = found()["one"]
    assert (one.done, one.errored, one.n) == (3, 2, 1)


@pytest.mark.parametrize("torn", [b'{"example_id": 1, "rew', b'{"example_id": 1, "rew\n', b"\n\n"])
def test_a_torn_last_row_is_not_listed_as_done(here: Path, torn: bytes) -> None:
    counts = {"reward": {"mean": 1.0, "n": 4}, "counts": {"finished": 4}}
    lines = [line(0, 0), line(0, 1), line(1, 0, 0.25)]
    write_run(here / "outputs/evals/e--m/one", [*lines, torn], numbers=counts)
    write_run(here / "outputs/evals/e--m/two", [*lines, *lines, line(1, 1)[:-1]], numbers=counts)
    one, two = found()["one"], found()["two"]
    assert (one.done, one.total, one.complete, one.n, one.reward) == (3, 4, False, 3, 0.75)
    assert (two.done, two.total, two.complete, two.n) == (4, 4, True, 4)


def test_a_run_of_ours_is_listed_from_its_metadata(here: Path) -> None:
    reward = {"mean": 0.75, "low": 0.5, "high": 1.0, "n": 3, "weight": 2.5}
    write_run(
        here / "outputs/evals/e--m/one",
        [line(0, 0), line(0, 1), line(1, 0)],
        numbers={"reward": reward},
        n_errored=1,
        date="2026-01-02T03:04:05+00:00",
        env_args={"prompt": "short", "split": None},
        extra_env_kwargs={"system_prompt": "Be brief."},
        sampling_args={"temperature": 0.2, "n": 1, "extra_body": {}},
    )
    one = found()["one"]
    given = {"prompt": "short", "system_prompt": "Be brief.", "temperature": 0.2}
    assert one.given == given
    assert (one.env_id, one.model, one.format) == ("my-env", "org/model", "tui-eval")
    assert (one.reward, one.low, one.high, one.n) == (0.75, 0.5, 1.0, 3)
    assert (one.done, one.total, one.complete, one.running) == (3, 4, False, False)
    assert one.errored == 1
    assert one.date == 1767323045.0


@pytest.mark.parametrize(("status", "is_early"), [("stopped early", True), ("stopped", False)])
def test_a_run_that_stopped_early_says_why(here: Path, status: str, is_early: bool) -> None:
    why = "width(reward) = 0.39 < 0.4"
    metadata = {"status": status, "stopped_because": why}
    write_run(here / "outputs/evals/e--m/one", [line(0, 0), line(0, 1)], **metadata)
    rows = [line(0, 0), line(0, 1), line(1, 0), line(1, 1)]
    write_run(here / "outputs/evals/e--m/whole", rows, **metadata)
    runs = found()
    assert runs["one"].stopped_early == (why if is_early else "")
    assert not runs["whole"].stopped_early, "nothing of it is missing"


def test_a_running_one_comes_first_with_its_socket(here: Path) -> None:
    run = write_run(here / "outputs/evals/e--m/one", [line(0, 0)])
    write_run(here / "outputs/evals/e--m/two", [line(0, 0)])
    lock = RunLock(run.lock, "/run/some.sock")
    try:
        first = find_runs()[0]
        assert first.run.path.name == "one" and first.running
        assert first.socket == "/run/some.sock"
    finally:
        lock.release()
    assert not found()["one"].running


def test_small_runs_of_other_programs_are_measured(here: Path) -> None:
    runs = found(DATA / "runs", DATA / "others/osmosis.json", DATA / "others/conversations.jsonl")
    wordle = runs["verifiers-2025-10"]
    assert (wordle.reward, wordle.n, wordle.done, wordle.total) == (1.5, 4, 4, 4)
    assert runs["verifiers-2025-08"].date == 1755900168.0
    assert (runs["prime-hosted"].env_id, runs["prime-hosted"].format) == ("owner/env", "Prime")
    assert (runs["osmosis.json"].done, runs["osmosis.json"].n) == (4, 3)
    assert runs["conversations.jsonl"].reward is None
    assert runs["verifiers-2025-09-wrong-counts"].complete


def test_an_osmosis_evaluation_below_a_folder_is_found_and_other_json_is_not(here: Path) -> None:
    for name, text in (
        ("evals/monday", (DATA / "others/osmosis.json").read_text()),
        ("evals/other", '{"rows": 1}'),
    ):
        (here / name).mkdir(parents=True)
        (here / name / "results.json").write_text(text)
    assert [one.run.path.name for one in find_runs([here / "evals"])] == ["monday"]


def test_a_large_run_of_another_program_is_measured_on_request(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discovery, "MEASURED_BYTES", 10)
    folder = here / "outputs/evals/e--m/one"
    folder.mkdir(parents=True)
    (folder / "results.jsonl").write_bytes(line(0, None, 0.5) + line(1, None, 1.0))
    (folder / "metadata.json").write_text(json.dumps({"env": "e", "avg_reward": 0.0}))
    one = found()["one"]
    assert (one.reward, one.n, one.done, one.total) == (0.0, None, 2, None)
    assert measured(one).reward == 0.75
    monkeypatch.setattr(discovery, "COUNTED_BYTES", 10)
    assert found()["one"].done is None


@pytest.mark.parametrize("text", ["", "{torn", "[]", '{"date": "soon", "num_examples": "x"}'])
def test_broken_metadata_hides_no_run(here: Path, text: str) -> None:
    run = write_run(here / "outputs/evals/my-env--m/one", [line(0, 0)])
    run.metadata.write_text(text)
    one = found()["one"]
    assert (one.env_id, one.done) == ("my-env", 1)
    assert one.date == one.written_at > 0
