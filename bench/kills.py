"""Runs of six turns killed at a random moment and resumed: rows, rewards, answers paid twice.

Each rollout is judged by a model of another endpoint, and so are the rollouts of each example
together.

200 times each everything, the engine, a worker, and the screen; hours at that number, so that it is
measured only where it is named.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.counting_endpoint import CountingEndpoint
from bench.driving import command_line
from bench.figure import Figure, NotMeasuredError
from bench.setting import Setting
from bench.terminal import Terminal
from tui_eval.runs.lock import holder

EXAMPLES, ROLLOUTS, TURNS = 15, 4, 6
LATENCY_S = 0.05
MAX_CONCURRENT = 12
LASTS_ABOUT_S = 2.6
"""Seconds from the lock to the last row, uninterrupted, from which kills are drawn."""
ON_THE_WIRE_S = 0.1
ENDS_WITHIN_S = 60.0
KINDS = ("everything", "engine", "worker", "screen")


@dataclass
class Tally:
    """Result of a number of kills.

    Args:
        kills: Number of kills that met a run at work.
        lost_or_doubled: Rows that lacked at the end, or stood there twice.
        paid_twice: Answers requested again that had left 0.1 s before the kill.
        judged_twice: Those of judges among them.
        other_rewards: Rows whose reward is not the uninterrupted run's.
        tokens_off: Tokens served and not counted, or counted and not served, but for the wire's.
    """

    kills: int = 0
    lost_or_doubled: int = 0
    paid_twice: int = 0
    judged_twice: int = 0
    other_rewards: int = 0
    tokens_off: int = 0
    went_wrong: list[str] = field(default_factory=list)

    @property
    def note(self) -> str:
        """Number of kills, and the first that did something wrong."""
        return "; ".join([f"{self.kills} kills", *self.went_wrong[:5]])


def measure(setting: Setting) -> Iterator[Figure]:
    """Every kind of kill."""
    random.seed(1)
    with CountingEndpoint(LATENCY_S) as endpoint, CountingEndpoint(LATENCY_S) as judge:
        endpoints = Endpoints(endpoint, judge)
        whole = Trial(setting, endpoints, "none")
        whole.run()
        rewards = whole.rewards()
        for kind in KINDS:
            tally = kill_often(setting, endpoints, kind, setting.repeats(200, 5), rewards)
            yield Figure(
                f"{kind} killed: rows lost or doubled", tally.lost_or_doubled, 0, "", tally.note
            )
            yield Figure(f"{kind} killed: finished answers requested again", tally.paid_twice, 0)
            yield Figure(f"{kind} killed: finished verdicts requested again", tally.judged_twice, 0)
            yield Figure(f"{kind} killed: rows with another reward", tally.other_rewards, 0)
            yield Figure(f"{kind} killed: reported tokens that differ", tally.tokens_off, 0)


def kill_often(
    setting: Setting,
    endpoints: Endpoints,
    kind: str,
    times: int,
    rewards: Counter[tuple[int, float]],
) -> Tally:
    """Kills so many runs, each once, and resumes them.

    Args:
        rewards: Rewards of the uninterrupted run, as `Trial.rewards` gives them.
    """
    tally = Tally()
    for _ in range(times):
        _kill_once(Trial(setting, endpoints, kind), rewards, tally)
    return tally


def _kill_once(trial: Trial, rewards: Counter[tuple[int, float]], tally: Tally) -> None:
    trial.run()
    tally.kills += trial.killed_at > 0
    found = trial.rewards()
    lacking = EXAMPLES * ROLLOUTS - len(trial.rows)
    others = sum((found - rewards).values())
    paid_twice, judged_twice = trial.paid_twice(trial.model), trial.paid_twice(trial.judge)
    tokens_off = trial.tokens_off()
    wrong = (lacking, paid_twice, judged_twice, others, tokens_off)
    if any(wrong):
        tally.went_wrong.append(f"{trial.name}: {' '.join(map(str, wrong))}")
    tally.lost_or_doubled += abs(lacking)
    tally.paid_twice += paid_twice
    tally.judged_twice += judged_twice
    tally.other_rewards += others
    tally.tokens_off += tokens_off


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Endpoints of a run: its model, and the judge of what that says."""

    model: CountingEndpoint
    judge: CountingEndpoint


