"""Prompts as token ids, against an endpoint with a template and a tokenizer of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from aiohttp import web
from endpoint_scripts import take
from pretended_time import PretendedTime
from servers import LoopbackServer
from streamed_answers import SSE, events_of, sent

from tui_eval.clients.openai_chat_completions_token import OpenAIChatCompletionsTokenClient
from tui_eval.environments.multi_turn import step_tokens
from tui_eval.errors import ModelError, OverlongPromptError
from tui_eval.messages import (
    AssistantMessage,
    ImageUrlContentPart,
    ImageUrlSource,
    Messages,
    UserMessage,
)
from tui_eval.state import State
from tui_eval.types import ClientConfig, Response, Tool

END = 1
WAYS = ["short way", "SDK's way", "streamed"]


class TemplateEndpoint(LoopbackServer):
    """A token is a character; messages end in `END` and a line break, which no model says.

    The model says `HI` as one token more than the tokenizer would make of it, so that ids which
    were made anew can be told from those that were kept.
    """

    TOKEN_OF_HI = 7

    def __init__(self) -> None:
        super().__init__()
        self.bodies: list[tuple[str, dict[str, Any]]] = []
        self.forgets_answers = False
        self.finish_reason = "stop"
        self.refusal: str | None = None
        self.failures = 0

    def tokens(self, messages: list[dict[str, Any]], answer_follows: bool) -> list[int]:
        ids: list[int] = []
        for message in messages:
            text = str(message["content"])
            if self.forgets_answers and message["role"] == "assistant" and answer_follows:
                text = ""
            ids += [*map(ord, message["role"][0] + text), END, ord("\n")]
        return [*ids, ord("a")] if answer_follows else ids

    @property
    def base_url(self) -> str:
        return f"{self.url}/v1"

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body: dict[str, Any] = await request.json()
        self.bodies.append((request.path, body))
        return self.tokenize(body) if request.path == "/tokenize" else self.complete(body)

    def tokenize(self, body: dict[str, Any]) -> web.Response:
        if "prompt" in body:
            return web.json_response({"tokens": [*map(ord, body["prompt"])]})
        return web.json_response(
            {"tokens": self.tokens(body["messages"], body["add_generation_prompt"])}
        )

    def complete(self, body: dict[str, Any]) -> web.Response:
        if self.refusal:
            return web.json_response({"error": {"message": self.refusal}}, status=400)
        if self.failures:
            self.failures -= 1
            return web.json_response({"error": {"code": 503, "message": "no capacity"}})
        prompt = body.get("tokens") or self.tokens(body["messages"], True)
        said = [self.TOKEN_OF_HI, END]
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": "HI"},
            "finish_reason": self.finish_reason,
            "token_ids": said,
            "logprobs": {"content": [{"token": "", "logprob": -0.5}] * len(said)},
        }
        answer = {"id": "x", "choices": [choice], "prompt_token_ids": prompt}
        if body.get("stream"):
            events = events_of("openai_chat_completions", answer)
            return web.Response(body=sent(events), headers=SSE)
        return web.json_response(answer)

    def sent_to(self, path: str) -> list[dict[str, Any]]:
        return [body for found, body in self.bodies if found == path]


@pytest.fixture
def endpoint() -> Iterator[TemplateEndpoint]:
    """The endpoint, running."""
    with TemplateEndpoint() as made:
        yield made


@pytest.fixture(params=WAYS)
async def client(
    request: pytest.FixtureRequest, endpoint: Any
) -> AsyncIterator[OpenAIChatCompletionsTokenClient]:
    """A client of the endpoint, on each way of a call."""
    stream = request.param == "streamed"
    config = ClientConfig(api_base_url=endpoint.base_url, max_retries=0, stream=stream)
    made = OpenAIChatCompletionsTokenClient(config, api_key="key")
    yield take(request.param, made)
    await made.close()


async def take_turn(
    client: OpenAIChatCompletionsTokenClient, state: State, said: Messages, **sampling: Any
) -> Response:
    """One turn as an environment takes it: all before it, and what is said now."""
    steps = state["trajectory"]
    before = [*steps[-1]["prompt"], *steps[-1]["completion"]] if steps else []
    prompt = [*before, *said]
    response = await client.get_response(prompt, "m", sampling, state=state)
    steps.append(
        {
            "prompt": prompt,
            "completion": [AssistantMessage(content=response.message.content)],
            "tokens": step_tokens(response.message.tokens, None),
            "is_truncated": bool(response.message.is_truncated),
        }
    )
    return response


def ids_of(text: str) -> list[int]:
    return [END if one == "$" else 7 if one == "#" else ord(one) for one in text]


async def test_from_the_second_turn_on_the_prompt_is_what_the_model_saw_and_said(
    client: OpenAIChatCompletionsTokenClient, endpoint: TemplateEndpoint
) -> None:
    state = State(trajectory=[])

    for text in ("one", "two", "three"):
        response = await take_turn(client, state, [UserMessage(content=text)])

    first = endpoint.sent_to("/v1/chat/completions")
    later = endpoint.sent_to("/v1/chat/completions/tokens")
    assert [message["content"] for message in first[0]["messages"]] == ["one"]
    assert (len(first), len(later)) == (1, 2)
    assert later[0]["tokens"] == ids_of("uone$\na#$\nutwo$\na")
    assert later[1]["tokens"] == ids_of("uone$\na#$\nutwo$\na#$\nuthree$\na")
    assert [message["content"] for message in later[0]["messages"]] == ["one", "HI", "two"]
    assert response.message.tokens is not None
    assert response.message.tokens.prompt_ids == later[1]["tokens"]
    assert response.message.tokens.completion_ids == [7, END]


async def test_ids_and_log_probabilities_are_requested_in_every_call(
    client: OpenAIChatCompletionsTokenClient, endpoint: TemplateEndpoint
) -> None:
    state = State(trajectory=[])
    for _ in range(2):
        await take_turn(client, state, [UserMessage(content="a")], max_tokens=5)

    bodies = [body for path, body in endpoint.bodies if path != "/tokenize"]
    assert [
        (body["logprobs"], body["return_token_ids"], body["max_tokens"]) for body in bodies
    ] == [(True, True, 5)] * 2


async def test_the_tokenizer_gets_tools_and_the_templates_arguments(
    client: OpenAIChatCompletionsTokenClient, endpoint: TemplateEndpoint
) -> None:
    tool = Tool(name="f", description="d", parameters={"type": "object"})
    state = State(trajectory=[])
    await take_turn(client, state, [UserMessage(content="a")])
    step = state["trajectory"][0]
    prompt = [*step["prompt"], *step["completion"], UserMessage(content="b")]
    sampling = {"extra_body": {"chat_template_kwargs": {"enable_thinking": False}}}

    await client.get_response(prompt, "m", sampling, [tool], state=state)

    found = endpoint.sent_to("/tokenize")
    assert [body["chat_template_kwargs"] for body in found] == [{"enable_thinking": False}] * 2
    assert [body["tools"][0]["function"]["name"] for body in found] == ["f", "f"]
    assert {body["add_generation_prompt"] for body in found} == {True, False}


async def second_turn_by(client: Any, endpoint: TemplateEndpoint, said: Messages) -> str:
    """The route that a second turn took."""
    state = State(trajectory=[])
    await take_turn(client, state, [UserMessage(content="one")])
    await take_turn(client, state, said)
    return endpoint.bodies[-1][0]


async def test_a_template_that_rewrites_what_was_said_gets_messages(
    client: OpenAIChatCompletionsTokenClient, endpoint: TemplateEndpoint
) -> None:
    endpoint.forgets_answers = True

    assert await second_turn_by(client, endpoint, [UserMessage(content="b")]) == (
        "/v1/chat/completions"
    )


async def test_after_a_turn_that_was_cut_off_messages_are_sent(
    client: OpenAIChatCompletionsTokenClient, endpoint: TemplateEndpoint
) -> None:
    endpoint.finish_reason = "length"

    assert await second_turn_by(client, endpoint, [UserMessage(content="b")]) == (
        "/v1/chat/completions"
    )


async def test_a_prompt_with_an_image_is_sent_as_messages(
    client: OpenAIChatCompletionsTokenClient, endpoint: TemplateEndpoint
) -> None:
    image = ImageUrlContentPart(image_url=ImageUrlSource(url="https://example.org/cat.png"))

    assert await second_turn_by(client, endpoint, [UserMessage(content=[image])]) == (
        "/v1/chat/completions"
    )


async def test_a_prompt_that_does_not_continue_a_turn_is_sent_as_messages(
    client: OpenAIChatCompletionsTokenClient, endpoint: TemplateEndpoint
) -> None:
    state = State(trajectory=[])
    await take_turn(client, state, [UserMessage(content="one")])

    for prompt in ([UserMessage(content="other")], [UserMessage(content="one")]):
        await client.get_response(prompt, "m", {}, state=state)

    assert endpoint.sent_to("/v1/chat/completions/tokens") == []
    assert endpoint.sent_to("/tokenize") == []


async def test_without_a_rollout_messages_are_sent(
    client: OpenAIChatCompletionsTokenClient, endpoint: TemplateEndpoint
) -> None:
    response = await client.get_response([UserMessage(content="one")], "m", {})

    assert response.message.tokens is not None
    assert [path for path, _ in endpoint.bodies] == ["/v1/chat/completions"]


@pytest.mark.parametrize(
    ("refusal", "kind"),
    [
        ("This model's maximum context length is 9 tokens.", OverlongPromptError),
        ("tokens are odd", ModelError),
    ],
)
async def test_what_the_route_refuses_is_the_error_it_always_is(
    client: OpenAIChatCompletionsTokenClient,
    endpoint: TemplateEndpoint,
    refusal: str,
    kind: type[Exception],
) -> None:
    state = State(trajectory=[])
    await take_turn(client, state, [UserMessage(content="one")])
    endpoint.refusal = refusal

    with pytest.raises(kind, match=refusal) as raised:
        await take_turn(client, state, [UserMessage(content="two")])

    assert "/v1/chat/completions/tokens" in str(raised.value)


@pytest.mark.parametrize("way", WAYS)
async def test_a_failure_in_a_200_is_tried_again_on_the_second_route_too(
    endpoint: TemplateEndpoint, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    naps = PretendedTime(monkeypatch).naps
    config = ClientConfig(api_base_url=endpoint.base_url, max_retries=1, stream=way == "streamed")
    made = OpenAIChatCompletionsTokenClient(config, api_key="key")
    state = State(trajectory=[])
    await take_turn(take(way, made), state, [UserMessage(content="one")])
    endpoint.failures = 1
    response = await take_turn(made, state, [UserMessage(content="two")])
    assert (response.message.content, len(naps)) == ("HI", 1)
    endpoint.failures = 2
    with pytest.raises(ModelError, match=r"503 from .*no capacity"):
        await take_turn(made, state, [UserMessage(content="three")])
    await made.close()


class OwnIds(OpenAIChatCompletionsTokenClient):
    """Takes what subclasses for verifiers take."""

    async def get_prompt_ids(self, state: Any, prompt_messages: Any, oai_tools: Any) -> Any:
        return [5, 6] if state["trajectory"] else None


class OwnTokenizer(OpenAIChatCompletionsTokenClient):
    """Counts its calls, and takes what subclasses for verifiers take."""

    calls = 0
    endpoint: TemplateEndpoint

    async def tokenize(
        self, messages: Any, tools: Any, model: str, extra_kwargs: Any = None, **kwargs: Any
    ) -> list[int]:
        self.calls += 1
        follows = extra_kwargs["add_generation_prompt"]
        return self.endpoint.tokens(messages, follows)


async def test_the_ids_of_a_subclass_are_sent(endpoint: TemplateEndpoint) -> None:
    client = OwnIds(ClientConfig(api_base_url=endpoint.base_url, max_retries=0), api_key="key")
    state = State(trajectory=[])
    await take_turn(client, state, [UserMessage(content="Q")])
    await take_turn(client, state, [UserMessage(content="R")])
    assert len(endpoint.sent_to("/v1/chat/completions")) == 1
    (body,) = endpoint.sent_to("/v1/chat/completions/tokens")
    assert body["tokens"] == [5, 6]
    await client.close()


async def test_the_tokenizer_of_a_subclass_replaces_the_endpoints(
    endpoint: TemplateEndpoint,
) -> None:
    config = ClientConfig(api_base_url=endpoint.base_url, max_retries=0)
    client = OwnTokenizer(config, api_key="key")
    client.endpoint = endpoint
    state = State(trajectory=[], model="m")
    await take_turn(client, state, [UserMessage(content="Q")])
    await take_turn(client, state, [UserMessage(content="R")])
    (body,) = endpoint.sent_to("/v1/chat/completions/tokens")
    assert body["tokens"] == ids_of("uQ$\na#$\nuR$\na")
    assert client.calls == 2
    assert endpoint.sent_to("/tokenize") == []
    await client.close()


async def test_ids_of_a_text_and_of_a_prompt_can_be_had_by_themselves(
    client: OpenAIChatCompletionsTokenClient, endpoint: TemplateEndpoint
) -> None:
    state = State(trajectory=[], model="m")
    await take_turn(client, state, [UserMessage(content="Q")])
    prompt = [
        {"role": "user", "content": "Q"},
        {"role": "assistant", "content": "HI"},
        {"role": "user", "content": "R"},
    ]
    assert await client.get_prompt_ids(state, prompt, None) == ids_of("uQ$\na#$\nuR$\na")
    assert await client.get_prompt_ids(state, prompt[2:], None) is None
    assert await client.tokenize("Hi", None, "m") == [72, 105]
    assert str(client.token_client.base_url).rstrip("/") == endpoint.url
