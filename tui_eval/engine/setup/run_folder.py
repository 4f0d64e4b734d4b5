"""The folder in which a run was begun, which is gone to where it goes on."""

from __future__ import annotations

import os
from pathlib import Path

from tui_eval.config.env_file import load_env_file
from tui_eval.config.plan import Request, RunPlan
from tui_eval.errors import Notice

_PATHS = ("endpoints_path", "env_dir_path", "output_dir")
"""Options whose text names a file or folder."""


def go_to_its_folder(request: Request, before: RunPlan) -> list[Notice]:
    """Goes where a run was begun: what its plan and people's code name relatively is there.

    Nothing happens where that folder is not there any more. What was typed is made absolute.
    """
    folder = Path(before.folder)
    if not before.folder or not folder.is_dir() or folder.samefile(Path.cwd()):
        return []
    for name in _PATHS:
        if request.raw.get(name):
            request.raw[name] = str(Path(request.raw[name]).absolute())
    for name in ("TUI_EVAL_STATE_DIR", "TUI_EVAL_CACHE_DIR"):
        if named := os.environ.get(name):
            os.environ[name] = str(Path(named).absolute())
    os.chdir(folder)
    return [Notice(f"Working in {folder}, where the run was begun"), *load_env_file()]
