"""`tui-eval new [ENV_OR_CONFIG]`: a form for an evaluation, and then its run."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("new")
@click.argument("target", metavar="[ENV_OR_CONFIG]", required=False)
def command(target: str | None) -> int:
    """Put an evaluation together on the screen, and run it.

    ENV_OR_CONFIG is an environment to begin with, or a .toml file of evaluations to edit.
    """
    from tui_eval.cli.console.printing import print_faults
    from tui_eval.cli.run import not_text
    from tui_eval.cli.screen import configure_on_screen, has_terminal
    from tui_eval.config.draft import Draft
    from tui_eval.config.plan import is_eval_file
    from tui_eval.errors import Fault

    if faults := not_text({"ENV_OR_CONFIG": target}):
        return print_faults(faults)
    if not has_terminal():
        hint = "Without one, write a TOML file or use flags: tui-eval run --help"
        return print_faults([Fault("tui-eval new", "there is no terminal to draw on", hint)])
    try:
        draft = Draft.load(Path(str(target))) if is_eval_file(target) else Draft()
    except ValueError as error:
        return print_faults([Fault("ENV_OR_CONFIG", str(error))])
    if target and draft.path is None:
        draft.form.put("env_id", target)
    return configure_on_screen(draft)
