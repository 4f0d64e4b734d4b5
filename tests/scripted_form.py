"""A form whose questions are answered by a script: no engine, no registry, no disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scripted_run import NOW, ScriptedFeed

from tui_eval.config.draft import Draft
from tui_eval.config.form import Form
from tui_eval.errors import Fault
from tui_eval.tui.app import TuiEvalApp
from tui_eval.tui.base.preferences import Preferences
from tui_eval.tui.form.backend import Offer
from tui_eval.tui.form.screen import ConfigureScreen

README = """\
# reverse-text

Reverse a sentence letter by letter: one turn, an answer in XML, partial credit.

## Rewards

The answer is compared with the sentence, character by character; the format counts a tenth.
"""


def parameter(name: str, kind: str, default: Any, about: str = "", **more: Any) -> dict[str, Any]:
    return {
        "name": name, "kind": kind, "choices": [], "nullable": False, "required": False,
        "default": default, "annotation": {"text": "str", "flag": "bool"}.get(kind, kind),
        "shape": "any", "help": about, **more,
    }  # fmt: skip


def described(env_id: str, *parameters: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "status": "described", "env_id": env_id, "origin": "local", "release": "1.2.0",
        "path": f"environments/{env_id.replace('-', '_')}.py", "docstring": "",
        "module_docstring": "", "readme": README, "parameters": list(parameters),
        "takes_others": False, "defaults": {}, "faults": [], **more,
    }  # fmt: skip


REVERSE = described(
    "reverse-text",
    parameter("split", "choice", "train", "Which part of the data.", choices=["train", "test"]),
    parameter("max_words", "int", 12, "Longest sentence; the shortest have 6 words."),
    parameter("keep_case", "flag", True, "Whether capitals stay as they are."),
    parameter("system_prompt", "text", None, nullable=True, annotation="str | None"),
    defaults={"num_examples": {"value": 50, "source": "environments/pyproject.toml:12"}},
)
PLAN: dict[str, Any] = {
    "env_id": "reverse-text", "model": "demo-scripted-policy", "base_url": "embedded:demo",
    "examples": 50, "rollouts_per_example": 3, "rollouts": 150, "left": 150, "goes_on": None,
    "first_prompt": [
        {"role": "system", "content": "Reverse the text that you are given."},
        {"role": "user", "content": "The quick brown fox jumps over the lazy dog."},
    ],
    "tools": [],
    "reward_functions": [
        {"name": "exact", "weight": 0.5}, {"name": "similarity", "weight": 0.4},
        {"name": "format_reward", "weight": 0.1},
    ],
    "estimate": {
        "how": "Estimated for one model call per rollout: characters of prompt and tools / 4, and "
        "max_tokens for each answer; further turns cost more",
        "input_tokens": 12_345, "output_tokens": 76_800, "usd": 0.0433,
    },
    "notices": [],
}  # fmt: skip
ENVIRONMENTS = [
    Offer("calculator", "bundled  Word problems with a calculator: several tools, several turns."),
    Offer("reverse-text", "local    Reverse a sentence letter by letter."),
    Offer("word-guess", "bundled  Guess a hidden five-letter word from clues."),
]
ELSEWHERE = {"endpoint_id": "", "provider": "", "api_base_url": ""}
ENDPOINTS = [
    Offer("gpt-4.1-mini", "OPENAI_API_KEY is not set · gpt-4.1-mini at https://api.openai.com/v1",
          "model: gpt-4.1-mini\nat: https://api.openai.com/v1\nkey: OPENAI_API_KEY, which is not "
          "set\nprice of a million tokens: $0.4 in, $1.6 out\nfrom: configs/endpoints.toml:1",
          ELSEWHERE, good=False),
    Offer("demo", "demo-scripted-policy at embedded:demo",
          "model: demo-scripted-policy\nat: embedded:demo\nkey: none"
          "\nprice of a million tokens: $0.4 in, $0.5 out\nfrom: configs/endpoints.toml:9",
          ELSEWHERE),
]  # fmt: skip


class ScriptedBackend:
    """Knows one environment and two endpoints; remembers its requests."""

    def __init__(self, plan: Mapping[str, Any] = PLAN) -> None:
        self.plan = plan
        self.estimated: list[Mapping[str, Any]] = []

    def check(self, request: Mapping[str, Any]) -> list[Fault]:
        model = request["raw"].get("model", "gpt-4.1-mini")
        if request["env_id"] is None:
            return []
        if model == "gpt-4.1-mini" and "text" not in request:
            what = "OPENAI_API_KEY: this variable, which holds the key, is not set"
            return [Fault("--model gpt-4.1-mini", what, "export OPENAI_API_KEY=...")]
        if model == "dem":
            return [Fault("-m/--model", "no endpoint is called 'dem'", "Did you mean demo?")]
        return []

    def endpoints(self, registry: str | None) -> Sequence[Offer]:
        return ENDPOINTS

    def files(self) -> Sequence[Offer]:
        return [Offer("monday.toml")]

    def resumable(self, environments_dir: str) -> Sequence[Offer]:
        return [Offer("newest", "the newest run that matches")]

    async def environments(self, environments_dir: str) -> Sequence[Offer]:
        return ENVIRONMENTS

    async def describe(self, env_id: str, form: Form) -> dict[str, Any]:
        if env_id == "reverse-text":
            return REVERSE
        if env_id in ("calculator", "word-guess"):
            return described(env_id, readme=f"# {env_id}", origin="bundled")
        what = "there is no such environment"
        fault = {"where": f"environment {env_id}", "what": what, "hint": "Did you mean calculator?"}
        return {"status": "refused", "faults": [fault]}

    async def estimate(self, request: Mapping[str, Any]) -> dict[str, Any]:
        self.estimated.append(request)
        return dict(self.plan)


def draft_of(**texts: str) -> Draft:
    draft = Draft()
    for name, text in texts.items():
        draft.form.put(name, text)
    return draft


class FormApp(TuiEvalApp):
    """The app with a form first; `requests` are those that it was to begin."""

    def __init__(self, form: ConfigureScreen, preferences: Preferences | None) -> None:
        self.configure = form
        self.requests: list[dict[str, Any]] = []
        super().__init__(
            ScriptedFeed(),
            now=lambda: NOW,
            form=form,
            begin=self.requests.append,
            preferences=preferences,
        )


def form_app(
    draft: Draft | None = None,
    backend: ScriptedBackend | None = None,
    preferences: Preferences | None = None,
    refused: Sequence[Fault] = (),
) -> FormApp:
    """The app with a form first, which an engine may have refused before."""
    form = ConfigureScreen(
        backend or ScriptedBackend(), draft or Draft(), lambda: NOW, refused=refused
    )
    return FormApp(form, preferences)


MONDAY = """\
# What we run on Mondays.
model = "demo"            # cheap

