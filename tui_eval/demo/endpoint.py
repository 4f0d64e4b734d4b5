"""An OpenAI-compatible endpoint on loopback, served by a scripted policy.

    python -m tui_eval.demo.endpoint [--port 0] [--seed N] [--speed X]

Prints one line, `{"port": N}`, when it listens. Ends when its standard input does, so that it never
outlives the process that started it, and on SIGTERM or SIGINT.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import os
import random
import signal
import sys
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable

import msgspec
from aiohttp import web

from tui_eval.demo.chat_request import MODEL, BadRequestError, ChatRequest, read_request
from tui_eval.demo.completion import NOTICE, Completion, complete, error_body
from tui_eval.demo.policy import calculator, generic, reverse_text, word_guess
from tui_eval.demo.policy.dialogue import Dialogue, Dice, Reply
from tui_eval.open_files import raise_limit

_LARGEST_BODY = 64 * 1024 * 1024
_FIRST_CHUNK_AFTER = 0.3

_encode = msgspec.json.Encoder().encode
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Endpoint:
    """The two routes of the endpoint.

    Args:
        seed: Another seed makes another player.
        speed: Factor by which it is faster than believable; 0 answers at once.
    """

    def __init__(self, seed: int = 0, speed: float = 1.0) -> None:
        self._seed = seed
        self._speed = speed
        self._repetitions = Repetitions()

    def application(self) -> web.Application:
        """The web application with its routes."""
        app = web.Application(client_max_size=_LARGEST_BODY, middlewares=[_errors_as_json])
        app.router.add_post("/v1/chat/completions", self.chat_completions)
        app.router.add_get("/v1/models", self.models)
        return app

    async def models(self, _: web.Request) -> web.Response:
        """The one model that is served."""
        model = {
            "id": MODEL,
            "object": "model",
            "created": 1735689600,
            "owned_by": "tui-eval",
            "metadata": {"notice": NOTICE},
        }
        return _json({"object": "list", "data": [model]})

    async def chat_completions(self, http: web.Request) -> web.StreamResponse:
        """One answer, whole or as a stream of server-sent events."""
        request = read_request(await http.read())
        completion, seconds = self._answer(request)
        if request.stream:
            return await _stream(http, completion, request.include_usage, seconds)
        await asyncio.sleep(seconds)
        return _json(completion.body())

    def _answer(self, request: ChatRequest) -> tuple[Completion, float]:
        content = _encode(
            [self._seed, request.messages, request.tools, request.temperature, request.seed]
        )
        repetition = self._repetitions.count(content) if request.temperature > 0 else 0
        dice = Dice(content.decode(), request.temperature, repetition)
        reply = answer(Dialogue(request.messages, request.tools), dice)
        completion_id = f"chatcmpl-demo{dice.random.getrandbits(96):024x}"
        completion = complete(request, reply, completion_id)
        return completion, latency(dice.random, completion.completion_tokens, self._speed)


@web.middleware
async def _errors_as_json(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except BadRequestError as error:
        return _json(error_body(error), error.status)
    except web.HTTPException as error:
        message = f"{request.method} {request.path}: {error.reason}."
        return _json(error_body(BadRequestError(message)), error.status)


def _json(body: object, status: int = 200) -> web.Response:
    return web.Response(body=_encode(body), status=status, content_type="application/json")


async def _stream(
    http: web.Request, completion: Completion, include_usage: bool, seconds: float
) -> web.StreamResponse:
    response = web.StreamResponse(
        headers={"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}
    )
    await response.prepare(http)
    chunks = [b"data: " + _encode(chunk) + b"\n\n" for chunk in completion.chunks(include_usage)]
    if not seconds:
        await response.write(b"".join(chunks))
    else:
        await asyncio.sleep(seconds * _FIRST_CHUNK_AFTER)
        pause = seconds * (1 - _FIRST_CHUNK_AFTER) / len(chunks)
        for chunk in chunks:
            await response.write(chunk)
            await asyncio.sleep(pause)
    await response.write(b"data: [DONE]\n\n")
    await response.write_eof()
    return response


async def serve(port: int, seed: int, speed: float) -> None:
    """Serves on 127.0.0.1, at any free port for 0, until standard input ends or a signal comes."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    runner = web.AppRunner(
        Endpoint(seed, speed).application(), access_log=None, shutdown_timeout=0.1
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port, backlog=1024).start()
        _, bound_port = runner.addresses[0][:2]
        sys.stdout.write(f'{{"port": {bound_port}}}\n')
        sys.stdout.flush()
        threading.Thread(target=_wait_for_end, args=(loop, stopped), daemon=True).start()
        await stopped.wait()
    finally:
        await runner.cleanup()


def _wait_for_end(loop: asyncio.AbstractEventLoop, stopped: asyncio.Event) -> None:
    try:
        while os.read(0, 4096):
            pass
    except OSError:
        pass
    loop.call_soon_threadsafe(stopped.set)


def main() -> int:
    """The command line of the endpoint."""
    parser = argparse.ArgumentParser(
        prog="python -m tui_eval.demo.endpoint",
        description=f"Serve {MODEL} on 127.0.0.1. {NOTICE}",
        epilog="Ends when its standard input does, and on SIGTERM.",
    )
    parser.add_argument("--port", type=int, default=0, help="0 for any free port (default)")
    parser.add_argument("--seed", type=int, default=0, help="another seed, another player")
    parser.add_argument("--speed", type=float, default=1.0, help="1 believable, 0 no waiting")
    requested = parser.parse_args()
    raise_limit()
    try:
        asyncio.run(serve(requested.port, requested.seed, requested.speed))
    except OSError as error:
        sys.stderr.write(f"cannot serve on 127.0.0.1:{requested.port}: {error}\n")
        return 1
    return 0


def latency(dice: random.Random, tokens: int, speed: float) -> float:
    """Seconds until an answer of so many tokens is there, 0.3 to 5 at speed 1; see `Endpoint`."""
    if speed <= 0:
        return 0.0
    if dice.random() < 0.01:
        return dice.uniform(2.5, 5.0) / speed
    seconds = dice.lognormvariate(-0.7, 0.35) + 0.01 * tokens
    return min(max(seconds, 0.3), 2.5) / speed


class Repetitions:
    """A bounded count of equal requests; the one not seen for longest is forgotten first."""

    def __init__(self, most: int = 50_000) -> None:
        self._most = most
        self._counts: OrderedDict[bytes, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._counts)

    def count(self, content: bytes) -> int:
        """Number of earlier requests with this content: 0 the first time."""
        key = hashlib.blake2b(content, digest_size=16).digest()
        seen = self._counts.pop(key, 0)
        self._counts[key] = seen + 1
        if len(self._counts) > self._most:
            self._counts.popitem(last=False)
        return seen


_PLAYERS: tuple[tuple[Callable[[Dialogue], bool], Callable[[Dialogue, Dice], Reply]], ...] = (
    (reverse_text.plays, reverse_text.reply),
    (calculator.plays, calculator.reply),
    (word_guess.plays, word_guess.reply),
)


def answer(dialogue: Dialogue, dice: Dice) -> Reply:
    """The next message of the assistant."""
    for plays, reply in _PLAYERS:
        if plays(dialogue):
            return reply(dialogue, dice)
    return generic.reply(dialogue, dice)


if __name__ == "__main__":
    sys.exit(main())
