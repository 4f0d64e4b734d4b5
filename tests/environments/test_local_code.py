"""Files that are an environment's own code."""

from __future__ import annotations

from pathlib import Path

from tui_eval.environments.loader import load
from tui_eval.environments.local_code import local_code

MAKES = """
import tui_eval as vf
def load_environment():
    return vf.SingleTurnEnv(dataset=[{"question": "q"}], rubric=vf.Rubric([kept]))
"""


def files(folder: Path, texts: dict[str, str], env_id: str = "own") -> set[str]:
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return set(local_code(load(env_id, folder, {}), env_id, folder).files)


def test_a_package_has_all_its_modules_and_the_files_that_it_names(tmp_path: Path) -> None:
    found = files(
        tmp_path,
        {
            "own/__init__.py": f'from .inner import kept\nWORDS = "words.json"\n{MAKES}',
            "own/inner/__init__.py": "from ..beside import kept\n",
            "own/beside.py": 'def kept(completion): return open("prompts")\n',
            "own/later.py": "import never_there\n",
            "own/tests/test_it.py": "",
            "own/words.json": "[]",
            "own/prompts/a.txt": "",
            "own/prompts/b.md": "",
            "own/README.md": "words",
            "own/outputs/evals/x/results.jsonl": "",
        },
    )
    assert found == {
        *("own/__init__.py", "own/inner/__init__.py", "own/beside.py", "own/later.py"),
        *("own/words.json", "own/prompts/a.txt", "own/prompts/b.md"),
    }


def test_a_virtual_environment_in_a_package_is_none_of_its_code(tmp_path: Path) -> None:
    found = files(
        tmp_path,
        {
            "own/__init__.py": f'AT = "venv", "venv/bin/python"\nfrom .code import kept\n{MAKES}',
            "own/code.py": "def kept(completion): return 1.0\n",
            "own/venv/pyvenv.cfg": "",
            "own/venv/bin/python": "",
            "own/venv/lib/python3.11/site-packages/theirs.py": "",
        },
    )
    assert found == {"own/__init__.py", "own/code.py"}


def test_data_of_a_package_is_found_from_its_inner_modules_and_by_its_name(tmp_path: Path) -> None:
    found = files(
        tmp_path,
        {
            "own/__init__.py": f"from .inner.code import kept\n{MAKES}",
            "own/inner/__init__.py": "",
            "own/inner/code.py": "def kept(completion): return (A / 'words.json', 'own.data')",
            "own/words.json": "[]",
            "own/data/__init__.py": "",
            "own/data/prompt.txt": "",
            "words.json": "of a neighbour",
        },
    )
    assert {"own/words.json", "own/data/prompt.txt"} <= found
    assert "words.json" not in found


def test_a_flat_environment_has_what_it_imports_and_nothing_of_its_neighbours(
    tmp_path: Path,
) -> None:
    found = files(
        tmp_path,
        {
            "own.py": f"from shared.scores import kept\nimport json, numpy\n{MAKES}",
            "shared/__init__.py": "",
            "shared/scores.py": "def kept(completion):\n    import lazy\n    return 1.0\n",
            "lazy.py": "",
            "neighbour.py": "",
        },
    )
    assert found == {"own.py", "shared/__init__.py", "shared/scores.py", "lazy.py"}


def test_code_that_is_no_python_or_not_there_ends_nothing(tmp_path: Path) -> None:
    found = files(
        tmp_path, {"own/__init__.py": f"def kept(x): ...\n{MAKES}", "own/odd.py": "def ("}
    )
    assert found == {"own/__init__.py", "own/odd.py"}


def test_a_group_has_the_code_of_its_members(tmp_path: Path) -> None:
    group = """
import tui_eval as vf
def load_environment():
    names = ["one", "two"]
    return vf.EnvGroup([vf.load_environment(name) for name in names], names)
"""
    kept = "def kept(completion): return 1.0\n"
    found = files(tmp_path, {"own.py": group, "one.py": kept + MAKES, "two.py": kept + MAKES})
    assert found == {"own.py", "one.py", "two.py"}
