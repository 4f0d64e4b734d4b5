"""`tui-eval env check`: what an environment needs and has not, with line and command."""

from __future__ import annotations

import json
import platform
import shutil
import sys
import textwrap
from pathlib import Path

import pytest
from command_here import command_here
from hub_stand_in import HubStandIn
from interpreters import add_package, make_interpreter
from program import Program

from tui_eval.cli.requirements import check_needs
from tui_eval.environments.discovery import find_environment
from tui_eval.environments.needs import needs_of
from tui_eval.install_commands import install_command, own_venv

NEEDY = """
    import json
    import nothing_like_it
    from sklearn_missing.linear import model
    import os
    import numpy
    import verifiers as vf
    try:
        import optional_thing
    except ImportError:
        optional_thing = None
    from typing import TYPE_CHECKING
    if TYPE_CHECKING:
        import only_for_types
    from openai import AsyncOpenAI
    from datasets import load_dataset

    KEY = os.environ["NEEDY_SUBSCRIPT"]
    OTHER = os.getenv("NEEDY_API_KEY")
    FREE = os.getenv("NEEDY_FREE_KEY", "default")

    def load_environment():
        vf.ensure_keys(["NEEDY_ONE", "NEEDY_TWO"])
        judge = AsyncOpenAI(base_url="http://127.0.0.1:1/v1")
        rows = load_dataset("nobody/nothing", split="test")
        local = load_dataset("json", data_files="x.json")
        return vf.SingleTurnEnv(dataset=rows, rubric=vf.MathRubric())
"""


def read(folder: Path, source: str) -> list[tuple[str, str, int]]:
    environments = folder / "environments"
    environments.mkdir()
    (environments / "needy.py").write_text(textwrap.dedent(source).lstrip())
    needs = needs_of(find_environment("needy", environments), environments)
    return [(one.kind, one.name, int(one.place.rpartition(":")[2])) for one in needs]


def test_the_source_says_what_is_needed(tmp_path: Path) -> None:
    assert sorted(read(tmp_path, NEEDY)) == [
        ("address", "http://127.0.0.1:1/v1", 23),
        ("dataset", "nobody/nothing", 24),
        ("key", "NEEDY_API_KEY", 18),
        ("key", "NEEDY_ONE", 22),
        ("key", "NEEDY_SUBSCRIPT", 17),
        ("key", "NEEDY_TWO", 22),
        ("key", "OPENAI_API_KEY", 23),
        ("package", "datasets", 15),
        ("package", "math_verify", 26),
        ("package", "nothing_like_it", 2),
        ("package", "numpy", 5),
        ("package", "openai", 14),
        ("package", "sklearn_missing", 3),
    ]


def test_what_stands_beside_it_is_no_package(tmp_path: Path) -> None:
    (tmp_path / "environments").mkdir()
    (tmp_path / "environments" / "helpers.py").write_text("")
    (tmp_path / "environments" / "needy.py").write_text("import helpers\nfrom . import more\n")
    found = find_environment("needy", tmp_path / "environments")
    assert needs_of(found, tmp_path / "environments") == []


def test_a_folder_of_data_beside_it_hides_no_package(tmp_path: Path) -> None:
    (tmp_path / "environments" / "datasets").mkdir(parents=True)
    (tmp_path / "environments" / "datasets" / "rows.jsonl").write_text("{}\n")
    (tmp_path / "environments" / "pieces").mkdir()
    (tmp_path / "environments" / "pieces" / "board.py").write_text("")
    (tmp_path / "environments" / "needy.py").write_text("import datasets\nimport pieces.board\n")
    found = find_environment("needy", tmp_path / "environments")
    assert [one.name for one in needs_of(found, tmp_path / "environments")] == ["datasets"]


@pytest.mark.parametrize("module", ["needy.py", "__init__.py"])
def test_a_virtual_environment_below_it_is_no_source_of_it(tmp_path: Path, module: str) -> None:
    folder = tmp_path / "environments" / "needy"
    site = folder / "venv" / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    (folder / "venv" / "pyvenv.cfg").touch()
    (site / "theirs.py").write_text("import what_theirs_needs\n")
    (folder / module).write_text("import needed\n")
    found = find_environment("needy", folder.parent)
    assert [one.name for one in needs_of(found, folder.parent)] == ["needed"]


def test_an_installed_module_has_no_source_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "far_needy.py").write_text("import os\nos.environ['FAR_KEY']\n")
    (tmp_path / "theirs.py").write_text("import os\nos.environ['THEIR_KEY']\n")
    monkeypatch.syspath_prepend(tmp_path)
    found = find_environment("far-needy", tmp_path / "environments")
    assert [one.name for one in needs_of(found, tmp_path / "environments")] == ["FAR_KEY"]


