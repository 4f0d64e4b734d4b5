"""`tui-eval note RUN EXAMPLE`: a note or tags on one rollout, kept beside the run."""

from __future__ import annotations

import shlex
from pathlib import Path

import click


@click.command("note")
@click.argument("path", metavar="RUN", type=click.Path(path_type=Path))
@click.argument("example")
@click.argument("number", type=int, default=0)
@click.option("--text", help="The note; an empty one takes it away.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Add a tag; can be repeated.")
@click.option("--untag", "gone", multiple=True, metavar="TAG", help="Take a tag away.")
def command(
    path: Path,
    example: str,
    number: int,
    text: str | None,
    tags: tuple[str, ...],
    gone: tuple[str, ...],
) -> int:
    """Note something on a rollout: the id of its example and its NUMBER in the group, 0 without it.

    `tui-eval ls RUN --where 'tag:odd or note:word'` finds it again.
    """
    from tui_eval.cli.console.printing import print_stdout
    from tui_eval.cli.row_lines import row_lines
    from tui_eval.errors import Fault, RefusedError
    from tui_eval.fold.columns import Note, note_key
    from tui_eval.runs.notes import read_notes, write_note
    from tui_eval.runs.saved_run import named_run, read_run

    run = named_run(path)
    state, _ = read_run(run)
    rows = [row for row in range(state.total) if note_key(state, row) == (example, number)]
    if not rows:
        hint = f"See them: tui-eval ls {shlex.quote(str(path))}"
        what = f"there is no rollout {number} of an example {example}"
        raise RefusedError([Fault(str(path), what, hint)])
    before = read_notes(run).get((example, number), Note())
    kept = tuple(dict.fromkeys(tag for tag in (*before.tags, *tags) if tag not in gone))
    write_note(run, example, number, Note(before.text if text is None else text, kept))
    print_stdout(row_lines(state, rows, read_notes(run)))
    return 0
