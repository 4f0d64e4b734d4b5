"""First starts after an installation without byte code, against later ones."""

from __future__ import annotations

import shutil
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from bench.figure import Figure, spread
from bench.first_frame import APPEARS_WITHIN_S, DEMO, LAST_LINE, QUIT
from bench.setting import ROOT, Setting
from bench.terminal import Terminal

LINE = b"is starting"


def measure(setting: Setting) -> Iterator[Figure]:
    """With the standard library's byte code and none of what is installed: the screen's own
    packages are compiled at each start, as in a read-only installation."""
    variables = _without_byte_code(setting)
    later = [_moments(setting, setting.variables())[1] for _ in range(setting.repeats(9, 3))]
    first = [_moments(setting, variables) for _ in range(setting.repeats(9, 3))]
    lines, frames = [line for line, _ in first], [frame for _, frame in first]
    yield Figure(
        "first frame of a first start / of a later one",
        median(frames) / median(later),
        None,
        "x",
        f"ms: first start {spread(frames)}; later {spread(later)}",
    )
    yield Figure(
        "line on the terminal / first frame, at a first start",
        median(lines) / median(frames),
        0.6,
        "x",
        f"ms: line {spread(lines)}",
    )


def _without_byte_code(setting: Setting) -> dict[str, str]:
    """Variables under which only the standard library has byte code."""
    folder = setting.new_path(".byte-code")
    variables = setting.variables() | {"PYTHONPYCACHEPREFIX": str(folder)}
    _moments(setting, variables)
    for installed in (Path(sysconfig.get_path("purelib")), ROOT):
        shutil.rmtree(folder / installed.relative_to("/"), ignore_errors=True)
    return variables | {"PYTHONDONTWRITEBYTECODE": "1"}


def _moments(setting: Setting, variables: dict[str, str]) -> tuple[float, float]:
    """Milliseconds from the process's start to the line, and to the first whole frame."""
    seen: dict[bytes, float] = {}

    def look(at: float, data: bytes) -> None:
        for wanted in (LINE, LAST_LINE):
            if wanted not in seen and wanted in end.output:
                seen[wanted] = (at - end.spawned_at) * 1000

    with Terminal([sys.executable, *DEMO], variables, setting.folder, look) as end:
        end.read_until(lambda: LAST_LINE in seen, APPEARS_WITHIN_S)
        end.type(QUIT)
        end.wait()
    return seen[LINE], seen[LAST_LINE]
