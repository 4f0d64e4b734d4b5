"""The limits of concurrency, counted by the servers."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from aiohttp import web
from command_here import command_here
from program import Program, chat_answer
from run_here import run_here
from servers import FaultServer, Reply

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


def run(program: Program, server: FaultServer, *args: str) -> None:
    program.environment("judged", JUDGED)
    server.script("/v1/chat/completions", [Reply(body=chat_answer("yes"))])
    to = [] if "-e" in args else ["-m", "m", "-b", f"{server.url}/v1"]
    done = run_here(program, "judged", "-n", str(ROLLOUTS), "-r", "1", "--no-preflight", *to, *args)
    assert done.code == 0, done


@pytest.mark.parametrize(
    "args", [["-c", str(LIMIT)], ["-c", "32", "--max-concurrent-generation", str(LIMIT)]]
)
def test_max_concurrent_generation_holds_at_the_server(
    program: Program, fault_server: FaultServer, args: list[str]
) -> None:
    fault_server.answer_when_full(LIMIT, of=ROLLOUTS)
    run(program, fault_server, *args)
    assert fault_server.most_at_once == LIMIT


@pytest.mark.slow
def test_max_concurrent_of_an_endpoint_of_the_registry_holds_at_the_server(
    program: Program, fault_server: FaultServer, tmp_path: Path
) -> None:
    registry = tmp_path / "endpoints.toml"
    registry.write_text(
        f'[[endpoint]]\nendpoint_id = "limited"\nmodel = "m"\nurl = "{fault_server.url}/v1"\n'
        f"max_concurrent = {LIMIT}\n"
    )
    fault_server.answer_when_full(LIMIT, of=ROLLOUTS)
    run(program, fault_server, "-e", str(registry), "-m", "limited", "-c", "32")
    assert fault_server.most_at_once == LIMIT


@pytest.mark.slow
def test_max_concurrent_scoring_holds_at_the_server(
    program: Program, fault_server: FaultServer
) -> None:
    with FaultServer() as judge:
        judge.script("/judge", [Reply()])
        judge.answer_when_full(LIMIT, of=ROLLOUTS)
        env_args = json.dumps({"judge": f"{judge.url}/judge"})
        run(
            program,
            fault_server,
            "-a",
            env_args,
            "-c",
            "32",
            "--max-concurrent-scoring",
            str(LIMIT),
        )
    assert judge.most_at_once == LIMIT


@pytest.mark.slow
def test_an_endpoint_that_refuses_requests_gets_fewer_at_once(program: Program) -> None:
    errors = []
    for args in ([], ["--no-adaptive"]):
        with CrowdedServer(most=4) as server:
            program.environment("judged", JUDGED)
            done = program.run(
                *("judged", "-m", "m", "-b", f"{server.url}/v1", "-n", "40", "-r", "1"),
                *("-c", "24", "-d", "--json", *args),
            )
        assert done.code == 0, done
        refused = json.loads(done.out)["refused_requests"]
        assert 0 < refused <= server.refused
        later = command_here(program, "report", str(json.loads(done.out)["path"]), "--json")
        assert json.loads(later.out)["refused_requests"] == refused
        errors.append(done.err)
    adaptive, fixed = errors
    assert " of 24, " in adaptive
    assert "max_concurrent" not in fixed and " refused" in fixed


class CrowdedServer(FaultServer):
    """Refuses what comes while `most` are being answered; answers nothing before it has refused."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.refused = 0
        self._most = most

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.script(request.path, [Reply(body=chat_answer("yes"), delay=0.1)])
        return await super()._handle(request)

    async def _answer(self, request: web.Request, reply: Reply) -> web.StreamResponse:
        if self.in_flight > self._most:
            self.refused += 1
            reply = Reply(429)
        while not self.refused:
            await asyncio.sleep(0.001)
        return await super()._answer(request, reply)
