"""Sockets are where only their user reaches them, at any state of the machine."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path

import pytest

from tui_eval.engine.transport.sockets import (
    admits,
    bind_socket,
    connect,
    loopback_of,
    remove_stale,
    socket_folder,
)


def test_the_runtime_directory_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = Path("/tmp") / f"tui-eval-test-{os.getpid()}"
    runtime.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    try:
        assert socket_folder() == runtime / "tui-eval"
        assert (runtime / "tui-eval").stat().st_mode & 0o777 == 0o700
    finally:
        (runtime / "tui-eval").rmdir()
        runtime.rmdir()


@pytest.mark.parametrize(
    "runtime", ["", ".", "/nowhere", "/dev/null", "/sys", "/proc", "/" + "x" * 90]
)
def test_a_runtime_directory_that_cannot_be_used_is_not(
    monkeypatch: pytest.MonkeyPatch, runtime: str
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
    assert socket_folder() == Path(f"/tmp/tui-eval-{os.getuid()}")


def test_a_runtime_directory_is_measured_in_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = Path("/tmp") / f"{'é' * 40}-{os.getpid()}"
    runtime.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    try:
        assert socket_folder() == Path(f"/tmp/tui-eval-{os.getuid()}")
    finally:
        runtime.rmdir()


async def test_where_every_folder_has_too_long_a_path_a_port_stands_for_the_socket(
    tmp_path: Path,
) -> None:
    """As with a long TMPDIR where /tmp cannot be written."""
    path = tmp_path / ("x" * 100) / "engine.sock"
    path.parent.mkdir()
    with bind_socket(str(path)) as sock:
        loopback = loopback_of(sock, str(path))
        assert loopback is not None and "too long" in loopback.why
        connecting = asyncio.create_task(connect(str(path)))
        sock.setblocking(False)
        taken, _ = await asyncio.get_running_loop().sock_accept(sock)
        streams = await asyncio.open_connection(sock=taken)
        assert await admits(loopback, *streams)
        for _, writer in (streams, await connecting):
            writer.close()


def test_a_folder_that_is_somebody_elses_link_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "mine"
    mine.mkdir(mode=0o755)
    runtime = Path("/tmp") / f"tui-eval-test-{os.getpid()}"
    runtime.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    try:
        (runtime / "tui-eval").symlink_to(mine)
        assert socket_folder() == Path(f"/tmp/tui-eval-{os.getuid()}")
        assert mine.stat().st_mode & 0o777 == 0o755
    finally:
        (runtime / "tui-eval").unlink()
        runtime.rmdir()


def test_what_a_killed_engine_left_is_removed_and_what_lives_or_is_new_stays(
    tmp_path: Path,
) -> None:
    kept = [bind_socket(str(tmp_path / f"{name}.sock")) for name in ("living", "dead", "new")]
    for sock in kept[1:]:
        sock.close()
    for name in ("dead.log", "dead.0123.lock", "living.log", "deadly.log"):
        (tmp_path / name).touch()
    for name in ("living.sock", "dead.sock"):
        os.utime(tmp_path / name, (0, 0))
    remove_stale(tmp_path)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"living.sock", "living.log", "new.sock", "deadly.log"}
    with socket.socket(socket.AF_UNIX) as joining:
        joining.connect(str(tmp_path / "living.sock"))
    kept[0].close()