[sampling]
temperature = 0.7  # as the paper
max_tokens = 512

# The first.
[[eval]]
rollouts_per_example = 4   # four
num_examples = 8
env_id = "reverse-text"
name = "long sentences"

[eval.env_args]
max_words = 20      # lucky

[[eval]]
env_id = "calculator"
rollouts_per_example = 4
num_examples = 10
"""

SEVERAL: dict[str, Any] = {
    "rollouts": 72, "max_concurrent": 32, "notices": [],
    "estimate": PLAN["estimate"] | {"input_tokens": 5_926, "output_tokens": 36_864, "usd": 0.0208},
    "evaluations": [
        {"title": "long sentences", "varies": {"max_words": "20"}, "examples": 8,
         "rollouts_per_example": 4, "rollouts": 32, "left": 32},
        {"title": "calculator", "varies": {}, "examples": 10, "rollouts_per_example": 4,
         "rollouts": 40, "left": 40},
    ],
}  # fmt: skip


def monday() -> FormApp:
    return form_app(Draft(MONDAY, Path("monday.toml")), ScriptedBackend(SEVERAL))


def ready() -> FormApp:
    return form_app(draft_of(env_id="reverse-text", model="demo", max_tokens="512", timeout="90"))


def wrong() -> FormApp:
    texts = {"env_id": "reverse-text", "model": "dem", "num_examples": "many"}
    return form_app(draft_of(**texts, sampling_args='{"top_p": 0.9'))
