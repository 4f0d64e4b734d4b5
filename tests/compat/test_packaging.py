"""Environments of others load from the folders that they are packaged in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tui_eval
from tui_eval.compat import verifiers_alias
from tui_eval.environments.discovery import find_environment, known_environments
from tui_eval.environments.loader import load_environment
from tui_eval.errors import RefusedError

PROGRAM = """
import sys
from pathlib import Path
from tui_eval.compat.loader import load_environment
for name in sys.argv[1:]:
    env = load_environment(name, environments_dir=Path("environments"))
    print(name, env.dataset[0]["question"], env.system_prompt)
"""
PLAIN = """
import verifiers as vf

def load_environment(question: str = "q"):
    return vf.SingleTurnEnv(dataset=[{"question": question, "answer": "a"}], system_prompt="s")
"""
PROJECT = '[project]\nname = "{name}"\nversion = "0.1.0"\ndependencies = ["verifiers>=0.1.8"]\n'


def loaded(folder: Path, files: dict[str, str], *names: str) -> list[str]:
    """The result of a program that loads a folder of these files."""
    for name, text in files.items():
        path = folder / "environments" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    home = folder / "home"
    home.mkdir()
    setting = {"PYTHONPATH": str(Path(tui_eval.__file__).parents[1]), "HOME": str(home)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *names],
        cwd=folder,
        env={"PATH": os.environ["PATH"], **setting},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_package_in_src_with_relative_imports(tmp_path: Path) -> None:
    files = {
        "src-env/pyproject.toml": PROJECT.format(name="src-env"),
        "src-env/src/src_env/__init__.py": "from .env import load_environment\n",
        "src-env/src/src_env/env.py": PLAIN.replace('"s"', "PROMPT")
        + "from .texts.prompts import PROMPT\n",
        "src-env/src/src_env/texts/__init__.py": "",
        "src-env/src/src_env/texts/prompts.py": "from ..words import WORD as PROMPT\n",
        "src-env/src/src_env/words.py": "WORD = 'far'\n",
    }
    assert loaded(tmp_path, files, "src-env") == ["src-env q far"]


def test_a_package_of_another_name_than_its_folder(tmp_path: Path) -> None:
    files = {
        "first-folder/pyproject.toml": PROJECT.format(name="real-name"),
        "first-folder/real_name.py": PLAIN.replace('"q"', '"first"'),
        "second/pyproject.toml": PROJECT.format(name="second.thing"),
        "second/src/inner/__init__.py": PLAIN.replace('"q"', '"second"'),
        "second/setup.py": "",
        "second/tests.py": "import inner\n",
    }
    names = ("first-folder", "real-name", "second", "second-thing")
    assert loaded(tmp_path, files, *names) == [
        *("first-folder first s", "real-name first s"),
        *("second second s", "second-thing second s"),
    ]
    listed = known_environments(tmp_path / "environments")
    assert {"first-folder", "second"} <= set(listed)


def test_files_of_data_by_resources_and_by_path(tmp_path: Path) -> None:
    by_resources = "from importlib.resources import files\nPROMPT = "
    by_path = "from pathlib import Path\nPROMPT = "
    own = PLAIN.replace('"s"', "PROMPT")
    files = {
        "by_resources/__init__.py": f"{by_resources}files(__package__)"
        f".joinpath('data/prompt.txt').read_text()\n{own}",
        "by_resources/data/prompt.txt": "resource",
        "inner_data/src/inner_data/__init__.py": f"{by_resources}files('inner_data.data')"
        f".joinpath('prompt.txt').read_text()\n{own}",
        "inner_data/src/inner_data/data/__init__.py": "",
        "inner_data/src/inner_data/data/prompt.txt": "inner",
        "by_path/by_path.py": f"{by_path}(Path(__file__).parent / 'prompt.txt').read_text()\n{own}",
        "by_path/prompt.txt": "path",
    }
    assert loaded(tmp_path, files, "by-resources", "inner-data", "by-path") == [
        *("by-resources q resource", "inner-data q inner", "by-path q path"),
    ]


def test_clients_that_are_made_at_import(tmp_path: Path) -> None:
    files = {
        "at_import.py": "from openai import AsyncOpenAI\n"
        "JUDGE = AsyncOpenAI(api_key='x', base_url='http://127.0.0.1:9/v1')\n" + PLAIN,
        "from_prime.py": "from verifiers.utils.client_utils import load_prime_config\n"
        "from verifiers.utils.client_utils import setup_openai_client\n"
        "from verifiers.types import ClientConfig\n"
        "KEPT = load_prime_config()\n"
        "JUDGE = setup_openai_client(ClientConfig(api_base_url='http://127.0.0.1:9/v1'))\n"
        + PLAIN.replace('"q"', "str(KEPT.get('api_key'))"),
    }
    assert loaded(tmp_path, files, "at-import", "from-prime") == [
        *("at-import q s", "from-prime None s"),
    ]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"other.py": "import inspect_ai\n"}, "inspect eval"),
        ({"other.py": "def task():\n    from inspect_ai import Task\n"}, "inspect eval"),
        ({"other/__init__.py": "if False:\n    import atroposlib.envs\n"}, "Atropos"),
        ({"other.py": "if False:\n    from osmosis_ai import rollout\n"}, "tui-eval agent"),
        ({"other/openenv.yaml": "", "other/server/app.py": ""}, "OpenEnvEnv runs it"),
        ({"other/task.toml": "", "other/instruction.md": ""}, "harbor run"),
    ],
)
def test_projects_of_other_frameworks_are_named_with_what_runs_them(
    tmp_path: Path, files: dict[str, str], expected: str
) -> None:
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    with pytest.raises(RefusedError, match=expected):
        load_environment("other", environments_dir=tmp_path)


@pytest.mark.parametrize(
    "line",
    ["import verifiers.v1 as vf", "from verifiers.v1 import Taskset", "import verifiers.tasksets"],
)
def test_an_environment_of_the_second_interface_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "second.py").write_text(f"{line}\ndef load_environment(): ...\n")
    with verifiers_alias(), pytest.raises(RefusedError, match="second interface of verifiers"):
        load_environment("second", environments_dir=tmp_path)


def test_a_folder_with_two_candidates_is_no_environment(tmp_path: Path) -> None:
    project = tmp_path / "both"
    project.mkdir()
    (project / "pyproject.toml").write_text(PROJECT.format(name="neither"))
    for name in ("one", "two"):
        (project / f"{name}.py").write_text("def load_environment(): ...\n")
    for name in ("both", "neither"):
        with pytest.raises(RefusedError, match="no such environment"):
            find_environment(name, tmp_path)
