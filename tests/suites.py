"""Files of several evaluations as tests write and run them."""

from __future__ import annotations

from pathlib import Path

from program import Finished, Program, Run, chat_answer
from run_here import resumed_here, run_here
from servers import FaultServer, Reply

CHAT = "/v1/chat/completions"

NUMBERED = """
    import tui_eval as vf

    def load_environment(fail: bool = False, mark: str = ""):
        print(f"loading {mark}")
        if fail:
            raise ValueError("no such split")

        async def scored(completion):
            print(f"scoring {mark}")
            return 1.0

        return vf.SingleTurnEnv(
            dataset=[{"question": f"{mark}{i}", "answer": "x"} for i in range(40)],
            rubric=vf.Rubric(funcs=[scored]),
        )
"""


class Suites:
    """Writes files of evaluations of `numbered` at a server, and runs them."""

    def __init__(self, program: Program, server: FaultServer) -> None:
        self.program = program
        self.server = server
        server.script(CHAT, [Reply(body=chat_answer("yes"))])

    def write(self, *own: str, top: str = "") -> None:
        """One table for each text; lines are separated by semicolons."""
        lines = [
            'model = "m"', f'api_base_url = "{self.server.url}/v1"', "num_examples = 2",
            "rollouts_per_example = 2", *top.split("; "),
        ]  # fmt: skip
        if "save_results" not in top:
            lines.append("save_results = true")
        for one in own:
            name = "" if "env_id" in one else 'env_id = "numbered"'
            lines += ["[[eval]]", name, *one.split("; ")]
        (self.program.folder / "suite.toml").write_text("\n".join(lines))

    def run(self, *args: str) -> Finished:
        return self.program.run("suite.toml", *args)

    def refusal(self, *args: str) -> Finished:
        """The outcome of a file that is refused."""
        return run_here(self.program, "suite.toml", *args)

    def resumed(self, *args: str) -> list[Path | None]:
        """The run that each evaluation would resume."""
        return resumed_here(self.program, "suite.toml", *args)

    def runs(self) -> dict[str, Run]:
        """By the mark of their evaluation."""
        every = self.program.runs(self.program.folder / "outputs")
        return {run.metadata["env_args"].get("mark", ""): run for run in every}


def marked(mark: str, more: str = "") -> str:
    return f'env_args = {{ mark = "{mark}"{more} }}'
