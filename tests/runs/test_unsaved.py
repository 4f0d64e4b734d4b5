"""Runs that nobody saved: kept for a while, saved on request, found for a resume."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from made_runs import line, write_run

from tui_eval.config.expansion import Expander
from tui_eval.config.plan import Request
from tui_eval.engine.setup.resumed_run import run_to_resume
from tui_eval.errors import Notice, RefusedError
from tui_eval.runs.layout import RunDir, is_unsaved, new_run, outputs_root, run_name
from tui_eval.runs.lock import RunLock
from tui_eval.runs.unsaved import KEPT_S, incomplete_runs, keep, prune, save_run


@pytest.fixture(autouse=True)
def state_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's state directory, and a working directory beside it."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("TUI_EVAL_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state"


def unsaved(state_dir: Path, name: str = "r1", lines: tuple[bytes, ...] = (line(0, 0),)) -> RunDir:
    return write_run(state_dir / "evals" / "my-env--org--model" / name, lines)


def age(run: RunDir, seconds: float) -> None:
    then = time.time() - seconds
    for path in (*run.path.iterdir(), run.path):
        os.utime(path, (then, then))


def test_runs_are_removed_after_two_weeks(state_dir: Path) -> None:
    old, young = unsaved(state_dir, "old"), unsaved(state_dir, "young")
    age(old, KEPT_S + 60)
    age(young, KEPT_S - 60)
    assert prune() == [old.path]
    assert not old.path.exists() and young.results.exists()


def test_a_run_that_an_engine_writes_is_never_removed(state_dir: Path) -> None:
    run = unsaved(state_dir)
    lock = RunLock(run.lock, "")
    age(run, 2 * KEPT_S)
    assert prune() == []
    assert run.results.exists()
    lock.release()
    age(run, 2 * KEPT_S)
    assert prune() == [run.path]


def test_nothing_to_remove_is_no_error(state_dir: Path) -> None:
    assert prune() == []


def test_a_run_is_saved_under_the_outputs_of_its_environment(state_dir: Path) -> None:
    Path("environments/my_env").mkdir(parents=True)
    run = unsaved(state_dir)
    assert is_unsaved(run)
    saved = keep(run)
    place = Path("environments/my_env/outputs/evals/my-env--org--model/r1").resolve()
    assert saved.path == place
    assert not is_unsaved(saved) and saved.results.read_bytes() == line(0, 0)
    assert not run.path.exists()


def test_a_run_is_saved_under_a_named_folder(state_dir: Path) -> None:
    saved = keep(unsaved(state_dir), "elsewhere")
    assert saved.path == Path("elsewhere/evals/my-env--org--model/r1").resolve()


def test_a_run_whose_name_was_given_to_a_copy_is_kept_under_another(state_dir: Path) -> None:
    copy = keep(unsaved(state_dir, lines=()))
    saved = keep(unsaved(state_dir))
    assert saved.path == copy.path.with_name("r1-2")
    assert keep(unsaved(state_dir)).path == copy.path.with_name("r1-3")
    assert copy.results.read_bytes() == b"" and saved.results.read_bytes() == line(0, 0)


def test_a_run_that_cannot_be_moved_stays_where_it_is(state_dir: Path) -> None:
    run = unsaved(state_dir)
    target = RunDir(Path("there").resolve())
    target.path.mkdir()
    with pytest.raises(RefusedError, match="exists already"):
        save_run(run, target)
    Path("file").touch()
    with pytest.raises(RefusedError, match="still in"):
        save_run(run, RunDir(Path("file/under").resolve()))
    assert run.results.exists()


def test_a_run_that_an_engine_writes_is_not_moved(state_dir: Path) -> None:
    run = unsaved(state_dir)
    lock = RunLock(run.lock, "")
    with pytest.raises(RefusedError, match=f"process {os.getpid()} is writing"):
        save_run(run, RunDir(Path("there").resolve()))
    lock.release()


def test_a_run_is_saved_to_another_file_system(
    state_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Path("/dev/shm")
    if not other.is_dir() or other.stat().st_dev == state_dir.parent.stat().st_dev:
        pytest.skip("there is no second file system to write to")
    run = unsaved(state_dir)
    folder = other / f"tui-eval-test-{os.getpid()}"
    try:
        saved = save_run(run, RunDir(folder / "evals" / "r1"))
        assert saved.results.read_bytes() == line(0, 0)
        assert not run.path.exists()
        assert [path.name for path in (folder / "evals").iterdir()] == ["r1"]
    finally:
        for root, folders, files in os.walk(folder, topdown=False):
            for name in files:
                os.unlink(os.path.join(root, name))
            for name in folders:
                os.rmdir(os.path.join(root, name))
        folder.rmdir()


def test_incomplete_runs_are_found_newest_first(state_dir: Path) -> None:
    older = unsaved(state_dir, "older")
    age(older, 100)
    newer = write_run(Path("outputs/evals/my-env--org--model/newer"), [line(0, 0), line(0, 1)])
    whole = [line(example, number) for example in (0, 1) for number in (0, 1)]
    write_run(Path("outputs/evals/my-env--org--model/whole"), whole)
    found = incomplete_runs()
    assert [one.run.path.name for one in found] == ["newer", "older"]
    assert [(one.done, one.total, one.unsaved) for one in found] == [(2, 4, False), (1, 4, True)]
    assert found[0].run.path.resolve() == newer.path.resolve()
    assert (found[0].env_id, found[0].model) == ("my-env", "org/model")


def test_a_whole_run_with_errored_rows_can_be_resumed_and_a_running_one_cannot(
    state_dir: Path,
) -> None:
    lines = [line(example, number) for example in (0, 1) for number in (0, 1)]
    path = Path("outputs/evals/my-env--org--model/r")
    run = write_run(path, lines, n_errored=1)
    assert [one.done for one in incomplete_runs()] == [4]
    lock = RunLock(run.lock, "")
    assert incomplete_runs() == []
    lock.release()


def test_names_of_runs_are_those_of_verifiers(tmp_path: Path) -> None:
    assert run_name("owner/my-env@1.0", "org/model") == "my-env--org--model"
    one, other = (new_run(tmp_path, "e", "m").path for _ in range(2))
    assert one.parent == tmp_path / "evals" / "e--m" and one != other
    assert outputs_root("my-env", None, tmp_path) == Path("outputs")
    assert outputs_root("my-env", "there", tmp_path) == Path("there")


def test_runs_that_can_be_resumed_are_reported_with_what_errored(state_dir: Path) -> None:
    run = write_run(Path("outputs/evals/my-env--org--model/r"), [line(0, 0), line(0, 1)])
    meta = json.loads(run.metadata.read_text())
    for errored, expected in ((0, "2 of 4"), (1, "2 of 4, 1 errored"), (None, "2 of 4")):
        run.metadata.write_text(json.dumps({**meta, "n_errored": errored}))
        (one,) = incomplete_runs()
        assert one.progress == expected
    notices: list[Notice] = []
    run.metadata.write_text(json.dumps({**meta, "n_errored": 2}))
    raw = {"model": "demo", "resume": "newest"}
    assert run_to_resume(Expander(Request(env_id="reverse-text", raw=raw)), notices) is None
    path = run.path.relative_to(Path.cwd()) if run.path.is_absolute() else run.path
    assert any(
        f"Passed over my-env with org/model, 2 of 4, 2 errored: {path} (another environment)"
        in one.text.replace(f"{Path.cwd()}/", "")
        for one in notices
    )
