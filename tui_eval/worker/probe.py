"""Prints an interpreter's version and packages as JSON; run by its path, without our modules."""

from __future__ import annotations

import json
import sys
import sysconfig
from importlib.metadata import distributions
from importlib.util import find_spec


def _versions() -> dict[str, str]:
    """Every package that is installed, by its name in small letters with `-` between words."""
    found: dict[str, str] = {}
    for one in distributions():
        name = one.metadata["Name"]
        if isinstance(name, str):  # the first on the path is the one that is imported
            found.setdefault(name.lower().replace("_", "-").replace(".", "-"), one.version)
    return found


def _module_is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def probe(modules: list[str]) -> dict[str, object]:
    """This interpreter's version and packages, and which of some top modules it has."""
    return {
        "version": ".".join(map(str, sys.version_info[:3])),
        "prefix": sys.prefix,
        "abi": f"{sysconfig.get_config_var('SOABI')}-{sysconfig.get_platform()}",
        "packages": _versions(),
        "modules": {name: _module_is_there(name) for name in modules},
        "has_pip": _module_is_there("pip"),
    }


if __name__ == "__main__":
    json.dump(probe(sys.argv[1:]), sys.stdout)
