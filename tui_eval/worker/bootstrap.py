"""Runs a module of ours in another interpreter, with our packages behind its own.

It is run by its path, with folders to append to `sys.path` and the module's name. The last folder
holds this package alone, which is imported from there also where the interpreter has another
version of it.
"""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path


def main() -> None:
    """Appends the folders to `sys.path`, and runs the module in place of this one."""
    here = str(Path(__file__).parent)
    behind, name = sys.argv[1].split(os.pathsep), sys.argv[2]
    sys.argv[1:3] = []
    # As with `-m`, the working directory is first, and not the folder of this file.
    sys.path[:] = [str(Path.cwd()), *(one for one in sys.path if one != here)]
    sys.path.insert(0, behind[-1])
    import tui_eval  # noqa: F401  its modules are found in its folder from now on

    sys.path[:] = [*sys.path[1:], *behind]
    runpy.run_module(name, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
