"""The base of every client: translate the request, call, translate the answer.

The three are separate functions, so that translation can be tested on recorded answers without a
server, and a subclass of an author may replace one of them. What goes wrong in any of them becomes
a `ModelError` here, so that environments see one kind of failure whatever SDK is below.
"""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from tui_eval.clients.base_urls import shown_url
from tui_eval.clients.credentials import credentials_of
from tui_eval.clients.faults import advice, describe
from tui_eval.clients.refused_parameters import how_to_turn_off
from tui_eval.clients.refused_prompts import kind_of_refusal
from tui_eval.clients.secrets import Secrets, is_revealing
from tui_eval.clients.wire.replayed import ReasoningRoute, field_of
from tui_eval.errors import Error, Fault, InvalidModelResponseError, ModelError, RefusedError
from tui_eval.messages import Messages, note_reasoning_origin
from tui_eval.observer import CURRENT
from tui_eval.provider_profiles import ProviderProfile, profile_of
from tui_eval.types import ClientConfig, Response, SamplingArgs, Tool, Usage

if TYPE_CHECKING:
    from tui_eval.clients.replica_set import ReplicaSet


ClientT = TypeVar("ClientT")
MessagesT = TypeVar("MessagesT")
ResponseT = TypeVar("ResponseT")
ToolT = TypeVar("ToolT")


