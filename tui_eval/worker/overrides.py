"""Settings of an environment that are replaced once it is loaded."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tui_eval.environments.author_errors import describe
from tui_eval.environments.env_group import EnvGroup
from tui_eval.environments.single_turn import SingleTurnEnv
from tui_eval.errors import Fault, Notice, nearest, warning

if TYPE_CHECKING:
    from tui_eval.environments.environment import Environment

FLAG = "-x/--extra-env-kwargs"

_PLAIN = (type(None), bool, int, float, str, dict)


def override(env: Environment, settings: Mapping[str, Any], where: str = FLAG) -> list[Fault]:
    """Replaces settings of an environment and, of a group, of its members.

    A setting is replaced through `set_<name>` where there is such a method, and otherwise as an
    attribute.

    Args:
        where: The place that faults name.

    Returns:
        A fault for each setting that cannot be replaced; nothing is replaced then.
    """
    faults = override_faults(env, settings, where)
    if faults or not settings:
        return faults
    having_one = [one for one in _owners(env) if _has_one_turn(one)]
    try:
        env.set_kwargs(**settings)
        for one in having_one if "max_turns" in settings else ():
            one.set_kwargs(max_turns=1)
    except (Exception, SystemExit) as error:  # setters may be people's own
        return [Fault(where, f"{_name(env)} raised {describe(error)}")]
    return []


def override_faults(env: Environment, settings: Mapping[str, Any], where: str) -> list[Fault]:
    """Faults of replacing settings of an environment; nothing is replaced."""
    owners = _owners(env)
    found = []
    for name, value in settings.items():
        try:
            reported = _fault(owners, name, value)
        except (Exception, SystemExit) as error:  # properties may be people's own
            reported = (f"{name} of {_name(env)} raised {describe(error)}",)
        if reported:
            found.append(Fault(where, *reported))
    return found


def single_turn_names(env: Environment) -> list[str]:
    """The name of an environment, or those of its members, that call the model once."""
    named = [env.env_id] if _has_one_turn(env) else []
    if isinstance(env, EnvGroup):
        members = zip(env.env_names, env.members, strict=True)
        named += [name for name, one in members if _has_one_turn(one)]
    return named


def override_notices(
    named: Sequence[str], settings: Mapping[str, Any], where: str = FLAG
) -> list[Notice]:
    """A sentence on a setting without effect on environments that call the model once."""
    if settings.get("max_turns", 1) == 1 or not named:
        return []
    text = f"{where}: max_turns has no effect on {', '.join(named)}, which calls the model once"
    return [warning(text)]


def _owners(env: Environment) -> list[Environment]:
    """An environment and, of a group, its members."""
    return [env, *(env.members if isinstance(env, EnvGroup) else ())]


def _fault(owners: list[Environment], name: str, value: Any) -> tuple[str, ...]:
    """The fault of a setting, with a hint if there is one; empty where nothing is wrong."""
    named = _name(owners[0])
    having = [one for one in owners if not name.startswith("_") and _has(one, name)]
    if not having:
        arguments = {name for one in owners for name in _arguments(type(one))}
        if name in arguments:
            what = f"{name} is used while {named} is made, and cannot be replaced afterwards"
            return what, "Give it with -a if load_environment takes it"
        known = arguments | {name for one in owners for name in vars(one) if name[0] != "_"}
        return f"{named} has no setting {name!r}", nearest(name, known)
    if any(callable(getattr(one, f"set_{name}", None)) for one in having):
        return ()
    for before in (getattr(one, name) for one in having):
        if not _is_plain(before):
            kind = type(before).__name__
            return (f"{name} of {named} is a {kind}, which JSON cannot replace",)
        if _is_number(before) and not (value is None or _is_number(value)):
            return (f"{name} of {named} is a number, not {value!r}",)
    return ()


def _name(env: Environment) -> str:
    return env.env_id or type(env).__name__


def _has_one_turn(env: Environment) -> bool:
    """Whether nothing answers the model: its class leaves `env_response` as it is."""
    return getattr(type(env), "env_response", None) is SingleTurnEnv.env_response


def _has(env: Environment, name: str) -> bool:
    return hasattr(env, name) or callable(getattr(env, f"set_{name}", None))


def _arguments(kind: type) -> set[str]:
    """The names of the arguments that the constructors of a class and of its bases take."""
    found: set[str] = set()
    for owner in kind.__mro__:
        if "__init__" in vars(owner) and owner is not object:
            parameters = inspect.signature(owner.__init__).parameters.values()  # type: ignore[misc]
            found |= {
                one.name
                for one in parameters
                if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
            }
    return found - {"self"}


def _is_plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    return isinstance(value, _PLAIN)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
