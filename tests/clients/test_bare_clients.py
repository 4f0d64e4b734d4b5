"""Clients of people's own whose class does not call our constructor."""

from __future__ import annotations

from typing import Any

import tui_eval as vf
from tui_eval.types import Response, ResponseMessage


class Bare(vf.Client):
    def __init__(self) -> None:
        self.prompts: list[Any] = []

    async def get_response(self, prompt: Any, *args: Any, **kwargs: Any) -> Response:
        self.prompts.append(prompt)
        message = ResponseMessage(
            content="yes", finish_reason="stop", is_truncated=False, tool_calls=None
        )
        return Response(id="1", created=0, model="m", usage=None, message=message)

    def setup_client(self, config: Any) -> Any: ...
    async def to_native_prompt(self, messages: Any) -> Any: ...
    async def to_native_tool(self, tool: Any) -> Any: ...
    async def get_native_response(self, *args: Any, **kwargs: Any) -> Any: ...
    async def from_native_response(self, response: Any) -> Any: ...
    async def raise_from_native_response(self, response: Any) -> None: ...
    async def close(self) -> None: ...


async def test_a_client_without_our_constructor_leads_a_whole_run(tmp_path: Any) -> None:
    client = Bare()
    env = vf.SingleTurnEnv(dataset=[{"question": "?"}], rubric=vf.Rubric([lambda **_: 1.0]))
    got = await env.generate(
        [{"prompt": [{"role": "user", "content": "?"}]}], client, "m", results_path=tmp_path / "r"
    )
    assert [one["reward"] for one in got["outputs"]] == [1.0] and len(client.prompts) == 1
    assert client.config is None and client.logger.name.endswith(".Bare")
