"""Has one process of the suite make what is kept of each file between its runs.

In a fresh clone every one of them would rewrite the assertions of all tests and read the constants
of all modules for hypothesis: as all collect at the same time, none finds what another has made.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from warnings import catch_warnings, simplefilter

import pytest
from _pytest.assertion import rewrite

import tui_eval


def prepare_share(config: pytest.Config, number: int, of: int) -> None:
    """Makes what is not there yet for every so-and-so-many-th file.

    Args:
        number: Which process of the suite this is, from 0.
    """
    tests = list(_tests(config.args))
    for path in tests[number::of]:
        _rewrite(config, path)
    modules = sorted(Path(tui_eval.__file__).parent.rglob("*.py"))
    if len(tests) > 1:
        _read_constants([*tests, *modules][number::of])


def _read_constants(paths: list[Path]) -> None:
    """As hypothesis does once it draws; nothing where its version has that elsewhere."""
    with suppress(ImportError), catch_warnings():
        from hypothesis.internal.constants_ast import constants_from_module

        simplefilter("ignore")  # it wants no plugin to do that, which slows every run
        for path in paths:
            module = ModuleType(path.stem)
            module.__file__ = str(path)
            constants_from_module(module)


def _tests(names: list[str]) -> Iterator[Path]:
    for name in names:
        path = Path(name.split("::")[0]).resolve()
        yield from [path] if path.is_file() else sorted(path.rglob("test_*.py"))


def _rewrite(config: pytest.Config, path: Path) -> None:
    state = config.stash[rewrite.assertstate_key]
    folder = rewrite.get_cache_dir(path)
    kept = folder / f"{path.stem}{rewrite.PYC_TAIL}"
    if rewrite._read_pyc(path, kept) is None and rewrite.try_makedirs(folder):
        with suppress(SyntaxError):  # who collects it says so
            stat, code = rewrite._rewrite_test(path, config)
            rewrite._write_pyc(state, code, stat, kept)
