"""`tui-eval config`: the settings of an evaluation, their sources, and the screen's keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from tui_eval.cli.run import GroupedCommand, not_text, run_options, typed_of

if TYPE_CHECKING:
    from tui_eval.config.expansion import Expansion
    from tui_eval.tui.base.preferences import Preferences


@click.group("config")
def command() -> None:
    """Look at settings."""


@command.command("explain", cls=GroupedCommand)
@click.argument("environment", metavar="ENV_OR_CONFIG")
@run_options
def explain(environment: str, **raw: Any) -> int:
    """Print every setting of an evaluation with the place that it came from; run nothing.

    ENV_OR_CONFIG and the options are those of `tui-eval run`. Of a .toml file the first
    evaluation is printed whole, of each other one what differs from it. Values that may be secret
    are not printed.
    """
    from tui_eval.cli.console.printing import print_faults

    typed = typed_of(raw)
    if faults := not_text({"ENV_OR_CONFIG": environment, **typed}):
        return print_faults(faults)
    return _explain(environment, typed)


def _explain(environment: str, typed: Mapping[str, Any]) -> int:
    from tui_eval.cli.console.printing import print_faults, print_stdout, warn
    from tui_eval.config.env_file import load_env_file
    from tui_eval.config.expansion import expand
    from tui_eval.config.explanation import explanation
    from tui_eval.config.plan import Request

    for notice in load_env_file():
        warn(str(notice))
    found: Expansion = expand(Request(env_id=environment, raw=dict(typed)))
    print_stdout(explanation(found.evaluations))
    for notice in found.notices:
        warn(str(notice))
    return print_faults(found.faults) if found.faults else 0


@command.command("keys")
def keys() -> int:
    """Print every command of the screen with its keys, as the [keys] table of your settings.

    The settings are ~/.config/tui-eval/config.toml, or the file that TUI_EVAL_CONFIG names. Faults
    in it are reported.
    """
    from tui_eval.cli.console.printing import print_faults, print_stdout
    from tui_eval.tui.base.preferences import Preferences

    preferences = Preferences.read()
    print_stdout(key_lines(preferences))
    return print_faults(preferences.faults) if preferences.faults else 0


def key_lines(preferences: Preferences) -> Iterator[str]:
    """The [keys] table, a command with its help a line; ready to be pasted."""
    from tui_eval.text.key_names import plain_name
    from tui_eval.tui.base.keys.keymap import BY_ID

    yield f"# {preferences.path}"
    yield "[keys]"
    scopes = list(dict.fromkeys(one.scope for one in BY_ID.values()))
    before = ""
    for name, one in sorted(BY_ID.items(), key=lambda item: scopes.index(item[1].scope)):
        if one.scope != before:
            before = one.scope
            yield ""
        written = [f'"{plain_name(key)}"' for key in preferences.keymap.keys(one)]
        value = written[0] if len(written) == 1 else f"[{', '.join(written)}]"
        yield f"{f'{name} = {value}':<43} # {one.help}"
