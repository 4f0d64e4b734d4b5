"""A folder as readers of the users' manual have it, and a shell that knows `prime eval run`.

The command lines and files of the manual are typed as they stand there. What they name on the
network is on a loopback server: every endpoint of the manual's registry, `my-api.example.com` and
`status.example.com`. The environments that they name are small ones in `./environments`.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

from manual_files import REGISTRY
from program import PATIENCE_S, Finished, Program, chat_answer
from run_here import run_here
from servers import FaultServer, Received, Reply

MORE_ALIASES = """
[[endpoint]]
endpoint_id = "my-model"
model = "my-model"
url = "https://my-api.example.com/v1"

[[endpoint]]
endpoint_id = "checkpoint_1.pt"
model = "checkpoint_1.pt"
url = "https://my-api.example.com/v1"

[[endpoint]]
endpoint_id = "checkpoint_2.pt"
model = "checkpoint_2.pt"
url = "https://my-api.example.com/v1"
"""

MY_ENV = '''
import verifiers as vf

class MyEnv(vf.MultiTurnEnv):
    @vf.stop
    async def answered(self, state):
        return bool(state["trajectory"]) and "more" not in str(state["trajectory"][-1])

    async def env_response(self, messages, state):
        return [{"role": "user", "content": "go on"}]

async def correct_answer(completion, answer, state):
    state["judge_response"] = "Correct"
    state["parsed_answer"] = completion[-1]["content"]
    state["reasoning_trace"] = "First I..."
    return float(completion[-1]["content"] == answer)

def response_length(completion):
    return float(len(completion[-1]["content"]))

def load_environment(difficulty: str = "easy", num_examples: int = -1, seed: int = 42, **more):
    """What `more` says is in the prompts, too."""
    said = " ".join([difficulty, str(seed), *map(str, more.values())])
    rows = [
        {"question": f"{said} {n}", "answer": "42"}
        for n in range(1000 if num_examples < 0 else num_examples)
    ]
    rubric = vf.Rubric(funcs=[correct_answer, response_length], weights=[1.0, 0.0])
    return MyEnv(dataset=rows, rubric=rubric, max_turns=10, system_prompt="Standard prompt")
'''

ENVIRONMENTS = ("my_env", "gsm8k", "math_python", "wiki_search")

SHELL = """
set -e
prime() {
    [ "$1 $2" = "eval run" ]
    shift 2
    "$PYTHON" -m tui_eval "$@"
}
"""

GOOD = Reply(body=chat_answer("42"))


class Manual:
    """The folder, its program and its server.

    Args:
        project: A folder that is copied into it first.
    """

    def __init__(self, program: Program, server: FaultServer, project: Path | None = None) -> None:
        self.program = program
        self.server = server
        self.folder = program.folder
        if project is not None:
            shutil.copytree(project, self.folder, dirs_exist_ok=True)
        for name in ENVIRONMENTS:
            self.write(f"environments/{name}/{name}.py", MY_ENV)
        self.write("configs/endpoints.toml", REGISTRY + MORE_ALIASES)
        keys = ("OPENAI_API_KEY", "PRIME_API_KEY", "ANTHROPIC_API_KEY", "MY_API_KEY")
        program.env |= {key: f"sk-of-{key}" for key in keys}
        self.answer(GOOD)
        server.script("/ping/abc123", [Reply()])

    def here(self, text: str) -> str:
        """A text of the manual with what is on the network on the loopback server."""
        for host in ("api.openai.com", "api.pinference.ai", "api.anthropic.com",
                     "my-api.example.com"):  # fmt: skip
            text = text.replace(f"https://{host}", f"{self.server.url}/{host}")
        return text.replace("https://status.example.com", self.server.url)

    def write(self, path: str, text: str) -> Path:
        """Writes a file of the manual."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self.here(text))
        return file

    def answer(self, *replies: Reply) -> None:
        """Sets the answer of all endpoints from now on."""
        for base in ("api.openai.com/v1", "api.pinference.ai/api/v1", "my-api.example.com/v1"):
            self.server.script(f"/{base}/chat/completions", replies)
        message = {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "c",
            "content": [{"type": "text", "text": "42"}], "stop_reason": "end_turn",
            "usage": {"input_tokens": 7, "output_tokens": 2},
        }  # fmt: skip
        self.server.script("/api.anthropic.com/v1/messages", [Reply(body=message)])

    @property
    def received(self) -> list[Received]:
        """Requests to the endpoints, without heartbeats."""
        return [one for one in self.server.requests if not one.path.startswith("/ping")]

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [one.json() for one in self.received]

    def start(self, text: str) -> subprocess.Popen[str]:
        """Types a text into a shell."""
        return subprocess.Popen(
            ["bash", "-c", SHELL + self.here(textwrap.dedent(text))],
            cwd=self.folder, env=self.program.env | {"PYTHON": sys.executable},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def type(self, text: str) -> Finished:
        """Types a text into a shell and waits for the end of what it started."""
        process = self.start(text)
        try:
            out, err = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
        return Finished(process.returncode, out, err)

    def lines(self, text: str) -> list[list[str]]:
        """The arguments of each line of a text whose lines all begin runs."""
        text = self.here(textwrap.dedent(text)).replace("\\\n", " ")
        lines = [words for line in text.splitlines() if (words := shlex.split(line, comments=True))]
        for words in lines:
            assert words[:3] == ["prime", "eval", "run"]
        return [words[2:] for words in lines]

    def runs(self, text: str) -> Finished:
        """Types lines that each begin a run, which is worked through here and ends well."""
        for words in self.lines(text):
            done = run_here(self.program, *words)
            assert done.code == 0, done
        return done

    def works(self, text: str) -> Finished:
        """The same by the program; what it printed last."""
        for words in self.lines(text):
            done = self.program.run(*words)
            assert done.code == 0, done
        return done