class Client(ABC, Generic[ClientT, MessagesT, ResponseT, ToolT]):
    """Speaks one protocol to one endpoint.

    Args:
        client_or_config: A client of the provider's SDK, used as it is with its own retries; or a
            config, from which `setup_client` makes one.
        api_key: The key for a config; without it, what `credentials_of` finds.

    Raises:
        RefusedError: The config names no URL or several, or its key cannot be found.
    """

    OVERLONG_PHRASES: ClassVar[tuple[str, ...]] = ()
    """Further phrases for overlong prompts, in lower case; see `refused_prompts`."""
    KEY_HEADER: ClassVar[str] = "Authorization"

    # What a client has whose class does not call this constructor.
    config: ClientConfig | None = None
    _api_key = _key_variable = ""
    _replicas: ReplicaSet | None = None
    _replica_place = 0

    def __init__(
        self, client_or_config: ClientT | ClientConfig, *, api_key: str | None = None
    ) -> None:
        self.config = None
        if isinstance(client_or_config, ClientConfig):
            config = _single(client_or_config)
            credentials = credentials_of(config, api_key)
            if credentials.headers:
                headers = {**credentials.headers, **config.extra_headers}
                config = config.model_copy(update={"extra_headers": headers})
            self.config = config
            self._api_key = credentials.key
            self._key_variable = credentials.variable
            self._secrets = Secrets.of(self._api_key, config.extra_headers)
            if not is_own(type(self).setup_client):
                self._client = self.setup_client(config)
        else:
            self._client = client_or_config

    @cached_property
    def logger(self) -> logging.Logger:
        """The client's logger."""
        return logging.getLogger(f"{__name__}.{type(self).__name__}")

    @cached_property
    def _secrets(self) -> Secrets:
        return Secrets()

    @cached_property
    def _profiles(self) -> dict[str, ProviderProfile]:
        return {}

    def profile(self, model: str) -> ProviderProfile:
        """The profile of requests for a model; looked up once for each."""
        found = self._profiles.get(model)
        if found is None:
            found = self._profiles[model] = profile_of(self.endpoint_url(), model, self.config)
        return found

    @cached_property
    def reasoning_route(self) -> ReasoningRoute:
        """The reasoning that the endpoint takes back."""
        return ReasoningRoute(self.endpoint_url(), self.profile("").reasoning_field)

    def with_origin(self, response: Response, native: Any = None) -> Response:
        """An answer that knows, where it has reasoning or signed calls, that these came from here.

        Args:
            native: The message of the protocol, whose field has a name that other endpoints lack.
        """
        message = response.message
        calls = message.tool_calls
        is_signed = calls and any(call.__pydantic_extra__ for call in calls)
        if message.reasoning_content or message.thinking_blocks or is_signed:
            field = "" if native is None else field_of(native)
            note_reasoning_origin(message, self.reasoning_route.endpoint, field)
        return response

    def endpoint_url(self) -> str:
        """The URL of requests; empty where a client that was handed in does not say."""
        if self.config is not None:
            return self.config.api_base_url
        return str(getattr(self._client, "base_url", ""))

    @cached_property
    def call_name(self) -> str:
        """The name of its call, while it is waited for; empty where its URL is not known."""
        url = self.endpoint_url()
        return f"POST {shown_url(url)}" if url else ""

    def join_replicas(self, replicas: ReplicaSet, place: int) -> None:
        """Makes this client one of several replicas, at a place among them."""
        self._replicas, self._replica_place = replicas, place

    @property
    def client(self) -> ClientT:
        """The SDK's client, for calls that this class does not make; made when it is requested."""
        return self._client

    @cached_property
    def _client(self) -> ClientT:
        # Where a client was handed in, it is here already; a class that does not call our
        # constructor may have none.
        none: Any = None
        return none if self.config is None else self.setup_client(self.config)

    def __repr__(self) -> str:
        place = self.config.api_base_url if self.config is not None else type(self.client).__name__
        return f"{type(self).__name__}({place!r})"

    @abstractmethod
    def setup_client(self, config: ClientConfig) -> ClientT:
        """The SDK's client for a config; the key is in `self._api_key`, empty for none."""

    @abstractmethod
    async def to_native_prompt(self, messages: Messages) -> tuple[MessagesT, dict[str, Any]]:
        """The messages as the protocol has them, and further arguments for the call."""

    @abstractmethod
    async def to_native_tool(self, tool: Tool) -> ToolT:
        """One tool as the protocol describes it."""

    @abstractmethod
    async def get_native_response(
        self,
        prompt: MessagesT,
        model: str,
        sampling_args: SamplingArgs,
        tools: list[ToolT] | None = None,
        **kwargs: Any,
    ) -> ResponseT:
        """Calls the model; `kwargs` are those of the prompt, and `state` where there is one."""

    @abstractmethod
    async def raise_from_native_response(self, response: ResponseT) -> None:
        """Raises a ModelError where the answer is not one usable answer."""

    @abstractmethod
    async def from_native_response(self, response: ResponseT) -> Response:
        """The answer in our types."""

    def usage_of(self, response: ResponseT) -> Usage | None:
        """The tokens that an answer reports, usable or not; None where it reports none."""
        return None

    @abstractmethod
    async def close(self) -> None:
        """Closes the connections; the client is of no use after this."""

    async def to_native_tools(self, tools: Sequence[Tool] | None) -> list[ToolT] | None:
        """All tools as the protocol describes them; None where there are none."""
        if not tools:
            return None
        return [await self.to_native_tool(tool) for tool in tools]

    def get_response(
        self,
        prompt: Messages,
        model: str,
        sampling_args: SamplingArgs,
        tools: Sequence[Tool] | None = None,
        *,
        state: Any = None,
        **kwargs: Any,
    ) -> Coroutine[Any, Any, Response]:
        """One answer of a model.

        Args:
            prompt: The whole conversation so far.
            model: Its name at the endpoint.
            sampling_args: Sent with the request; those set to None are left out.
            tools: Tools that the model may call.
            state: The rollout of the request; its observer is notified of waits between attempts.
                A call without one is no part of a trajectory, and a run keeps its answer apart.
            **kwargs: Further arguments of the native call.

        Raises:
            ModelError: The call failed; the cause is the provider's exception.
            InvalidModelResponseError: The answer is not one usable answer.
            OverlongPromptError: The prompt does not fit into the model's context.
            PromptRefusedError: The prompt is refused for what it holds.
        """
        if state is not None and self._replicas is None:  # nearly always
            return self._call_endpoint(prompt, model, sampling_args, tools, state=state, **kwargs)

        def call(one: Client[Any, Any, Any, Any]) -> Coroutine[Any, Any, Response]:
            return one._call_endpoint(prompt, model, sampling_args, tools, state=state, **kwargs)

        def answer() -> Coroutine[Any, Any, Response]:
            if self._replicas is None:
                return call(self)
            return self._replicas.answer(self._replica_place, state, call)

        if state is not None:
            return answer()
        request = [self.endpoint_url(), prompt, model, sampling_args, tools, kwargs]
        return kept_answer(request, answer)

    async def _call_endpoint(
        self,
        prompt: Messages,
        model: str,
        sampling_args: SamplingArgs,
        tools: Sequence[Tool] | None,
        *,
        state: Any,
        **kwargs: Any,
    ) -> Response:
        """The same at this endpoint, whether or not it is one of several replicas."""
        try:
            native_prompt, extra = await self.to_native_prompt(prompt)
            native_tools = await self.to_native_tools(tools)
            native = await self.get_native_response(
                native_prompt, model, sampling_args, native_tools, **extra, **kwargs, state=state
            )
            return await self._read_answer(native)
        except Error as error:
            self._secrets.hide_in(error)
            raise
        except Exception as error:
            self._secrets.hide_in(error)
            raise self._failure(error) from error

    async def _read_answer(self, native: ResponseT) -> Response:
        try:
            await self.raise_from_native_response(native)
            return await self.from_native_response(native)
        except InvalidModelResponseError as error:
            if self.config is not None:
                error.args = (f"{error} (from {self.config.api_base_url})",)
            error.usage = self._reported_usage(native)
            raise
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            text = f"the answer cannot be read: {type(error).__name__}: {error}"
            unreadable = InvalidModelResponseError(text)
            unreadable.usage = self._reported_usage(native)
            raise unreadable from error

    def _reported_usage(self, native: ResponseT) -> Usage | None:
        try:
            return self.usage_of(native)
        except (AttributeError, LookupError, TypeError, ValueError):
            return None

    def _failure(self, error: Exception) -> Error:
        timeout = self.config.timeout if self.config is not None else None
        text = self._secrets.hide(describe(error, timeout) + advice(error, self._credential))
        refused = getattr(error, "refused_parameter", None)
        if refused is not None:
            text += f"; {refused} is refused: {how_to_turn_off(refused)}"
        kind = kind_of_refusal(error, self.OVERLONG_PHRASES) or ModelError
        return kind(text)

    @property
    def _credential(self) -> str:
        """The key of each request and its header, in words."""
        if self.config is None:
            return ""
        revealing = ", ".join(name for name in self.config.extra_headers if is_revealing(name))
        if revealing:
            return f"{revealing}, as the endpoint's headers say"
        if not self._api_key:
            return "none was sent; name the variable that holds one with `api_key_var` or -k"
        of = f"of {self._key_variable}" if self._key_variable else "that was given"
        return f"the one {of}, sent in the header {self.KEY_HEADER}"


