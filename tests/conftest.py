"""Fixtures that several parts of the suite share."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import preloaded
import pytest
from hypothesis import HealthCheck, settings
from program import Program
from rewriting import prepare_share
from servers import CERTIFICATE, FaultServer

# How long an example takes says something of the machine, nothing of the program.
settings.register_profile(
    "untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)
settings.load_profile("untimed")

# Who starts the suite in the background, or with nohup, ignores these, which programs inherit.
for number, handler in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)


# What one worker has rewritten is there for the others, and for the next run.
sys.dont_write_bytecode = False

# An app makes so many objects that looking for garbage at every 700th is a good part of its tests,
# and a tenth of it still at every 10,000th.
gc.set_threshold(50_000, 10, 10)


STARTS = {"subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty", "os.system", "os.exec"}
"""Audit events of Python before a process is started."""


SLOW = Path(__file__).parent / "slow"

running = {"plain": False}
"""Whether the test that runs now is marked so."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    running["plain"] = item.get_closest_marker("plain") is not None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--pure",
        action="store_true",
        help="leave out tests marked `process`; a process or a screen in the others is an error",
    )
    parser.addoption(
        "--slow", action="store_true", help="run the tests marked `slow`, and no others"
    )


def pytest_configure(config: pytest.Config) -> None:
    # The process that starts the workers tests nothing itself.
    if config.getoption("--pure") and not config.getoption("numprocesses", None):
        sys.addaudithook(_refuse_processes)
    if worker := getattr(config, "workerinput", None):
        prepare_share(config, int(worker["workerid"][2:]), worker["workercount"])


def _refuse_processes(event: str, arguments: tuple[object, ...]) -> None:
    test = os.environ.get("PYTEST_CURRENT_TEST")
    if test is None:
        return
    is_screen = event == "import" and arguments[0] == "textual.drivers.headless_driver"
    if event in STARTS or is_screen:
        raise RuntimeError(f"{test} starts a process or a screen: mark it `process`")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if SLOW in item.path.parents:
            item.add_marker(pytest.mark.slow)
    if config.getoption("--pure"):
        marks = "process", "slow"
        _leave_out(config, items, lambda item: any(map(item.get_closest_marker, marks)))
    if config.getoption("--slow"):
        _leave_out(config, items, lambda item: not item.get_closest_marker("slow"))
    elif not any(_names_slow(Path(one.split("::")[0]).resolve()) for one in config.args):
        _leave_out(config, items, lambda item: bool(item.get_closest_marker("slow")))


def _names_slow(path: Path) -> bool:
    """Whether who names this for a run wants slow tests of it: a file, or the folder of them."""
    return path.is_file() or SLOW in (path, *path.parents)


def _leave_out(
    config: pytest.Config, items: list[pytest.Item], leaves: Callable[[pytest.Item], bool]
) -> None:
    left_out = [item for item in items if leaves(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if not leaves(item)]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Stops looking for garbage meanwhile: what is collected stays to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def unsaved_runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Runs for which a test names no folder lie in one that goes away."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TUI_EVAL_STATE_DIR", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(autouse=True, scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The user's cache and settings are not the tests': they have a cache of their own."""
    path = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TUI_EVAL_CACHE_DIR", str(path))
        patch.setenv("TUI_EVAL_CONFIG", str(path / "no settings" / "config.toml"))
        # Without what was compiled before, a program takes half as long again to start.
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        # Nothing here goes to a host elsewhere. A program reads the machine's certificates up to
        # five times before its first answer, which is a tenth of what it takes to run.
        patch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
        patch.delenv("SSL_CERT_DIR", raising=False)
        preloaded.ENVIRONMENT.clear()
        preloaded.ENVIRONMENT.update(os.environ)
        preloaded.preload_here(lambda: running["plain"])
        yield path


@pytest.fixture
def fault_server() -> Iterator[FaultServer]:
    """A server whose answers the test scripts."""
    with FaultServer() as server:
        yield server


@pytest.fixture
def program(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Program]:
    """The program in a folder of its own."""
    program = Program(tmp_path)
    program.preloaded = request.node.get_closest_marker("plain") is None
    yield program
    program.end_all()


@pytest.fixture(autouse=True)
def no_pace_is_left() -> Iterator[None]:
    """A server on the port of an earlier one is another endpoint."""
    yield
    if "tui_eval.clients.pacing" in sys.modules:
        from tui_eval.clients.pacing import forget_paces

        forget_paces()


@pytest.fixture(autouse=True)
def no_alias_is_left() -> Iterator[None]:
    """Undoes the alias of `verifiers`, which loading an environment sets, after each test."""
    yield
    if any(type(one).__module__ == "tui_eval.compat.verifiers_alias" for one in sys.meta_path):
        from tui_eval.compat import uninstall_verifiers_alias

        uninstall_verifiers_alias()
