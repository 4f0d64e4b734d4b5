"""Expansion of a request to validated plans: of a command line one, of a file all.

The engine expands each request that begins a run, whoever made it: a command, a form, a resume, a
program. Forms, `tui-eval config` and the list of a file's evaluations expand one only to show it.
The whole of it is read before anything is refused, so that people see every fault at once, each
with its place.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from tui_eval.config.endpoint_resolution import Surroundings
from tui_eval.config.endpoints import read_registry, registry_path
from tui_eval.config.environment_defaults import environment_defaults
from tui_eval.config.eval_file import EvalFile, read_eval_file
from tui_eval.config.local_servers import find_servers
from tui_eval.config.options import BUDGETS, BY_NAME, SAMPLING, Setting, Settings, merged
from tui_eval.config.plan import Request, RunPlan
from tui_eval.config.plan_builder import Evaluation, compose
from tui_eval.config.settings import BUILT_IN, apply_sets, differing_settings
from tui_eval.config.values import parse_values
from tui_eval.errors import Fault, Notice, warning
from tui_eval.pasted import clean_variable, collected

_SAMPLED = {*SAMPLING, "sampling_args"}

_NEEDS = (("shuffle_seed", "shuffle"), ("hf_hub_dataset_name", "save_to_hf_hub"),
          ("accept_changes", "resume"))  # fmt: skip
"""Settings that mean nothing without another one."""

Defaults: TypeAlias = Callable[[str, Path], tuple[Settings, list[Fault]]]
"""Reads the defaults of an environment, given its name and the folder of local ones."""


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


class TypedValues(NamedTuple):
    """Typed options that act.

    Args:
        values: Values of the valid options, by name.
        sets: Values of `--set`: a dotted key in parts, and text.
        faults: Faults of the others.
        notices: Sentences on flags that are ignored.
        pasted: Sentences on what came along with pasted text.
    """

    values: dict[str, Any]
    sets: Sequence[tuple[list[str], str]]
    faults: list[Fault]
    notices: list[Notice]
    pasted: list[str]


class _Read(NamedTuple):
    """Settings of a request, and `unread`, the faults of its file."""

    typed: TypedValues
    flags: Settings
    file: EvalFile
    unread: list[Fault]
    around: Surroundings
    defaults: Defaults


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
        self._read: _Read | None = None
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
                self._read = _read(self.request, self.typed)
            found = _expanded(self.request, self._read, before)
            for evaluation in found.evaluations:
                plan = evaluation.plan or evaluation.draft
                for one in plan.served_at if plan is not None else ():
                    clean_variable(one.key_var)
        reported = self.typed.pasted
        reported += (one for one in pasted if one not in reported)
        notices = found.notices + [warning(one) for one in reported]
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


def parse_typed(request: Request) -> TypedValues:
    """Values of the options that were typed, as far as they act beside the file.

    The command line has parsed them; a form or a program sends text.
    """
    raw, notices = _acting(request)
    if request.parsed is None:
        with collected() as pasted:
            values, faults = parse_values(raw)
    else:
        given, pasted = request.parsed
        acting = {BY_NAME[name].shown: name for name in raw if name in BY_NAME}
        faults = [Fault(*one) for one in given if one[0] in acting]
        wrong = {acting[one.where] for one in faults} - {"sets"}  # those that are right are there
        values = {name: raw[name] for name in acting.values() if name not in wrong}
    sets = values.pop("sets", [])
    return TypedValues(values, sets, faults, notices, [*pasted])


def _acting(request: Request) -> tuple[dict[str, Any], list[Notice]]:
    """Typed options that act: beside a file not those that describe an evaluation."""
    typed = request.raw
    ignored = {
        name: BY_NAME[name]
        for name, value in typed.items()
        if name in BY_NAME and BY_NAME[name].describes == "evaluation" and value is not None
    }
    if not (request.of_file and ignored):
        return typed, []
    flags = ", ".join(option.shown for option in ignored.values())
    first = next(iter(ignored))
    notice = (
        f"Beside {request.env_id} these flags are ignored: {flags}. Write them into the file, or "
        f"replace its settings with --set {first}=..."
    )
    return {name: text for name, text in typed.items() if name not in ignored}, [warning(notice)]


def _read(request: Request, typed: TypedValues) -> _Read:
    """Reads the file of evaluations, if there is one, once the command line is parsed."""
    named = {"env_id": Setting(request.env_id, "ENVIRONMENT")} if request.env_id else {}
    file, unread = EvalFile({}, [named]), list[Fault]()
    if request.of_file:
        file, unread = read_eval_file(Path(str(request.env_id)), request.text)
    flags = {
        name: Setting(value, request.flags.get(name) or BY_NAME[name].flags[-1])
        for name, value in typed.values.items()
    }
    once = functools.cache
    around = Surroundings(once(read_registry), once(registry_path), once(find_servers))
    return _Read(typed, flags, file, unread, around, once(environment_defaults))


def _expanded(request: Request, read: _Read, before: RunPlan | None) -> Expansion:
    typed, file = read.typed, read.file
    faults, notices = [*typed.faults, *read.unread], list(typed.notices)
    if not request.env_id and before is None:
        hint = "Name one, or the run to resume: --resume PATH"
        faults.append(Fault("ENVIRONMENT", "no environment is named", hint))
    takes_default_model = not (request.of_file and read.unread)
    evaluations = []
    for settings in file.own:
        strong = _typed_for(settings, read.flags) if len(file.own) > 1 else read.flags
        layers = [file.top, settings, strong]
        together, wrong = _together(layers, typed, before is not None, read.defaults)
        faults += wrong
        evaluation, wrong = compose(
            together, before, read.around, takes_default_model=takes_default_model
        )
        faults += wrong
        evaluations.append(evaluation)
    top = dict(file.top)
    faults += apply_sets(top, typed.sets)
    differences = differing_settings([one.settings for one in evaluations])
    for evaluation, varies in zip(evaluations, differences, strict=True):
        if evaluation.plan is not None and len(evaluations) > 1:
            evaluation.plan.varies = varies
    notices += _without_effect(evaluations)
    return Expansion(evaluations, notices, list(dict.fromkeys(faults)), top, read.flags)


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
    layers: list[Settings], typed: TypedValues, is_resumed: bool, defaults: Defaults
) -> tuple[Settings, list[Fault]]:
    """Settings of several places as one, above the defaults of the environment that they name.

    A resumed run is as it was: of the defaults it takes only sampling parameters, and those
    where others were set again, because together they are what they were.
    """
    together = merged(layers)
    apply_sets(together, typed.sets)
    if "env_id" not in together or (is_resumed and not _SAMPLED & together.keys()):
        return together, []
    folder = together.get("env_dir_path")
    where = Path(folder.value if folder else "environments")
    weak, faults = defaults(together["env_id"].value, where)
    if is_resumed:
        weak = {name: setting for name, setting in weak.items() if name in _SAMPLED}
    together = merged([weak, *layers])
    apply_sets(together, typed.sets)
    return together, faults


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
