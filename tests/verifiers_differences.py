"""Places where rows and requests are not those of verifiers 0.1.11, and why."""

from __future__ import annotations

_ASSIGNED = "a message takes `message[key] = value`; there that raises, and is 0"
_RAISES = "what raises is a scoring error on its row; there it is 0"
_ERRORED = "a rollout with an error is not scored; there it is"
_JUDGE = "a judge is asked the question too; there it is empty where messages are objects"
_LIMIT = "the limit of an answer is sent as it is named; there under its newer name"
_EMPTY = "a message with tool calls alone has an empty text; there none"
_UNPARSED = "arguments that are no JSON object go back in one; there as they came"
_NO_TOOL = "a tool that is not there is an error of its own type; there KeyError"
_TASK = "rows built late are of the task `default`; there of the environment's name"
_SEED = "a row says its seed; there it does not"

KNOWN = {
    r"(edited-messages|relay-suite)\.rows\.metrics\.assigned": _ASSIGNED,
    r"boxed-roots\.rows\.metrics\.raises": _RAISES,
    r"locked-door\.rows\.metrics\..*": _ERRORED,
    r"ledger-accounts\.rows\.(reward|metrics\..*)": _ERRORED,
    r"(import-time-judge|judged-titles)\.requests\.messages\.content": _JUDGE,
    r"(typed-desk|river-names|import-time-judge)\.requests\.max(_completion)?_tokens": _LIMIT,
    r"(typed-desk|notebook-session)\.requests\.messages\.content": _EMPTY,
    r"ledger-accounts\.requests\.messages\.content": f"{_EMPTY}; {_NO_TOOL}",
    r"(typed-desk|ledger-accounts)\.requests\.messages\.tool_calls\.arguments": _UNPARSED,
    r"ledger-accounts\.rows\.completion\.content": _NO_TOOL,
    r"river-names\.rows\.task": _TASK,
    r"(lift|counting)-gym\.rows\.info\.gym_seed": _SEED,
}
"""A pattern of places, and the reason. One that is equal in all of its places is left out."""