@pytest.mark.parametrize(
    ("caught", "is_needed"),
    [
        ("ImportError", False),
        ("(OSError, ModuleNotFoundError)", False),
        ("builtins.Exception", False),
        ("HTTPException", True),
        ("requests.RequestException", True),
    ],
)
def test_only_what_a_missing_module_raises_makes_an_import_optional(
    tmp_path: Path, caught: str, is_needed: bool
) -> None:
    needs = read(tmp_path, f"try:\n    import needed\nexcept {caught}:\n    pass\n")
    assert needs == ([("package", "needed", 2)] if is_needed else [])


@pytest.mark.parametrize("source", ["def broken(", "\x00", "x = " + "(" * 5000])
def test_source_that_cannot_be_read_needs_nothing(tmp_path: Path, source: str) -> None:
    assert read(tmp_path, source) == []


def test_each_missing_need_has_a_line_and_a_command(program: Program, tmp_path: Path) -> None:
    program.environment("needy", NEEDY)
    with HubStandIn() as hub:
        program.env |= hub.environment(str(tmp_path / "hf"))
        program.env |= {"NEEDY_ONE": "1", "OPENAI_API_KEY": "sk-1"}
        done = command_here(program, "env", "check", "needy")
    assert done.code == 2, done
    for said in (
        "error: environments/needy.py:3: package nothing_like_it: it is not installed",
        f"Install it: {install_command(['nothing-like-it'])}",
        "package sklearn_missing",
        "key NEEDY_SUBSCRIPT: this variable is not set. export NEEDY_SUBSCRIPT=...",
        "key NEEDY_TWO",
        "dataset nobody/nothing: the hub answers 404",
        "address http://127.0.0.1:1/v1: nothing listens",
    ):
        assert said in done.err, said
    assert not any(f"{name}:" in done.err for name in ("NEEDY_ONE", "numpy", "OPENAI_API_KEY"))


HAS_DATASET = """
    def load_dataset(name): ...
    def load_environment():
        return load_dataset("openai/GSM8k")
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "said"), [(401, "not there, or not open to you"), (503, "has trouble of its own")]
)
def test_what_the_hub_answers_decides_what_to_do(
    program: Program, tmp_path: Path, status: int, said: str
) -> None:
    program.environment("needy", HAS_DATASET)
    with HubStandIn(datasets=status) as hub:
        program.env |= hub.environment(str(tmp_path / "hf"))
        done = command_here(program, "env", "check", "needy")
    assert done.code == 2 and f"the hub answers {status}: " in done.err and said in done.err, done
    assert ("hf auth login" in done.err) is (status == 401)


@pytest.mark.parametrize(
    ("variable", "folder"),
    [
        ("HF_HOME", "hub/datasets--openai--GSM8k"),
        ("HF_HOME", "datasets/openai___gsm8k"),
        ("HF_HUB_CACHE", "datasets--openai--GSM8k"),
        ("HF_DATASETS_CACHE", "openai___gsm8k"),
    ],
)
def test_a_dataset_in_the_cache_is_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str, folder: str
) -> None:
    for name in ("HF_HOME", "HF_HUB_CACHE", "HF_DATASETS_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setenv(variable, str(tmp_path / "cache"))
    environments = tmp_path / "environments"
    read(tmp_path, HAS_DATASET)
    found = find_environment("needy", environments)
    needs = needs_of(found, environments)
    assert [one.why for one in check_needs(needs, found)] != [""]
    (tmp_path / "cache" / folder).mkdir(parents=True)
    assert [one.why for one in check_needs(needs, found)] == [""]


@pytest.mark.slow
def test_an_environment_that_has_everything_loads(program: Program) -> None:
    assert command_here(program, "new-env", "fine", "--kind", "tool").code == 0
    done = program.run("env", "check", "fine")
    python = f"{sys.executable} (Python {platform.python_version()}, that of tui-eval)"
    said = f"fine runs in {python}\nfine has what it needs: it loads\n"
    assert (done.code, done.out) == (0, said), done
    reported = json.loads(command_here(program, "env", "check", "fine", "--json").out)
    assert (reported["ok"], reported["faults"]) == (True, [])
    assert reported["python"]["is_own"] is False


@pytest.mark.slow
def test_one_that_does_not_load_says_why(program: Program) -> None:
    program.environment("bad", "def load_environment(level):\n    return 1 / level\n")
    done = command_here(program, "env", "check", "bad", "-a", '{"level": 0}')
    assert done.code == 2 and "ZeroDivisionError" in done.err, done
    reported = command_here(program, "env", "check", "bad", "-a", '{"level": 0}', "--json")
    assert reported.code == 2 and json.loads(reported.out)["ok"] is False
    missing = command_here(program, "env", "check", "badd")
    assert missing.code == 2 and "Did you mean bad?" in missing.err, missing


def test_dependencies_of_the_project_are_looked_at(program: Program) -> None:
    assert command_here(program, "new-env", "dep").code == 0
    project = program.folder / "environments" / "dep" / "pyproject.toml"
    wanted = (
        '["tui-eval>=0.2", "numpy>=999", "never-there-1 ; python_version < \\"3\\"", "absent-x"]'
    )
    project.write_text(project.read_text().replace('["tui-eval>=0.2"]', wanted))
    done = command_here(program, "env", "check", "dep")
    assert done.code == 2, done
    assert "pyproject.toml:6: dependency numpy:" in done.err and ">=999" in done.err
    how = f"Install it: {install_command(['absent-x'])}"
    assert f"dependency absent-x: it is not installed. {how}" in done.err
    assert "never-there" not in done.err


@pytest.mark.parametrize(
    ("wanted", "is_contradicted"),
    [("pydantic<2", True), ("pydantic==1.*", True), ("pydantic>=2.999", False)],
)
def test_what_contradicts_tui_eval_is_for_an_interpreter_of_its_own(
    program: Program, wanted: str, is_contradicted: bool
) -> None:
    assert command_here(program, "new-env", "dep").code == 0
    project = program.folder / "environments" / "dep" / "pyproject.toml"
    project.write_text(project.read_text().replace('"tui-eval>=0.2"', f'"{wanted}"'))
    done = command_here(program, "env", "check", "dep")
    assert done.code == 2 and "dependency pydantic: " in done.err, done
    how = f"Install it: {install_command([wanted])}"
    if is_contradicted:
        command = own_venv("environments/dep/.venv", [wanted])
        how = f". Give it an interpreter of its own: {command}"
        assert "while tui-eval needs <3,>=2" in done.err
    assert how in done.err, done


def test_an_unsupported_class_is_a_fault(program: Program) -> None:
    program.environment(
        "boxed", "import verifiers as vf\n\ndef load_environment():\n    return vf.SandboxEnv()\n"
    )
    done = command_here(program, "env", "check", "boxed")
    assert done.code == 2 and "SandboxEnv" in done.err, done


OF_ITS_OWN = """
    import only_there
    import nothing_like_it
    import verifiers as vf

    def load_environment():
        rubric = vf.Rubric([lambda completion: 1.0])
        return vf.SingleTurnEnv(dataset=[{"question": "?", "answer": ""}], rubric=rubric)
