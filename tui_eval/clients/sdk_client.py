"""The base of the clients of the two SDKs: the short way, the SDK's own way, and retries.

An SDK's `create()` costs up to ten times the CPU of the request itself, which is what bounds
thousands of rollouts. The short way sends JSON over the same connections and reads the answer into
a struct. It is left wherever it could be noticed: a client that was handed in, and a method that a
subclass replaces, go the SDK's own way.
"""

from __future__ import annotations

import inspect
import json
from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Generic

import msgspec
from msgspec.structs import replace

from tui_eval.clients.base import Client, ClientT, MessagesT, ToolT, is_own
from tui_eval.clients.base_urls import BaseUrl, is_missing_route, read_base_url
from tui_eval.clients.given_clients import call_sdk, note_use, paced
from tui_eval.clients.refused_parameters import LearntParameters, Refusals, instead
from tui_eval.clients.request_retries import Retries, send_with_retries
from tui_eval.clients.sampling import CallOptions
from tui_eval.clients.sdks import is_current
from tui_eval.clients.wire.answer_stream import AnswerStream
from tui_eval.clients.wire.failed_answers import ReportedError, read_whole, sdk_error
from tui_eval.errors import InvalidModelResponseError
from tui_eval.observer import SILENT
from tui_eval.types import ClientConfig

if TYPE_CHECKING:
    from tui_eval.clients.http_session import HttpSession
    from tui_eval.clients.replica_set import ReplicaSet

# An SDK refuses to call without a key, or takes the one it finds in its own variable; this is what
# servers without keys are used to.
NO_KEY = "EMPTY"


