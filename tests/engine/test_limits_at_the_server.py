"""The limits of concurrency, counted by the servers that are asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from metered import MeteredServer
from program import Program

LIMIT = 4
ROLLOUTS = 40

JUDGED = """
    import aiohttp

    import tui_eval as vf

    def load_environment(judge=None):
        async def judged(completion):
            async with aiohttp.ClientSession() as session:
                async with session.post(judge, json={}) as answer:
                    return float(answer.status == 200)

        rows = [{"question": str(n)} for n in range(40)]
        funcs = [judged] if judge else [lambda completion: 1.0]
        return vf.SingleTurnEnv(dataset=rows, rubric=vf.Rubric(funcs=funcs))
"""


@pytest.fixture
def model() -> Iterator[MeteredServer]:
    with MeteredServer(0.1) as server:
        yield server


def run(program: Program, server: MeteredServer, *args: str) -> None:
    program.environment("judged", JUDGED)
    to = [] if "-e" in args else ["-m", "m", "-b", f"{server.url}/v1"]
    done = program.run("judged", "-n", str(ROLLOUTS), "-r", "1", "--no-preflight", *to, *args)
    assert done.code == 0, done


def assert_kept_and_busy(server: MeteredServer) -> None:
    assert len(server.came_at) == ROLLOUTS
    assert server.most_in_flight == LIMIT
    assert server.mean_in_flight > 0.8 * LIMIT


@pytest.mark.parametrize(
    "args", [["-c", str(LIMIT)], ["-c", "32", "--max-concurrent-generation", str(LIMIT)]]
)
def test_so_many_are_generated_at_a_time(
    program: Program, model: MeteredServer, args: list[str]
) -> None:
    run(program, model, *args)
    assert_kept_and_busy(model)


def test_so_many_are_generated_at_a_time_at_an_endpoint_of_the_registry(
    program: Program, model: MeteredServer, tmp_path: Path
) -> None:
    registry = tmp_path / "endpoints.toml"
    registry.write_text(
        f'[[endpoint]]\nendpoint_id = "limited"\nmodel = "m"\nurl = "{model.url}/v1"\n'
        f"max_concurrent = {LIMIT}\n"
    )
    run(program, model, "-e", str(registry), "-m", "limited", "-c", "32")
    assert_kept_and_busy(model)


def test_so_many_are_scored_at_a_time(program: Program) -> None:
    with MeteredServer(0.0) as model, MeteredServer(0.1) as judge:
        asks = json.dumps({"judge": f"{judge.url}/judge"})
        run(program, model, "-a", asks, "-c", "32", "--max-concurrent-scoring", str(LIMIT))
    assert_kept_and_busy(judge)


def test_an_endpoint_that_refuses_requests_is_asked_fewer_at_a_time(program: Program) -> None:
    seen = []
    for args in ([], ["--no-adaptive"]):
        with MeteredServer(0.2, rate=40, burst=4) as server:
            program.environment("judged", JUDGED)
            done = program.run(
                *("judged", "-m", "m", "-b", f"{server.url}/v1", "-n", "40", "-r", "2"),
                *("-c", "24", "-d", "--json", *args),
            )
        found = json.loads(done.out)
        assert found["refused_requests"] <= server.refused
        seen.append((server.refused, done))
    (adaptive, done), (fixed, fixed_done) = seen
    assert done.code == 0, done
    assert adaptive < fixed / 2
    assert " of 24 at a time, " in done.err
    assert "at a time" not in fixed_done.err and " refused" in fixed_done.err
