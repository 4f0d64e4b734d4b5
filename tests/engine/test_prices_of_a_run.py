"""The cost of a run's tokens: by kinds, at prices of a registry or of a list, or unknown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_here import command_here
from program import Program, chat_answer
from run_here import run_here
from servers import FaultServer, Reply

CHAT = "/v1/chat/completions"
GOOD = Reply(body=chat_answer("yes"))
CACHED = {
    "prompt_tokens": 100_000,
    "completion_tokens": 10,
    "total_tokens": 100_010,
    "prompt_tokens_details": {"cached_tokens": 90_000, "cache_write_tokens": 4_000},
}
REGISTRY = """
[[endpoint]]
endpoint_id = "m"
model = "m"
url = "URL/v1"
input_price = 10
output_price = 100
"""


def registry(program: Program, server: FaultServer, more: str = "") -> str:
    path = program.folder / "prices.toml"
    path.write_text(REGISTRY.replace("URL", server.url) + more)
    return str(path)


def test_cached_tokens_cost_their_own_price(program: Program, fault_server: FaultServer) -> None:
    fault_server.script(CHAT, [Reply(body=chat_answer("yes") | {"usage": CACHED})])
    path = registry(program, fault_server, "cached_input_price = 1\ncache_write_price = 12.5\n")
    words = ("-m", "m", "-e", path, "-n", "1", "-r", "1")
    done = run_here(program, "reverse-text", *words)
    printed = " ".join(done.out.split())
    assert "Cost: $0.2010 ($10 in, $100 out, $1 cached, $12.5 written to a cache" in printed
    run = program.only_run()
    cost = json.loads(command_here(program, "report", str(run.path), "--json").out)["cost"]
    assert cost["usd"] == (6_000 * 10 + 90_000 * 1 + 4_000 * 12.5 + 10 * 100) / 1e6
    assert (cost["cached_input_price"], cost["cache_write_price"]) == (1.0, 12.5)


@pytest.mark.slow
def test_without_prices_of_their_own_they_cost_what_others_do(
    program: Program, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [Reply(body=chat_answer("yes") | {"usage": CACHED})])
    words = ("-m", "m", "-e", registry(program, fault_server), "-n", "1", "-r", "1", "--json")
    done = run_here(program, "reverse-text", *words)
    assert json.loads(done.out)["cost"]["usd"] == (100_000 * 10 + 10 * 100) / 1e6


@pytest.mark.slow
def test_a_limit_of_cost_without_a_price_runs_and_says_once_that_it_is_blind(
    program: Program, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [GOOD])
    words = ("-m", "gpt-4o", "-b", f"{fault_server.url}/v1", "-n", "2", "-r", "1")
    done = run_here(program, "reverse-text", *words, "--max-cost", "0.0001")
    assert done.code == 0, done
    warning = "--max-cost is blind: nobody knows the prices of gpt-4o"
    assert (done.out + done.err).count(warning) == 1
    file = program.folder / "two.toml"
    url = f"{fault_server.url}/v1"
    table = f'[[eval]]\nenv_id = "reverse-text"\nmodel = "gpt-4o"\napi_base_url = "{url}"\n'
    file.write_text(f"num_examples = 1\n{table}{table}sampling_args = {{ temperature = 0.5 }}\n")
    several = program.run(str(file), "--max-cost", "0.0001")
    assert several.code == 0, several
    assert (several.out + several.err).count("--max-cost is blind") == 1


@pytest.mark.slow
def test_a_list_price_stands_beside_the_cost_with_its_date(
    program: Program, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [GOOD])
    words = ("-m", "m", "-e", registry(program, fault_server), "-n", "1", "-r", "1")
    assert run_here(program, "reverse-text", *words).code == 0
    run = program.only_run()
    plan = run.path / "run.toml"
    listed = 'list_price = "2026-11-10, a list"'
    plan.write_text(plan.read_text().replace('list_price = ""', listed))
    report = command_here(program, "report", str(run.path))
    assert "list price of 2026-11-10, a list" in " ".join(report.out.split())
    found = json.loads(command_here(program, "report", str(run.path), "--json").out)
    assert found["cost"]["list_price"] == "2026-11-10, a list"
    page = Path(program.folder / "run.md")
    assert command_here(program, "export", str(run.path), "-o", str(page)).code == 0
    assert "list price of 2026-11-10, a list" in page.read_text()
