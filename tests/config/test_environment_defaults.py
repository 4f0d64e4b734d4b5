"""Defaults in the pyproject.toml of an environment, read without importing it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from setting_places import expanded, faults, plan, source, write

pytestmark = pytest.mark.usefixtures("here")

NEVER_IMPORTED = "raise SystemExit('imported')\n"


@pytest.mark.parametrize(
    ("module", "project"),
    [
        ("environments/my_env/my_env.py", "environments/my_env"),
        ("environments/my-env/my_env.py", "environments/my-env"),
        ("environments/my_env/__init__.py", "environments/my_env"),
        ("environments/my_env/my_env/__init__.py", "environments/my_env"),
        ("environments/my_env/src/my_env/__init__.py", "environments/my_env"),
        ("environments/my_env/src/my_env.py", "environments/my_env"),
    ],
)
def test_it_is_found_wherever_the_module_is(module: str, project: str) -> None:
    write(module, NEVER_IMPORTED)
    path = write(f"{project}/pyproject.toml", "[tool.verifiers.eval]\nnum_examples = 7\n")
    found = expanded("owner/my-env@1.0", model="mini")
    assert source(found, "num_examples") == (7, f"{path}:2")


def test_of_verifiers_table_both_numbers_are_read_and_other_keys_are_theirs() -> None:
    write("environments/my_env/my_env.py", NEVER_IMPORTED)
    write(
        "environments/my_env/pyproject.toml",
        "[tool.verifiers.eval]\nnum_examples = 7\nrollouts_per_example = 2\nsomething = 1\n",
    )
    one = plan(model="mini")
    assert (one.num_examples, one.rollouts_per_example) == (7, 2)
    assert plan(model="mini", num_examples="9").num_examples == 9


def test_our_own_table_wins_and_may_hold_any_other_setting() -> None:
    write("environments/my_env/my_env.py", NEVER_IMPORTED)
    write(
        "environments/my_env/pyproject.toml",
        "[tool.verifiers.eval]\nnum_examples = 7\nrollouts_per_example = 2\n"
        "[tool.tui-eval.eval]\nnum_examples = 8\nmax_retries = 4\nstate_columns = ['a']\n"
        "[tool.tui-eval.eval.sampling]\ntemperature = 0.1\ntop_p = 0.9\n",
    )
    one = plan(model="mini", temperature="1")
    assert (one.num_examples, one.rollouts_per_example, one.max_retries) == (8, 2, 4)
    assert one.state_columns == ["a"]
    assert one.sampling_args == {"temperature": 1.0, "top_p": 0.9}


def test_it_cannot_say_where_something_is_sent_or_kept() -> None:
    write("environments/my_env/my_env.py", NEVER_IMPORTED)
    lines = ["api_base_url = 'http://evil'", "api_key_var = 'K'", "provider = 'openai'",
             "header = 'X: y'", "heartbeat_url = 'http://evil'", "save_to_hf_hub = true",
             "output_dir = '/'", "endpoints_path = 'x'", "endpoint_id = 'x'"]  # fmt: skip
    path = write("environments/my_env/pyproject.toml", "[tool.tui-eval.eval]\n" + "\n".join(lines))
    reported = faults(model="mini")
    assert sorted(reported) == sorted(
        f"{path}:{number}: an environment cannot set {line.split()[0]}. Who runs it says where "
        "things are sent and kept"
        for number, line in enumerate(lines, 2)
    )


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("[tool.verifiers.eval]\nnum_examples = 'x'", ":2: num_examples: 'x' is not a whole num"),
        ("[tool.tui-eval.eval]\nnum_exmples = 3", ":2: unknown key 'num_exmples'. Did you mean n"),
        ("[tool.tui-eval]\neval = 3", ":2: tool.tui-eval.eval is 3, no table"),
        ("[tool", ":1: this is no TOML"),
    ],
)
def test_what_is_wrong_with_it_is_reported_with_its_line(text: str, reported: str) -> None:
    write("environments/my_env/my_env.py", NEVER_IMPORTED)
    path = write("environments/my_env/pyproject.toml", text)
    (fault,) = faults(model="mini")
    assert fault.startswith(path + reported)


@pytest.mark.parametrize("table", ["tool.tui-eval", "tool.tui-eval.eval"])
def test_a_bare_name_of_an_interpreter_is_a_path_where_one_is_there(table: str) -> None:
    write("environments/my_env/my_env.py", NEVER_IMPORTED)
    project = write("environments/my_env/pyproject.toml", f"[{table}]\npython = 'python3'\n")
    assert source(expanded(model="mini"), "python") == ("python3", f"{project}:2")
    write("environments/my_env/python3/pyvenv.cfg", "")
    there = "environments/my_env/python3"
    assert source(expanded(model="mini"), "python") == (there, f"{project}:2")


def test_the_file_of_somebody_else_is_left_alone() -> None:
    write("environments/my_env.py", NEVER_IMPORTED)
    write("environments/pyproject.toml", "[tool.verifiers.eval]\nnum_examples = 7\n")
    write("pyproject.toml", "[project]\nname = 'app'\n[tool.verifiers.eval]\nnum_examples = 7\n")
    assert plan(model="mini").num_examples == 5
    write(
        "environments/pyproject.toml",
        "[project]\nname = 'My-Env'\n[tool.verifiers.eval]\nnum_examples = 7\n",
    )
    assert plan(model="mini").num_examples == 7


@pytest.mark.parametrize("module", ["far_env.py", "far_env/__init__.py"])
def test_an_installed_environment_brings_its_own(
    here: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    site = here / "site-packages"
    write(str(site / module), NEVER_IMPORTED)
    folder = (site / module).parent
    write(
        str(folder / "pyproject.toml"),
        "[project]\nname = 'far-env'\n[tool.tui-eval.eval]\nrollouts_per_example = 9\n",
    )
    monkeypatch.setattr(sys, "path", [str(site), *sys.path])
    assert plan("far-env", model="mini").rollouts_per_example == 9


def test_an_environment_that_is_nowhere_brings_nothing() -> None:
    assert plan("nowhere-to-be-found", model="mini").num_examples == 5
