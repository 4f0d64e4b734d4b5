"""Files of a run are for its user alone: they have conversations."""

from __future__ import annotations

from program import Program, Run, chat_answer, wait_until
from run_here import run_here
from servers import FaultServer, Reply

CHAT = "/v1/chat/completions"
GROUPED = """
import tui_eval as vf

def best(states):
    print("scored")
    return [1.0 for _ in states]

def load_environment():
    return vf.SingleTurnEnv(dataset=[{"question": "q"}], rubric=vf.Rubric([best]))
"""


def modes(run: Run) -> dict[str, str]:
    return {one.name: oct(one.stat().st_mode & 0o777) for one in [run.path, *run.path.iterdir()]}


def test_files_and_folder_of_a_run_are_for_their_user(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment("talk", GROUPED)
    answer = Reply(body=chat_answer("yes"))
    fault_server.script(CHAT, [answer, Reply(hang=True)])
    to = ("-m", "m", "-b", f"{fault_server.url}/v1", "-n", "1", "-r", "2", "-c", "1", "-s")
    process = program.start("talk", *to)
    run = wait_until(lambda: next(iter(program.runs()), None), "a run")
    wait_until((run.path / "journal.jsonl").exists, "an answer is kept")
    process.terminate()
    program.finish(process)
    private = {"journal.jsonl", "results.jsonl", "metadata.json", "run.toml", "engine.log"}
    found = modes(run)
    assert private <= found.keys()
    assert found.pop(run.path.name) == "0o700"
    assert set(found.values()) == {"0o600"}, found
    for one in run.path.iterdir():
        one.chmod(0o644)
    fault_server.script(CHAT, [answer])
    shared = modes(run).keys() - {"journal.jsonl", "lock", run.path.name}
    assert run_here(program, "run", "--resume", str(run.path)).code == 0
    found = modes(run)
    assert found.pop(run.path.name) == "0o700"
    kept = {found.pop(name) for name in shared}
    assert kept == {"0o644"}, "what somebody shared stays shared"
    assert set(found.values()) <= {"0o600"}, found
