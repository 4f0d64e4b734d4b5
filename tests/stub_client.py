"""A client that answers from a list, and an observer that writes everything down."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from tui_eval.events import Stage
from tui_eval.messages import ToolCall
from tui_eval.types import Response, ResponseMessage, Usage


def answer(text: str | None = None, calls: Any = (), finish: str = "stop") -> Response:
    tool_calls = [ToolCall(id=i, name=n, arguments=a) for i, n, a in calls] or None
    return Response(
        id="r",
        created=1,
        model="m",
        usage=Usage(prompt_tokens=3, completion_tokens=2, total_tokens=5),
        message=ResponseMessage(
            content=text,
            tool_calls=tool_calls,
            finish_reason="tool_calls" if tool_calls else finish,
            is_truncated=finish == "length",
        ),
    )


class StubClient:
    """Gives its answers in turn; an exception among them is raised, a callable is awaited."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.calls: list[dict[str, Any]] = []

    async def get_response(self, prompt, model, sampling_args, tools=None, *, state=None, **kwargs):
        self.calls.append(
            {"prompt": list(prompt), "model": model, "sampling_args": sampling_args, "tools": tools}
        )
        reply = self.answers.pop(0)
        if callable(reply):
            reply = await reply()
        if isinstance(reply, BaseException):
            raise reply
        return reply


class Recorder:
    """An observer that keeps what it receives."""

    stage_of_call = None
    call_timeout = None

    def __init__(self) -> None:
        self.stages: list[Stage] = []
        self.messages: list[Any] = []
        self.tools: list[tuple[Any, ...]] = []
        self.answers: list[tuple[int, int]] = []
        self.log: list[str] = []

    def began(self, state: Any) -> None: ...

    def staged(self, stage: Stage) -> None:
        self.stages.append(stage)
        self.log.append(stage.name)

    def code_begins(self) -> None: ...

    def waits_for(self, what: str) -> AbstractContextManager[None]:
        return nullcontext()

    def recorded_call(self, *request: object) -> None: ...

    def recorded_result(self, name: str) -> None: ...

    async def model_call(self, *request: object) -> None:
        self.log.append("gate")

    def model_answered(self, input_tokens: int, output_tokens: int, kinds: Any = ()) -> None:
        self.answers.append((input_tokens, output_tokens))
        self.log.append("answered")

    def answer_refused(self, input_tokens: int, output_tokens: int, kinds: Any = ()) -> None:
        self.log.append("refused")

    def messages_added(self, messages) -> None:
        self.messages.extend(messages)
        self.log.append("+".join(message.role for message in messages))

    def tool_finished(self, record, result) -> None:
        self.tools.append((record["id"], record["name"], record["error"], result))
        self.log.append(f"tool {record['name']}")

    def request_sleeps(self, seconds: float, reason: str, is_paced: bool = False):
        return nullcontext()

    def request_queues(self, seconds: float, reason: str):
        return nullcontext()
