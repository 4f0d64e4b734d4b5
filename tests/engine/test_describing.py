"""The engine's descriptions of environments, in a process that ends."""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from interpreters import add_package, make_interpreter
from program import PATIENCE_S, Program
from run_here import inside

from tui_eval.engine.setup.environment_info import describe_environment
from tui_eval.engine.transport.engine_query import query_engine

TYPED = """
    '''Words in a row.'''
    import enum
    from typing import Any, Literal, Optional

    import verifiers as vf

    print("people print here")

    class Level(enum.Enum):
        EASY = "easy"
        HARD = "hard"

    def load_environment(
        required: str,
        split: Literal["train", "test"] = "train",
        level: Level = Level.EASY,
        count: int = 3,
        share: float | None = None,
        fast: bool = False,
        names: list[str] = ["a"],
        other: "Missing" = 1,
        bare="x",
        limit: Optional[int] = 5,
        anything: Any = None,
        **more,
    ):
        '''Makes it.

        Args:
            required: What must be said.
            count: How many words.
        '''
        raise AssertionError("describing makes nothing")
"""


def query(program: Program, *words: str) -> tuple[int, dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "tui_eval.engine", *words],
        cwd=program.folder, env=program.env, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    return done.returncode, json.loads(done.stdout)


def described(program: Program, env_id: str) -> dict[str, Any]:
    """The output of such a process, without one."""
    with inside(program):
        return describe_environment(env_id, Path("environments"))


def test_an_environment_is_described_with_its_typed_arguments(program: Program) -> None:
    program.environment("typed", TYPED.replace('other: "Missing"', "other"))
    code, found = query(program, "--describe", "typed")
    assert code == 0
    assert (found["status"], found["origin"], found["takes_others"]) == ("described", "local", True)
    assert found["module_docstring"] == "Words in a row."
    kinds = {one["name"]: (one["kind"], one["choices"]) for one in found["parameters"]}
    assert kinds == {
        "required": ("text", []),
        "split": ("choice", ["train", "test"]),
        "level": ("choice", ["easy", "hard"]),
        "count": ("int", []),
        "share": ("float", []),
        "fast": ("flag", []),
        "names": ("json", []),
        "other": ("int", []),
        "bare": ("text", []),
        "limit": ("int", []),
        "anything": ("any", []),
    }
    by_name = {one["name"]: one for one in found["parameters"]}
    assert by_name["required"]["required"] and not by_name["split"]["required"]
    assert by_name["required"]["help"] == "What must be said."
    assert by_name["level"]["default"] == "easy"
    assert by_name["names"] == {
        "name": "names", "kind": "json", "choices": [], "nullable": False, "required": False,
        "default": ["a"], "annotation": "list[str]", "shape": ["list", "text"], "help": "",
    }  # fmt: skip
    assert [name for name, one in by_name.items() if one["nullable"]] == ["share", "limit"]


def test_an_annotation_that_cannot_be_resolved_is_reported_by_its_default(program: Program) -> None:
    program.environment("typed", "from __future__ import annotations\n" + "\n".join(
        line[4:] for line in TYPED.splitlines()
    ))  # fmt: skip
    found = described(program, "typed")
    assert found["exit_code"] == 0
    kinds = {one["name"]: (one["kind"], one["annotation"]) for one in found["parameters"]}
    assert kinds["other"] == ("int", "'Missing'")
    assert kinds["count"] == ("int", "int")


SHAPES = {
    "list": ["list", "any"],
    "Sequence[int] | None": ["either", ["list", "int"], "null"],
    "set[Literal['easy', 'hard']]": ["list", ["among", "easy", "hard"]],
    "tuple[int, ...]": ["list", "int"],
    "tuple[str, float]": ["row", "text", "float"],
    "dict[str, list[bool]]": ["table", ["list", "flag"]],
    "Mapping": ["table", "any"],
    "Options": ["table", "any"],
    "list[str] | str": ["either", ["list", "text"], "text"],
    "list[pathlib.Path]": ["list", "any"],
    "pathlib.Path": "any",
    "Any": "any",
    "int": "any",
}


def test_what_json_may_say_for_an_argument_is_reported(program: Program) -> None:
    parameters = ", ".join(f"a{at}: {hint} = None" for at, hint in enumerate(SHAPES))
    program.environment(
        "shaped",
        f"""
        import pathlib
        from collections.abc import Mapping, Sequence
        from typing import Any, Literal, TypedDict

        class Options(TypedDict):
            hard: bool

        def load_environment({parameters}): ...
    """,
    )
    found = described(program, "shaped")
    shapes = [one["shape"] for one in found["parameters"]]
    assert dict(zip(SHAPES, shapes, strict=True)) == SHAPES


def test_readme_version_and_defaults_come_from_its_folder(program: Program) -> None:
    folder = program.folder / "environments" / "my-env"
    folder.mkdir(parents=True)
    (folder / "my_env.py").write_text("def load_environment(): ...\n")
    (folder / "README.md").write_text("# Mine\n" + "x" * 100_000)
    (folder / "pyproject.toml").write_text(
        '[project]\nname = "my-env"\nversion = "1.4"\n[tool.verifiers.eval]\nnum_examples = 50\n'
    )
    found = described(program, "my-env")
    assert found["release"] == "1.4"
    assert found["readme"].startswith("# Mine\nxxx") and len(found["readme"]) == 64_000
    source = "environments/my-env/pyproject.toml:5"
    assert found["defaults"] == {"num_examples": {"value": 50, "source": source}}


