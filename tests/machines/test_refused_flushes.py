"""Runs on file systems that cannot be told to flush a file."""

from __future__ import annotations

import pytest
from program import Program

pytestmark = pytest.mark.slow

NO_FLUSH = """
import errno, os
def refuse(fd):
    raise OSError(errno.{name}, os.strerror(errno.{name}))
os.fsync = os.fdatasync = refuse
"""


@pytest.mark.parametrize("name", ["EINVAL", "ENOSYS", "EOPNOTSUPP"])
def test_a_run_is_saved_and_exported_where_nothing_can_be_flushed(
    program: Program, name: str
) -> None:
    program.happens_at_start(NO_FLUSH.format(name=name))
    done = program.run("word-guess", "-m", "demo", "-n", "2", "-r", "1", "-s")
    assert done.code == 0, done
    run = program.only_run()
    assert len(run.rows) == 2
    exported = program.run("export", str(run.path), "-o", "rows.csv")
    assert exported.code == 0, exported
    assert (program.folder / "rows.csv").stat().st_size > 0
