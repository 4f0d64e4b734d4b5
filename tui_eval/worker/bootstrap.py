"""Runs a module of ours in an interpreter of somebody else, behind that one's own packages.

It is run by its path, with the folders that are to stand behind and the module's name. The last of
the folders holds this package alone: it is imported from there also where the interpreter has one
of another version.
"""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path


def main() -> None:
    """Puts the folders behind what there is, and runs the module in place of this one."""
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