class Trial:
    """One run, killed once and resumed to its end.

    Args:
        kind: The process that is killed.
    """

    def __init__(self, setting: Setting, endpoints: Endpoints, kind: str) -> None:
        self._setting = setting
        self.model, self.judge = endpoints.model, endpoints.judge
        self._kind = kind
        self._after_s = random.uniform(0, LASTS_ABOUT_S)
        self._outputs = setting.new_path("-outputs")
        self.killed_at = 0.0
        self.rows: list[dict[str, Any]] = []
        self.summary: dict[str, Any] = {}

    @property
    def name(self) -> str:
        """The kill in words, to find it again."""
        return f"{self._kind} at {self._after_s:.3f} s"

    def run(self) -> None:
        """Begins, kills, resumes.

        Raises:
            NotMeasuredError: The run did not begin, or could not be resumed.
        """
        self.model.begin()
        self.judge.begin()
        judged = json.dumps({"judge_url": self.judge.url})
        options = self._setting.raw_options(self.model.url, EXAMPLES, MAX_CONCURRENT, judged)
        options |= {"rollouts_per_example": str(ROLLOUTS), "output_dir": str(self._outputs)}
        command = [sys.executable, "-m", "tui_eval", "bench-six-turns", "-s", "--no-stream"]
        command += command_line(options)
        if self._kind == "screen":
            with Terminal(command, self._setting.variables(), self._setting.folder) as terminal:
                self._meet(terminal.process, terminal)
        else:
            with self._start([*command, "-d"]) as process:
                self._meet(process)
        self._resume()

    def _start(self, command: list[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command,
            cwd=self._setting.folder,
            env=self._setting.variables(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def _meet(self, process: subprocess.Popen[bytes], terminal: Terminal | None = None) -> None:
        """Waits for the moment and kills; then waits until nothing works on the run."""
        self._wait(lambda: self._engine() != 0, process, terminal)
        until = time.monotonic() + self._after_s
        self._wait(lambda: time.monotonic() >= until, process, terminal)
        engine = self._engine()
        if engine and self._kind != "none":
            victims = {
                "everything": [process.pid, engine, *_children(engine)],
                "engine": [engine],
                "worker": _children(engine)[:1],
                "screen": [process.pid],
            }[self._kind]
            for pid in victims:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.killed_at = time.time() if victims else 0.0
        self._wait(lambda: process.poll() is not None or terminal is not None, process, terminal)
        self._wait(lambda: self._engine() == 0, process, terminal)

    def _wait(self, done: Any, process: subprocess.Popen[bytes], terminal: Terminal | None) -> None:
        deadline = time.monotonic() + ENDS_WITHIN_S
        while not done():
            if time.monotonic() > deadline:
                process.kill()
                raise NotMeasuredError(f"{self.name}: nothing happens")
            if terminal is None or not terminal.read(0.005):
                time.sleep(0.005)

    def _path(self) -> Path:
        """The run directory; one that is not there before it is made."""
        return next(iter(self._outputs.glob("evals/*/*/")), self._outputs / "none")

    def _engine(self) -> int:
        """The process id of the engine at work on a run that has its plan; 0 for none."""
        if not (self._path() / "run.toml").is_file():
            return 0
        held = holder(self._path() / "lock")
        return held.pid if held is not None else 0

    def _resume(self) -> None:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "tui_eval", "run", "--resume", str(self._path())),
                *("-d", "--json", "-A"),
            ],
            cwd=self._setting.folder,
            env=self._setting.variables(),
            capture_output=True,
            text=True,
            timeout=ENDS_WITHIN_S,
        )
        if done.returncode:
            raise NotMeasuredError(f"{self.name}: not resumed: {done.stderr[-2000:]}")
        self.summary = json.loads(done.stdout)
        lines = (self._path() / "results.jsonl").read_text().splitlines()
        self.rows = [json.loads(line) for line in lines]

    def rewards(self) -> Counter[tuple[int, float]]:
        """Count of each reward of each example."""
        return Counter((row["example_id"], row["reward"]) for row in self.rows)

    def paid_twice(self, endpoint: CountingEndpoint) -> int:
        """Answers beyond one a rollout and request, but for those that were on the wire."""
        sent = Counter(answer.request for answer in endpoint.answers)
        lost = Counter(one.request for one in endpoint.answers if self._on_the_wire(one.at))
        extra = {request: n - ROLLOUTS - lost[request] for request, n in sent.items()}
        return sum(max(0, n) for n in extra.values())

    def _on_the_wire(self, at: float) -> bool:
        return self.killed_at > 0 and abs(at - self.killed_at) < ON_THE_WIRE_S

    def tokens_off(self) -> int:
        """Distance of the reported tokens from those served, with and without the wire's.

        A judge's tokens are with its verdicts, and in no sum of the run.
        """
        reported = self.summary["tokens"]["total"]
        served = sum(answer.tokens for answer in self.model.answers)
        wire = sum(one.tokens for one in self.model.answers if self._on_the_wire(one.at))
        return int(max(0, reported - served, served - wire - reported))


def _children(pid: int) -> list[int]:
    """Processes that a process has started, its workers first."""
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return sorted(int(one) for one in found)
