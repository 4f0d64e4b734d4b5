"""When a request is tried again, how long it waits, and what is reported."""

from __future__ import annotations

import email.utils
import errno
import socket
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from typing import Any

import openai
import pytest
from endpoint_scripts import ANSWERS, CHAT_ANSWER, PATHS, Connect, take
from lazy_modules import LazyModule
from servers import FaultServer, Reply

from tui_eval.clients.anthropic_messages import AnthropicMessagesClient
from tui_eval.clients.openai_chat_completions import OpenAIChatCompletionsClient
from tui_eval.clients.request_retries import Retries, send_with_retries
from tui_eval.clients.retry_after import requested_wait
from tui_eval.errors import ErrorChain, ModelError
from tui_eval.messages import UserMessage
from tui_eval.observer import SilentObserver
from tui_eval.state import State

anthropic = LazyModule("anthropic")

PROMPT = [UserMessage(content="hi")]
CHAT = PATHS["openai_chat_completions"]
GOOD = Reply(body=CHAT_ANSWER)


class SlotObserver(SilentObserver):
    """Notes what it receives, and whether the sleep was inside."""

    def __init__(self, naps: list[float]) -> None:
        self.waits: list[tuple[float, str]] = []
        self.paced: list[bool] = []
        self.slept_inside: list[bool] = []
        self._naps = naps

    @asynccontextmanager
    async def request_sleeps(
        self, seconds: float, reason: str, is_paced: bool = False
    ) -> AsyncIterator[None]:
        self.waits.append((seconds, reason))
        self.paced.append(is_paced)
        before = len(self._naps)
        yield
        self.slept_inside.append(len(self._naps) > before)


async def ask(client: Any, **more: Any) -> Any:
    return await client.get_response(PROMPT, "m", {"max_tokens": 5}, **more)


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503, 529])
@pytest.mark.parametrize("way", ["short way", "SDK's way"])
async def test_retryable_statuses_are_retried(
    connect: Connect,
    fault_server: FaultServer,
    naps: list[float],
    client_type: str,
    way: str,
    status: int,
) -> None:
    good = Reply(body=ANSWERS[client_type])
    fault_server.script(PATHS[client_type], [Reply(status), Reply(status), good])

    async with connect(client_type) as client:
        response = await ask(take(way, client))

    assert response.message.content == "ok"
    assert (len(fault_server.requests), len(naps)) == (3, 2)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_other_statuses_are_not(
    connect: Connect, fault_server: FaultServer, naps: list[float], status: int
) -> None:
    fault_server.script(CHAT, [Reply(status, {"error": "no model m"}), GOOD])

    async with connect() as client:
        with pytest.raises(ModelError):
            await ask(client)

    assert (len(fault_server.requests), naps) == (1, [])


@pytest.mark.parametrize("fault", [Reply(reset=True), Reply(body=CHAT_ANSWER, cut=10)])
@pytest.mark.parametrize("way", ["short way", "SDK's way"])
async def test_torn_connections_are_tried_again(
    connect: Connect, fault_server: FaultServer, naps: list[float], fault: Reply, way: str
) -> None:
    fault_server.script(CHAT, [fault, GOOD])

    async with connect() as client:
        assert (await ask(take(way, client))).message.content == "ok"

    assert len(naps) == 1


async def test_a_refused_connection_is_tried_again_as_often_as_allowed(
    connect: Connect, naps: list[float]
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"

        async with connect(api_base_url=url, max_retries=4) as client:
            with pytest.raises(ModelError, match="tried 5 times"):
                await ask(client)

    assert len(naps) == 4


async def test_a_connection_that_cannot_be_made_in_time_is_tried_again(
    connect: Connect, naps: list[float]
) -> None:
    with ExitStack() as opened:
        listening = opened.enter_context(socket.socket())
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        for _ in range(2):
            # Fills the queue of connections that wait to be accepted; nobody accepts any.
            waiting = opened.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listening.getsockname())
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"

        async with connect(api_base_url=url, connect_timeout=0.05, max_retries=1) as client:
            with pytest.raises(ModelError, match="in time") as raised:
                await ask(client)

    assert str(ErrorChain(raised.value)).startswith("ModelError -> APITimeoutError")
    assert len(naps) == 1


async def test_no_retries_means_one_attempt(
    connect: Connect, fault_server: FaultServer, naps: list[float]
) -> None:
    fault_server.script(CHAT, [Reply(500)])

    async with connect(max_retries=0) as client:
        with pytest.raises(ModelError):
            await ask(client)

    assert len(fault_server.requests) == 1


async def test_ten_retries_are_the_default_and_waits_grow_to_a_minute(
    connect: Connect, fault_server: FaultServer, naps: list[float]
) -> None:
    fault_server.script(CHAT, [Reply(500)])

    async with connect() as client:
        with pytest.raises(ModelError, match="tried 11 times"):
            await ask(client)

    assert len(fault_server.requests) == 11
    least = [0.5, 1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert all(low <= nap <= low + 0.5 for low, nap in zip(least, naps, strict=True))


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Retry-After": "7"}, 7),
        ({"Retry-After": "120.5"}, 120.5),
        ({"Retry-After": "86400"}, 600),
        ({"Retry-After": "1e999"}, 600),
        ({"retry-after-ms": "1500", "Retry-After": "9"}, 1.5),
        ({"Retry-After": "0"}, None),
        ({"Retry-After": "-3"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, None),
        ({}, None),
    ],
)
def test_what_a_server_requests(headers: dict[str, str], expected: float | None) -> None:
    lowered = {name.lower(): value for name, value in headers.items()}

    assert requested_wait(lowered) == expected