"""


@pytest.mark.slow
def test_an_environment_is_looked_at_in_its_own_interpreter(program: Program) -> None:
    program.environment("own", OF_ITS_OWN)
    program.env["TUI_EVAL_CACHE_DIR"] = str(program.folder / "cache")
    python = make_interpreter(program.folder / "environments" / ".venv")
    add_package(python, "only_there", "1.0", "")
    done = command_here(program, "env", "check", "own")
    where = "environments/own.py:3: package nothing_like_it: it is not installed"
    how = "uv pip install --python" if shutil.which("uv") else "-m pip install"
    assert done.code == 2 and where in done.err and how in done.err, done
    assert str(python) in done.err and "only_there" not in done.err
    version = platform.python_version()
    assert done.out == f"own runs in {python} (Python {version}, its own)\n"
    add_package(python, "nothing_like_it", "1.0", "")
    fine = json.loads(command_here(program, "env", "check", "own", "--json").out)
    assert fine["ok"] and fine["python"] == {
        "path": str(python),
        "version": version,
        "is_own": True,
    }
    named = command_here(program, "env", "check", "own", "--python", sys.executable)
    assert named.code == 2 and "package only_there" in named.err, named
    none = command_here(program, "env", "check", "own", "--python", "/nowhere/python")
    assert none.code == 2 and "--python: there is no interpreter /nowhere/python" in none.err, none


@pytest.mark.slow
def test_what_a_worker_lacks_there_is_named(program: Program) -> None:
    program.environment("own", OF_ITS_OWN)
    for name in ("only_there", "nothing_like_it"):
        (program.folder / "environments" / f"{name}.py").write_text("")
    cut_off = {"UV_OFFLINE": "1", "UV_CACHE_DIR": str(program.folder / "uv"), "PIP_NO_INDEX": "1"}
    program.env |= {**cut_off, "TUI_EVAL_CACHE_DIR": str(program.folder / "cache")}
    python = make_interpreter(program.folder / "environments" / ".venv", ())
    done = command_here(program, "env", "check", "own")
    assert done.code == 2 and "lacks aiohttp>=3.10,<4, msgspec" in done.err, done
    assert "With a network: " in done.err and str(python) in done.err
