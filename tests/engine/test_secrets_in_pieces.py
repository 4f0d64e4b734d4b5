"""Secrets that people's code prints in pieces: a line of engine.log is searched whole."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multi_turn_runs import CHAT, GOOD
from program import Program
from servers import FaultServer

from tui_eval.output import MOST, Output
from tui_eval.runs.redaction import Redactor
from tui_eval.worker.logging.output_stamps import redact_so_far

KEY = "sk-planted-9f8e7d6c"
STARS = "*" * len(KEY)
BEGIN = f"""
import asyncio, logging, os, subprocess, sys, threading, traceback
from pathlib import Path
from tui_eval.observer import CURRENT, SilentObserver
from tui_eval.runs.redaction import Redactor
from tui_eval.worker.logging.run_log import early_output, print_to_log, set_up_logging
k = "{KEY}"
print_to_log(Path("engine.log"), Redactor([k, k + "-and-more"]))
set_up_logging(False)
log = logging.getLogger("tui_eval.sums")
def rollout(row):
    observer = SilentObserver()
    observer.row = row
    CURRENT.set(observer)
"""
STAMP = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} ", re.MULTILINE)


def logged(folder: Path, code: str) -> str:
    """The log of a process that runs this code, without the times of its lines."""
    subprocess.run(
        [sys.executable, "-c", BEGIN + code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    return STAMP.sub("", (folder / "engine.log").read_text())


PIECES = {
    'print("A", k[:7], end=""); print(k[7:])': f"A {STARS}",
    'sys.stdout.write(k[:7]); sys.stdout.write(k[7:] + "\\n")': STARS,
    'sys.stderr.write(k[:7]); sys.stderr.write(k[7:] + "\\n")': STARS,
    'print("E", *k, sep="")': f"E{STARS}",
    'for c in k: print(c, end="", flush=True)\nprint()': STARS,
    'sys.stdout.buffer.write(k[:7].encode()); print(k[7:], "on")': f"{STARS} on",
    'print(k[:7], end=""); print(k[7:], file=sys.stderr)': STARS,
    'print(*k, sep="", end=""); print("-and", end=""); print("-more.")': f"{STARS}{'*' * 9}.",
    'print(*k, sep="", end=""); print("-and-less")': f"{STARS}-and-less",
    'print(k[:7], end=""); print("other")': "sk-planother",
    'print("s", end=""); print(k)': f"s{STARS}",
}
"""What code prints, and the line that is logged."""


def test_a_secret_printed_in_pieces_is_not_in_the_log(tmp_path: Path) -> None:
    lines = logged(tmp_path, "\n".join(PIECES)).splitlines()
    assert lines == [f"PRINT {line}" for line in PIECES.values()]


def test_pieces_are_a_secret_also_where_others_print_and_log_between_them(tmp_path: Path) -> None:
    code = """
async def spell(row):
    rollout(row)
    print("key", end=" ")
    for c in k:
        print(c, end="")
        await asyncio.sleep(0)
    print(".")
async def talk():
    for number in range(len(k)):
        log.info("rated %d", number)
        await asyncio.sleep(0)
async def main():
    await asyncio.gather(spell(0), spell(1), talk())
asyncio.run(main())
"""
    log = logged(tmp_path, code)
    for row in (0, 1):
        said = "".join(re.findall(rf"^PRINT\[{row}\] (.*)\n", log, re.MULTILINE))
        assert said == f"key {STARS}."
    assert [int(one) for one in re.findall(r"rated (\d+)\n", log)] == [*range(len(KEY))]


def test_pieces_that_threads_print_one_after_the_other_are_a_secret(tmp_path: Path) -> None:
    code = """
for piece in (k[:7], k[7:] + "\\n"):
    thread = threading.Thread(target=sys.stdout.write, args=(piece,))
    thread.start()
    thread.join()
"""
    assert logged(tmp_path, code) == f"PRINT {STARS}\n"


def test_a_secret_in_a_printed_traceback_is_not_in_the_log(tmp_path: Path) -> None:
    code = """
try:
    raise ValueError("refused " + k)
except ValueError:
    for c in traceback.format_exc():
        sys.stderr.write(c)
"""
    log = logged(tmp_path, code)
    assert f"PRINT ValueError: refused {STARS}\n" in log and KEY not in log


@pytest.mark.parametrize(
    "ending", ["", "sys.exit(0)", 'rollout(1); print("other")', 'log.info("other")']
)
def test_an_unfinished_line_that_ends_as_a_secret_begins_is_complete(
    tmp_path: Path, ending: str
) -> None:
    log = logged(tmp_path, f'rollout(0); print("5 tasks", end="")\n{ending}')
    assert "".join(re.findall(r"^PRINT\[0\] (.*)\n?", log, re.MULTILINE)) == "5 tasks"
    assert ("other" in log) is ("other" in ending)


def test_the_end_of_a_log_that_moves_stays_in_it(tmp_path: Path) -> None:
    log = logged(
        tmp_path,
        """
print("5 tasks", end="")
print_to_log(Path("moved.log"), Redactor([k]))
print("5 more")
""",
    )
    assert log == "PRINT 5 tasks\n"
    assert STAMP.sub("", (tmp_path / "moved.log").read_text()) == "PRINT 5 more\n"


def test_a_line_of_many_megabytes_is_not_kept_and_no_cut_goes_through_a_secret(
    tmp_path: Path,
) -> None:
    code = """
