"""Needs of an environment beside its own code, read from its source without running it."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from tui_eval.environments.discovery import FoundEnvironment
from tui_eval.environments.source_files import source_files

Kind: TypeAlias = Literal["package", "key", "dataset", "address"]

_KEY = re.compile(r"KEY|TOKEN|SECRET")
_OURS = ("tui_eval", "verifiers")
_LEFT_OUT = ("outputs", "tests", "__pycache__", "node_modules", "build", "dist")
_EXTRAS = {
    **dict.fromkeys(("MathRubric", "HybridMathRubric"), ("math_verify", "tui-eval[math]")),
    "load_example_dataset": ("datasets", "tui-eval[hub]"),
    "TextArenaEnv": ("textarena", "tui-eval[textarena]"),
    "ReasoningGymEnv": ("reasoning_gym", "tui-eval[reasoning-gym]"),
    "MCPEnv": ("mcp", "tui-eval[mcp]"),
}
"""Names of ours that need a package beside: its module, and what installs it."""
_SDK_KEYS = {
    **dict.fromkeys(("AsyncOpenAI", "OpenAI"), "OPENAI_API_KEY"),
    **dict.fromkeys(("AsyncAnthropic", "Anthropic"), "ANTHROPIC_API_KEY"),
}
"""The variable that an SDK's client reads where no key is given."""
_BUILDERS = ("json", "csv", "text", "parquet", "arrow", "imagefolder", "audiofolder")
_MISSING = ("ImportError", "ModuleNotFoundError", "Exception", "BaseException")
"""Exceptions of a module that is not there, where a block catches them."""
_ADDRESSES = ("base_url", "api_base_url", "server_url")


class Need(NamedTuple):
    """One thing that an environment needs.

    Args:
        name: Of the module, the variable, the dataset; or the URL.
        place: `file:line`.
        install: The packages that install a module, where they are known.
    """

    kind: Kind
    name: str
    place: str
    install: str = ""


def needs_of(found: FoundEnvironment, folder: Path) -> list[Need]:
    """Needs that the source of an environment has, each once, in the order of the source.

    What is imported only where it is there (`try: ... except ImportError`) or for types is no
    need; nor are keys with a default.

    Args:
        folder: The folder of local environments.
    """
    if found.path is None:
        return []
    local = _modules_beside(found)
    needs: dict[tuple[str, str], Need] = {}
    for path in _files(found, folder):
        try:
            tree = ast.parse(path.read_bytes())
        except (OSError, SyntaxError, ValueError, RecursionError):
            continue  # importing it says what is wrong
        for need in _Reader(path, local).read([tree]):
            needs.setdefault((need.kind, need.name), need)
    return list(needs.values())


def _files(found: FoundEnvironment, folder: Path) -> list[Path]:
    path = found.path
    assert path is not None, "needs_of looks for it"
    is_among_others = found.origin != "local" or path.parent == folder.absolute()
    if path.name != "__init__.py" and is_among_others:
        return [path]
    return [one for one in source_files(path.parent, _LEFT_OUT) if not _is_test(one)]


def _is_test(path: Path) -> bool:
    return path.name.startswith("test_") or path.name == "conftest.py"


def _modules_beside(found: FoundEnvironment) -> set[str]:
    """Modules that an environment imports from its own folder; no folders of data."""
    assert found.path is not None, "needs_of looks for it"
    roots = {found.path.parent, found.root or found.path.parent}
    return {one.stem for root in roots for one in root.iterdir() if _is_module(one)}


def _is_module(path: Path) -> bool:
    return path.suffix == ".py" or (path.suffix == "" and any(path.glob("*.py")))


