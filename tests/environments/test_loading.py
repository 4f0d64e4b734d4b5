from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tui_eval.environments import imports
from tui_eval.environments.discovery import find_environment, known_environments
from tui_eval.environments.loader import load_environment
from tui_eval.errors import RefusedError
from tui_eval.install_commands import install_command

ENV = """
import tui_eval as vf
MARK = {mark!r}
def load_environment(level: str = "easy", seed: int = 0):
    return vf.SingleTurnEnv(dataset=[{{"question": "q"}}], mark=MARK, level=level)
"""


@pytest.fixture(autouse=True)
def clean_imports(monkeypatch: pytest.MonkeyPatch):
    """Leaves no module and no folder on the path behind."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(imports, "_roots", {})
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if not name.startswith("tui_eval"):
            del sys.modules[name]


def write(path: Path, mark: str = "here", text: str = ENV) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.format(mark=mark) if text is ENV else text)
    return path


def refused(env_id: str, folder: Path, **env_args) -> str:
    with pytest.raises(RefusedError) as error:
        load_environment(env_id, environments_dir=folder, **env_args)
    return "\n".join(map(str, error.value.faults))


@pytest.mark.parametrize(
    "layout",
    [
        "my_env.py",
        "my-env.py",
        "my_env/__init__.py",
        "my-env/__init__.py",
        "my_env/my_env.py",
        "my-env/my_env.py",
        "my-env/my_env/__init__.py",
        "my_env/src/my_env/__init__.py",
        "my-env/src/my_env/__init__.py",
    ],
)
@pytest.mark.parametrize("env_id", ["my-env", "my_env", "owner/my-env", "owner/my-env@0.1"])
def test_local_layouts(tmp_path: Path, layout: str, env_id: str):
    path = write(tmp_path / layout)
    found = find_environment(env_id, tmp_path)
    assert (found.module_name, found.path, found.origin) == ("my_env", path, "local")
    env = load_environment(env_id, environments_dir=tmp_path, level="hard")
    assert (env.mark, env.level) == ("here", "hard")
    assert (env.env_id, env.env_args) == (env_id, {"level": "hard"})


def test_ids_that_an_environment_gave_itself_stay(tmp_path: Path):
    text = ENV.format(mark="x").replace("mark=MARK", "env_id='own', env_args={'a': 1}")
    write(tmp_path / "my_env.py", text=text)
    env = load_environment("my-env", environments_dir=tmp_path)
    assert (env.env_id, env.env_args) == ("own", {"a": 1})


def test_modules_beside_an_environment_can_be_imported(tmp_path: Path):
    write(tmp_path / "my_env" / "beside_it.py", text="MARK = 'beside'")
    write(
        tmp_path / "my_env" / "my_env.py",
        text=ENV.format(mark="") + "from beside_it import MARK\n",
    )
    write(tmp_path / "pack" / "part.py", text="MARK = 'part'")
    write(tmp_path / "pack" / "__init__.py", text=ENV.format(mark="") + "from .part import MARK\n")
    write(
        tmp_path / "absolute" / "__init__.py",
        text=ENV.format(mark="") + "from absolute.inner import MARK\n",
    )
    write(tmp_path / "absolute" / "inner.py", text="MARK = 'inner'")
    marks = [
        load_environment(name, environments_dir=tmp_path).mark
        for name in ("my-env", "pack", "absolute")
    ]
    assert marks == ["beside", "part", "inner"]


def test_environments_with_the_same_names_are_not_mixed_up(tmp_path: Path):
    for side in ("left", "right"):
        write(tmp_path / side / "my_env" / "beside_it.py", text=f"MARK = '{side} beside'")
        write(
            tmp_path / side / "my_env" / "my_env.py",
            text=ENV.format(mark="") + "from beside_it import MARK\n",
        )
        write(tmp_path / side / "pack" / "sub.py", text=f"MARK = '{side} sub'")
        write(
            tmp_path / side / "pack" / "__init__.py",
            text=ENV.format(mark="") + "from pack.sub import MARK\n",
        )
    for side in ("left", "right", "left"):
        folder = tmp_path / side
        assert load_environment("my-env", environments_dir=folder).mark == f"{side} beside"
        assert load_environment("pack", environments_dir=folder).mark == f"{side} sub"


def test_a_module_of_somebody_else_keeps_its_name(tmp_path: Path):
    import graphlib

    write(tmp_path / "graphlib.py", "mine")
    assert load_environment("graphlib", environments_dir=tmp_path).mark == "mine"
    assert sys.modules["graphlib"] is graphlib


def test_local_comes_before_bundled_and_bundled_before_installed(tmp_path: Path):
    assert find_environment("reverse-text", tmp_path).origin == "bundled"
    write(tmp_path / "reverse_text.py", "mine")
    assert load_environment("reverse-text", environments_dir=tmp_path).mark == "mine"


def test_an_installed_module(tmp_path: Path):
    site = tmp_path / "site"
    write(site / "far_env" / "__init__.py", "installed")
    sys.path.append(str(site))
    found = find_environment("far-env", tmp_path)
    assert (found.origin, found.path) == ("installed", site / "far_env" / "__init__.py")
    write(tmp_path / "local" / "far_env.py", "local")
    assert load_environment("far-env", environments_dir=tmp_path / "local").mark == "local"
    assert load_environment("far-env", environments_dir=tmp_path).mark == "installed"


def test_the_line_is_the_authors_and_not_a_librarys(tmp_path: Path):
    site = tmp_path / "site"
    write(site / "far_library.py", text="def read(path):\n    raise OSError('no file')")
    text = "import far_library\ndef load_environment():\n    far_library.read('x')"
    path = write(site / "far_env.py", text=text)
    sys.path.append(str(site))
    assert f"raised OSError: no file ({path}:3)" in refused("far-env", tmp_path)


def test_an_entry_point(tmp_path: Path):
    info = tmp_path / "far-1.0.dist-info"
    write(info / "METADATA", text="Metadata-Version: 2.1\nName: far\nVersion: 1.0\n")
    write(
        info / "entry_points.txt",
        text="[tui_eval.environments]\nnice-name = far_package.envs:make\n",
    )
    write(tmp_path / "far_package" / "__init__.py", text="")
    write(
        tmp_path / "far_package" / "envs.py",
        text=ENV.format(mark="pointed").replace("def load_environment", "def make"),
    )
    sys.path.append(str(tmp_path))
    found = find_environment("nice_name", tmp_path / "none")
    assert (found.origin, found.module_name) == ("entry point", "far_package.envs")
    assert load_environment("nice-name", environments_dir=tmp_path / "none").mark == "pointed"
    assert "nice-name" in known_environments(tmp_path / "none")


def test_an_unknown_id_says_where_was_looked_and_what_is_near(tmp_path: Path):
    write(tmp_path / "my_env.py")
    text = refused("my-emv", tmp_path)
    assert "environment my-emv: there is no such environment" in text
    assert str(tmp_path) in text
    for place in ("bundled", "installed modules named my_emv", "tui_eval.environments"):
        assert place in text
    assert "Did you mean my-env" in text
    assert "Known: " in refused("zzzzzz", tmp_path)
    assert "no such environment" in refused("json", tmp_path)
    assert "no such environment" in refused("../etc", tmp_path)
    assert "no such environment" in refused("", tmp_path)
    write(tmp_path / "capitals.py")
    text = refused("capitals/", tmp_path)
    assert "no such environment. Did you mean capitals?" in text
    assert "named ," not in text


def test_known_environments_are_local_and_bundled_ones(tmp_path: Path):
    write(tmp_path / "one_env.py")
    write(tmp_path / "two-env" / "src" / "two_env" / "__init__.py")
    write(tmp_path / "notes" / "readme.txt", text="")
    known = known_environments(tmp_path)
    assert {"one-env", "two-env", "calculator", "reverse-text", "word-guess"} <= set(known)
    assert "notes" not in known


def test_arguments_are_checked_all_at_once(tmp_path: Path):
    write(tmp_path / "my_env.py")
    text = refused("my-env", tmp_path, levle="x", sed=1)
    assert "argument levle: there is no such argument. Its arguments are: level, seed" in text
    assert "Did you mean level?" in text
    assert "argument sed" in text
    needs = "def load_environment(path, *, size): pass"
    write(tmp_path / "needs_env.py", text=needs)
    text = refused("needs-env", tmp_path, size=1)
    assert text == "environment needs-env: argument path: it is required. " \
        "Its arguments are: path, size"  # fmt: skip
    takes = ENV.format(mark="m").replace("seed: int = 0", "**more")
    write(tmp_path / "takes_env.py", text=takes)
    assert load_environment("takes-env", environments_dir=tmp_path, anything=1).mark == "m"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "import math\nraise ValueError('no')",
            "importing it raised ValueError: no ({}:2)",
        ),
        ("import math\nx = (", "importing it raised SyntaxError: '(' was never closed ({}:2)"),
        ("import no_such_thing", "Install what it needs: " + install_command(["no-such-thing"])),
        ("raise SystemExit(3)", "importing it raised SystemExit: 3 ({}:1)"),
        ("x = 1", "has no function load_environment"),
        ("load_environment = 3", "has no function load_environment"),
        ("def load_environment(): return {}", "returned a dict, not an Environment"),
        ("async def load_environment(): pass", "returned a coroutine, not an Environment"),
        (
            "import json\ndef load_environment():\n    json.loads('{')",
            "load_environment raised JSONDecodeError: Expecting property name enclosed in double "
            "quotes: line 1 column 2 (char 1) ({}:3)",
        ),
        (
            "import tui_eval as vf\ndef load_environment():\n    return vf.SingleTurnEnv()",
            "raised ValueError: Either dataset or eval_dataset must be provided ({}:3)",
        ),
        (
            "import tui_eval as vf\n"
            "def load_environment():\n    return vf.SingleTurnEnv(dataset=[{{}}, {{'prompt': 1}}])",
            "environment bad-env: dataset row 1: its 'prompt' is of type int",
        ),
    ],
)
def test_a_broken_environment_is_refused_with_the_authors_line(tmp_path: Path, text, expected):
    path = write(tmp_path / "bad_env.py", text=text.replace("{{", "{").replace("}}", "}"))
    assert expected.replace("{}", str(path)) in refused("bad-env", tmp_path)


@pytest.mark.parametrize(
    ("module", "listed", "package"),
    [
        (
            "no_such_thing",
            '"other", "No-such.thing[x]>1,<2 ; python_version > \'3\'"',
            "No-such.thing[x]>1,<2",
        ),
        ("no_such_thing", '"no-such-thing-more<2", 7', "no-such-thing"),
        ("skimage", '"scikit-image<1"', "scikit-image<1"),
        ("skimage", "", "scikit-image"),
    ],
)
def test_a_missing_module_is_installed_as_the_project_lists_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, listed: str, package: str
):
    monkeypatch.setitem(sys.modules, module, None)
    write(tmp_path / "bad_env" / "bad_env.py", text=f"import {module}")
    write(
        tmp_path / "bad_env" / "pyproject.toml",
        text=f'[project]\nname = "bad-env"\ndependencies = [{listed}]',
    )
    assert f"Install what it needs: {install_command([package])}" in refused("bad-env", tmp_path)


def test_the_traceback_is_kept_and_a_mended_file_can_be_loaded(tmp_path: Path):
    path = write(tmp_path / "bad_env.py", text="raise ValueError('broken')")
    with pytest.raises(RefusedError) as error:
        load_environment("bad-env", environments_dir=tmp_path)
    assert isinstance(error.value.__cause__, ValueError)
    assert "bad_env" not in sys.modules
    write(path, "mended and longer than before")
    assert load_environment("bad-env", environments_dir=tmp_path).mark.startswith("mended")


def test_in_a_process_of_its_own(tmp_path: Path):
    write(tmp_path / "environments" / "my-env" / "src" / "my_env" / "__init__.py", "found")
    script = (
        "import sys, tui_eval as vf\n"
        "env = vf.load_environment('my-env', seed=3)\n"
        "print(env.mark, env.env_args)\n"
        "print([m for m in ('openai', 'anthropic', 'textual', 'datasets') if m in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={"PYTHONPATH": str(Path(imports.__file__).parents[2])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "found {'seed': 3}\n[]\n"


OUTER = """
import verifiers as vf

