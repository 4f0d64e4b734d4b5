"""An endpoint in this process that answers by the request alone and keeps when it did."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import math
import threading
import time
from dataclasses import dataclass, field

from aiohttp import web

ANSWER_TOKENS = 7


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer that was sent.

    Args:
        request: A digest of the messages that it answers.
        at: Unix time when it had left whole.
        tokens: Tokens of request and answer together.
    """

    request: str
    at: float
    tokens: int


@dataclass
class CountingEndpoint:
    """Answers chat completions after a latency; a context manager.

    Args:
        latency_s: From a request to its answer.
    """

    latency_s: float
    answers: list[Answer] = field(default_factory=list)
    requests: int = 0
    first_at: float = 0.0
    url: str = ""
    _most: float = math.inf

    def __enter__(self) -> CountingEndpoint:
        self._loop = asyncio.new_event_loop()
        listens = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(listens,), daemon=True)
        self._thread.start()
        listens.wait()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def begin(self, most: float = math.inf) -> None:
        """Forgets what was answered.

        Args:
            most: So many requests are answered; the others wait until their client is gone.
        """
        self.answers, self.requests, self._most = [], 0, most

    def _serve(self, listens: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._listen())
        listens.set()
        self._loop.run_forever()

    async def _listen(self) -> None:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._answer)
        runner = self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.requests += 1
        if self.requests == 1:
            self.first_at = time.time()
        if self.requests > self._most:
            await asyncio.Event().wait()
        messages = (await request.json())["messages"]
        digest = hashlib.sha256(json.dumps(messages).encode()).hexdigest()[:16]
        await asyncio.sleep(self.latency_s)
        usage = {"prompt_tokens": 10 * len(messages), "completion_tokens": ANSWER_TOKENS}
        usage["total_tokens"] = sum(usage.values())
        message = {"role": "assistant", "content": digest}
        body = {
            **{"id": digest, "object": "chat.completion", "created": 0, "model": "mock"},
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": usage,
        }
        response = web.json_response(body)
        with contextlib.suppress(ConnectionResetError):  # the client is gone
            await response.prepare(request)
            await response.write_eof()
            self.answers.append(Answer(digest, time.time(), usage["total_tokens"]))
        return response
