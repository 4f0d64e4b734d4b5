"""The screen on which an evaluation is put together before it runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.content import Content
from textual.widget import Widget

from tui_eval.config.draft import Draft
from tui_eval.config.fields import Field
from tui_eval.errors import Fault
from tui_eval.shipped import shipped
from tui_eval.text.figures import plural
from tui_eval.tui.base.keys.command import PANES, Scope
from tui_eval.tui.base.keys.key_line import KeyLine
from tui_eval.tui.base.keys.keymap import bindings
from tui_eval.tui.base.layout import WIDTHS, PaneFocus, PaneTabs, Tab, size_classes, style_of_others
from tui_eval.tui.base.lines.text_panel import PlainPanel, TextPanel
from tui_eval.tui.base.look.ink import Line, Span, spread
from tui_eval.tui.base.terminal.drawing import DrawnScreen
from tui_eval.tui.form.backend import FormBackend, Looked, Offer, look
from tui_eval.tui.form.boxes import field_box
from tui_eval.tui.form.commands import FORM, GROUPS
from tui_eval.tui.form.draft_files import DraftFiles
from tui_eval.tui.form.texts import (
    about_field,
    figures_line,
    not_taken_text,
    pane_lines,
    readme_lines,
    readme_of,
    title_of,
    toml_lines,
    wrapped,
)
from tui_eval.tui.form.view import FormView

CHECKS_AFTER_S = 0.15
"""Seconds without typing before the draft is checked."""
ENGINE_CHECKS_AFTER_S = 0.4
"""The same before an engine checks it."""
TITLES = ("Settings", "What it will do", "TOML", "Command line", "Environment")
NO_README = "Choose an environment to read about it."


class ConfigureScreen(DrawnScreen[dict[str, Any] | None]):
    """A form, and beside it its plan; returns the request to run, or None.

    Args:
        draft: The draft to edit.
        refused: Faults that an engine found in it.
    """

    scopes: ClassVar[tuple[Scope, ...]] = ("form",)
    CSS_PATH = str(shipped("styles", "configure.tcss"))
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("form"), *bindings("panels")]
    HORIZONTAL_BREAKPOINTS = WIDTHS

    def __init__(
        self,
        backend: FormBackend,
        draft: Draft,
        now: Callable[[], float],
        refused: Sequence[Fault] = (),
    ) -> None:
        super().__init__()
        self.backend = backend
        self.draft = draft
        self.now = now
        self.looked = self._looked_alone = Looked()
        self.plan: Mapping[str, Any] | None = None
        self.readme = ""
        self._refused = list(refused)
        self._undescribed: list[Fault] = []
        self._waiting: set[str] = set()
        self.top = PlainPanel(self._top_lines, id="form-top")
        self.fields = FormView(draft.form, self)
        self.does = TextPanel(self._plan_lines, id="does")
        self.toml = TextPanel(self._toml_lines, id="toml")
        self.command = TextPanel(self._command_lines, id="command")
        self.about_env = TextPanel(
            lambda width: readme_lines(self.readme or NO_README, width), id="readme"
        )
        self.about = TextPanel(lambda width: about_field(self.fields.here, width), id="about")
        self.keys = KeyLine(id="keys")
        self.panes: list[Widget] = [
            self.fields, self.does, self.toml, self.command, self.about_env,
        ]  # fmt: skip
        tabs = [Tab(title, -1) for title in TITLES]
        self.tabs = PaneTabs(tabs, ruled=True, id="pane-tabs")
        self.tabs.key_ink = "faint"
        self.room = Container(id="room", classes="-in-1")
        self.files = DraftFiles(self)

    def controllers(self) -> Iterable[object]:
        return self.files, PaneFocus(self, self.panes, self._show_pane)

    def work(self, group: str, work: Callable[[], Awaitable[object]]) -> None:
        """Awaits a function in the background, in place of the group's last one."""
        self.run_worker(work, group=group, exclusive=True)

    def compose(self) -> ComposeResult:
        self.add_class(size_classes(self.app.size)[0])
        for pane in self.panes:
            pane.add_class("pane")
        yield self.top
        yield self.tabs
        with self.room:
            yield self.fields
            with Container(id="side"):
                yield from (self.does, self.toml, self.command)
            yield self.about_env
        yield self.about
        yield self.keys

    def on_mount(self) -> None:
        """Begins to check the draft as it is."""
        self.about.can_focus = False
        self.keys.scopes = ("form", "fields")
        self.set_focus(self.fields)
        self.set_interval(1.0, lambda: self.keys.expire(self.now()))
        if self._refused:
            self._take(Looked().with_faults(self._refused, self.draft))
            self._go_to_fault()
        self.follow()
        self._describe()

    @property
    def is_settled(self) -> bool:
        """Whether no check is under way."""
        return not self._waiting

    def field_changed(self, name: str) -> None:
        """Has the draft checked soon."""
        self._refused = []
        if name in ("env_id", "env_dir_path", "no_alias"):
            self._undescribed = []
            self._describe()
        self.follow()
        self.top.lay_out()
        self.about.lay_out()

    def field_moved(self) -> None:
        """Shows the help of the field, and the word of enter there."""
        self.about.lay_out()
        self._update_keys()

    def on_descendant_focus(self) -> None:
        """Shows the pane that has the focus where there is room for one only."""
        if self.focused in self.panes:
            self._show_pane(self.panes.index(self.focused) + 1)
            self.keys.scopes = ("form", "fields" if self.focused is self.fields else "view")
            self._update_keys()

    def on_resize(self) -> None:
        """Names the panes that have no room at this width."""
        self.call_after_refresh(self.on_descendant_focus)

    def follow(self) -> None:
        """Checks the draft, soon."""
        self.work("look", self._look_soon)

    async def _look_soon(self) -> None:
        self._waiting.add("look")
        self.top.lay_out()
        await asyncio.sleep(CHECKS_AFTER_S)
        await self._look_alone(self._refused)
        if self.can_run:
            await asyncio.sleep(ENGINE_CHECKS_AFTER_S)
            found = await self.backend.estimate(self.looked.request or {})
            faults = [Fault(**fault) for fault in found.get("faults", ())]
            self.plan = None if faults else found
            if faults:
                self._take(self.looked.with_faults(faults, self.draft))
        else:
            self.plan = None
        self._waiting.discard("look")
        self._lay_out()

    async def _look_alone(self, refused: Sequence[Fault] = ()) -> None:
        self._looked_alone = await asyncio.to_thread(look, self.draft.copy(), self.backend)
        self._take(self._looked_alone.with_faults(refused, self.draft))

    def _take(self, looked: Looked) -> None:
        self.looked = looked.with_faults(self._undescribed, self.draft)
        self.fields.found = self.looked.by_field
        self._lay_out()

    @property
    def can_run(self) -> bool:
        """Whether there is no known fault."""
        return self.looked.request is not None and not self._problems

    @property
    def _can_try(self) -> bool:
        """Whether only an engine refused it, which may accept it the next time."""
        alone = self._looked_alone.with_faults(self._undescribed, self.draft)
        known = alone.by_field or alone.others or self.draft.form.faults()
        return alone.request is not None and not known

    @property
    def _problems(self) -> int:
        return len(self.fields.faults) + len(self.looked.others)

    def _describe(self) -> None:
        if self.draft.form.env_id:
            self.work("describe", self._describe_environment)
        else:
            self.workers.cancel_group(self, "describe")
            self._waiting.discard("describe")
            self.readme = ""

    async def _describe_environment(self) -> None:
        self._waiting.add("describe")
        await asyncio.sleep(ENGINE_CHECKS_AFTER_S)
        env_id = self.draft.form.env_id
        found = await self.backend.describe(env_id, self.draft.form)
        if env_id == self.draft.form.env_id:
            if found.get("status") == "described":
                self.draft.form.describe(found)
                self.readme, self._undescribed = readme_of(found), []
                self.follow()
            else:
                self.readme = ""
                self._undescribed = [Fault(**fault) for fault in found["faults"]]
                self._take(self.looked)
        self._waiting.discard("describe")
        self._lay_out()

    def _lay_out(self) -> None:
        self.fields.lay_out()
        for panel in (self.top, self.does, self.toml, self.command, self.about_env, self.about):
            panel.lay_out()
        self._update_keys()

    def _update_keys(self) -> None:
        """Updates the footer; with little room only the copy key for the pane in view."""
        refused = "try again" if self._can_try else "first problem" if self._problems else ""
        self.keys.words = {
            "run": "run" if self.can_run else refused,
            "table": "evaluations" if self.draft.path and len(self.draft.places) > 1 else "",
            "open": self.fields.word_of_enter,
            "leave": "leave" if self.focused is self.fields else "back",
        }
        if self.focused is self.toml and self.has_class("-narrow"):
            self.keys.words["copy_command"] = ""
        self.keys.tick(self.now())

    def _top_lines(self, width: int) -> list[Line]:
        title = title_of(self.draft, self.looked.is_changed)
        wrong = self._problems
        state: Span = ("✓ ready", "good")
        if wrong:
            state = (f"✗ {plural(wrong, 'problem')}", "bad")
        elif self._waiting:
            state = ("… estimating", "muted")
        faults, others = self.fields.faults, self.looked.others
        figures = figures_line(self.draft.form, faults, others, self.plan, width)
        return [spread(title, (state,), width), figures]

    def _plan_lines(self, width: int) -> Iterator[Line]:
        wrong = [self.draft.form.field(name).label for name in self.fields.faults]
        return pane_lines(self.looked.others, wrong, self.plan, width)

    def _toml_lines(self, width: int) -> Iterator[Line]:
        if self.looked.no_toml:
            return wrapped(f"{self.looked.no_toml}.", width, "warn")
        return chain(self._not_taken_lines(width), toml_lines(self.looked.toml, width))

    def _command_lines(self, width: int) -> Iterator[Line]:
        yield from self._not_taken_lines(width)
        yield from wrapped(self.looked.command, width)
        if self.draft.several and (self.looked.is_changed or self.draft.path is None):
            yield from wrapped("once the file is saved: ^w", width, "warn")

    def _not_taken_lines(self, width: int) -> Iterator[Line]:
        if text := not_taken_text(self.looked.not_taken):
            yield from wrapped(f"{text}: see Settings", width, "warn")

    def pick(self, field: Field) -> None:
        """Opens the list of values for a field, or a box to type one."""
        box = field_box(field, self.draft.form, self.backend)
        self.app.push_screen(box, partial(self._picked, field))

    def _picked(self, field: Field, offer: Offer | None) -> None:
        if offer is None:
            return
        for name, text in offer.sets.items():
            if self.draft.form.text(name) != text:
                self.fields.put_text(name, text)
        self.fields.put_text(field.name, offer.name)

    def show_draft(self, draft: Draft) -> None:
        """Shows another draft."""
        self.draft, self.plan = draft, None
        self._undescribed, self._refused = [], []
        self.looked = self._looked_alone = Looked()
        self.fields.show_form(draft.form)
        self._lay_out()
        self.follow()
        self._describe()

    def action_run(self) -> None:
        self.work("run", self._run_it)

    async def _run_it(self) -> None:
        await self._look_alone()
        if self.can_run:
            self.dismiss(self.looked.request)
        else:
            self._go_to_fault()

    def _go_to_fault(self) -> None:
        """Goes to the first field with a fault; without one shows the other fault."""
        first = next((f.name for f in self.draft.form.fields() if f.name in self.fields.faults), "")
        if first:
            self.set_focus(self.fields)
            self.fields.go_to(first)
            self.about.lay_out()
        elif self.looked.others:
            self.action_pane(2)
        self.say(f"It cannot run yet: {plural(self._problems, 'problem')}.")

    def _show_pane(self, number: int) -> None:
        """Shows a pane where there is room for one only; the help of a field with the fields."""
        pane, is_elsewhere = self.panes[number - 1], number > 1
        self.room.set_classes(f"-in-{number}")
        self.tabs.key_ink = "key" if is_elsewhere else "faint"
        self.tabs.show(number)
        self.about.set_class(is_elsewhere, "-elsewhere")
        self.about.set_class(pane is self.about_env, "-reading")
        # Their numbers are keys where they are no text of a field.
        names = [f" {n} {one} " if is_elsewhere else f" {one} " for n, one in enumerate(TITLES, 1)]
        for each, name in zip(self.panes, names, strict=True):
            each.border_title = Content(name)
        hidden = "".join(names[1:4] if pane is self.about_env else names[4:])
        others = (hidden, style_of_others(self.app)) if self.has_class("-normal") else ""
        self.fields.border_title = Content.assemble(names[0], others)

    def action_help(self) -> None:
        from tui_eval.tui.base.keys.help import Help, Topic, without_words

        others = without_words(self.keys.words, "table")
        if self.focused is self.fields:
            self.app.push_screen(Help(Topic(GROUPS, ("form", "fields"), others=others)))
        else:
            self.app.push_screen(Help(Topic((FORM, PANES), ("form", "panels"), "view", others)))

    def action_leave(self) -> None:
        """Back to the form, then out of it, after a question where typed text would be lost."""
        if self.focused is not self.fields:
            self.action_pane(1)
            return
        self.files.unless_lost("Leave this evaluation?", "leave", lambda: self.dismiss(None))
