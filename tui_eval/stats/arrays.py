"""numpy, loaded at its first use: a first frame and an engine need none of it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
else:

    class _Later:
        def __getattr__(self, name: str) -> Any:
            found = self.__dict__[name] = getattr(importlib.import_module("numpy"), name)
            return found

    np = _Later()

__all__ = ["np"]