import resource
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for _ in range(1 << 10):
    sys.stdout.write("x" * (1 << 16) + k[:9])
    sys.stdout.write(k[9:])
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(after - before < 16 << 10)
"""
    log = logged(tmp_path, code)
    assert log.count(STARS) == 1 << 10 and log.endswith(f"{STARS}True\n")
    assert KEY[:7] not in log


def test_a_long_line_of_a_child_is_not_cut_within_a_secret(tmp_path: Path) -> None:
    code = """
child = (
    "import os, sys, time\\n"
    "for _ in range(30):\\n"
    "    os.write(1, b'x' * (1 << 16) + sys.argv[1].encode())\\n"
    "    time.sleep(0.02)\\n"
    "    os.write(1, sys.argv[2].encode())\\n"
)
subprocess.run([sys.executable, "-c", child, k[:7], k[7:]])
"""
    log = logged(tmp_path, code)
    assert log.count(STARS) == 30
    assert KEY[:3] not in log and KEY[-3:] not in log


def test_a_child_that_pauses_within_a_secret_has_it_taken_out(tmp_path: Path) -> None:
    code = """
child = (
    "import os, sys, time\\n"
    "from pathlib import Path\\n"
    "os.write(1, b'begun ' + sys.argv[1].encode())\\n"
    "while 'begun' not in Path('engine.log').read_text():\\n"
    "    time.sleep(0.01)\\n"
    "os.write(1, sys.argv[2].encode() + b' on')\\n"
)
subprocess.run([sys.executable, "-c", child, k[:7], k[7:]])
"""
    assert logged(tmp_path, code) == f"PRINT begun \nPRINT {STARS} on\n"


@given(st.data(), st.lists(st.text("ab", min_size=2, max_size=5), min_size=1, max_size=3))
def test_pieces_come_out_complete_and_a_secret_does_not(
    data: st.DataObject, secrets: list[str]
) -> None:
    by_length = sorted((one.encode() for one in secrets), key=len, reverse=True)
    pieces = data.draw(st.lists(st.one_of(st.text("abc", max_size=6), st.sampled_from(secrets))))
    out, rest = b"", b""
    for piece in pieces:
        clean, rest = redact_so_far(rest + piece.encode(), by_length)
        assert len(rest) < len(by_length[0])
        out += clean
    out += rest
    whole = "".join(pieces).encode()
    assert len(out) == len(whole)
    assert all(a in (b, ord("*")) for a, b in zip(out, whole, strict=True))
    assert len(secrets) > 1 or out == whole.replace(by_length[0], b"*" * len(by_length[0]))


SPELLS = """
    import os, sys
    import tui_eval as vf

    def spell(k):
        print("A", k[:7], end=""); print(k[7:])
        for stream in (sys.stdout, sys.stderr):
            stream.write("B " + k[:7]); stream.write(k[7:] + "\\n")
        print("C", *k, sep="")
        for c in "D " + k:
            print(c, end="")

    def right(completion):
        spell(os.environ["PLANTED"])
        print("5 tasks", end="")
        return 1.0

    class Spells(vf.SingleTurnEnv):
        async def setup_state(self, state):
            spell(os.environ["PLANTED"])
            return state

    def load_environment():
        rows = [{"question": str(number)} for number in range(4)]
        return Spells(dataset=rows, rubric=vf.Rubric(funcs=[right]))
"""


def test_a_key_that_rollouts_print_in_pieces_is_on_no_console_and_in_no_file(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment("spells", SPELLS)
    program.env["PLANTED"] = KEY
    fault_server.script(CHAT, [GOOD])
    to = ("-m", "m", "-b", f"{fault_server.url}/v1", "-k", "PLANTED")
    done = program.run("spells", *to, "-n", "-1", "-r", "1", "-c", "1", "-v", "-s")
    assert done.code == 0, done
    run = program.only_run()
    spelled = [f"A {STARS}", f"B {STARS}", f"B {STARS}", f"C{STARS}", f"D {STARS}"]
    for row in run.rows:
        ours = row["tui_eval"]
        assert ours["output"].split("\n") == spelled
        assert ours["scores"][0]["output"].split("\n") == [*spelled[:-1], spelled[-1] + "5 tasks"]
        printed = re.findall(rf"PRINT\[{row['example_id']}\] (.*)\n", run.log)
        assert "".join(printed).endswith("5 tasks")
    for line in spelled:
        assert run.log.count(f" {line}") >= 8 and done.err.count(f" {line}") >= 8
    assert KEY[:7] not in done.out + done.err
    assert not [one for one in run.path.iterdir() if KEY[:7].encode() in one.read_bytes()]


@pytest.mark.parametrize("shift", range(0, len(KEY) + 1, 3))
def test_the_cut_of_kept_output_does_not_go_through_a_secret(shift: int) -> None:
    output = Output(Redactor([KEY]).text)
    for piece in ("x" * (MOST - shift), KEY[:7], KEY[7:], "\n" + "y" * MOST):
        output.add(piece)
    kept = "x" * (MOST - shift) + "*" * shift
    left_out = MOST + 1 + len(KEY) - shift
    assert str(output) == f"{kept}\n… {left_out:,} more characters"