def test_a_date_is_a_wait_from_now() -> None:
    date = email.utils.formatdate(time.time() + 90, usegmt=True)

    assert requested_wait({"retry-after": date}) == pytest.approx(90, abs=2)


async def test_the_wait_is_as_long_as_the_server_asks(
    connect: Connect, fault_server: FaultServer, naps: list[float]
) -> None:
    fault_server.script(CHAT, [Reply(429, headers={"Retry-After": "90"}), Reply(503), GOOD])

    async with connect() as client:
        await ask(client)

    assert naps[0] == 90
    assert 1 <= naps[1] <= 1.5


async def test_the_slot_is_given_back_around_each_wait(
    connect: Connect, fault_server: FaultServer, naps: list[float]
) -> None:
    fault_server.script(CHAT, [Reply(429, headers={"Retry-After": "3"}), Reply(reset=True), GOOD])
    state = State()
    state.observer = observer = SlotObserver(naps)

    async with connect() as client:
        await ask(client, state=state)

    assert observer.waits[0] == (3, "status 429")
    assert observer.waits[1][1] == "no connection: the connection was reset"
    assert observer.slept_inside == [True, True]
    assert observer.paced == [True, False], "only the first wait is the server's"


async def test_an_answer_ends_the_time_for_which_refusals_are_borne(
    connect: Connect, fault_server: FaultServer, naps: list[float]
) -> None:
    refused = Reply(429, headers={"Retry-After": "7"})
    fault_server.script(CHAT, [refused, GOOD] * 4)

    async with connect(rate_limit_timeout=10) as client:
        for _ in range(4):
            assert (await ask(client)).message.content == "ok"

    assert len(fault_server.requests) == 8


async def test_a_request_that_may_open_no_file_is_tried_again_a_few_times(
    naps: list[float],
) -> None:
    left = [OSError(errno.EMFILE, "Too many open files")] * 4

    async def send() -> str:
        if left:
            raise left.pop()
        return "ok"

    assert await send_with_retries(send, Retries()) == "ok"
    assert len(naps) == 4
    left.extend([OSError(errno.EMFILE, "Too many open files")] * 5)
    with pytest.raises(OSError, match="Too many"):
        await send_with_retries(send, Retries())
    assert left == []


async def test_a_server_can_forbid_or_request_another_try(
    connect: Connect, fault_server: FaultServer, naps: list[float]
) -> None:
    spent = {"error": {"message": "spent", "code": "insufficient_quota"}}
    fault_server.script(CHAT, [Reply(500, headers={"x-should-retry": "false"})])
    fault_server.script("/spent/chat/completions", [Reply(429, spent)])
    fault_server.script(
        "/odd/chat/completions", [Reply(400, headers={"x-should-retry": "true"}), GOOD]
    )

    for path in ("/v1", "/spent"):
        async with connect(api_base_url=fault_server.url + path) as client:
            with pytest.raises(ModelError):
                await ask(client)
    assert naps == []
    async with connect(api_base_url=fault_server.url + "/odd") as client:
        assert (await ask(client)).message.content == "ok"


async def test_anthropics_overload_passes_whatever_its_status(
    connect: Connect, fault_server: FaultServer, naps: list[float]
) -> None:
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    good = Reply(body=ANSWERS["anthropic_messages"])
    fault_server.script("/v1/messages", [Reply(400, body), good])

    async with connect("anthropic_messages") as client:
        assert (await ask(client)).message.content == "ok"

    assert len(naps) == 1


@pytest.mark.parametrize("sdk", ["openai", "anthropic"])
async def test_a_client_that_was_handed_in_waits_at_the_endpoints_pace_too(
    fault_server: FaultServer, naps: list[float], sdk: str
) -> None:
    kind = "anthropic_messages" if sdk == "anthropic" else "openai_chat_completions"
    refused = Reply(429, headers={"Retry-After": "7"})
    fault_server.script(PATHS[kind], [*[refused] * 5, Reply(body=ANSWERS[kind])])
    made: Any
    if sdk == "anthropic":
        made = anthropic.AsyncAnthropic(base_url=fault_server.url, api_key="k", max_retries=1)
        client: Any = AnthropicMessagesClient(made)
    else:
        made = openai.AsyncOpenAI(base_url=f"{fault_server.url}/v1", api_key="k", max_retries=1)
        client = OpenAIChatCompletionsClient(made)
    assert (await ask(client)).message.content == "ok"
    assert len(naps) >= 5 and sum(naps) >= 35
    fault_server.script(PATHS[kind], [Reply(500)])
    with pytest.raises(ModelError, match="tried 2 times"):
        await ask(client)
    await client.close()
