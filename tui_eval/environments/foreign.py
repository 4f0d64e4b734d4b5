"""Projects of other frameworks: which one it is, and what runs it."""

from __future__ import annotations

import ast
from pathlib import Path

_BY_IMPORT = {
    "inspect_ai": "Inspect's. `inspect eval` runs it",
    "lm_eval": "of the LM Evaluation Harness. `lm_eval` runs it",
    "atroposlib": "Atropos'. It runs itself: `python FILE process`",
    "nemo_gym": "NeMo Gym's. `ng_run` runs it",
    "openenv": "OpenEnv's. An environment that returns OpenEnvEnv runs it",
    "openenv_core": "OpenEnv's. An environment that returns OpenEnvEnv runs it",
    "osmosis_ai": "of the Osmosis SDK. `tui-eval agent` runs its agent loops and reward functions",
    "gymnasium": "Gymnasium's. An environment that returns a GymEnv around it runs it",
    "textarena": "TextArena's. An environment that returns a TextArenaEnv runs it",
    "reasoning_gym": "reasoning-gym's. An environment that returns a ReasoningGymEnv runs it",
}
_BY_FILE = {
    "openenv.yaml": _BY_IMPORT["openenv"],
    "task.toml": "Harbor's. `harbor run` runs it",
}


def framework_of(path: Path) -> str:
    """Whose a module or a folder is and what runs it, as a sentence; empty where it is unknown."""
    if path.is_dir():
        found = next(
            (reported for name, reported in _BY_FILE.items() if (path / name).is_file()), ""
        )
    else:
        imported = _imported(path)
        found = next((reported for name, reported in _BY_IMPORT.items() if name in imported), "")
    return f"It is {found}" if found else ""


def framework_of_class(kind: type) -> str:
    """The same for a class that one of them made or that derives from one of theirs."""
    roots = [base.__module__.partition(".")[0] for base in kind.__mro__]
    found = next((_BY_IMPORT[root] for root in roots if root in _BY_IMPORT), "")
    return f"It is {found}" if found else ""


def _imported(path: Path) -> set[str]:
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return set()
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {one.name.partition(".")[0] for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names
