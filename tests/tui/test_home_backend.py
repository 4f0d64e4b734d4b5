"""The backend of home: files, engines and endpoints."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from servers import FaultServer

from tui_eval.config import local_servers
from tui_eval.config.plan import RunPlan, plan_to_toml
from tui_eval.engine.setup.reachability import unreachable
from tui_eval.tui.form.backend import FormBackend
from tui_eval.tui.home.backend import HomeBackend

REGISTRY = """
[[endpoint]]
endpoint_id = "there"
model = "m"
url = "http://127.0.0.1:1/v1"
key = "A_KEY_THAT_IS_SET"

[[endpoint]]
endpoint_id = "of-env-file"
model = "m"
url = "http://127.0.0.1:1/v1"
key = "A_KEY_OF_A_FILE"

[[endpoint]]
endpoint_id = "missing"
model = "m"
url = "http://127.0.0.1:1/v1"
key = "A_KEY_OF_NOBODY"

[[endpoint]]
endpoint_id = "wrong"
modle = "m"
url = "http://127.0.0.1:1/v1"

[[endpoint]]
endpoint_id = "inside"
model = "m"
url = "embedded:demo"
"""
SECRET = "sk-never-to-be-shown"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(local_servers, "LOCAL_SERVERS", [])
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_registry(here: Path) -> None:
    (here / "configs").mkdir()
    (here / "configs/endpoints.toml").write_text(REGISTRY)


def test_endpoints_show_whether_their_key_is_there_and_never_what_it_is(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_registry(here)
    monkeypatch.setenv("A_KEY_THAT_IS_SET", SECRET)
    monkeypatch.setenv("A_KEY_OF_A_FILE", "")
    monkeypatch.delenv("A_KEY_OF_A_FILE")
    (here / ".env").write_text(f"A_KEY_OF_A_FILE={SECRET}\n")
    found = HomeBackend().endpoints()
    assert {one.alias: one.has_key for one in found.listed} == {
        "there": True,
        "of-env-file": True,
        "missing": False,
        "inside": True,
    }
    assert SECRET not in repr(found)
    assert any("modle" in fault for fault in found.faults)


def test_a_registry_that_is_made_changed_or_gone_is_shown(here: Path) -> None:
    backend = HomeBackend()
    backend.endpoints()
    assert not backend.have_endpoints_changed()
    write_registry(here)
    path = here / "configs/endpoints.toml"
    for change in (lambda: None, lambda: os.utime(path, (1, 1)), path.unlink):
        change()
        assert backend.have_endpoints_changed()
        backend.endpoints()
        assert not backend.have_endpoints_changed()


def test_the_list_of_endpoints_shows_what_each_is_and_costs(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_KEY_THAT_IS_SET", SECRET)
    url = "http://user:hunter2@127.0.0.1:1/v1"
    (here / "mine.toml").write_text(
        f'[[endpoint]]\nendpoint_id = "there"\nmodel = "m"\nurl = "{url}"\n'
        'key = "A_KEY_THAT_IS_SET"\ninput_price = 0.4\noutput_price = 1.6\n'
        '[[endpoint]]\nendpoint_id = "missing"\nmodel = "n"\nurl = "http://127.0.0.1:2/v1"\n'
        'key = "A_KEY_OF_NOBODY"\n'
    )
    there, missing, *_ = FormBackend().endpoints("mine.toml")
    assert there.about.splitlines() == [
        "model: m",
        "at: http://***@127.0.0.1:1/v1",
        "key: A_KEY_THAT_IS_SET, which is set",
        "price of a million tokens: $0.4 in, $1.6 out",
        "from: mine.toml:1",
    ]
    assert "key: A_KEY_OF_NOBODY, which is not set\nprice of a million tokens: unknown" in (
        missing.about
    )
    assert "hunter2" not in repr(there) and SECRET not in repr(there)


def test_the_key_that_prime_keeps_itself_counts(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PRIME_API_KEY", raising=False)
    before = {one.alias: one.has_key for one in HomeBackend().endpoints().listed}
    (here / ".prime").mkdir()
    (here / ".prime/config.json").write_text(f'{{"api_key": "{SECRET}"}}')
    after = {one.alias: one.has_key for one in HomeBackend().endpoints().listed}
    assert not before["qwen3-235b-i"] and after["qwen3-235b-i"]
    offers = {one.name: one for one in FormBackend().endpoints(None)}
    offer = offers["qwen3-235b-i"]
    assert offer.good and "not set" not in offer.note and ", which is set" in offer.about


def test_checking_an_endpoint_connects_and_sends_nothing(fault_server: FaultServer) -> None:
    backend = HomeBackend()
    assert backend.unreachable(f"{fault_server.url}/v1") == ""
    assert fault_server.requests == []
    assert "nothing listens on port 1" in backend.unreachable("http://127.0.0.1:1/v1")


@pytest.mark.parametrize(
    "url", ["http://h:v1", "http://[h", f"http://{'h' * 64}/v1", "http://h..h"]
)
def test_checking_what_is_no_address_says_so(url: str) -> None:
    assert HomeBackend().unreachable(url)


def test_where_nothing_listens_is_shown_without_its_password() -> None:
    (fault,) = unreachable("http://user:hunter2@127.0.0.1:1/v1")
    assert "127.0.0.1:1/v1: nothing listens" in str(fault) and "hunter2" not in str(fault)


async def test_environments_are_listed_and_none_is_imported(here: Path) -> None:
    (here / "environments").mkdir()
    (here / "environments/my_own.py").write_text(
        '"""Says nothing."""\nraise SystemExit("imported")\ndef load_environment(): ...\n'
    )
    found = {one.env_id: one for one in await HomeBackend().environments()}
    assert (found["my-own"].origin, found["my-own"].summary) == ("local", "Says nothing.")
    assert found["calculator"].origin == "bundled"


LOOK = """
import asyncio, sys
from tui_eval.tui.home.backend import HomeBackend
from tui_eval.tui.home_app import HomeApp

async def main():
    app = HomeApp(HomeBackend())
    async with app.run_test() as pilot:
        while not (app.home.polling.looked and app.home.runs.is_loaded):
            await pilot.pause(0.02)

asyncio.run(main())
unwanted = ("openai", "anthropic", "datasets", "tui_eval.environments", "tui_eval.clients")
print([name for name in sys.modules if name.startswith(unwanted)])
"""


def test_looking_around_imports_no_client_and_no_environment(here: Path) -> None:
    said = subprocess.run(
        [sys.executable, "-c", LOOK], capture_output=True, text=True, timeout=60, check=True
    )
    assert said.stdout.strip() == "[]"


def test_what_is_not_set_is_as_in_the_run_that_a_form_resumes(here: Path) -> None:
    run = here / "outputs" / "evals" / "reverse-text--m" / "1"
    run.mkdir(parents=True)
    (run / "results.jsonl").touch()
    plan = RunPlan(env_id="reverse-text", alias="m", model="m", base_url="embedded:demo")
    (run / "run.toml").write_text(plan_to_toml(plan))
    backend, raw = FormBackend(), {"resume": str(run)}
    assert backend.check({"env_id": "reverse-text", "raw": {}}), "of the model there is no endpoint"
    assert backend.check({"env_id": "reverse-text", "raw": raw}) == []
    assert backend.check({"env_id": "reverse-text", "raw": raw | {"model": "none-of-that"}})
    assert backend.check({"env_id": "reverse-text", "raw": {"resume": "gone"}})
