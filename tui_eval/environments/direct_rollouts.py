"""Rollouts that a program runs by itself, one or a group at a time, without a run directory."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import random
from asyncio import sleep
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeVar, cast, overload

from tui_eval.environments.one_rollout import generate, score
from tui_eval.environments.outputs import state_to_output, states_to_outputs
from tui_eval.errors import ErrorChain, Fault, InfraError, InvalidModelResponseError, RefusedError
from tui_eval.state import State
from tui_eval.types import ClientConfig, RolloutInput, RolloutOutput, SamplingArgs

if TYPE_CHECKING:
    from tui_eval.clients import AnyClient
    from tui_eval.environments.environment import Environment

    SomeClient: TypeAlias = AnyClient | ClientConfig

Held: TypeAlias = contextlib.AbstractAsyncContextManager[Any] | None
Key: TypeAlias = tuple[str, frozenset[str]]


class ClientCache:
    """Makes clients of clients, configs and SDK clients; a config gets the same one every time.

    Connections belong to the loop that they were opened on, so each loop has clients of its own.
    Those of closed loops are forgotten.
    """

    def __init__(self) -> None:
        self._made: dict[asyncio.AbstractEventLoop, dict[Key, AnyClient]] = {}
        self._turn = count()

    def resolve(self, client: Any) -> AnyClient:
        """The client of a `Client`, a `ClientConfig` or an SDK's client.

        The endpoints of a config take turns.

        Raises:
            TypeError: It is none of these.
            RefusedError: The config cannot be used; says why.
        """
        if isinstance(client, ClientConfig):
            endpoints = client.per_endpoint()
            return self._of(endpoints[next(self._turn) % len(endpoints)])
        if client is None or hasattr(client, "get_response"):
            same: AnyClient = client
            return same
        from tui_eval.clients import resolve_client

        return resolve_client(client)

    def _of(self, config: ClientConfig) -> AnyClient:
        from tui_eval.clients import make_client

        if config.api_base_url.startswith("embedded:"):
            what = f"{config.api_base_url!r} is there only while generate or evaluate runs"
            raise RefusedError([Fault("api_base_url", what, "Name the URL of an endpoint")])
        loop = asyncio.get_running_loop()
        if loop not in self._made:
            self._made = {one: made for one, made in self._made.items() if not one.is_closed()}
        made = self._made.setdefault(loop, {})
        key = (config.model_dump_json(), frozenset(config.model_fields_set))
        if key not in made:
            made[key] = make_client(config)
        return made[key]


class DirectRollouts:
    """The part of `Environment` that runs single rollouts; nothing is written.

    `env_client` is an environment that runs elsewhere: an object whose `run_rollout` and
    `run_group` take an input or inputs, the config of one endpoint, model, sampling arguments,
    retries and state columns, and give outputs. None for one that runs here.
    """

    env_client: Any = None
    sampling_args: SamplingArgs
    _client_cache: ClientCache

    @overload
    async def run_rollout(
        self,
        sem: Held,
        input: RolloutInput,
        client: SomeClient,
        model: str,
        sampling_args: SamplingArgs | None = None,
    ) -> State: ...

    @overload
    async def run_rollout(
        self,
        input: RolloutInput,
        client: SomeClient,
        model: str,
        sampling_args: SamplingArgs | None = None,
        max_retries: int = 0,
        state_columns: list[str] | None = None,
        env_client: Any = None,
    ) -> RolloutOutput: ...

    async def run_rollout(self, *args: Any, **kwargs: Any) -> State | RolloutOutput:
        """Runs one rollout and scores it by itself; nothing is written.

        With `sem` first, a semaphore that is held meanwhile or None for none, its final state is
        given back: `run_rollout(sem, input, client, model, sampling_args=None)`. What people's
        code raised is its error.

        Args:
            input: A row that is ready to run.
            client, model, sampling_args: See `generate`. The client of a config stays open and is
                used again by the next call on the same loop.
            max_retries: How often it runs again after a fault of infrastructure, or an answer that
                could not be used.
            state_columns: Further keys of the state for the output.
            env_client: Where the environment runs elsewhere, in place of `self.env_client`.

        Returns:
            The output, in verifiers' own format; its messages are objects.

        Raises:
            ValueError: A state column is not JSON-serializable, or the environment runs elsewhere
                and `client` is no `ClientConfig`.
        """
        if "sem" in kwargs or (args and not isinstance(args[0], Mapping)):
            return await self._rollout_held(*args, **kwargs)
        return await self._rollout_output(*args, **kwargs)

    async def _rollout_held(
        self,
        sem: Held,
        input: RolloutInput,
        client: SomeClient,
        model: str,
        sampling_args: SamplingArgs | None = None,
    ) -> State:
        async with sem or contextlib.nullcontext():
            return await self._one(input, self._client_cache.resolve(client), model, sampling_args)

    async def _rollout_output(
        self,
        input: RolloutInput,
        client: SomeClient,
        model: str,
        sampling_args: SamplingArgs | None = None,
        max_retries: int = 0,
        state_columns: list[str] | None = None,
        env_client: Any = None,
    ) -> RolloutOutput:
        elsewhere = env_client or self.env_client
        if elsewhere is not None:
            config = _config_of(client)
            output: RolloutOutput = await elsewhere.run_rollout(
                input, config, model, sampling_args, max_retries, state_columns
            )
            return output
        one = self._client_cache.resolve(client)
        state = await maybe_retry(self._one, max_retries)(input, one, model, sampling_args)
        return state_to_output(state, state_columns)

    async def run_group(
        self,
        group_inputs: Sequence[RolloutInput],
        client: SomeClient,
        model: str,
        sampling_args: SamplingArgs | None = None,
        max_retries: int = 0,
        state_columns: list[str] | None = None,
        env_client: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Runs the rollouts of one example at the same time and scores them as a group.

        Args:
            group_inputs: One row a rollout.
            client, model, sampling_args: As for `run_rollout`; all rollouts use one endpoint.
            max_retries, state_columns, env_client: As for `run_rollout`. With retries or columns,
                which may be none, outputs are given back, else states.
            kwargs: Not used.

        Returns:
            The final states, or their outputs, in the order of the inputs.

        Raises:
            ValueError: As for `run_rollout`.
        """
        elsewhere = env_client or self.env_client
        if elsewhere is not None:
            given = (model, sampling_args, max_retries, state_columns)
            return await elsewhere.run_group(group_inputs, _config_of(client), *given)
        one = self._client_cache.resolve(client)
        together = maybe_retry(self._together, max_retries)
        states = await together(group_inputs, one, model, sampling_args)
        if not max_retries and state_columns is None:
            return states
        return states_to_outputs(states, state_columns)

    async def _one(
        self, values: RolloutInput, client: Any, model: str, sampling_args: SamplingArgs | None
    ) -> State:
        state = await self._generate(values, client, model, sampling_args)
        if state.get("error") is None:
            await score(cast("Environment", self), [state], together=False)
        return state

    async def _together(
        self,
        inputs: Sequence[RolloutInput],
        client: Any,
        model: str,
        sampling_args: SamplingArgs | None,
    ) -> list[State]:
        runs = (self._generate(values, client, model, sampling_args) for values in inputs)
        states = await asyncio.gather(*runs)
        await score(cast("Environment", self), states, together=True)
        return states

    async def _generate(
        self, values: RolloutInput, client: Any, model: str, sampling_args: SamplingArgs | None
    ) -> State:
        merged = {**self.sampling_args, **(sampling_args or {})}
        return await generate(cast("Environment", self), values, client, model, merged)

    async def start_server(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused: environments run in the process that runs their rollouts.

        Raises:
            RefusedError: Always.
        """
        _refuse_server("start_server")

    async def stop_server(self) -> NoReturn:
        """Refused, like `start_server`."""
        _refuse_server("stop_server")


# What is seen of it is the form that verifiers 0.1.11 has.
DirectRollouts.run_rollout.__signature__ = inspect.signature(  # type: ignore[attr-defined]
    DirectRollouts._rollout_output
)


def _config_of(client: Any) -> ClientConfig:
    """The config of the endpoint that `client_idx` names, for an environment elsewhere.

    Raises:
        ValueError: It is no config.
    """
    if not isinstance(client, ClientConfig):
        kind = type(client).__name__
        raise ValueError(f"A {kind} cannot go to a server: client must be a ClientConfig there")
    configs = client.per_endpoint()
    return configs[client.client_idx % len(configs)]


def _refuse_server(name: str) -> NoReturn:
    what = "an environment has no server of its own here"
    hint = "Take the call out: rollouts run in this process, and many at once"
    raise RefusedError([Fault(name, what, hint)])


T = TypeVar("T")
logger = logging.getLogger(__name__)


def maybe_retry(
    func: Callable[..., Coroutine[Any, Any, T]],
    max_retries: int = 0,
    initial: float = 1.0,
    max_wait: float = 60.0,
    error_types: tuple[type[Exception], ...] = (InfraError, InvalidModelResponseError),
) -> Callable[..., Coroutine[Any, Any, T]]:
    """A function that runs again where the state that it returns has an error of these types.

    Args:
        func: Returns a state, or a list of states.
        max_retries: How often; 0 gives `func` itself. After the last one its result is returned,
            whatever it holds.
        initial, max_wait: Seconds before the second try, doubled with each and up to a second
            longer by chance, and at most.
    """
    if max_retries <= 0:
        return func
    name = getattr(func, "__name__", "unknown")

    async def retried(*args: Any, **kwargs: Any) -> T:
        result: Any = None
        for attempt in range(max_retries + 1):
            try:
                result = await func(*args, **kwargs)
                error = _first_error(result, error_types)
            except error_types as raised:
                error = raised
            if error is None or attempt == max_retries:
                break
            wait = min(initial * 2**attempt + random.uniform(0, 1), max_wait)
            logger.warning(
                "%s: %r; again in %s (%s of %s)",
                *(name, ErrorChain(error), f"{wait:.1f} s", attempt + 1, max_retries),
            )
            await sleep(wait)
        returned: T = result
        return returned

    retried.__name__ = name
    retried.__qualname__ = getattr(func, "__qualname__", name)
    return retried


def _first_error(result: Any, error_types: tuple[type[Exception], ...]) -> Exception | None:
    states: Iterable[Any] = (result,) if isinstance(result, dict) else result
    if not isinstance(result, dict | list):
        return None
    errors = (state.get("error") for state in states)
    return next((error for error in errors if isinstance(error, error_types)), None)
