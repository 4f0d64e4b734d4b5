"""Opening a 2 GB results.jsonl of another program: first rows, whole index, second opening."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from bench.figure import Figure, NotMeasuredError, number, spread
from bench.setting import Setting

BYTES = 2.1e9
QUICK_BYTES = 2e8
LONG_ROW_CHARACTERS = 5_000_000
MAKER = Path(__file__).with_name("make_results.py")


def measure(setting: Setting) -> Iterator[Figure]:
    """Each opening in a process of its own; the file is in the page cache."""
    folder = setting.new_path("")
    try:
        results = _make(setting, folder)
        yield from _openings(setting, results)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _openings(setting: Setting, results: Path) -> Iterator[Figure]:
    cache = setting.folder / "cache"
    typed, first, second = [], [], []
    for _ in range(setting.repeats(5)):
        typed.append(_child(setting, results, "typed"))
        shutil.rmtree(cache, ignore_errors=True)
        first.append(_child(setting, results))
        second.append(_child(setting, results))
    rows = {found["rows"] for found in (*typed, *first, *second)}
    if len(rows) != 1:
        raise NotMeasuredError(f"not every opening found the same rows: {sorted(rows)}")

    def of(name: str, some: list[dict[str, float]]) -> list[float]:
        return [found[name] for found in some]

    def worst(
        what: str, name: str, some: list[dict[str, float]], limit: float, unit: str
    ) -> Figure:
        values = of(name, some)
        return Figure(what, max(values), limit, unit, f"{spread(values)}")

    yield worst("first opening, until rows are there", "first_s", first, 0.5, " s")
    cpu, bare = of("reader_cpu_s", first), of("cpu_s", typed)
    taking = median(of("cpu_s", first)) - median(cpu)
    seconds = (
        f"CPU s: {spread(cpu)}; bare {spread(bare)}; {number(taking)} more for who takes the "
        f"events; {number(rows.pop())} rows"
    )
    share = median(cpu) / median(bare)
    yield Figure("CPU of the whole index / a bare typed pass", share, 1.6, "x", seconds)
    yield worst("private memory meanwhile", "private_mb", first, 120, " MB")
    yield Figure("longest lag of the loop meanwhile", max(of("longest_lag_ms", first)), None, " ms")
    yield worst("second opening, until rows are there", "first_s", second, 0.1, " s")
    whole, cpu = of("whole_s", second), of("cpu_s", second)
    yield Figure(
        "the same, until every row is reported", max(whole), None, " s", f"CPU s: {spread(cpu)}"
    )
    yield worst("reading the next rollout", "next_ms", [*first, *second], 30, " ms")
    mb = number(max(of("longest_mb", first)))
    yield worst(f"reading one of {mb} MB", "longest_ms", [*first, *second], 200, " ms")


def _make(setting: Setting, folder: Path) -> Path:
    size = QUICK_BYTES if setting.quick else BYTES
    if shutil.disk_usage(setting.folder).free < 2 * size:
        raise NotMeasuredError(f"{setting.folder} has no room for {size / 1e9:.1f} GB")
    done = subprocess.run(
        [sys.executable, str(MAKER), str(folder), str(size)], capture_output=True, text=True
    )
    if done.returncode != 0:
        raise NotMeasuredError(f"the file was not made:\n{done.stderr}")
    results = folder / "results.jsonl"
    with results.open("ab") as file:
        file.write(_long_row())
    return results


def _long_row() -> bytes:
    said = [{"role": "assistant", "content": "word " * (LONG_ROW_CHARACTERS // 500)}] * 100
    row = {"example_id": 10**9, "prompt": [], "completion": said, "reward": 1.0, "metrics": {}}
    return json.dumps(row).encode() + b"\n"


def _child(setting: Setting, results: Path, *arguments: str) -> dict[str, float]:
    variables = setting.variables() | {"TUI_EVAL_CACHE_DIR": str(setting.folder / "cache")}
    done = subprocess.run(
        [sys.executable, "-m", "bench.opened_run", str(results), *arguments],
        env=variables,
        cwd=setting.folder,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise NotMeasuredError(f"opening ended with {done.returncode}:\n{done.stderr}")
    found: dict[str, float] = json.loads(done.stdout)
    return found
