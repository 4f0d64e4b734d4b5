"""Things to copy: texts of the trajectory, a rollout as JSON, a run's path and command."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from textual import events
from textual.binding import BindingType

from tui_eval.errors import RefusedError
from tui_eval.fold.rollout_columns import DONE
from tui_eval.printable import one_line
from tui_eval.runs.export.one_rollout import call_json, rollout_json
from tui_eval.text.key_names import sign_of
from tui_eval.tui.base.dialogs.dialog import Dialog
from tui_eval.tui.base.keys.keymap import key_for
from tui_eval.tui.base.lines.line_list import Picking
from tui_eval.tui.base.look.ink import Line, cut, cut_start, left, line_width
from tui_eval.tui.base.terminal.copied import copy

if TYPE_CHECKING:
    from tui_eval.fold.columns import Notes
    from tui_eval.fold.run_state import RunState
    from tui_eval.fold.trajectory import Entry, Rollout
    from tui_eval.tui.base.terminal.drawing import DrawnScreen
    from tui_eval.tui.trajectory.parts import Part


LABEL_MOST, NOTE_MOST = 28, 200
COMMANDED = ("", "tui-eval", "verifiers")
"""Formats of runs whose examples have ids that a command can name; empty for our own, live."""


class Copyable(NamedTuple):
    """Something to copy.

    Args:
        key: Chooses it in the menu.
        note: A few words on it, or its beginning.
        make: Returns the text, and what it leaves out: `without ...`, or nothing; for a thread.
            May raise RefusedError, ValueError or OSError.
        is_path: Whether the note is a path, of which the end is shown.
    """

    key: str
    label: str
    note: str
    make: Callable[[], tuple[str, str]]
    is_path: bool = False

    def of(self, side: str, *, capital: bool) -> Copyable:
        """The same for one of two rollouts, under a key of its own."""
        key = self.key.upper() if capital else self.key
        return self._replace(key=key, label=f"{side}: {self.label}")


def given(key: str, label: str, text: str, without: str = "") -> Copyable:
    """A text that needs no work."""
    return Copyable(key, label, text, lambda: (text, without))


def of_part(part: Part) -> Iterator[Copyable]:
    """The texts of a piece of the trajectory, as the model and the tools wrote them."""
    rollout = part.rollout
    if part.entry is not None:
        yield from of_entry(part.entry)
    elif part.coming is not None:
        text = "\n".join(part.coming.parts.values())
        yield given("m", "answer so far", text)
    elif rollout is not None:
        if rollout.error:
            text = "\n\n".join(filter(None, (rollout.error, rollout.traceback)))
            yield given("e", "error", text)
        if rollout.answer:
            yield given("m", "expected answer", rollout.answer)


def of_entry(entry: Entry) -> Iterator[Copyable]:
    """The texts of a message, or of a tool call with its result."""
    use = entry.tool
    if use is not None:
        begins = f"{use.name} {use.arguments}"
        yield given("c", "tool call", call_json(use))._replace(note=begins)
        result = use.error if use.result is None else use.result
        if result is not None:
            yield given("o", "result of the call", result)
        return
    if entry.text:
        yield given("m", f"{entry.role} message", entry.text)
    if entry.reasoning:
        yield given("t", "reasoning", entry.reasoning)


def of_rollout(state: RunState, row: int, rollout: Rollout | None, notes: Notes) -> Copyable:
    """A whole rollout as JSON: its saved line, or its present state while it runs."""
    is_saved = state.stage[row] >= DONE
    note = "JSON, its line of the results" if is_saved else "JSON of what is known so far"
    return Copyable(
        "w", "whole rollout", note, lambda: (rollout_json(state, row, rollout, notes), "")
    )


def of_run(path: str, name: str = "", keys: str = "pr") -> Iterator[Copyable]:
    """The path of a run, and the command line that repeats it.

    Args:
        name: Its name among other runs in the menu.
        keys: A key for each.
    """
    of = f"of {name or 'this run'}"
    yield Copyable(keys[0], f"path {of}", path, lambda: (str(Path(path).absolute()), ""), True)
    yield Copyable(keys[1], f"command {of}", "runs the same again", lambda: _command_of(path))


def of_example(state: RunState, row: int) -> Iterator[Copyable]:
    """The command line that runs the example of a rollout alone, once.

    There is none for runs of some programs, nor before a rollout of the example has finished,
    when its id is unknown.
    """
    first = row // state.per_example * state.per_example
    is_known = max(state.stage[first : first + state.per_example]) >= DONE
    if state.run is None or state.run.format not in COMMANDED or not is_known:
        return
    path, example = state.run.path, str(state.example_id(row))
    about = f"runs example {example} alone, once"
    yield Copyable("x", "command of this example", about, lambda: _command_of(path, example))


def _command_of(path: str, example: str | None = None) -> tuple[str, str]:
    from tui_eval.config.reproduction import command_of

    line, left_out = command_of(Path(path), example)
    return line, (f"without {', '.join(left_out)}" if left_out else "")


class MenuLines(Picking):
    """The menu of things to copy."""

    def __init__(self, items: Sequence[Copyable]) -> None:
        super().__init__()
        self.items = items
        self._label = min(max(line_width(((one.label, ""),)) for one in items), LABEL_MOST)

    def count(self) -> int:
        return len(self.items)

    def line(self, index: int) -> Line:
        """Key, label and note; notes may be untrusted text."""
        one, room = self.items[index], max(self.line_width - self._label - 6, 1)
        shorten = cut_start if one.is_path else cut
        note = one_line(" ".join(one.note[:NOTE_MOST].split()), NOTE_MOST)
        return (
            (f" {one.key}  ", "key"),
            (left(one_line(one.label, self._label), self._label), "strong"),
            (f"  {shorten(note, room)}", "muted"),
        )


class Menu(Dialog[MenuLines, int]):
    """Returns the place of the item chosen by key, cursor or click; None for none.

    Args:
        again: The key that opened it, as it is shown: pressed again it chooses the item under the
            cursor.
    """

    BINDINGS: ClassVar[list[BindingType]] = [("escape,q", "dismiss", "Close")]
    closes_beside = True

    def __init__(self, items: Sequence[Copyable], again: str) -> None:
        super().__init__(MenuLines(items), "Copy", f"its letter, enter or {again} · esc closes")
        self._again = again

    def on_key(self, event: events.Key) -> None:
        """The items' own keys."""
        keys = [one.key for one in self.box.items]
        if event.character in keys:
            event.stop()
            self.dismiss(keys.index(event.character))
        elif sign_of(event.key) == self._again:
            event.stop()
            self.dismiss(self.box.cursor)

    def on_picking_done(self) -> None:
        """An item was chosen with the cursor or the mouse."""
        self.dismiss(self.box.cursor)


def offer_copies(screen: DrawnScreen[Any], items: Sequence[Copyable], command: str) -> None:
    """Opens the menu and copies the choice; the key of `command` chooses under the cursor."""
    if not items:
        screen.say("There is nothing to copy yet.")
        return

    def chosen(place: int | None) -> None:
        if place is not None:
            copy_at_once(screen, items[place])

    screen.app.push_screen(Menu(items, key_for(command)), chosen)


def copy_at_once(screen: DrawnScreen[Any], one: Copyable) -> None:
    """Copies something; see `offer_copies`."""
    screen.run_worker(_copy(screen, one), group="copy", exclusive=True)


async def _copy(screen: DrawnScreen[Any], one: Copyable) -> None:
    try:
        text, without = await asyncio.to_thread(one.make)
    except RefusedError as error:
        screen.say(f"Not copied: {error.faults[0].what}.")
    except (OSError, ValueError) as error:
        screen.say(f"Not copied: {getattr(error, 'strerror', None) or error}.")
    else:
        screen.say(await copy(screen.app, text, f"the {one.label} {without}".rstrip()))