class SdkClient(Client[ClientT, MessagesT, Any, ToolT], Generic[ClientT, MessagesT, ToolT]):
    """A client that sends JSON over the connections of an SDK's client.

    The short way is taken where this class made the SDK's client and `get_native_response` is its
    own; the answer is then a msgspec struct with the attributes of the SDK's. Otherwise the call is
    the SDK's `create()`. Both try again after passing faults by the same rules; a client that was
    handed in keeps its own rules. `client` itself retries too, for judges and others that use it.
    Where the config says `stream`, answers come the short way as streams.
    """

    ANSWER: ClassVar[type[msgspec.Struct]]
    STREAM: ClassVar[type[AnswerStream]]
    PATH: ClassVar[str]

    def __init__(
        self, client_or_config: ClientT | ClientConfig, *, api_key: str | None = None
    ) -> None:
        super().__init__(client_or_config, api_key=api_key)
        self._retries = Retries()
        self._endpoint: Any = None
        self._streams = False
        self._learnt = LearntParameters()
        self._place = 0
        self._has_moved = False
        if self.config is not None and is_own(type(self).setup_client):
            self._retries = Retries.of(self.config, self._api_key, self._secrets)
            if is_own(type(self).get_native_response):
                self._endpoint = self._make_endpoint(self.config)
                self._streams = self.config.stream
        self._create: Callable[..., Any] | None = None
        self._create_arguments: frozenset[str] = frozenset()

    def join_replicas(self, replicas: ReplicaSet, place: int) -> None:
        """Makes this client one of several replicas; its requests leave it where it is out."""
        super().join_replicas(replicas, place)

        def leaves(error: Exception | None) -> bool:
            return replicas.is_left(place) if error is None else replicas.leaves(place, error)

        self._retries = replace(self._retries, leaves=leaves)

    @cached_property
    def _session(self) -> HttpSession:
        """The connections under the SDK's client and the short way."""
        from tui_eval.clients.http_session import HttpSession

        assert self.config is not None  # a client that was handed in has its own
        return HttpSession(self.config)

    def http_client(self, name: str, config: ClientConfig) -> Any:
        """The http client of an SDK: our connections, or its own where it is of another time.

        Redirects are not followed: they would carry prompt and key to a host that nobody named.
        """
        if is_current(name):
            return self._session.http_client()
        import httpx

        timeout = httpx.Timeout(config.timeout, connect=config.connect_timeout)
        limits = httpx.Limits(
            max_connections=config.max_connections,
            max_keepalive_connections=config.max_keepalive_connections,
        )
        return httpx.AsyncClient(timeout=timeout, limits=limits, follow_redirects=False)

    @cached_property
    def _by_sdk(self) -> tuple[Any, Retries]:
        """The SDK's client for calls that are tried again here, and how they are."""
        made: Any = self.client
        if self.config is None or not is_own(type(self).setup_client):
            return paced(made)
        return made.with_options(max_retries=0), self._retries

    @abstractmethod
    def sdk(self) -> ModuleType:
        """The provider's SDK."""

    @abstractmethod
    def create_function(self, sdk_client: Any) -> Callable[..., Any]:
        """The method of the SDK's client that makes the call."""

    def base_url(self, config: ClientConfig) -> str:
        """The URL that the SDK's client has for a config; `PATH` goes behind it."""
        return self.read_url(config.api_base_url).places[self._place]

    def read_url(self, typed: str) -> BaseUrl:
        """The parts of a base URL in this protocol."""
        return read_base_url(typed)

    def sdk_headers(self, config: ClientConfig) -> dict[str, str]:
        """The headers of the SDK's client, but for what only identifies this machine."""
        made: Any = self.client
        headers = text_headers({**made.auth_headers, **made.default_headers})
        return {name: text for name, text in headers.items() if not name.startswith("x-stainless-")}

    async def close(self) -> None:
        """Closes the connections; the client is of no use after this."""
        if "_session" in vars(self):
            await self._session.aclose()
        if "_client" in vars(self):
            await self._by_sdk[0].close()

    async def send(
        self,
        body: dict[str, Any],
        options: CallOptions,
        state: Any,
        refusals: Refusals | None = None,
    ) -> Any:
        """The native answer to one request body; streamed text goes to the observer.

        Args:
            body: The request; sent once more where a parameter is refused that can be left out.
            options: Options beside it.
            state: The rollout of the request.
            refusals: Parameters of it that were refused before.

        Raises:
            openai.APIError, anthropic.APIError: The call failed.
            InvalidModelResponseError: The answer is no JSON, or not of the protocol.
        """
        if self._learnt:
            body = self._learnt.written(body)
        endpoint = self._endpoint
        try:
            if endpoint is None:
                return await self._send_by_sdk(body, options, state)
            if self._streams:
                return await self._stream(endpoint, body, options, state)
            payload = encode_body(body)
            send, kind = endpoint.post, self.ANSWER
            return await send_with_retries(
                lambda: send(payload, kind, options), self._retries, state
            )
        except Exception as error:
            if endpoint is not None and is_missing_route(error, body["model"]):
                return await self._send_to_other_place(error, endpoint, body, options, state)
            refusals = refusals or Refusals()
            body = refusals.answer(error, body)
        answer = await self.send(body, options, state, refusals)
        self._learn(body, refusals)
        return answer

    async def send_elsewhere(
        self,
        url: str,
        kind: type[msgspec.Struct],
        body: dict[str, Any],
        options: CallOptions,
        state: Any,
        refusals: Refusals | None = None,
    ) -> Any:
        """The answer of another route of the endpoint, for which the SDK has no method.

        One of the protocol's own kind is streamed as those of `send` are.

        Args:
            url: The whole URL.
            kind: The type of the answer.
            body: The request.
            options: Options beside it.
            state: The rollout of the request.
            refusals: Parameters of it that were refused before.

        Raises:
            openai.APIError, anthropic.APIError: The call failed.
            InvalidModelResponseError: The answer is no JSON, or not of that kind.
        """
        if self._learnt:
            body = self._learnt.written(body)
        try:
            if self._streams and self._endpoint is not None and kind is self.ANSWER:
                return await self._stream(self._endpoint.at(url), body, options, state)
            send = self._sender(url, kind, encode_body(body), options)
            retries = self._retries if self._endpoint is not None else self._by_sdk[1]
            return await send_with_retries(send, retries, state)
        except Exception as error:
            refusals = refusals or Refusals()
            body = refusals.answer(error, body)
        answer = await self.send_elsewhere(url, kind, body, options, state, refusals)
        self._learn(body, refusals)
        return answer

    async def _send_to_other_place(
        self, error: Exception, missed: Any, body: dict[str, Any], options: CallOptions, state: Any
    ) -> Any:
        """The answer of the other place where an endpoint may be, used from then on.

        Args:
            error: The error of the first place.
            missed: The endpoint at that place.

        Raises:
            Exception: The `error`, where the other place has no such route either.
        """
        assert self.config is not None  # a client that was handed in knows its place
        if self._endpoint is missed:
            if self._has_moved or len(self.read_url(self.config.api_base_url).places) == 1:
                raise error
            self._move(1)
        try:
            return await self.send(body, options, state)
        except Exception as again:
            if again is not error and is_missing_route(again, body["model"]):
                self._move(0)
                raise error from None
            raise

    def _move(self, place: int) -> None:
        """Sends to another of the places from now on, also what others send with the SDK."""
        assert self.config is not None
        self._place = place
        self._has_moved = True
        self._endpoint = self._make_endpoint(self.config)
        if "_client" in vars(self):
            made: Any = self.client
            made.base_url = self.base_url(self.config)

    def _learn(self, body: dict[str, Any], refusals: Refusals) -> None:
        """Remembers what was refused of a request that was answered in the end."""
        model = body["model"]
        for name in self._learnt.keep(model, refusals):
            self.logger.warning("%r does not take %s for %s; %s", self, name, model, instead(name))

    async def _stream(
        self, endpoint: Any, body: dict[str, Any], options: CallOptions, state: Any
    ) -> Any:
        payload = encode_body(self.STREAM.for_stream(body))
        observer = getattr(state, "observer", SILENT)

        async def send() -> Any:
            stream = self.STREAM(observer.answer_begins(), endpoint.url)
            return await endpoint.stream(payload, options, stream, self.ANSWER)

        return await send_with_retries(send, self._retries, state)

    def _sender(
        self, url: str, kind: type[msgspec.Struct], payload: bytes, options: CallOptions
    ) -> Callable[[], Any]:
        if self._endpoint is not None:
            endpoint = self._endpoint.at(url)
            return lambda: endpoint.post(payload, kind, options)
        import httpx2

        headers = {"Content-Type": "application/json", **options.extra_headers}
        given: dict[str, Any] = {"headers": headers, "params": dict(options.extra_query)}
        if options.timeout is not None:
            given["timeout"] = options.timeout
        post = self._by_sdk[0].post

        async def send() -> Any:
            note_use(self.client)
            response = await post(url, cast_to=httpx2.Response, content=payload, options=given)
            return read_whole(response.content, kind, url)

        return send

    async def _send_by_sdk(self, body: dict[str, Any], options: CallOptions, state: Any) -> Any:
        note_use(self.client)
        create = self._create
        if create is None:
            create = self._create = self.create_function(self._by_sdk[0])
            self._create_arguments = frozenset(inspect.signature(create).parameters)
        given: dict[str, Any] = {"extra_headers": dict(options.extra_headers)}
        if options.extra_query:
            given["extra_query"] = dict(options.extra_query)
        if options.timeout is not None:
            given["timeout"] = options.timeout
        named = {key: item for key, item in body.items() if key in self._create_arguments}
        rest = {key: item for key, item in body.items() if key not in named}

        async def send() -> Any:
            return await create(**named, **given, extra_body=rest)

        try:
            single, retries = self._by_sdk
            return await call_sdk(send, retries, state, tries_by_itself=single is self.client)
        except ReportedError as error:
            raise self._as_sdk_error(error) from None
        except (json.JSONDecodeError, self.sdk().APIResponseValidationError) as error:
            raise InvalidModelResponseError(f"the answer is no usable JSON: {error}") from error

    def _as_sdk_error(self, error: ReportedError) -> Exception:
        from tui_eval.clients.http_types import httpx2

        url = str(getattr(self.client, "base_url", "")).rstrip("/") + self.PATH
        failure = sdk_error(error, self.sdk(), httpx2.Request("POST", url))
        for note in getattr(error, "__notes__", ()):
            failure.add_note(note)
        return failure

    def _make_endpoint(self, config: ClientConfig) -> Any:
        from tui_eval.clients.endpoint import Endpoint

        return Endpoint(
            self.sdk,
            self._session,
            self.read_url(config.api_base_url).with_query(self.base_url(config) + self.PATH),
            self.sdk_headers(config),
        )


def encode_body(body: Any) -> bytes:
    """A request body as JSON; lone surrogates, which UTF-8 cannot carry, are escaped."""
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        return json.dumps(body).encode()


def text_headers(given: Mapping[str, Any]) -> dict[str, str]:
    """Headers by their names in lower case; later ones of a name win.

    A value that is no string is the SDK's way to leave a header out.
    """
    headers: dict[str, str] = {}
    for name, value in given.items():
        headers.pop(name.lower(), None)
        if isinstance(value, str):
            headers[name.lower()] = value
    return headers