def key_of_client(client: Any) -> str:
    """The key that a client, ours or another, sends; empty where it has none, or says none."""
    if isinstance(client, Client):
        made, key = vars(client).get("_client"), client._api_key  # none is made for this
    else:
        made, key = getattr(client, "client", None), ""
    reported = getattr(made, "api_key", None) or key
    return reported if isinstance(reported, str) else ""


def name_of_call(client: Any) -> str:
    """The name of a client's call, ours or another, while it is waited for."""
    name = client.call_name if isinstance(client, Client) else ""
    return name or f"{type(client).__name__}.get_response"


def is_own(function: Callable[..., Any]) -> bool:
    """Whether a method is defined here and not in a class that somebody derived."""
    return function.__module__.startswith("tui_eval.clients.")


def _single(config: ClientConfig) -> ClientConfig:
    endpoints = config.per_endpoint()
    if len(endpoints) > 1:
        what = f"{len(endpoints)} endpoints are given, and a client speaks to one"
        hint = "Make a client for each of `config.per_endpoint()`"
        raise RefusedError([Fault("endpoint_configs", what, hint)])
    return endpoints[0]


async def kept_answer(request: Sequence[Any], make: Callable[[], Awaitable[Response]]) -> Response:
    """An answer that is no part of a trajectory, a judge's for one: requested, or as it was kept.

    A rollout that is cut short while it is scored is scored once more, and its judges would be
    called and paid again. Their answers are in the run's journal before their reward function
    continues.

    Args:
        request: All that the answer depends on: the endpoint, too.
        make: Makes the call.

    Raises:
        Exception: As `make` raises it; nothing is kept then.
    """
    call = CURRENT.get().recorded_judge_call(request)
    if call is None:
        return await make()
    if call.answer is not None:
        return call.answer[0]
    began = time.perf_counter()
    response = await make()
    await call.keep(response, (time.perf_counter() - began) * 1000)
    return response
