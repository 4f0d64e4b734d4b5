"""Files with several evaluations: one engine, shared limits, runs of their own."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from command_here import command_here
from program import Finished, Program, Run, chat_answer
from servers import FaultServer, Reply
from suites import CHAT, NUMBERED, Suites, marked


@pytest.mark.parametrize(
    ("name", "rollouts"),
    [
        ("benchmark", [18, 30, 30]),
        pytest.param("compare", [40, 40, 40], marks=pytest.mark.slow),
        pytest.param("detailed", [24, 24, 24], marks=pytest.mark.slow),
        pytest.param("sweep", [12] * 6, marks=pytest.mark.slow),
    ],
)
def test_the_files_that_come_with_the_program_run_as_they_are(
    program: Program, name: str, rollouts: list[int]
) -> None:
    shipped = Path(__file__).parents[2] / "configs" / "eval" / f"{name}.toml"
    done = program.run(str(shipped))
    assert done.code == 0, done
    runs = program.runs(program.state)
    assert sorted(len(run.rows) for run in runs) == rollouts
    assert all(row["error"] is None for run in runs for row in run.rows)
    count = len(rollouts)
    table = done.out[done.out.rindex("environment") :].split("pass@r:")[0].splitlines()
    rows = [line for line in table if re.search(r" \d+ +\d+ +-?\d\.\d\d", line)]
    assert len(rows) == len(set(rows)) == count, done.out
    metrics = done.out[done.out.index("\nMetrics:\n") :]
    assert metrics.count("num_turns ") == count, "the metrics of each"
    assert f"{count} of {count} evaluations finished" in done.out
    assert all(str(run.path) in done.out for run in runs)


@pytest.mark.slow
def test_a_table_that_goes_to_no_terminal_is_whole(suite: Suites) -> None:
    names = [f"the {word} of two evaluations with a long name" for word in ("first", "second")]
    suite.server.script(CHAT, [Reply(body=chat_answer("yes"))])
    suite.write(*(f"{marked(str(n))}; name = '{name}'" for n, name in enumerate(names)))
    suite.program.env.pop("COLUMNS", None)  # parallel test workers have one
    whole = suite.run()
    assert whole.code == 0, whole
    table = whole.out[whole.out.rindex("environment") :]
    assert all(name in table for name in names) and "…" not in table, whole.out
    suite.program.env["COLUMNS"] = "80"
    narrow = suite.run()
    table = narrow.out[narrow.out.rindex("environment") :].split("pass@r:")[0]
    assert max(map(len, table.splitlines())) <= 80, "as narrow as requested"


def test_the_shared_limit_is_never_passed_and_kept_full_over_all_evaluations(
    suite: Suites,
) -> None:
    suite.server.answer_when_full(8, of=24)
    suite.write(*(marked(str(n)) for n in range(6)), top="max_concurrent = 8")
    done = suite.run()
    assert done.code == 0, done
    assert (suite.server.most_at_once, len(suite.server.requests)) == (8, 24)


def test_without_a_limit_for_all_the_greatest_holds_and_each_keeps_its_own(
    suite: Suites,
) -> None:
    slow = [Reply(body=chat_answer("yes"), delay=0.2)]
    suite.server.script(CHAT, slow)
    with FaultServer() as other:
        other.script(CHAT, slow)
        elsewhere = f'api_base_url = "{other.url}/v1"'
        suite.write(
            f"{marked('a')}; max_concurrent = 1; num_examples = 6",
            f"{marked('b')}; max_concurrent = 3; num_examples = 8; {elsewhere}",
        )
        done = suite.run()
        assert done.code == 0, done
        assert suite.server.most_at_once == 1
        moments = [(at, 0, n) for at, n in suite.server.at_once]
        moments += [(at, 1, n) for at, n in other.at_once]
    now, seen = [0, 0], set()
    for _, server, count in sorted(moments):
        now[server] = count
        seen.add(tuple(now))
    assert max(map(sum, seen)) == 3, "the greatest limit holds over both"
    assert (1, 2) in seen, "what the limit of one leaves free the other takes"


def test_the_limit_of_an_endpoint_is_one_for_all_who_use_it(suite: Suites) -> None:
    suite.server.script(CHAT, [Reply(body=chat_answer("yes"), delay=0.1)])
    configs = suite.program.folder / "configs"
    configs.mkdir()
    (configs / "endpoints.toml").write_text(
        f'[[endpoint]]\nendpoint_id = "one"\nmodel = "m"\nurl = "{suite.server.url}/v1"\n'
        "max_concurrent = 2\n"
    )
    (suite.program.folder / "suite.toml").write_text(
        'model = "one"\nnum_examples = 3\nrollouts_per_example = 1\nenv_id = "numbered"\n'
        f"[[eval]]\n{marked('a')}\n[[eval]]\n{marked('b')}\n"
    )
    done = suite.run()
    assert done.code == 0, done
    assert (suite.server.most_at_once, len(suite.server.requests)) == (2, 6)


def test_an_evaluation_that_cannot_begin_leaves_the_others_alone(suite: Suites) -> None:
    suite.write(marked("a"), marked("b", ", fail = true"), marked("c"))
    done = suite.run()
    assert done.code == 2, done
    assert "[2/3] numbered" in done.err and "ValueError: no such split" in done.err
    assert {mark: len(run.rows) for mark, run in suite.runs().items()} == {"a": 4, "c": 4}
    assert "2 of 3 evaluations finished" in done.out


def test_an_evaluation_whose_output_cannot_be_written_fails_alone(suite: Suites) -> None:
    suite.write(marked("a"), f'{marked("b")}; output_dir = "taken/below"', marked("c"))
    (suite.program.folder / "taken").write_text("a file")
    done = suite.run("--no-preflight")
    assert done.code == 2, done
    assert "the run cannot be written here" in done.err
    assert suite.runs().keys() == {"a", "c"}


def test_everything_wrong_is_reported_at_once_and_nothing_begins(suite: Suites) -> None:
    suite.write(marked("a"), 'env_id = "nowhere"', "max_retires = 2", 'api_key_var = "NO_SUCH_KEY"')
    done = suite.refusal("--resume", "some/run")
    assert done.code == 2, done
    assert "unknown key 'max_retires'" in done.err
    assert "nowhere" in done.err
    assert "some/run is one run, and the file has 4 evaluations" in done.err
    assert not suite.program.runs()
    assert not suite.server.requests


@pytest.mark.parametrize("other", ['api_key_var = "NO_SUCH_KEY"', "env_args = { nope = 1 }", ""])
def test_columns_of_every_evaluation_are_looked_at(suite: Suites, other: str) -> None:
    suite.write(other, 'state_columns = ["completoin"]')
    done = suite.refusal()
    assert done.code == 2, done
    assert "state_columns completoin: a state has no such key" in done.err
    assert ("NO_SUCH_KEY" in done.err) == ("KEY" in other)
    assert ("argument nope" in done.err) == ("nope" in other)
    assert not suite.program.runs()


def test_what_is_wrong_for_an_environment_is_reported_for_every_evaluation_with_its_line(
    suite: Suites,
) -> None:
    suite.write(
        marked("a", ", fial = true"),
        marked("b", ", fial = true") + "; extra_env_kwargs = { max_turn = 3 }",
        'env_args = { mrak = "c" }; state_columns = ["completoin"]',
    )
    done = suite.refusal()
    assert done.code == 2, done
    whose = "environment numbered: argument"
    for text in (
        f"suite.toml:9, env_args: {whose} fial: there is no such argument",
        f"suite.toml:12, env_args: {whose} fial: there is no such argument",
        f"suite.toml:16, env_args: {whose} mrak: there is no such argument",
        "suite.toml:17, state_columns completoin: a state has no such key. Did you mean complet",
    ):
        assert text in done.err
    assert not suite.program.runs()


def test_an_environment_that_is_not_there_is_reported_with_its_line(suite: Suites) -> None:
    suite.write(marked("a"), 'env_id = "numberd"')
    done = suite.refusal()
    assert done.code == 2, done
    wanted = "suite.toml:12, env_id: environment numberd: there is no such environment"
    assert wanted in done.err
    assert not suite.program.runs()


def test_settings_that_are_replaced_are_looked_at_for_every_evaluation_of_the_same_arguments(
    suite: Suites,
) -> None:
    x = "extra_env_kwargs = { max_trns = 3 }"
    suite.write(marked("a"), f"{marked('a')}; {x}", f"{marked('b')}; {x}")
    done = suite.refusal()
    assert done.code == 2, done
    assert "suite.toml:13, extra_env_kwargs: numbered has no setting 'max_trns'" in done.err
    assert "suite.toml:17" not in done.err  # an environment of other arguments may have it
    assert not suite.program.runs()


def test_a_column_that_no_state_had_is_reported_with_its_evaluation(suite: Suites) -> None:
    suite.write(marked("a"), f'{marked("b")}; state_columns = ["totally_unknown"]')
    done = suite.run()
    assert done.code == 0, done
    assert done.err.count("-C totally_unknown") == 1
    (warning,) = [line for line in done.out.splitlines() if "in no rollout's state" in line]
    assert warning.startswith("[2/2] numbered (") and ": column totally_unknown: " in warning


class Worked(NamedTuple):
    """Two evaluations that were worked through, the first of them verbose, and what was printed."""

    runs: dict[str, Run]
    done: Finished


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worked]:
    program = Program(tmp_path_factory.mktemp("worked"))
    program.environment("numbered", NUMBERED)
    with FaultServer() as server:
        suite = Suites(program, server)
        suite.write(f"{marked('first')}; verbose = true", marked("second"))
        done = suite.run("-A")
    assert done.code == 0, done
    yield Worked(suite.runs(), done)
    program.end_all()


def test_what_an_environment_prints_goes_to_the_log_of_its_own_run(worked: Worked) -> None:
    runs = worked.runs
    assert runs["second"].log.count("loading second") == 1
    assert runs["second"].log.count("scoring second") == 4
    for mark, other in (("first", "second"), ("second", "first")):
        assert f"scoring {mark}" in runs[mark].log
        assert f"scoring {other}" not in runs[mark].log


@pytest.mark.slow
def test_what_bypasses_python_is_kept_in_the_log_of_its_run(
    suite: Suites,
) -> None:
    raw = NUMBERED.replace("import tui_eval", "import os\n    import tui_eval", 1).replace(
        'print(f"scoring {mark}")', 'os.system(f"echo raw {mark}")'
    )
    suite.program.environment("numbered", raw.replace('print(f"', 'os.system(f"echo '))
    suite.write(marked("first"), marked("second"))
    assert suite.run().code == 0
    for mark in ("first", "second"):
        log = suite.runs()[mark].log
        assert log.count(f"loading {mark}") == 1
        assert log.count("raw") == log.count(f"raw {mark}") == 4
    suite.program.environment("numbered", NUMBERED)
    suite.write(marked("first"), marked("second"), top="output_dir = 'again'")
    assert suite.run().code == 0
    (printed,) = (p for p in suite.program.folder.glob("again/**/engine.log")
                  if "scoring first" in p.read_text())  # fmt: skip
    assert printed.read_text().count("loading first") == 1


def test_only_the_verbose_ones_among_the_evaluations_log_all(worked: Worked) -> None:
    assert worked.runs["first"].log.count("answered, 10 + 5 tokens") == 4
    assert "DEBUG" not in worked.runs["second"].log


def test_json_has_one_object_with_every_evaluation(suite: Suites) -> None:
    suite.write(marked("a"), marked("b", ", fail = true"), f"{marked('c')}; name = 'last'")
    done = suite.run("--json")
    assert done.code == 2, done
    assert done.out.count("\n") == 1
    found = json.loads(done.out)
    assert (found["version"], found["exit_code"]) == (1, 2)
    first, second, third = found["evaluations"]
    assert (first["status"], first["counts"]["used"]) == ("finished", 4)
    assert first["path"] == str(suite.runs()["a"].path)
    assert first["settings"]["max_concurrent"] == 32
    assert (second["status"], second["exit_code"]) == ("refused", 2)
    assert "no such split" in second["error"]
    assert (third["title"], third["varies"]) == ("last", {"env_args.mark": "c"})


def test_abbreviated_leaves_out_the_table(worked: Worked) -> None:
    out = worked.done.out
    assert "pass@r" not in out and "Metrics:" not in out
    assert "2 of 2 evaluations finished" in out


def test_evaluations_that_nobody_saved_can_be_by_the_line_that_is_printed(suite: Suites) -> None:
    suite.write(marked("a"), marked("b"), top="save_results = false")
    done = suite.run("-A")
    assert done.out.count(str(suite.program.state)) == 4  # listed, and in the line
    (line,) = [line for line in done.out.splitlines() if line.startswith("Save them: tui-eval ")]
    saved = command_here(suite.program, *shlex.split(line)[3:])
    assert saved.code == 0, saved
    assert suite.runs().keys() == {"a", "b"}


def test_environments_with_a_folder_of_their_own_keep_what_stands_beside_them(
    suite: Suites,
) -> None:
    for name in ("one", "two"):
        folder = suite.program.folder / "environments" / f"{name}_env"
        folder.mkdir()
        (folder / f"{name}_words.py").write_text(f"WORD = {name!r}\n")
        (folder / f"{name}_env.py").write_text(
            "import tui_eval as vf\n\n\n"
            "def scored(completion):\n"
            f"    import {name}_words\n\n"
            f"    return float({name}_words.WORD == {name!r})\n\n\n"
            "def load_environment():\n"
            '    rows = [{"question": str(i)} for i in range(9)]\n'
            "    return vf.SingleTurnEnv(dataset=rows, rubric=vf.Rubric(funcs=[scored]))\n"
        )
    suite.write('env_id = "one-env"', 'env_id = "two-env"', 'env_id = "one-env"; temperature = 0.1')
    done = suite.run()
    assert done.code == 0, done
    found = suite.program.folder.rglob("results.jsonl")
    rows = [row for path in found for row in Run(path.parent).rows]
    assert len(rows) == 12
    assert all(row["reward"] == 1.0 for row in rows), [row["error"] for row in rows]
