"""Clients that people write: all of one, or a part of one of ours."""

from __future__ import annotations

from typing import Any

import pytest
from openai import AsyncOpenAI
from program import chat_answer
from servers import FaultServer, Reply

import tui_eval as vf

KEY = "sk-very-secret-key"
ABSTRACT = {
    "setup_client",
    "to_native_prompt",
    "to_native_tool",
    "get_native_response",
    "raise_from_native_response",
    "from_native_response",
    "close",
}
TOOL = vf.Tool(name="add", description="Adds.", parameters={"type": "object"})


class ParrotSdk:
    """A native client; it answers with what it was sent."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.closed = False

    async def say(self, lines: list[str], **settings: Any) -> dict[str, Any]:
        if "raise" in settings:
            raise settings["raise"]
        return {"lines": lines, "settings": settings}


class Parrot(vf.Client):
    def setup_client(self, config: vf.ClientConfig) -> ParrotSdk:
        return ParrotSdk(config.api_base_url)

    async def to_native_prompt(self, messages: vf.Messages) -> tuple[list[str], dict[str, Any]]:
        return [f"{m['role']}: {m['content']}" for m in messages], {"loud": True}

    async def to_native_tool(self, tool: vf.Tool) -> str:
        return tool.name.upper()

    async def get_native_response(
        self,
        prompt: list[str],
        model: str,
        sampling_args: vf.SamplingArgs,
        tools: list[str] | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        kwargs.pop("state")
        return await self.client.say(prompt, model=model, tools=tools, **sampling_args, **kwargs)

    async def raise_from_native_response(self, response: dict[str, Any]) -> None:
        if not response["lines"]:
            raise vf.EmptyModelResponseError("nothing was said")

    async def from_native_response(self, response: dict[str, Any]) -> vf.Response:
        message = vf.ResponseMessage(
            content=str(response), finish_reason="stop", is_truncated=False
        )
        return vf.Response(id="1", created=0, model="parrot", message=message)

    async def close(self) -> None:
        self.client.closed = True


def parrot(**config: Any) -> Parrot:
    return Parrot(vf.ClientConfig(api_base_url="http://parrot", **config), api_key=KEY)


async def test_a_request_goes_through_every_method() -> None:
    client = parrot()
    assert isinstance(client.client, ParrotSdk)
    said = [vf.UserMessage(content="hi")]
    answer = await client.get_response(said, "m", {"temperature": 0.5}, [TOOL])
    settings = {"model": "m", "tools": ["ADD"], "temperature": 0.5, "loud": True}
    assert answer.message.content == str({"lines": ["user: hi"], "settings": settings})
    assert await client.to_native_tools([TOOL]) == ["ADD"]
    assert await client.to_native_tools([]) is None
    await client.close()
    assert client.client.closed


async def test_an_sdk_client_is_used_as_it_is() -> None:
    own = ParrotSdk("http://mine")
    assert Parrot(own).client is own


async def test_what_goes_wrong_is_one_of_our_errors_without_the_key() -> None:
    client = parrot()
    with pytest.raises(vf.EmptyModelResponseError, match="nothing was said"):
        await client.get_response([], "m", {})
    cause = ConnectionError(f"refused {KEY}")
    with pytest.raises(vf.ModelError, match="refused") as caught:
        await client.get_response([vf.UserMessage(content="x")], "m", {"raise": cause})
    assert caught.value.__cause__ is cause
    assert KEY not in f"{caught.value}{caught.value!r}{cause}"
    given = vf.OverlongPromptError("too long")
    with pytest.raises(vf.OverlongPromptError) as overlong:
        await client.get_response([vf.UserMessage(content="x")], "m", {"raise": given})
    assert overlong.value is given


@pytest.mark.parametrize("left_out", sorted(ABSTRACT))
def test_every_method_has_to_be_there(left_out: str) -> None:
    methods = {name: getattr(Parrot, name) for name in ABSTRACT - {left_out}}
    with pytest.raises(TypeError, match=left_out):
        type("Unfinished", (vf.Client,), methods)(object())


async def test_rollouts_run_with_it() -> None:
    env = vf.SingleTurnEnv(dataset=[{"question": "q"}])
    state = await env.run_rollout(None, env.get_dataset()[0], parrot(), "m")
    assert state["error"] is None
    assert "user: q" in state["completion"][0]["content"]


class OwnSettings(vf.OpenAIChatCompletionsClient):
    """With attributes and names of its own."""

    def __init__(self, config: Any) -> None:
        self.headers = {"X-Mine": "1"}
        self.session = "mine"
        super().__init__(config, api_key=KEY)

    @property
    def client(self) -> Any:
        return self._client

    async def from_native_response(self, response: Any) -> vf.Response:
        answer = await super().from_native_response(response)
        answer.message.content = f"{answer.message.content}!"
        return answer


@pytest.mark.parametrize("handed_in", [False, True], ids=["config", "sdk client"])
async def test_attributes_of_derived_clients_hide_nothing(
    fault_server: FaultServer, handed_in: bool
) -> None:
    fault_server.script("/v1/chat/completions", [Reply(body=chat_answer("yes"))])
    url = f"{fault_server.url}/v1"
    sdk_client = AsyncOpenAI(base_url=url, api_key=KEY)
    client = OwnSettings(sdk_client if handed_in else vf.ClientConfig(api_base_url=url))
    answer = await client.get_response([vf.UserMessage(content="q")], "m", {})
    assert answer.message.content == "yes!"
    assert client.client is client._client
    assert isinstance(client.client, AsyncOpenAI)
    assert (client.headers, client.session) == ({"X-Mine": "1"}, "mine")
    await client.close()
