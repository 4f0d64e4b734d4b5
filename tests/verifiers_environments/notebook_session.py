"""Tools that need the rollout's own state: hidden arguments, filled in by the environment."""

import verifiers as vf
from datasets import Dataset
from verifiers.types import State


def write_note(text: str, notebook: list) -> str:
    """Writes a note.

    Args:
        text: What to write.
        notebook: Where it goes.
    """
    notebook.append(text)
    return f"Note {len(notebook)} written."


async def read_notes(notebook: list) -> str:
    """Reads all notes.

    Args:
        notebook: Where they are.
    """
    return "\n".join(notebook) or "(empty)"


class NotebookEnv(vf.StatefulToolEnv):
    def __init__(self, **kwargs):
        super().__init__(tools=[], **kwargs)
        self.add_tool(write_note, args_to_skip=["notebook"])
        self.add_tool(read_notes, args_to_skip=["notebook"])

    async def setup_state(self, state: State, **kwargs) -> State:
        state["notebook"] = []
        return await super().setup_state(state, **kwargs)

    def update_tool_args(
        self, tool_name: str, tool_args: dict, messages: vf.Messages, state: vf.State, **kwargs
    ) -> dict:
        tool_args["notebook"] = state["notebook"]
        return tool_args


def kept_notes(state) -> float:
    return float(len(state["notebook"]) > 0)


def load_environment(**kwargs):
    topics = ["the tide", "a lighthouse", "the ferry timetable", "gulls"]
    dataset = [
        {"question": f"Write a note on {topic}, then read it.", "answer": ""} for topic in topics
    ]
    return NotebookEnv(
        dataset=Dataset.from_list(dataset),
        rubric=vf.Rubric(funcs=[kept_notes]),
        max_turns=4,
        **kwargs,
    )
