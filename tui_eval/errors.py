"""Every class of error of this program, the refusal of a plan, and what is reported beside it.

The first column is what failed (see `error_classes`), so that a failure of the plumbing is never
taken for one of the model. The second is where the error comes from; `authors` raise it themselves.

Error                               environment   recorded on a rollout, with its causes
├── ModelError                      endpoint      clients/base.py
│   ├── InvalidModelResponseError   endpoint      clients/wire/failed_answers.py
│   │   └── EmptyModelResponseError endpoint      clients/wire/chat_answer.py
│   └── PromptRefusedError          model         clients/refused_prompts.py
├── OverlongPromptError             model         clients/refused_prompts.py
├── ToolError                       tool          authors
│   ├── ToolParseError              tool          environments/tool_env.py
│   ├── ToolCallError               tool          environments/tool_env.py
│   └── MCPToolError                tool          environments/adapters/mcp_sdk.py
├── InfraError                      environment   environments/one_rollout.py
│   ├── RolloutTimeoutError         environment   worker/early_end.py: of what was in progress
│   ├── CallTimeoutError            environment   call_limits.py: of what was called
│   ├── WorkerEndedError            environment   worker/end_causes.py: of what was called last
│   ├── MCPServerError              environment   environments/adapters/mcp_connection.py
│   ├── TunnelError                 sandbox       authors
│   └── SandboxError                sandbox       environments/adapters/openenv_server.py
│       └── BrowserSandboxError     sandbox       authors
├── AgentError                      environment   compat/osmosis/environment.py
├── CancelledByUserError            engine        worker/rollout_observer.py
└── ScoringError                    scoring       rubrics/scored_state.py
    └── JudgeError                  judge         rubrics/judge_call.py

RefusedError                        exit code 2   what was requested cannot be run; config/, engine/
├── UnwritableError                 exit code 1   runs/export/writer.py
├── ConditionError                  exit code 2   fold/query/condition_parser.py
└── FilterError                     exit code 2   fold/query/filter_parser.py

Raised by an environment's or a tool's machinery, and recorded as any exception of its code is:

MissingKeyError                                   environments/keys.py
UnknownToolError                                  environments/tool_env.py
TooManyLeftBehindError                            plain_calls/threads.py
NeedsMainThreadError                              plain_calls/main_thread.py
OsmosisRolloutError                               authors
├── OsmosisTransportError                         authors
├── OsmosisTimeoutError                           authors
├── OsmosisServerError                            authors
├── OsmosisValidationError                        authors
├── AgentLoopNotFoundError                        authors
└── ToolExecutionError                            authors
    └── ToolArgumentError                         compat/osmosis/tools.py

Caught by whoever calls, never recorded:

ReportedError                                     clients/wire/failed_answers.py
InvalidActionError                                environments/adapters/openenv_session.py
GivenUp                                           plain_calls/call.py
LockHeldError                                     runs/lock.py
FileChangedError                                  runs/appended_file.py
BrokenIndexError                                  runs/row_index.py
PatternTooSlowError                               fold/query/patterns.py
NothingMeasuredError                              fold/pilot.py
NoProgramError                                    tui/copying/elsewhere.py
BadRequestError                                   demo/chat_request.py
"""

from __future__ import annotations

import difflib
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

_OURS = str(Path(__file__).parent)
_BUNDLED = str(Path(__file__).parent / "demo" / "environments")


class Error(Exception):
    """Base of every error that belongs to one rollout.

    Attributes:
        error_class: One of `error_classes.ERROR_CLASSES`.
    """

    error_class: str = "environment"


class ModelError(Error):
    """A model call failed; the provider's exception is its `__cause__`."""

    error_class = "endpoint"


class InvalidModelResponseError(ModelError):
    """The endpoint answered with something that is not one usable answer.

    `usage` is what it cost all the same, where it says so.
    """

    usage: Any = None


class EmptyModelResponseError(InvalidModelResponseError):
    """The answer has neither text, nor reasoning, nor tool calls."""