@pytest.mark.parametrize(
    ("module", "readme"),
    [
        ("my_env.py", "my_env/README.md"),
        ("my_env.py", "my-env/README.md"),
        ("my_env/my_env.py", "my_env/README.md"),
        ("my-env/src/my_env.py", "my-env/README.md"),
        ("my-env/my_env/__init__.py", "my-env/README.md"),
    ],
)
def test_a_readme_is_found_in_every_folder_that_is_called_like_the_environment(
    program: Program, module: str, readme: str
) -> None:
    folder = program.folder / "environments"
    for path, text in ((module, "def load_environment(): ..."), (readme, "# Mine")):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    (folder / "README.md").write_text("# All of them")
    found = described(program, "my-env")
    assert found["readme"] == "# Mine"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("import not_installed_anywhere", "not-installed-anywhere"),
        ("def load(): ...", "has no function load_environment"),
        ("raise SystemExit(3)", "importing it raised SystemExit: 3"),
    ],
)
def test_what_cannot_be_imported_is_refused_as_a_start_would_be(
    program: Program, source: str, words: str
) -> None:
    program.environment("broken", source)
    found = described(program, "broken")
    assert (found["exit_code"], found["status"]) == (2, "refused")
    (fault,) = found["faults"]
    assert fault["where"] == "environment broken"
    assert words in f"{fault['what']}. {fault['hint']}"


def test_environments_are_listed_without_importing_one(program: Program) -> None:
    program.environment("local", '"""Mine.\n\nMore."""\nopen("imported", "w")')
    program.environment("torn", "def (")
    code, found = query(program, "--list")
    assert code == 0
    listed = {one["env_id"]: (one["origin"], one["summary"]) for one in found["environments"]}
    assert listed["local"] == ("local", "Mine.")
    assert listed["torn"] == ("local", "")
    assert listed["calculator"][0] == "bundled"
    assert not (program.folder / "imported").exists()


def test_a_project_says_what_its_environment_is_where_that_does_not(program: Program) -> None:
    for name, docstring in (("silent", ""), ("spoken", '"""Mine."""')):
        folder = program.folder / "environments" / name
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(f'{docstring}\nopen("imported", "w")')
        (folder / "pyproject.toml").write_text('[project]\ndescription = "Of the project.\\nMore"')
    program.environment("flat", "")
    (program.folder / "pyproject.toml").write_text('[project]\ndescription = "Of all of them."')
    _, found = query(program, "--list")
    listed = {one["env_id"]: one["summary"] for one in found["environments"]}
    assert (listed["silent"], listed["spoken"]) == ("Of the project.", "Mine.")
    assert listed["flat"] == ""
    assert not (program.folder / "imported").exists()


@pytest.mark.plain  # it begins long after its time is taken
async def test_an_engine_that_takes_too_long_is_ended(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(program.folder)
    program.environment("slow", sleeper(program.folder))
    task = asyncio.create_task(query_engine("--describe", "slow", within=600.0))
    pid = await asleep(program.folder)
    loop = asyncio.get_running_loop()
    now = loop.time
    monkeypatch.setattr(loop, "time", lambda: now() + 600.0)
    found = await task
    assert found["faults"][0]["what"] == "the engine has not answered within 600 s"
    await ended(pid)


async def test_an_engine_that_nobody_waits_for_is_ended(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(program.folder)
    program.environment("slow", sleeper(program.folder))
    task = asyncio.create_task(query_engine("--describe", "slow", within=60.0))
    pid = await asleep(program.folder)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await ended(pid)


@pytest.mark.slow
def test_a_loop_that_ends_with_the_question_leaves_no_open_pipe(
    program: Program, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    gc.collect()  # What other tests of this process left open is not this one's.
    recwarn.clear()
    monkeypatch.chdir(program.folder)
    program.environment("slow", sleeper(program.folder))

    async def cut_short() -> None:
        task = asyncio.create_task(query_engine("--describe", "slow", within=60.0))
        await asleep(program.folder)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cut_short())
    gc.collect()
    assert [str(one.message) for one in recwarn if one.category is ResourceWarning] == []


async def test_an_engine_that_dies_is_a_fault(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(program.folder)
    program.environment("dying", "import os\nos._exit(7)")
    found = await query_engine("--describe", "dying", within=60.0)
    assert found["faults"][0]["what"] == "the engine ended with 7 before it answered"


async def test_an_engine_that_cannot_be_started_is_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python-that-is-gone"))
    found = await query_engine("--list", within=60.0)
    what = "no process could be started: No such file or directory"
    assert found["faults"][0]["what"] == what


def sleeper(folder: Path) -> str:
    path = str(folder / "pid")
    return f"import os, time\nopen({path!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)"


async def asleep(folder: Path) -> int:
    """Waits until the environment sleeps; returns its process."""
    path = folder / "pid"
    async with asyncio.timeout(PATIENCE_S):
        while not (path.exists() and path.read_text()):
            await asyncio.sleep(0.02)
    return int(path.read_text())


async def ended(pid: int) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while Path(f"/proc/{pid}").exists():
            await asyncio.sleep(0.01)


@pytest.mark.slow
def test_one_with_an_interpreter_of_its_own_is_described_there(program: Program) -> None:
    program.environment("own", "import only_there\n" + textwrap.dedent(TYPED).lstrip())
    program.env["TUI_EVAL_CACHE_DIR"] = str(program.folder / "cache")
    python = make_interpreter(program.folder / "environments" / ".venv")
    code, refused = query(program, "--describe", "own")
    assert code == 2 and "Install what it needs: " in refused["faults"][0]["hint"]
    assert str(python) in refused["faults"][0]["hint"]
    add_package(python, "only_there", "1.0", "")
    code, found = query(program, "--describe", "own")
    assert code == 0
    assert found["parameters"][0]["name"] == "required"
    shown = {"value": "environments/.venv/bin/python", "source": "environments/.venv"}
    assert found["defaults"]["python"] == shown
