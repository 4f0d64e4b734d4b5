"""Files of a run that were cut off anywhere: it opens, resumes, and says and keeps what is cut."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from program import Program, Run, wait_until
from servers import FaultServer
from steered_runs import CHAT, GOOD, GROUPED, HANG

from tui_eval.config.plan import read_plan
from tui_eval.errors import RefusedError
from tui_eval.events import RolloutFinished, RunStarted
from tui_eval.runs.journal_records import read_journal
from tui_eval.runs.layout import RunDir
from tui_eval.runs.saved_run import saved_events

FILES = (
    *("results.jsonl", "results.index", "journal.jsonl", "metadata.json", "run.toml"),
    *("versions.json", "engine.log"),
)


@pytest.fixture
def interrupted(program: Program, fault_server: FaultServer) -> Run:
    """Two rows and a rollout that waits for its group."""
    program.environment("grouped", GROUPED)
    fault_server.script(CHAT, [GOOD, GOOD, GOOD, HANG])
    url = f"{fault_server.url}/v1"
    process = program.start(
        *("grouped", "-m", "m", "-b", url, "-n", "2", "-r", "2", "-c", "1", "-s")
    )
    wait_until(lambda: len(fault_server.requests) == 4, "the last one hangs")
    process.send_signal(signal.SIGINT)
    assert program.finish(process).code == 130
    return program.only_run()


def test_any_beginning_of_any_file_opens(interrupted: Run) -> None:
    whole = {name: (interrupted.path / name).read_bytes() for name in FILES}

    @settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.sampled_from(FILES), st.floats(0, 1))
    def opens(name: str, part: float) -> None:
        path = interrupted.path / name
        cut = whole[name][: int(len(whole[name]) * part)]
        path.write_bytes(cut)
        try:
            events = list(saved_events(RunDir(interrupted.path)))
            assert isinstance(events[0], RunStarted)
            rows = [event for event in events if isinstance(event, RolloutFinished)]
            lines = cut.count(b"\n") if name == "results.jsonl" else 2
            assert len(rows) in (lines, lines + 1)  # but for its newline a row may be whole
            journal = read_journal(RunDir(interrupted.path))
            assert len(journal.unreadable) <= 1
            if name == "run.toml" and cut != whole[name]:
                refused_or_same(path, whole[name])
        finally:
            path.write_bytes(whole[name])

    opens()


def refused_or_same(path: Path, whole: bytes) -> None:
    """A plan that is cut off is refused, unless only where settings came from is missing."""
    try:
        plan = read_plan(path)
    except RefusedError as error:
        assert "Move it away, and metadata.json says what it can: mv " in str(error)
        return
    path.write_bytes(whole)
    plan.sources = (expected := read_plan(path)).sources
    assert plan == expected


@pytest.mark.slow
def test_a_copy_with_every_file_cut_off_resumes_and_what_is_cut_is_reported_and_kept(
    interrupted: Run, program: Program, fault_server: FaultServer
) -> None:
    copy = program.folder / "elsewhere" / "copied"
    shutil.copytree(interrupted.path, copy)
    kept: dict[str, bytes] = {}
    for name in FILES:
        data = (copy / name).read_bytes()
        if name != "run.toml":
            (copy / name).write_bytes(kept.setdefault(name, data[: len(data) - 30]))
    requests_before = len(fault_server.requests)
    fault_server.script(CHAT, [GOOD])
    done = program.run("run", "--resume", str(copy))
    assert done.code == 0, done
    assert sorted(Run(copy).places()) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert (
        len(fault_server.requests) - requests_before == 2
    )  # one row is cut off; the answer of the record that is stands before it
    for text in (
        "line 2 of results.jsonl: the line was not finished",
        " of journal.jsonl is cut off or damaged",
        "metadata.json: not JSON",
        "versions.json: not JSON",
    ):
        assert text in done.err
    assert (copy / "metadata.json.damaged").read_bytes() == kept["metadata.json"]
    assert (copy / "versions.json.damaged").read_bytes() == kept["versions.json"]
    aside = (copy / "superseded.jsonl").read_bytes().splitlines()
    assert aside == [kept["results.jsonl"].splitlines()[-1], kept["journal.jsonl"].splitlines()[-1]]
    assert json.loads((copy / "metadata.json").read_bytes())["num_examples"] == 2


@pytest.mark.slow
def test_of_a_journal_of_another_version_nothing_is_taken_and_it_is_kept(
    program: Program, interrupted: Run, fault_server: FaultServer
) -> None:
    journal = interrupted.path / "journal.jsonl"
    newer = b'{"journal": 2}\n' + journal.read_bytes()
    journal.write_bytes(newer)
    looked = program.run("run", "--resume", str(interrupted.path), "--dry-run")
    assert looked.code == 0, looked
    report = program.run("report", str(interrupted.path))
    status = program.run("status", str(interrupted.path))
    as_json = program.run("status", str(interrupted.path), "--json")
    for said in (looked.err, report.err, status.err, *json.loads(as_json.out)["warnings"]):
        assert "journal.jsonl is of version 2, and this tui-eval reads 1" in said
    assert json.loads(as_json.out)["warnings"]
    assert journal.read_bytes() == newer
    requests_before = len(fault_server.requests)
    fault_server.script(CHAT, [GOOD])
    done = program.run("run", "--resume", str(interrupted.path))
    assert done.code == 0, done
    assert "journal.jsonl is of version 2, and this tui-eval reads 1" in done.err
    assert len(fault_server.requests) - requests_before == 2, "both that were in flight begin again"
    assert sorted(interrupted.places()) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert (interrupted.path / "journal.jsonl.of-another-version").read_bytes() == newer