class PromptRefusedError(ModelError):
    """The endpoint refuses the request for what the conversation holds, as a filter does."""

    error_class = "model"


class OverlongPromptError(Error):
    """The prompt does not fit into the model's context."""

    error_class = "model"


class ToolError(Error):
    """A tool could not be used."""

    error_class = "tool"


class ToolParseError(ToolError):
    """The arguments of a tool call are not a JSON object."""


class ToolCallError(ToolError):
    """The tool itself raised."""


class InfraError(Error):
    """Something around the rollout failed: a sandbox, a tunnel, a network."""


class RolloutTimeoutError(InfraError):
    """The rollout took longer than it may; its class is that of what was in progress then."""


class CallTimeoutError(InfraError):
    """A call of people's code took longer than it may; its class is that of what was called."""

    @classmethod
    def of(cls, what: str, seconds: float, error_class: str) -> CallTimeoutError:
        """The error of one call; `what` was called: `Tool 'search'`."""
        error = cls(f"{what} took longer than {seconds:g} s (--call-timeout)")
        error.error_class = error_class
        return error


class WorkerEndedError(InfraError):
    """The rollout's code ended its own process; its class is that of the call under way."""


class CancelledByUserError(Error):
    """Somebody ended the rollout; it runs again like any errored one."""

    error_class = "engine"


class TunnelError(InfraError):
    """A tunnel could not be opened or broke."""

    error_class = "sandbox"


class SandboxError(InfraError):
    """A sandbox could not be created or used."""

    error_class = "sandbox"


class BrowserSandboxError(SandboxError):
    """A browser sandbox could not be created or used."""


class ScoringError(Error):
    """A reward function raised or returned something that is not a finite number."""

    error_class = "scoring"


class JudgeError(ScoringError, RuntimeError):
    """A judge gave no verdict; the client's exception is its `__cause__`."""

    error_class = "judge"


def get_error_chain(
    error: BaseException | None, parent_type: type[BaseException] | None = None
) -> list[BaseException]:
    """An exception with its causes, outermost first.

    Args:
        parent_type: The chain ends before the first one that is of no such type.
    """
    chain: list[BaseException] = []
    while error is not None and error not in chain:
        if parent_type is not None and not isinstance(error, parent_type):
            break
        chain.append(error)
        error = error.__cause__
    return chain


def get_vf_error_chain(error: BaseException) -> list[BaseException]:
    """An exception with its causes as far as they are errors of this module."""
    return get_error_chain(error, Error)


class ErrorChain:
    """An exception with its causes, outermost first.

    Two chains are equal when the names of their types are; `SomeError in chain` is true where any
    link is an instance of `SomeError`.

    Args:
        error: The outermost one, kept as `root_error`.
        build_error_chain: Finds the others, its `__cause__` and theirs by default; all of them are
            kept as `chain`.
    """

    def __init__(
        self,
        error: BaseException,
        build_error_chain: Callable[[BaseException], list[BaseException]] = get_error_chain,
    ) -> None:
        self.root_error = error
        self.chain = build_error_chain(error)

    def __contains__(self, kind: type[BaseException]) -> bool:
        return any(isinstance(link, kind) for link in self.chain)

    def __iter__(self) -> Iterator[BaseException]:
        return iter(self.chain)

    def _names(self) -> tuple[str, ...]:
        return tuple(type(link).__name__ for link in self.chain)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ErrorChain):
            return NotImplemented
        return self._names() == other._names()

    def __hash__(self) -> int:
        return hash(self._names())

    def __str__(self) -> str:
        return " -> ".join(self._names())

    def __repr__(self) -> str:
        return " -> ".join(map(_repr, self.chain))


def _repr(error: BaseException) -> str:
    try:
        return repr(error)
    except Exception:  # its class is people's code
        return f"{type(error).__name__}(...)"


