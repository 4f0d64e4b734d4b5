"""Loading an environment from Python, whichever library it was written for."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

from tui_eval.compat.verifiers_alias import install_verifiers_alias
from tui_eval.compat.verifiers_names import ROOT
from tui_eval.environments import loader
from tui_eval.environments.environment import Environment


def load_environment(
    env_id: str, *, environments_dir: Path | None = None, **env_args: Any
) -> Environment:
    """Finds an environment by its id, and makes it.

    Where the package verifiers is not installed, its name leads to ours from now on; where it
    is, `tui_eval.compat.install_verifiers_alias()` does that.

    Args:
        env_id: Its name, `-` and `_` being the same; of `owner/name` the last part.
        environments_dir: Where local environments are. By default `environments`, and for one that
            is loaded by another the folder in which that was looked for.
        env_args: For its `load_environment`.

    Raises:
        RefusedError: It cannot be found, imported or made, or does not know an argument.
    """
    if ROOT not in sys.modules and importlib.util.find_spec(ROOT) is None:
        install_verifiers_alias()
    return loader.load_environment(env_id, environments_dir=environments_dir, **env_args)
