"""Every command, a table a screen, and its keys: bindings, palette, footer and help read them here.

A key that the footer names and the help does not, or that people cannot set, comes from saying the
same thing twice. Commands are rows of data; whatever shows or binds a key reads the rows. Their
keys are those of the tables, or those that people set for themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import cached_property
from itertools import chain, combinations, takewhile, zip_longest
from types import MappingProxyType
from typing import TYPE_CHECKING

from tui_eval.errors import Fault, nearest
from tui_eval.text.key_names import CHARACTERS, key_like, key_of, sign_of
from tui_eval.tui.base.keys.command import ABOVE, LEAVE, Command, Scope
from tui_eval.tui.compare import commands as compare
from tui_eval.tui.form import commands as form
from tui_eval.tui.home import commands as home
from tui_eval.tui.run import commands as run
from tui_eval.tui.suite import commands as suite

if TYPE_CHECKING:
    from textual.binding import BindingType


EVERYWHERE = (
    Command("ctrl+c", "interrupt", "app", LEAVE, "Ask how to leave; twice: stop it"),
    Command("ctrl+q", "quit", "app", LEAVE, "Stop and quit at once"),
    Command(
        "ctrl+z", "suspend_process", "app", LEAVE, "To the shell; fg comes back", name="suspend",
    ),
)  # fmt: skip

TABLES = (run, suite, form, compare, home)
COMMANDS: tuple[Command, ...] = (
    *(command for screen in TABLES for command in screen.COMMANDS),
    *EVERYWHERE,
)
APART: frozenset[Scope] = frozenset(
    command.scope for one in (form, compare, home) for command in one.COMMANDS
)
"""Scopes of screens over no run: their help names nothing else, and no other help names them."""

TOGETHER: tuple[frozenset[Scope], ...] = tuple(
    scopes | {"app"} for screen in TABLES for scopes in screen.TOGETHER
)
"""Scopes whose keys work at the same time, from the pane with the focus to the whole app."""
LISTS = {"list": run.LIST, "runs": home.RUNS}
"""The whole group of a pane, by scope: some of its commands work in others too."""
FIXED: frozenset[Scope] = frozenset(("typing",))
"""Scopes whose keys cannot be set."""
TYPED: frozenset[Scope] = frozenset(("form", "fields"))
"""Scopes in which a character is text."""
BY_ID = {command.id: command for command in COMMANDS if command.scope not in FIXED}
"""Commands whose keys can be set."""
EARLIER_SCOPES = {"near": "picks", "story": "trajectory", "transcripts": "trajectories"}
"""Names of scopes in settings of earlier versions."""


def bindings(scope: Scope) -> list[BindingType]:
    """The bindings of one scope."""
    from textual.binding import Binding

    return [
        Binding(one.keys, one.action, one.help, priority=scope == "app", id=one.id)
        for one in COMMANDS
        if one.scope == scope
    ]


class Keymap:
    """The keys of every command; `changed` has those that are not as in the tables, by its id."""

    def __init__(self, changed: Mapping[str, tuple[str, ...]] = MappingProxyType({})) -> None:
        self.changed = changed

    def keys(self, command: Command) -> tuple[str, ...]:
        """The keys of a command, the first one for the footer."""
        return self.changed.get(command.id) or tuple(command.keys.split(","))

    def sign(self, command: Command) -> str:
        """The first of its keys, as it is shown."""
        return sign_of(self.keys(command)[0])

    def shown(self, command: Command) -> str:
        """The keys of a command, and of those on its line: `j k ↓ ↑`."""
        after = COMMANDS[COMMANDS.index(command) + 1 :]
        together = (command, *takewhile(lambda one: one.group == ABOVE, after))
        signs = ([sign_of(key) for key in self.keys(one)] for one in together)
        return " ".join(filter(None, chain(*zip_longest(*signs))))

    @cached_property
    def of_fields(self) -> Mapping[str, str]:
        """Actions of keys in the fields of a form."""
        of = (one for one in COMMANDS if one.scope == "fields")
        return {key: one.action for one in of for key in self.keys(one)}


USUAL = Keymap()
IN_USE: ContextVar[Keymap] = ContextVar("keymap", default=USUAL)
"""The keymap in use, by context: that of the app which runs there."""


def key_for(name: str) -> str:
    """The first key of a command, as it is shown, by the name that settings have for it."""
    return IN_USE.get().sign(BY_ID[name])


def read_keymap(
    written: Mapping[str, tuple[str, ...]], at: Callable[[str], str]
) -> tuple[Keymap, list[Fault]]:
    """The keys that people set, or those of the tables where anything is wrong with them.

    Args:
        written: Keys by the ids of commands, as they were typed.
        at: Returns the place of a command's keys in the settings.
    """
    changed: dict[str, tuple[str, ...]] = {}
    faults: list[Fault] = []
    for name, texts in written.items():
        scope, dot, action = name.partition(".")
        command = BY_ID.get(EARLIER_SCOPES.get(scope, scope) + dot + action)
        if command is None:
            hint = nearest(name, BY_ID) or "`tui-eval config keys` lists them all"
            faults.append(Fault(at(name), f"keys.{name}: there is no such command", hint))
            continue
        keys = []
        for text in texts:
            try:
                key = key_of(text)
                if command.scope in TYPED and (key in CHARACTERS or key == "space"):
                    why = f"{sign_of(key)} is typed there; take one with ctrl, or F1 to F24"
                    raise ValueError(why)
                keys.append(key)
            except ValueError as error:
                hint = key_like(text) if "no key" in str(error) else ""
                faults.append(Fault(at(name), f"keys.{name}: {error}", hint))
        changed[command.id] = tuple(dict.fromkeys(keys)) or tuple(command.keys.split(","))
    keymap = Keymap(changed)
    faults += _conflicts(keymap, at)
    return (USUAL if faults else keymap), faults


def _conflicts(keymap: Keymap, at: Callable[[str], str]) -> Iterator[Fault]:
    """Faults for commands that share a key in one place, where they do not usually."""
    if not keymap.changed:
        return  # all pairs take longer to look through than a screen takes to draw
    for one, other in combinations(BY_ID.values(), 2):
        if one.id not in keymap.changed and other.id not in keymap.changed:
            continue
        scopes = {one.scope, other.scope}
        meet = len(scopes) == 1 or any(scopes <= together for together in TOGETHER)
        if not meet or set(one.keys.split(",")) & set(other.keys.split(",")):
            continue
        for key in keymap.keys(one):
            if key in keymap.keys(other):
                where = one.id if one.id in keymap.changed else other.id
                both = f"{one.id} ({one.help}) and {other.id} ({other.help})"
                what = f"keys: {both} both have {sign_of(key)}"
                yield Fault(at(where), what, "Give one of them another key")


def search_keys(scope: str, found: bool) -> tuple[str, ...]:
    """Hints for the keys of a search in a pane, long and short."""
    clears = f"{key_for('trajectory.clear-search')} clears"
    if not found:
        return (clears,)
    steps = f"{key_for(f'{scope}.next-match')} {key_for(f'{scope}.previous-match')}"
    return f"{steps} next, previous · {clears}", f"{steps} next, previous", steps