class Fault(NamedTuple):
    """One thing that is wrong with what was requested.

    A named tuple, as is `Notice`: this module is loaded before the first line on the terminal, and
    msgspec is slow to compile where there is no byte code.

    Args:
        where: The flag, file or key at fault, as the user wrote it.
        what: What is wrong, in one sentence without a full stop.
        hint: What to do about it; empty when the sentence says it.
    """

    where: str
    what: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" + (f". {self.hint}" if self.hint else "")


class Notice(NamedTuple):
    """A sentence for people about a plan that is not refused.

    Args:
        level: `info` or `warning`.
    """

    text: str
    level: str = "info"

    def __str__(self) -> str:
        return f"{self.level}: {self.text}"


def warning(text: str) -> Notice:
    """A notice of something that is probably not what the user wants."""
    return Notice(text, "warning")


class RefusedError(ValueError):
    """The request cannot be run; carries every fault that was found, not only the first.

    Args:
        faults: Each says what is wrong, where, and what to do.
    """

    exit_code: ClassVar[int] = 2

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = list(faults)
        super().__init__("\n".join(str(fault) for fault in self.faults))


class UnwritableError(RefusedError):
    """The output cannot be written to its place: the disk is full, a device is closed."""

    exit_code = 1


ALIKE = 0.7
"""From which likeness on a name may be a slip of another one, from 0 to 1."""


def nearest(name: str, valid: Iterable[str], most: int = 3) -> str:
    """The valid names that a wrong one may be a slip or a part of, as a sentence, or nothing."""
    likeness = ((difflib.SequenceMatcher(None, one, name).ratio(), one) for one in valid)
    found = sorted(
        (one for one in likeness if one[0] >= ALIKE or _holds(one[1], name)), reverse=True
    )
    return f"Did you mean {' or '.join(one for _, one in found[:most])}?" if found else ""


def _holds(one: str, other: str) -> bool:
    """Whether one of two names is in the other one, or three letters of it at its start."""
    short, long = sorted((one, other), key=len)
    return (len(short) > 3 and short in long) or (len(short) == 3 and long.startswith(short))


def must_propagate(error: BaseException) -> bool:
    """Whether an exception of people's code must propagate instead of being recorded.

    The running task's own cancellation and Ctrl-C must. What people's code raised by itself must
    not: that is any `Exception`, a `SystemExit`, a cancellation that nobody requested of this task,
    and a `KeyboardInterrupt` where `ctrl_c_raises_nothing` was called.
    """
    import asyncio

    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is None or task.cancelling() > 0
    if isinstance(error, KeyboardInterrupt):
        return _ctrl_c_raises
    return not isinstance(error, (Exception, SystemExit))


def is_cancellation(error: BaseException) -> bool:
    """Whether a rollout's own task was cancelled: all else that people's code raises is data."""
    import asyncio

    return isinstance(error, asyncio.CancelledError) and must_propagate(error)


_ctrl_c_raises = True


def ctrl_c_raises_nothing() -> None:
    """Says that this process has a handler for SIGINT: a `KeyboardInterrupt` is people's own."""
    global _ctrl_c_raises
    _ctrl_c_raises = False


def traceback_text(error: BaseException) -> str:
    """The traceback of an exception with its causes, as Python prints it.

    Our own frames above the first one of people's code are left out, where there is such code.
    """
    whole = traceback.TracebackException.from_exception(error)
    link: traceback.TracebackException | None = whole
    while link is not None:
        theirs = [place for place, frame in enumerate(link.stack) if not is_ours(frame.filename)]
        if theirs:
            link.stack = traceback.StackSummary.from_list(link.stack[theirs[0] :])
        link = link.__cause__ or link.__context__
    return "".join(whole.format())


def is_raised_here(error: BaseException) -> bool:
    """Whether no code but this program's had a part in an exception; its causes do not count."""
    return all(is_ours(frame.filename) for frame in traceback.extract_tb(error.__traceback__))


def is_ours(filename: str) -> bool:
    """Whether a file of code is a part of this program, bundled environments not counted."""
    return filename.startswith(_OURS) and not filename.startswith(_BUNDLED)