class _Reader:
    def __init__(self, path: Path, local: set[str]) -> None:
        self._path = path
        self._local = local

    def read(self, nodes: Iterable[ast.AST], is_optional: bool = False) -> Iterator[Need]:
        """Collects needs of parts of the source; where they are optional, imports may fail."""
        for node in nodes:
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
                yield from self.read(node.orelse, is_optional)
            elif isinstance(node, ast.Try) and _catches_missing(node):
                yield from self.read(ast.iter_child_nodes(node), True)
            else:
                yield from self._of_node(node, is_optional)
                yield from self.read(ast.iter_child_nodes(node), is_optional)

    def _of_node(self, node: ast.AST, is_optional: bool) -> Iterator[Need]:
        if isinstance(node, ast.Import | ast.ImportFrom) and not is_optional:
            yield from self._of_import(node)
        elif isinstance(node, ast.Attribute) and node.attr in _EXTRAS:
            yield self._extra(node.attr, node)
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            if _name_of(node.value).endswith("environ") and (name := _text(node.slice)):
                yield self._need("key", name, node)
        elif isinstance(node, ast.Call):
            yield from self._of_call(node)

    def _of_import(self, node: ast.Import | ast.ImportFrom) -> Iterator[Need]:
        if isinstance(node, ast.Import):
            modules = [one.name for one in node.names]
        else:
            modules = [node.module] if node.module and not node.level else []
        for module in modules:
            name = module.partition(".")[0]
            if name in _OURS:
                yield from (self._extra(o.name, node) for o in node.names if o.name in _EXTRAS)
            elif name not in sys.stdlib_module_names and name not in self._local:
                yield self._need("package", name, node)

    def _of_call(self, node: ast.Call) -> Iterator[Need]:
        name = _name_of(node.func).rpartition(".")[2]
        given = {one.arg: one.value for one in node.keywords if one.arg}
        first = _text(node.args[0]) if node.args else ""
        if name in ("getenv", "get") and len(node.args) == 1 and not given and _KEY.search(first):
            if name == "getenv" or _name_of(node.func).endswith("environ.get"):
                yield self._need("key", first, node)
        elif name == "ensure_keys" and node.args and isinstance(node.args[0], ast.List | ast.Tuple):
            keys = (_text(one) for one in node.args[0].elts)
            yield from (self._need("key", key, node) for key in keys if key)
        elif name in _SDK_KEYS and "api_key" not in given:
            yield self._need("key", _SDK_KEYS[name], node)
        elif name == "JudgeRubric" and "judge_client" not in given:
            yield self._need("key", "OPENAI_API_KEY", node)
        elif name == "load_dataset":
            dataset = first or _text(given.get("path"))
            if dataset and dataset not in _BUILDERS and not Path(dataset).exists():
                yield self._need("dataset", dataset, node)
        if key := _text(given.get("api_key_var")):
            yield self._need("key", key, node)
        for url in (_text(given.get(word)) for word in _ADDRESSES):
            if url.startswith(("http://", "https://")):
                yield self._need("address", url, node)

    def _extra(self, name: str, node: ast.AST) -> Need:
        module, install = _EXTRAS[name]
        return self._need("package", module, node)._replace(install=install)

    def _need(self, kind: Kind, name: str, node: ast.AST) -> Need:
        here = Path.cwd()
        path = self._path.relative_to(here) if self._path.is_relative_to(here) else self._path
        return Need(kind, name, f"{path}:{getattr(node, 'lineno', 1)}")


def _catches_missing(node: ast.Try) -> bool:
    """Whether a failed import is expected in a block."""
    for handler in node.handlers:
        kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        if any(kind is None or _name_of(kind).rpartition(".")[2] in _MISSING for kind in kinds):
            return True
    return False


def _text(node: ast.AST | None) -> str:
    """The text of a literal; empty for all else."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _name_of(node: ast.AST) -> str:
    """The dotted name of an expression; empty where it is none."""
    if isinstance(node, ast.Attribute):
        return f"{_name_of(node.value)}.{node.attr}".lstrip(".")
    return node.id if isinstance(node, ast.Name) else ""
