"""The state of one rollout: a dict that people's code reads and writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from tui_eval.messages import Messages
from tui_eval.observer import SILENT, Observer
from tui_eval.rollout_data import ScoreRecord, StepRecord, ToolRecord
from tui_eval.token_kinds import Kinds

if TYPE_CHECKING:
    from tui_eval.events import Stage


class State(dict[str, Any]):
    """Everything known about one rollout.

    The keys in `INPUT_FIELDS` are read from and written to `state["input"]` where that key exists
    there, and to the state itself otherwise. `in`, `items()` and the like see the state itself
    only, as environments written for verifiers expect.

    What the engine needs beside is kept in attributes, not keys, so that it never meets people's
    own: `observer`, who follows the rollout; `scores`, `steps` and `tool_log`, records of every
    reward function, model call and tool call; `began`, the start of its clock in seconds of
    `time.perf_counter`, moved on by the time that it was held; `unanswered`, messages that the
    model has not answered yet; `cleaned_up`, whether cleanup handlers ran;
    `failed_at`, the stage at which `state["error"]` was raised, where one was in progress;
    `token_kinds`, what of the tokens that it has used was of which kind; `models`, calls by the
    name of the model that answered, where it is not the one requested; `metric_error`, what a
    metric that counts nothing has raised, while the rollout is scored.

    Args:
        args, kwargs: As for `dict`; `input` is the row that the rollout belongs to.

    Raises:
        KeyError: A key that is read is neither in the row nor in the state.
    """

    INPUT_FIELDS: ClassVar[list[str]] = ["prompt", "answer", "task", "info", "example_id"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.observer: Observer = SILENT
        self.scores: list[ScoreRecord] = []
        self.steps: list[StepRecord] = []
        self.tool_log: list[ToolRecord] = []
        self.began = 0.0
        self.unanswered: Messages = []
        self.cleaned_up = False
        self.failed_at: Stage | None = None
        self.token_kinds: Kinds = ()
        self.models: dict[str, int] = {}
        self.metric_error: BaseException | None = None

    def __getitem__(self, key: str) -> Any:
        if key in _FORWARDED:
            values = dict.get(self, "input")
            if values is not None and key in values:
                return values[key]
        # Read all the time: `super()` would take as long as the rest.
        return dict.__getitem__(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        if key in _FORWARDED:
            values = dict.get(self, "input")
            if values is not None and key in values:
                values[key] = value
                return
        super().__setitem__(key, value)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, read as `state[key]` reads it, or `default`."""
        if key in _FORWARDED:
            values = dict.get(self, "input")
            if values is not None and key in values:
                return values[key]
        return dict.get(self, key, default)


_FORWARDED = frozenset(State.INPUT_FIELDS)
"""Looked for at every read, about 150 times a rollout: a name of the module is found fastest."""
