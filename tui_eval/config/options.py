"""Every setting of an evaluation and of its command, once: flags, keys of files, help, checks.

A flag, a key in a TOML file, a field of the form and a line of the help are four faces of one
setting. They are made from one row, so that a setting has one name, one range and one error text
wherever it is set. Set in several places, it is one setting again: see `merged`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from tui_eval.client_types import CLIENT_TYPES

Kind = Literal["text", "int", "float", "json", "list", "flag", "optional_path", "headers", "sets"]

Describes = Literal["evaluation", "command", "both"]


class Option(NamedTuple):
    """One setting.

    Args:
        name: Key in a request, and in files.
        flags: As typed, the short one first; none where it is in files only.
        default: Value where nothing is set; shown in the help.
        least: Smallest number allowed.
        above: The number must be greater than this one.
        also, also_means: One number allowed beside those from `least` on, and what it stands for.
        choices: The only texts allowed; empty for any.
        group: Its heading in the help.
        describes: `evaluation`: a flag is ignored beside a TOML file, which says it itself.
            `command`: flag only. `both`: may be in a file, and the flag wins over the file.
        spellings: Other keys that mean it in files.
        instead: Advice where a number is too small.
        of_environment: Whether the pyproject.toml of an environment may set it. It must not say
            where something is sent or written.
    """

    name: str
    flags: tuple[str, ...]
    kind: Kind
    help: str
    default: Any = None
    metavar: str = ""
    least: float | None = None
    above: float | None = None
    also: float | None = None
    also_means: str = ""
    instead: str = ""
    choices: tuple[str, ...] = ()
    group: str = ""
    describes: Describes = "evaluation"
    spellings: tuple[str, ...] = ()
    of_environment: bool = True

    @property
    def shown(self) -> str:
        """Its flags for people: `-m/--model`; its name where it has none."""
        return "/".join(self.flags) or self.name

    @property
    def in_files(self) -> bool:
        """Whether it may be in a TOML file."""
        return self.describes != "command"


PROVIDERS = ("openai", "anthropic", "openrouter", "prime", "deepseek", "glm", "minimax", "local",
             "vllm")  # fmt: skip

_MODEL: dict[str, Any] = {"group": "Model"}
_SENT: dict[str, Any] = {"group": "Model", "of_environment": False}
_SAMPLING: dict[str, Any] = {"group": "Sampling"}
_ENVIRONMENT: dict[str, Any] = {"group": "Environment"}
_SCOPE: dict[str, Any] = {"group": "Scope"}
_LIMITS: dict[str, Any] = {"group": "Concurrency and limits"}
_SCORING: dict[str, Any] = {"group": "Scoring"}
_SAVING: dict[str, Any] = {"group": "Saving and resuming", "of_environment": False}
_COMMAND: dict[str, Any] = {"group": "This command", "describes": "command"}
_BOTH: dict[str, Any] = {"describes": "both", "of_environment": False}

_SPEND_NOTHING = "To spend nothing say --dry-run; for no limit leave it out"

OPTIONS: tuple[Option, ...] = (
    Option("env_id", (), "text", "Name of the environment.", spellings=("id",),
           of_environment=False),
    Option("name", (), "text", "What the evaluation is called in lists.", of_environment=False),
    Option("model", ("-m", "--model"), "text", "Alias in the endpoint registry, or with -b or -p "
           "the model's own name.", "gpt-4.1-mini", "NAME", **_MODEL),
    Option("endpoint_id", (), "text", "Alias in the endpoint registry.", **_SENT),
    Option("provider", ("-p", "--provider"), "text", f"Who serves the model: "
           f"{', '.join(PROVIDERS)}.", None, "NAME", choices=PROVIDERS, **_SENT),
    Option("api_base_url", ("-b", "--api-base-url"), "text", "Base URL of an endpoint, in place "
           "of the registry's or the provider's.", None, "URL", **_SENT),
    Option("api_key_var", ("-k", "--api-key-var"), "text", "Name of the environment variable "
           "that holds the key; empty for no key.", None, "VAR", **_SENT),
    Option("api_client_type", ("--api-client-type",), "text", f"Protocol: "
           f"{', '.join(CLIENT_TYPES)}.", None, "TYPE", choices=CLIENT_TYPES, **_SENT),
    Option("stream", ("--stream",), "flag", "Request answers as streams: the screen shows their "
           "text while it comes.", **_SENT),
    Option("no_stream", ("--no-stream",), "flag", "Request answers whole, whatever the registry "
           "says.", **_SENT),
    Option("headers", ("--header",), "headers", "Sent with every request; may be repeated.",
           None, "'NAME: VALUE'", spellings=("header", "extra_headers"), **_SENT),
    Option("endpoints_path", ("-e", "--endpoints-path"), "text", "Endpoint registry: a TOML file, "
           "or the folder that holds endpoints.toml.", "./configs/endpoints.toml", "PATH", **_SENT),
    Option("temperature", ("-T", "--temperature"), "float", "Sampling temperature.", None, "X", 0,
           **_SAMPLING),
    Option("max_tokens", ("-t", "--max-tokens"), "int", "Tokens of one answer at most.", None,
           "N", 1, **_SAMPLING),
    Option("sampling_args", ("-S", "--sampling-args"), "json", "Sampling parameters as a JSON "
           "object; they win over temperature and max_tokens.", None, "JSON",
           spellings=("sampling",), **_SAMPLING),
    Option("env_args", ("-a", "--env-args"), "json", "Arguments of load_environment as a JSON "
           "object.", None, "JSON", spellings=("args",), **_ENVIRONMENT),
    Option("extra_env_kwargs", ("-x", "--extra-env-kwargs"), "json", "Settings of the environment "
           "that replace those of its constructor, as a JSON object.", None, "JSON",
           **_ENVIRONMENT),
    Option("env_dir_path", ("--env-dir-path",), "text", "Where local environments are.",
           "./environments", "DIR", of_environment=False, **_ENVIRONMENT),
    Option("python", ("--python",), "text", "Interpreter that the environment runs in, or its "
           "virtual environment's folder; that of tui-eval if left out.", None, "PATH",
           **_ENVIRONMENT),
    Option("no_alias", ("--no-alias",), "flag", "Leave `import verifiers` to the installed "
           "package; otherwise it means tui_eval.", **_ENVIRONMENT),
    Option("disable_env_server", ("--disable-env-server",), "flag", "Accepted without effect: "
           "there is no environment server.", describes="both", **_ENVIRONMENT),
    Option("num_examples", ("-n", "--num-examples"), "int", "Examples of the dataset; -1 for "
           "all.", 5, "N", 1, also=-1, also_means="for all", **_SCOPE),
    Option("examples", ("--examples",), "list", "Only these examples, by their ids, in this "
           "order; -n does not count then. Ids with commas: '[\"a,b\"]'.", None, "ID,ID",
           of_environment=False, **_SCOPE),
    Option("rollouts_per_example", ("-r", "--rollouts-per-example"), "int", "Rollouts of each "
           "example.", 3, "N", 1, **_SCOPE),
    Option("shuffle", ("--shuffle",), "flag", "Take the examples in a random order, always the "
           "same for a seed.", **_SCOPE),
    Option("shuffle_seed", ("--shuffle-seed",), "int", "Seed of that order.", 0, "N", 0, **_SCOPE),
    Option("max_concurrent", ("-c", "--max-concurrent"), "int", "Maximum number of "
           "concurrent rollouts; 0 for no limit.", 32, "N", 0, also=-1, also_means="for no limit",
           **_LIMITS),
    Option("max_concurrent_generation", ("--max-concurrent-generation",), "int", "Rollouts that "
           "are generated concurrently; as many as -c if left out.", None, "N", 1, **_LIMITS),
    Option("max_concurrent_scoring", ("--max-concurrent-scoring",), "int", "Rollouts that are "
           "scored concurrently; as many as -c if left out.", None, "N", 1, **_LIMITS),
    Option("num_workers", ("-w", "--num-workers"), "int", "Run the rollouts in so many processes; "
           "`auto` for another one whenever a core is full.", 1, "N|auto", 1, **_LIMITS),
    Option("worker_memory", ("--worker-memory",), "text", "What one of them may take, as in 2GB; "
           "one that takes more is replaced.", None, "SIZE", **_LIMITS),
    Option("no_adaptive", ("--no-adaptive",), "flag", "Keep the concurrency as it is "
           "where an endpoint refuses requests (429, 529); otherwise it gives way.", **_LIMITS),
    Option("max_retries", ("--max-retries",), "int", "How often a rollout that failed for its "
           "endpoint or infrastructure is run again.", 0, "N", 0, **_LIMITS),
    Option("timeout", ("--timeout",), "float", "Seconds that one rollout may take.", None,
           "SECONDS", above=0, **_LIMITS),
    Option("call_timeout", ("--call-timeout",), "float", "Seconds that one call of an "
           "environment's code may take: a tool, a reward, its setup.", None, "SECONDS", above=0,
           **_LIMITS),
    Option("max_cost", ("--max-cost",), "float", "Stop softly once the run has cost so much; "
           "exit code 4. `none` lifts what a file says.", None, "USD", above=0,
           instead=_SPEND_NOTHING, group="Concurrency and limits", **_BOTH),
    Option("max_total_tokens", ("--max-total-tokens",), "int", "Stop softly after so many tokens; "
           "exit code 4. `none` lifts what a file says.", None, "N", 1, instead=_SPEND_NOTHING,
           group="Concurrency and limits", **_BOTH),
    Option("until", ("--until",), "text", "Stop early, with exit code 0, once this is true of the "
           "rewards so far, as in 'width(reward) < 0.05'. `none` lifts what a file says.", None,
           "CONDITION", group="Concurrency and limits", **_BOTH),
    Option("independent_scoring", ("-i", "--independent-scoring"), "flag", "Score every rollout "
           "by itself, not with the others of its example.", **_SCORING),
    Option("no_interleave_scoring", ("-N", "--no-interleave-scoring"), "flag", "Score when all "
           "rollouts are generated.", **_SCORING),
    Option("pass_threshold", ("--pass-threshold",), "float", "Reward from which on a rollout "
           "passes; the environment's own if left out.", None, "X", **_SCORING),
    Option("save_results", ("-s", "--save-results"), "flag", "Keep the run beside its "
           "environment or in ./outputs.", **_SAVING),
    Option("output_dir", ("-o", "--output-dir"), "text", "Keep the run under this folder.", None,
           "DIR", **_SAVING),
    Option("state_columns", ("-C", "--state-columns"), "list", "Keys of the state to save with "
           "every rollout.", None, "A,B", group="Saving and resuming"),
    Option("resume", ("-R", "--resume"), "optional_path", "Resume an interrupted run: the "
           "one at PATH, or the newest that matches.", None, "[PATH]",
           group="Saving and resuming", spellings=("resume_path",), **_BOTH),
    Option("keep_errors", ("--keep-errors",), "flag", "On resume, do not run errored rollouts "
           "again.", group="Saving and resuming", describes="command"),
    Option("accept_changes", ("--accept-changes",), "flag", "On resume, continue although settings "
           "differ from the run's.", group="Saving and resuming", describes="command"),
    Option("save_to_hf_hub", ("-H", "--save-to-hf-hub"), "flag", "Push the rollouts to the "
           "Hugging Face hub once the run is finished.", **_SAVING),
    Option("hf_hub_dataset_name", ("-D", "--hf-hub-dataset-name"), "text", "Name of the dataset "
           "on the hub.", None, "OWNER/NAME", **_SAVING),
    Option("verbose", ("-v", "--verbose"), "flag", "Log requests, answers, tools, state and "
           "rewards; without a screen on stderr as well.", group="This command", **_BOTH),
    Option("debug", ("-d", "--debug", "--no-screen"), "flag", "Plain lines in place of the screen.",
           group="This command", **_BOTH),
    Option("tui", ("-u", "--tui"), "flag", "Full screen; the default where there is a terminal.",
           **_COMMAND),
    Option("abbreviated_summary", ("-A", "--abbreviated-summary"), "flag", "A summary without "
           "tables.", **_COMMAND),
    Option("json", ("--json",), "flag", "Print one JSON summary on stdout and nothing else.",
           **_COMMAND),
    Option("dry_run", ("--dry-run",), "flag", "Say what would run, and run nothing.", **_COMMAND),
    Option("no_preflight", ("--no-preflight",), "flag", "Begin without trying endpoint, reward "
           "functions, columns and outputs folder.", **_COMMAND),
    Option("heartbeat_url", ("--heartbeat-url",), "text", "Gets a GET after every finished group "
           "of rollouts.", None, "URL", group="This command", **_BOTH),
    Option("heartbeat_status", ("--heartbeat-status",), "flag", "Notify that URL of the run's "
           "start and end as well, with ?status=.", group="This command", **_BOTH),
    Option("sets", ("--set",), "sets", "Replace a setting, of a TOML file too; may be repeated: "
           "--set num_examples=3 --set env_args.split=test.", None, "KEY=VALUE", **_COMMAND),
)  # fmt: skip

BY_NAME = {option.name: option for option in OPTIONS}

FILE_KEYS = {
    key: option for option in OPTIONS if option.in_files for key in (option.name, *option.spellings)
}
"""Options by the keys that mean them in TOML files."""

BUDGETS = ("max_cost", "max_total_tokens")
"""Settings that say what may be spent."""

OF_ONE_COMMAND = (*BUDGETS, "until")
"""Settings that stop a run; they hold for one invocation and not for a resume."""

ALL_CORES = "auto"
"""Typed in place of a number of workers: as many as there are cores."""

NO_BUDGET = "none"
"""Typed in place of one of them it lifts the one that a file says."""

TYPED_KEY_VAR = "TUI_EVAL_API_KEY"
"""Variable with a typed key for the engine: it is in no request and in no file."""

NUMBERS_TOO = frozenset(("examples",))
"""Lists that may hold whole numbers beside texts, as many datasets number their examples."""

PATHS = frozenset(("endpoints_path", "env_dir_path", "output_dir", "resume"))
"""Options whose text names a file or folder."""

MAY_BE_EMPTY = frozenset(("api_key_var",))
"""An empty name of a key variable says that no key is needed."""

NEWEST = "newest"
"""The value of `resume` where `--resume` was typed without a path."""

DEMO: dict[str, str | bool] = {
    "model": "demo",
    "num_examples": "12",
    "rollouts_per_example": "4",
    "temperature": "0.8",
    "save_results": True,
}
"""Settings of `tui-eval demo`, by name of the option."""

_FLAGS = {flag for option in OPTIONS for flag in option.flags}


class Setting(NamedTuple):
    """A value, and where it came from: `file:line`, a flag, or `built-in`."""

    value: Any
    source: str

    def where(self, name: str) -> str:
        """Place at which a fault of it is reported."""
        if ":" in self.source:
            return f"{self.source}, {name}"
        return self.source if self.is_renamed else BY_NAME[name].shown

    @property
    def is_renamed(self) -> bool:
        """Whether it was typed as a flag that `tui-eval run` has under another name."""
        return self.source.startswith("--") and self.source not in _FLAGS


Settings: TypeAlias = dict[str, Setting]
"""Settings by the names of their options."""

SAMPLING = ("temperature", "max_tokens")
"""Sampling parameters that are settings of their own."""

RIVALS = {"model": "endpoint_id", "endpoint_id": "model"}
"""Two settings that name the model: the one from the stronger place holds."""


def merged(layers: Sequence[Settings]) -> Settings:
    """Settings of several places as one.

    The last layer is the strongest. A table replaces a table; a sampling parameter of a weaker
    layer than `sampling_args` gives way to it, one of a stronger layer is taken out of it.
    """
    together: Settings = {}
    ranks: dict[str, int] = {}
    for rank, layer in enumerate(layers):
        for name, setting in layer.items():
            together[name] = setting
            ranks[name] = rank
        for name, rival in RIVALS.items():
            if name in layer and ranks.get(rival, rank) < rank:
                del together[rival], ranks[rival]
    sampling = together.get("sampling_args")
    for name in SAMPLING:
        if sampling and sampling.value and name in together and name in sampling.value:
            if ranks[name] > ranks["sampling_args"]:
                rest = {key: value for key, value in sampling.value.items() if key != name}
                sampling = together["sampling_args"] = Setting(rest or None, sampling.source)
            else:
                together[name] = Setting(sampling.value[name], sampling.source)
    return together
