"""Libraries that take long to load, for the few tests that use them.

Every process of the suite collects all tests, and runs a part of them.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from typing import Any


class LazyModule:
    """A module, loaded when a test first uses it.

    Raises:
        ModuleNotFoundError: It is not installed, though all are that the tests need.
    """

    def __init__(self, name: str) -> None:
        if importlib.util.find_spec(name) is None:
            raise ModuleNotFoundError(f"{name} is not installed", name=name)
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if "PYTEST_CURRENT_TEST" not in os.environ:  # who collects tests looks at all that there is
            raise AttributeError(name)
        return getattr(importlib.import_module(self._name), name)
