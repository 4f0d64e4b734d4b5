from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest

import tui_eval as vf
from tui_eval.environments import author_logs
from tui_eval.worker.logging.run_log import set_up_logging

ours = logging.getLogger("tui_eval.somewhere")
ROWS = [{"question": "q"}]


@pytest.fixture(autouse=True)
def logging_as_it_was(monkeypatch):
    """Puts the loggers back, and forgets what was set up."""
    monkeypatch.delenv("VF_LOG_LEVEL", raising=False)
    monkeypatch.setattr(author_logs, "_variable_heeded", False)
    loggers = [logging.getLogger(name) for name in (None, "tui_eval", "verifiers")]
    before = [(logger, logger.level, logger.propagate, logger.handlers[:]) for logger in loggers]
    yield
    author_logs._remove_installed()
    for logger, level, propagate, handlers in before:
        logger.setLevel(level)
        logger.propagate = propagate
        logger.handlers[:] = handlers


def said(capsys) -> list[str]:
    for name in ("debug", "info", "warning", "error"):
        getattr(ours, name)(name)
    captured = capsys.readouterr()
    assert captured.out == ""
    return [line.rpartition(" - ")[2] for line in captured.err.splitlines()]


def test_records_go_to_standard_error_in_the_usual_form(capsys):
    vf.setup_logging()
    ours.info("hello %s", "there")
    err = capsys.readouterr().err
    date, name, level, message = err.strip().split(" - ")
    assert (name, level, message) == ("tui_eval.somewhere", "INFO", "hello there")
    assert len(date) == len("2025-01-31 12:00:00")


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("DEBUG", ["debug", "info", "warning", "error"]),
        ("info", ["info", "warning", "error"]),
        (logging.ERROR, ["error"]),
        (None, []),
    ],
)
def test_the_level_decides_and_the_last_call_counts(capsys, level, expected):
    vf.setup_logging("DEBUG")
    vf.setup_logging(level)
    assert said(capsys) == expected


def test_the_variable_changes_the_default_only(capsys, monkeypatch):
    monkeypatch.setenv("VF_LOG_LEVEL", "ERROR")
    vf.setup_logging()
    assert said(capsys) == ["error"]
    vf.setup_logging("INFO")
    assert said(capsys) == ["info", "warning", "error"]
    monkeypatch.setenv("VF_LOG_LEVEL", "WARNNIG")
    with pytest.raises(ValueError, match=r"VF_LOG_LEVEL.*'WARNNIG'.*WARNING"):
        vf.setup_logging()


def test_loggers_of_an_authors_own_below_verifiers_are_heeded_too(capsys, tmp_path: Path):
    theirs = logging.getLogger("verifiers.my_env")
    vf.setup_logging("INFO", log_file=tmp_path / "log")
    theirs.debug("unseen")
    theirs.info("seen")
    with vf.quiet_verifiers():
        theirs.info("unseen")
        theirs.warning("seen too")
    theirs.info("seen again")
    for written in (capsys.readouterr().err, (tmp_path / "log").read_text()):
        messages = [line.rpartition(" - ")[2] for line in written.splitlines()]
        assert messages == ["seen", "seen too", "seen again"]


def test_the_first_environment_heeds_the_variable(capsys, monkeypatch):
    monkeypatch.setenv("VF_LOG_LEVEL", "DEBUG")
    vf.SingleTurnEnv(dataset=ROWS)
    assert said(capsys) == ["debug", "info", "warning", "error"]
    vf.setup_logging("ERROR")
    vf.SingleTurnEnv(dataset=ROWS)
    assert said(capsys) == ["error"]


def test_an_own_setup_stands_whatever_the_variable_says(capsys, monkeypatch):
    monkeypatch.setenv("VF_LOG_LEVEL", "DEBUG")
    vf.setup_logging("ERROR")
    vf.SingleTurnEnv(dataset=ROWS)
    assert said(capsys) == ["error"]


