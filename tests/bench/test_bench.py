"""The bench says what it measures, and fails where a limit is missed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench import __main__ as program
from bench import scheduling
from bench.driving import Sample
from bench.figure import Figure, NotMeasuredError, exit_code, percentile
from bench.setting import Setting
from bench.steady_cost import cpu_at
from bench.watching import Counts, shown_after

ROOT = Path(__file__).resolve().parents[2]


class IdleSetting(Setting):
    """A setting without an endpoint: nothing is compiled or started."""

    def __enter__(self) -> Setting:
        return self

    def __exit__(self, *_: object) -> None:
        self.folder.rmdir()


@pytest.fixture
def measuring(monkeypatch: pytest.MonkeyPatch) -> list[Figure | Exception]:
    """Yield or error of the only measurement."""
    results: list[Figure | Exception] = []

    def measure(setting: Setting) -> Iterator[Figure]:
        for result in results:
            if isinstance(result, Exception):
                raise result
            yield result

    monkeypatch.setattr(program, "MEASUREMENTS", ("imports",))
    monkeypatch.setattr(program, "Setting", IdleSetting)
    monkeypatch.setattr(
        program,
        "importlib",
        SimpleNamespace(import_module=lambda _: SimpleNamespace(measure=measure)),
    )
    return results


def test_a_simulated_run_comes_to_its_end_whatever_workers_are_replaced() -> None:
    assert scheduling.simulate(4000, 400).replaced


def test_list_names_every_measurement_with_its_purpose() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench", "--list"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0
    lines = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert tuple(lines) == program.MEASUREMENTS + program.ONLY_NAMED
    assert all((ROOT / "bench" / f"{name}.py").is_file() for name in lines)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(SystemExit) as refused:
        program.main(["cpu_per_rolout"])
    assert refused.value.code == 2


def test_kept_limits_give_0(
    measuring: list[Figure | Exception], capsys: pytest.CaptureFixture[str]
) -> None:
    measuring += [Figure("cost", 0.5, 0.55, "x"), Figure("share", 99, 98, " %", at_least=True)]
    assert program.main([]) == 0
    assert "MISS" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "missed",
    [
        Figure("cost", 0.56, 0.55, "x"),
        Figure("share", 97.9, 98, " %", at_least=True),
        Figure("nothing", float("nan"), 1.0),
    ],
)
def test_a_missed_limit_gives_1_and_the_others_are_still_measured(
    missed: Figure, measuring: list[Figure | Exception], capsys: pytest.CaptureFixture[str]
) -> None:
    measuring += [missed, Figure("another", 1.0, 2.0)]
    assert program.main(["imports"]) == 1
    out = capsys.readouterr().out
    assert f"MISS {missed.what}" in out
    assert "ok   another" in out


def test_what_could_not_be_measured_gives_1(
    measuring: list[Figure | Exception], capsys: pytest.CaptureFixture[str]
) -> None:
    measuring += [Figure("cost", 0.5, 0.55), NotMeasuredError("the run ended with 1")]
    assert program.main([]) == 1
    assert "FAIL the run ended with 1" in capsys.readouterr().out


def test_a_figure_without_a_limit_never_fails() -> None:
    assert exit_code([Figure("size", 1e9)]) == 0


def test_the_percentile_of_nothing_is_not_measured() -> None:
    assert percentile([5.0, 1.0, 3.0], 0.5) == 3.0
    with pytest.raises(NotMeasuredError):
        percentile([], 0.99)


def test_cpu_is_interpolated_between_samples() -> None:
    samples = [Sample(0, 1.0, 50, 0), Sample(1, 2.0, 50, 500), Sample(2, 4.0, 50, 1500)]
    assert cpu_at(samples, 1000) == 3.0
    with pytest.raises(NotMeasuredError):
        cpu_at(samples, 1501)


def test_the_count_on_a_terminal_is_read_though_it_is_torn() -> None:
    counts = Counts(5000)
    for at, piece in enumerate(
        [b"\x1b[1m 12/5,000 \x1b[0m", b"12/5,000", b" 1,3", b"40/5,000\x1b"]
    ):
        counts.take(at, piece)
    assert counts.changes == [(0, 12), (3, 1340)]
    assert shown_after([0.0, 0.5], [(0.25, 1), (1.0, 2)]) == [250.0, 500.0]
