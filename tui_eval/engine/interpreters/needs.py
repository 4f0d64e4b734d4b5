"""What a worker needs of other packages, and what of it an interpreter lacks.

It is little, over a wide range of versions, since it stands behind the packages that an environment
has: of these none is replaced, so each of ours must do with what is there.
"""

from __future__ import annotations

from collections.abc import Iterable

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tui_eval.engine.interpreters.interpreter import InterpreterFacts
from tui_eval.errors import Fault
from tui_eval.installing import install_command_for

NEEDS = (
    "aiohttp>=3.10,<4",
    "msgspec>=0.18.6,<1",
    "platformdirs>=3,<5",
    "pydantic>=2,<3",
    "typing-extensions>=4.6",
)
"""The floor of each is the oldest that the tests run a worker with."""
_MODULES = {one: Requirement(one).name.replace("-", "_") for one in NEEDS}
_COME_ALONG = {
    "aiohttp": ("aiohappyeyeballs", "aiosignal", "attrs", "frozenlist", "idna", "multidict",
                "propcache", "typing-extensions", "yarl"),
    "pydantic": ("annotated-types", "pydantic-core", "typing-extensions", "typing-inspection"),
}  # fmt: skip
"""What those need in turn."""


def modules() -> list[str]:
    """The top modules of what a worker needs."""
    return list(_MODULES.values())


def lacking(facts: InterpreterFacts) -> list[str]:
    """The requirements that nothing in an interpreter meets or contradicts."""
    return [
        one
        for one, module in _MODULES.items()
        if not facts.modules.get(module) and _version(facts, Requirement(one).name) is None
    ]


def pinned(facts: InterpreterFacts, lacks: Iterable[str]) -> list[str]:
    """What an interpreter has of what would come along, each as it is: no other would be imported.

    Args:
        lacks: The requirements that are to be installed.
    """
    names = {name for one in lacks for name in _COME_ALONG.get(Requirement(one).name, ())}
    there = ((name, _version(facts, name)) for name in sorted(names))
    return [f"{name}=={version}" for name, version in there if version]


def contradictions(facts: InterpreterFacts, path: str, where: str) -> list[Fault]:
    """What an interpreter has in a version that no worker runs with."""
    faults = []
    for text in NEEDS:
        one = Requirement(text)
        version = _version(facts, one.name)
        if version is not None and not one.specifier.contains(version, prereleases=True):
            what = f"{path} has {one.name} {version}, and a worker needs {text}"
            faults.append(Fault(where, what, f"Install it: {install_command_for(path, [text])}"))
    return faults


def _version(facts: InterpreterFacts, name: str) -> str | None:
    return facts.packages.get(canonicalize_name(name))
