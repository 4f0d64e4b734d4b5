"""Texts that are cut where a secret stands: its rest is on no console and in no file."""

from __future__ import annotations

import pytest
from program import Finished, Program, chat_answer, tool_call
from servers import FaultServer, Reply

CHAT = "/v1/chat/completions"
KEY = "sk-9f8E7d6C5b4A3z2Y1x0WvUtSrQpOnMlK"
LEAST = 8
"""Characters of a key that tell something."""

CUTS = """
    import logging, os, sys
    import tui_eval as vf

    KEY = os.environ["PLANTED"]
    FULL = (KEY + ",") * 900

    class Opaque:
        def __repr__(self):
            return FULL

    def raises():
        raise ValueError(FULL)

    def breaks(text: str) -> str:
        raise RuntimeError(FULL)

    def good(completion):
        print(FULL)
        return 1.0

    def raised(completion):
        raises()

    def raised_too(completion):
        raise KeyError(FULL) from ValueError(FULL)

    def no_number(completion):
        return FULL

    class Cuts(vf.ToolEnv):
        async def setup_state(self, state):
            state["opaque"], state["text"], state["many"] = Opaque(), FULL, {"a": [FULL, Opaque()]}
            logging.getLogger("verifiers.cuts").info("%.300s", "whole")
            os.write(2, (FULL + "\\n").encode())
            if state["example_id"] == 3:
                raise vf.ToolError(FULL)
            if state["example_id"] == 4:
                raise RuntimeError(FULL) from ValueError(FULL)
            return state

    def load_environment():
        rows = [{"question": f"{n} {FULL}"} for n in range(7)]
        rubric = vf.Rubric(funcs=[good, raised, raised_too, no_number])
        return Cuts(tools=[breaks], dataset=rows, rubric=rubric, max_turns=3)
"""

RAISES = """
    import os

    def load_environment():
        raise ValueError((os.environ["PLANTED"] + ",") * 900)
"""

SERVER = """
    import os, sys
    import tui_eval as vf

    SAYS = "import os, sys; sys.exit((os.environ['PLANTED'] + ',') * 900)"

    def load_environment():
        server = {"name": "says", "command": sys.executable, "args": ["-c", SAYS]}
        server["env"] = dict(os.environ)
        rubric = vf.Rubric(funcs=[lambda completion: 1.0])
        return vf.MCPEnv(dataset=[{"question": "a"}], rubric=rubric, mcp_servers=[server])
"""


def rests(program: Program, *done: Finished) -> set[str]:
    """Where parts of the key are: files of runs by their names, and lines of the output."""
    parts = [KEY[at : at + LEAST] for at in range(len(KEY) - LEAST + 1)]
    said = {one[:120] for each in done for one in (each.out + each.err).splitlines() if has(one)}
    files = [one for one in program.folder.rglob("*") if one.is_file() and one.suffix != ".py"]
    return said | {
        f"{one.name}: {text[max(at - 80, 0) : at + 60]!r}"
        for one in files
        for text in [one.read_bytes().decode("utf-8", "replace")]
        for at in [text.find(part) for part in parts]
        if at >= 0
    }


def has(text: str) -> bool:
    """Whether a text has a part of the key."""
    return any(KEY[at : at + LEAST] in text for at in range(len(KEY) - LEAST + 1))


def test_cuts_of_what_people_s_code_says_go_through_no_key(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment("cuts", CUTS)
    program.env["PLANTED"] = KEY
    full = f"{KEY}," * 900
    call = chat_answer("", tool_calls=[tool_call("breaks", '{"text": "a"}')])
    replies = [
        Reply(500, {"error": {"message": full}}),
        Reply(500, f"<p>{full}".encode()),
        Reply(200, full.encode()),
        Reply(200, call),
        Reply(400, {"error": {"message": full}}),
        Reply(200, {"error": full}),
        Reply(200, call),
        Reply(200, chat_answer(full)),
    ]
    fault_server.script(CHAT, replies)
    to = ("-m", "m", "-b", f"{fault_server.url}/v1", "-k", "PLANTED", "-C", "opaque,text,many")
    done = program.run("cuts", *to, "-n", "-1", "-r", "1", "-c", "1", "-v", "-s")
    assert rests(program, done) == set()


@pytest.mark.parametrize(
    ("source", "words"),
    [(RAISES, ()), (RAISES, ("--dry-run",)), (RAISES, ("--json",)), (SERVER, ("-s",))],
    ids=["console", "dry run", "JSON", "server"],
)
def test_a_refusal_says_no_key_and_no_part_of_one(
    program: Program, fault_server: FaultServer, source: str, words: tuple[str, ...]
) -> None:
    program.environment("cuts", source)
    program.env["PLANTED"] = KEY
    to = ("-m", "m", "-b", f"{fault_server.url}/v1", "-k", "PLANTED")
    done = program.run("cuts", *to, *words)
    said = done.out + done.err
    assert done.code == 2 and "load_environment raised" in said and "*" * len(KEY) in said
    assert rests(program, done) == set()


NAMED = """
    import os
    import tui_eval as vf

    def good(completion):
        return 1.0

    def load_environment():
        good.__name__ = f"good_{os.environ['PLANTED']}"
        rubric = vf.JudgeRubric(judge_model=f"judge-{os.environ['PLANTED']}")
        rubric.add_reward_func(good)
        return vf.SingleTurnEnv(dataset=[{"question": n} for n in "ab"], rubric=rubric)
"""


def test_what_people_s_code_names_by_a_key_is_not_in_versions_and_no_change_at_a_resume(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment("named", NAMED)
    program.env["PLANTED"] = KEY
    fault_server.script(CHAT, [Reply(400), Reply(200, chat_answer("yes"))])
    to = ("-m", "m", "-b", f"{fault_server.url}/v1", "-k", "PLANTED", "-c", "1")
    done = program.run("named", *to, "-n", "2", "-r", "1", "-s")
    run = program.only_run()
    assert [bool(row["error"]) for row in run.rows] == [True, False], done
    resumed = program.run("run", "--resume", str(run.path))
    assert resumed.code == 0, resumed
    versions = (run.path / "versions.json").read_text()
    assert '"rubric.good_***' in versions and '\\"judge-***' in versions and not has(versions)
