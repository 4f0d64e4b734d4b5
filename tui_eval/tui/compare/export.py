"""What is compared, as a file or a text to read: runs or two rollouts, in several formats."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from tui_eval.own_folders import shown_path, typed_path
from tui_eval.printable import one_line, printable
from tui_eval.text.stages import rollout_name
from tui_eval.tui.base.terminal.browser import deliver, in_browser, lies_in

if TYPE_CHECKING:
    from tui_eval.fold.trajectory import Rollout
    from tui_eval.runs.comparing import ComparedRun
    from tui_eval.runs.export.whole_text import WholeText
    from tui_eval.tui.base.terminal.drawing import DrawnScreen
    from tui_eval.tui.compare.pairs import Source

Side: TypeAlias = "tuple[Source, int, Rollout]"
"""A rollout that is read beside another: where it comes from, its row, and itself."""
NOTHING = "Nothing is compared yet that could be {}."


class ExportFlow:
    """Of a screen with a comparison; it has no whole text before there is any."""

    def __init__(
        self, screen: DrawnScreen[Any], whole_text: Callable[[], WholeText | None]
    ) -> None:
        self._screen, self._whole_text = screen, whole_text

    def action_export(self) -> None:
        """Asks for a file, and writes what is compared as its name says."""
        whole = self._whole_text()
        if whole is None:
            self._screen.say(NOTHING.format("exported"))
            return
        from tui_eval.tui.base.dialogs.question import PathPrompt

        def answered(path: str | None) -> None:
            if path is not None:
                self._screen.run_worker(self._write(whole, typed_path(path)), group="export")

        title = f"Export {whole.what[0].lower()}{whole.what[1:]}"
        name = f"{whole.name}{next(iter(whole.formats))}"
        self._screen.app.push_screen(PathPrompt(title, name, whole.about, "writes it"), answered)

    async def _write(self, whole: WholeText, path: Path) -> None:
        from tui_eval.errors import RefusedError

        try:
            await asyncio.to_thread(whole.write, path)
        except RefusedError as error:
            fault = error.faults[0]
            self._screen.say(f"Not written to {path}: {fault.what}. {fault.hint}.")
        except (OSError, ValueError) as error:
            self._screen.say(f"Not written to {path}: {getattr(error, 'strerror', None) or error}.")
        else:
            delivered = f"{await deliver(self._screen.app, path)}; also " if in_browser() else ""
            self._screen.say(f"{whole.what} is {delivered}{lies_in(shown_path(path))}.")

    def action_read_elsewhere(self, editor: bool) -> None:
        """Opens what is compared in the pager or the editor."""
        whole = self._whole_text()
        if whole is None:
            self._screen.say(NOTHING.format("read"))
            return
        from tui_eval.tui.copying.elsewhere import Readable, open_elsewhere

        async def make() -> Readable:
            suffix = whole.read[editor]
            return Readable(printable(await asyncio.to_thread(whole.formats[suffix])), suffix)

        open_elsewhere(self._screen, editor, make)


def whole_text_of(runs: Sequence[ComparedRun], only: str) -> WholeText:
    """A comparison of runs, with examples of one outcome `only`; all for the empty text."""
    from tui_eval.runs.export.comparison_formats import FORMATS, USUAL
    from tui_eval.runs.export.whole_text import WholeText

    which = "The examples that are listed" if only else "All examples"
    about = f"{which}. The ending says how: .md to read, .csv a table, .json."
    name = "-".join(one_line(one.name, 60).replace("/", "-") for one in runs)[:120]
    formats = {ending: partial(make, runs, only) for ending, make in FORMATS.items()}
    return WholeText("The comparison", about, name, formats, (USUAL, USUAL))


def whole_pair_of(sides: Sequence[Side]) -> WholeText:
    """Two rollouts that have finished."""
    from tui_eval.runs.export.whole_text import WholeText

    names = (f"{source.letter}-{rollout_name(source.state, row)}" for source, row, _ in sides)
    made = {".md": _pair_markdown, ".json": _pair_object, ".jsonl": _pair_saved}
    name = one_line("-".join(names), 80).replace("#", "").replace("/", "-").replace(" ", "-")
    about = "Both rollouts, whole. The ending says how: .md to read, .json, .jsonl as saved."
    formats = {ending: partial(make, sides) for ending, make in made.items()}
    return WholeText("The pair", about, name, formats, (".md", ".json"))


def _pair_markdown(sides: Sequence[Side]) -> str:
    return "\n".join(_pair_lines(sides)) + "\n"


def _pair_lines(sides: Sequence[Side]) -> Iterator[str]:
    from tui_eval.runs.export.markdown import plain, rollout_lines
    from tui_eval.runs.export.source import ExportSource
    from tui_eval.runs.layout import RunDir

    for source, row, rollout in sides:
        state = source.state
        assert state.run is not None
        yield from (f"# {plain(' '.join(filter(None, (source.letter, source.name))))}", "")
        of_row = ExportSource(RunDir(Path(state.run.path)), state, {}, [row])
        yield from rollout_lines(of_row, rollout)
        yield ""


def _pair_object(sides: Sequence[Side]) -> str:
    from tui_eval.runs.export.one_rollout import plain_json, saved_line

    rows: dict[str, Any] = {
        source.letter: json.loads(saved_line(source.state, row)) for source, row, _ in sides
    }
    return plain_json(rows) + "\n"


def _pair_saved(sides: Sequence[Side]) -> str:
    from tui_eval.runs.export.one_rollout import saved_line

    return "".join(saved_line(source.state, row) + "\n" for source, row, _ in sides)