def load_environment():
    inner = vf.load_environment("inner-env")
    from beside_outer import MARK
    from shared_name import SIDE
    again = vf.load_environment(env_id="inner-env")
    return vf.EnvGroup([inner, again], ["one", "two"], mark=MARK, side=SIDE)
"""
INNER = """
import tui_eval as vf
from shared_name import SIDE

def load_environment():
    return vf.SingleTurnEnv(dataset=[{"question": "q"}], side=SIDE, later=later)

def later():
    from .sub import MARK
    return MARK
"""


def test_an_environment_loads_another_that_stands_beside_it(tmp_path: Path):
    write(tmp_path / "outer_env" / "outer_env.py", text=OUTER.replace("verifiers", "tui_eval"))
    write(tmp_path / "outer_env" / "beside_outer.py", text="MARK = 'beside'")
    write(tmp_path / "outer_env" / "shared_name.py", text="SIDE = 'outer'")
    write(tmp_path / "inner_env" / "inner_env" / "__init__.py", text=INNER)
    write(tmp_path / "inner_env" / "inner_env" / "sub.py", text="MARK = 'sub'")
    write(tmp_path / "inner_env" / "shared_name.py", text="SIDE = 'inner'")
    group = load_environment("outer-env", environments_dir=tmp_path)
    assert (group.mark, group.side) == ("beside", "outer")
    assert [env.side for env in group.envs] == ["inner", "inner"]
    assert [env.later() for env in group.envs] == ["sub", "sub"]


def test_a_folder_is_not_remembered_after_loading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "there" / "my_env.py")
    load_environment("my-env", environments_dir=tmp_path / "there")
    with pytest.raises(RefusedError, match=r"Looked in \S*/environments,"):
        load_environment("my-env")
