"""Expansion of a request to validated plans: of a command line one, of a file all.

The engine expands each request that begins a run, whoever made it: a command, a form, a resume, a
program. Forms, `tui-eval config` and the list of a file's evaluations expand one only to show it.
The whole of it is read before anything is refused, so that people see every fault at once, each
with its place.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tui_eval.config.options import BUDGETS, OPTIONS
from tui_eval.config.plan import Request, RunPlan
from tui_eval.config.plan_builder import Evaluation, compose
from tui_eval.config.request_reading import (
    Defaults,
    ReadRequest,
    Sets,
    TypedValues,
    parse_typed,
    read_request,
)
from tui_eval.config.secret_values import masked
from tui_eval.config.settings import BUILT_IN, SAMPLING, Settings, apply_sets, merged, sampling_args
from tui_eval.errors import Fault, Notice, warning
from tui_eval.pasted import clean_variable, collected

_SAMPLED = {*SAMPLING, "sampling_args"}

_NEEDS = (("shuffle_seed", "shuffle"), ("hf_hub_dataset_name", "save_to_hf_hub"),
          ("accept_changes", "resume"))  # fmt: skip
"""Settings that mean nothing without another one."""


class Expansion(NamedTuple):
    """Evaluations, faults and notices of a request.

    Args:
        evaluations: In the order of the file; of a command line there is one.
        notices: Sentences for people.
        faults: Everything that is wrong, each once.
        top: Settings for all of them: of the top of the file and of `--set`.
        typed: Settings that were typed beside a file.
    """

    evaluations: list[Evaluation]
    notices: list[Notice]
    faults: list[Fault]
    top: Settings
    typed: Settings


class Expander:
    """A request, read once, and expanded for a new run or for one that is resumed.

    Reading is the command line, the file of evaluations, the registry and the servers of this
    machine; choosing a run to resume needs expansions several times, and none of that again.
    Nothing is read before the first expansion, nor when it is not needed.

    On a command line what was typed is stronger than what the environment's pyproject.toml says.
    Beside a TOML file flags that describe an evaluation are ignored: `--set` is stronger than its
    own table, that one than the top of the file, and the environment's pyproject.toml comes last.
    A budget that was typed beside a file of several holds for all of them together: it is in
    `Expansion.typed` and in no plan.
    """

    def __init__(self, request: Request) -> None:
        self.request = request
        self._typed: TypedValues | None = None
        self._read: ReadRequest | None = None
        self._expanded: list[tuple[RunPlan | None, Expansion]] = []

    def read_again(self) -> None:
        """Forgets what was read: the request or the working directory is another one now."""
        self._typed = self._read = None
        self._expanded.clear()

    @property
    def typed(self) -> TypedValues:
        """The values of the command line; they are parsed once."""
        if self._typed is None:
            self._typed = parse_typed(self.request)
        return self._typed

    def expansion(self, before: RunPlan | None = None) -> Expansion:
        """Every evaluation of the request, with its plan where nothing is wrong.

        Args:
            before: The plan of the resumed run: what is not set is as it was then.
        """
        for known, found in self._expanded:
            if known is before:
                return found
        with collected() as pasted:
            if self._read is None:
                self._read = read_request(self.request, self.typed)
            found = _expanded(self.request, self._read, before)
            for evaluation in found.evaluations:
                plan = evaluation.plan or evaluation.draft
                for one in plan.served_at if plan is not None else ():
                    clean_variable(one.key_var)
        self._read.pasted += (one for one in pasted if one not in self._read.pasted)
        notices = found.notices + [warning(one) for one in self._read.pasted]
        found = found._replace(notices=notices)
        self._expanded.append((before, found))
        return found

    def draft(self, before: RunPlan | None = None) -> RunPlan | None:
        """The plan of the first evaluation; where something is wrong, what is known of it."""
        found = self.expansion(before)
        if not found.evaluations:
            return None
        return found.evaluations[0].plan or found.evaluations[0].draft

    def plan(self, before: RunPlan | None = None) -> RunPlan | None:
        """The same; None where anything is wrong with the request."""
        return None if self.expansion(before).faults else self.draft(before)

    @property
    def resume(self) -> str | None:
        """The run that the request resumes: a path, `newest`, or None for a new one."""
        request = self.request
        if request.resume_path or not (request.of_file or request.raw.get("sets")):
            return request.resume_path or request.raw.get("resume")
        evaluations = self.expansion().evaluations
        return evaluations[0].resume if evaluations else None


def expand(request: Request, before: RunPlan | None = None) -> Expansion:
    """Every evaluation that a request amounts to; see `Expander`."""
    return Expander(request).expansion(before)


def _expanded(request: Request, read: ReadRequest, before: RunPlan | None) -> Expansion:
    faults, notices = [*read.faults, *read.unread], list(read.notices)
    if not request.env_id and before is None:
        hint = "Name one, or the run to resume: --resume PATH"
        faults.append(Fault("ENVIRONMENT", "no environment is named", hint))
    takes_default_model = not (request.of_file and read.unread)
    evaluations = []
    for settings in read.own:
        strong = _typed_for(settings, read.typed) if len(read.own) > 1 else read.typed
        layers = [read.top, settings, strong]
        together, wrong = _together(layers, read.sets, before is not None, read.defaults)
        faults += wrong
        evaluation, wrong = compose(
            together, before, read.around, takes_default_model=takes_default_model
        )
        faults += wrong
        evaluations.append(evaluation)
    top = dict(read.top)
    faults += apply_sets(top, read.sets)
    if len(evaluations) > 1:
        _name_differences(evaluations)
    notices += _without_effect(evaluations)
    return Expansion(evaluations, notices, list(dict.fromkeys(faults)), top, read.typed)


def _typed_for(own: Settings, typed: Settings) -> Settings:
    """Typed settings that hold for each evaluation; `--resume` gives way to a path.

    A budget holds for all of them together; that there is none holds for each.
    """
    named = own.get("resume")
    left_out = {name for name in BUDGETS if name in typed and typed[name].value is not None}
    if named is not None and named.value:
        left_out.add("resume")
    return {name: setting for name, setting in typed.items() if name not in left_out}


def _together(
    layers: list[Settings], sets: Sets, is_resumed: bool, defaults: Defaults
) -> tuple[Settings, list[Fault]]:
    """Settings of several places as one, above the defaults of the environment that they name.

    A resumed run is as it was: of the defaults it takes only sampling parameters, and those
    where others were set again, because together they are what they were.
    """
    together = merged(layers)
    apply_sets(together, sets)
    if "env_id" not in together or (is_resumed and not _SAMPLED & together.keys()):
        return together, []
    folder = together.get("env_dir_path")
    where = Path(folder.value if folder else "environments")
    weak, faults = defaults(together["env_id"].value, where)
    if is_resumed:
        weak = {name: setting for name, setting in weak.items() if name in _SAMPLED}
    together = merged([weak, *layers])
    apply_sets(together, sets)
    return together, faults


def _name_differences(evaluations: Sequence[Evaluation]) -> None:
    differences = differing_settings([one.settings for one in evaluations])
    for evaluation, varies in zip(evaluations, differences, strict=True):
        if evaluation.plan is not None:
            evaluation.plan.varies = varies


def _without_effect(evaluations: Sequence[Evaluation]) -> list[Notice]:
    """One sentence for each setting that was set and does nothing.

    What was typed once for several evaluations does something where it does for one of them.
    """
    acting = {
        (name, one.settings[name].source)
        for one in evaluations
        for name, needed in _NEEDS
        if one.settings[needed].value
    }
    reported: dict[str, str] = {}
    for settings in (one.settings for one in evaluations):
        server = settings["disable_env_server"]
        if server.value:
            where = server.where("disable_env_server")
            reported["server"] = f"{where} has no effect: there is no environment server"
        typed = settings["num_examples"].source
        if settings["examples"].value and typed.startswith("-"):
            reported["examples"] = f"{typed} has no effect beside --examples"
        for name, needed in _NEEDS:
            source = settings[name].source
            if source != BUILT_IN and not settings[needed].value and (name, source) not in acting:
                what = f"{settings[name].where(name)} has no effect without {needed}"
                reported.setdefault(name, what)
    return [warning(text) for text in reported.values()]


_TABLES = ("env_args", "extra_env_kwargs")
_SHOWN_OTHERWISE = {"env_id", "name", "model", "endpoint_id", *SAMPLING, "sampling_args", "headers"}

_APART = _SHOWN_OTHERWISE | {one.name for one in OPTIONS if one.describes != "evaluation"}


def differing_settings(evaluations: Sequence[Settings]) -> list[dict[str, str]]:
    """The settings in which not all evaluations agree, as text, of each.

    Keys of tables are distinguished: `env_args.difficulty`. What an evaluation does not set is left
    out of its own. Secrets are hidden.
    """
    flat = [dict(_flat(settings)) for settings in evaluations]
    names = dict.fromkeys(name for one in flat for name in one)
    differing = [name for name in names if len({_identity(one, name) for one in flat}) > 1]
    return [{name: _shown(name, one[name]) for name in differing if name in one} for one in flat]


def _flat(settings: Settings) -> Iterator[tuple[str, Any]]:
    yield "model", str(settings["endpoint_id"].value or settings["model"].value)
    for name, value in sampling_args(settings).items():
        yield name, value
    for name, setting in settings.items():
        if name in _TABLES:
            for key, value in (setting.value or {}).items():
                yield f"{name}.{key}", value
        elif name not in _APART and setting.value is not None:
            yield name, setting.value


def _identity(settings: Mapping[str, Any], name: str) -> object:
    """Key that is equal where two settings are; None where it is not set."""
    if name not in settings:
        return None
    value = settings[name]
    return (type(value), value) if isinstance(value, (str, int, float)) else _text(value)


def _shown(name: str, value: Any) -> str:
    """The text of a setting, or of a key inside of one, without secrets."""
    key = name.rpartition(".")[2]
    return _text(masked({key: value})[key])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