def test_importing_everything_sets_up_nothing():
    program = (
        "import logging, tui_eval\n"
        "[getattr(tui_eval, name) for name in ('Environment', 'setup_logging', 'Rubric')]\n"
        "ours = logging.getLogger('tui_eval')\n"
        "print(ours.handlers, ours.level, ours.propagate, logging.getLogger().handlers)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={"VF_LOG_LEVEL": "DEBUG"},
    )
    assert done.stdout.strip() == "[] 0 True []"


def test_a_file_has_a_level_of_its_own(capsys, tmp_path: Path):
    path = tmp_path / "log"
    vf.setup_logging("ERROR", "%(message)s", log_file=path, log_file_level="DEBUG")
    assert said(capsys) == ["error"]
    assert path.read_text().split() == ["debug", "info", "warning", "error"]
    vf.setup_logging("WARNING", "%(message)s", log_file=str(path))
    said(capsys)
    assert path.read_text().split()[4:] == ["warning", "error"]


def test_lines_of_json(capsys):
    vf.setup_logging(json_logging=True)
    try:
        raise OSError("no disk")
    except OSError:
        ours.exception("line\nfeed")
    (line,) = capsys.readouterr().err.splitlines()
    found = json.loads(line)
    assert (found["level"], found["name"]) == ("ERROR", "tui_eval.somewhere")
    assert found["message"] == "line\nfeed"
    assert found["exception"].endswith("OSError: no disk")


def test_blocks_change_the_level_and_put_it_back(capsys):
    vf.setup_logging("INFO")
    with vf.quiet_verifiers():
        assert said(capsys) == ["warning", "error"]
        with vf.log_level("DEBUG"):
            assert said(capsys) == ["debug", "info", "warning", "error"]
        assert said(capsys) == ["warning", "error"]
    with pytest.raises(OSError), vf.log_level("ERROR"):
        raise OSError
    assert said(capsys) == ["info", "warning", "error"]


def test_blocks_that_overlap_leave_the_level_as_it_was(capsys):
    vf.setup_logging("INFO")
    first, second = vf.log_level("ERROR"), vf.quiet_verifiers()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert said(capsys) == ["warning", "error"]
    second.__exit__(None, None, None)
    assert said(capsys) == ["info", "warning", "error"]


def test_a_setup_inside_a_block_holds_after_it(capsys):
    with vf.log_level("ERROR"):
        vf.setup_logging("DEBUG")
        assert said(capsys) == ["error"]
    assert said(capsys) == ["debug", "info", "warning", "error"]


def test_an_unknown_level_is_refused_with_the_nearest():
    with pytest.raises(ValueError, match=r"no log level 'EROR'. Did you mean ERROR"):
        vf.setup_logging("EROR")
    with pytest.raises(ValueError, match="The levels are: DEBUG"), vf.log_level("xyz"):
        pass
    with pytest.raises(ValueError, match="log_file_level: there is no log level 'l'"):
        vf.setup_logging(log_file="never-made", log_file_level="l")


@pytest.mark.parametrize("first", ["author", "engine"])
def test_the_log_of_a_run_is_not_disturbed(capsys, tmp_path, first):
    """The engine's own set-up holds, whether the author's code ran before it or after it."""
    steps = [
        lambda: vf.setup_logging(None, "%(message)s", log_file=tmp_path / "log"),
        lambda: set_up_logging(verbose=True),
    ]
    for step in steps if first == "author" else reversed(steps):
        step()
    vf.setup_logging("CRITICAL", "%(message)s", log_file=tmp_path / "log", log_file_level="ERROR")
    ours.debug("for the run")
    ours.error("for both")
    err = capsys.readouterr().err
    assert [line.rpartition(": ")[2] for line in err.splitlines()] == ["for the run", "for both"]
    assert (tmp_path / "log").read_text() == "for both\n"
