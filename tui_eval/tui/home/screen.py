"""The home screen: runs, environments, endpoints."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from tui_eval.own_folders import shown_path
from tui_eval.tui.base.keys.command import Scope
from tui_eval.tui.base.keys.key_line import KeyLine
from tui_eval.tui.base.keys.keymap import bindings, key_for
from tui_eval.tui.base.layout import HEIGHTS, WIDTHS, PaneFocus, PaneTabs, Tab, size_classes
from tui_eval.tui.base.lines.text_panel import PlainPanel
from tui_eval.tui.base.look.ink import EMPTY, Line
from tui_eval.tui.base.terminal.drawing import DrawnScreen
from tui_eval.tui.home.about import about_endpoint, about_environment, about_run, title_line
from tui_eval.tui.home.commands import GROUPS, QUIT
from tui_eval.tui.home.pick_lists import EndpointList, EnvironmentList
from tui_eval.tui.home.polling import HomePolling
from tui_eval.tui.home.run_lines import can_resume, name_of
from tui_eval.tui.home.run_list import RunList

if TYPE_CHECKING:
    from tui_eval.config.draft import Draft
    from tui_eval.errors import Fault
    from tui_eval.feeds.feed import Feed
    from tui_eval.tui.form.screen import ConfigureScreen
    from tui_eval.tui.home.backend import HomeBackend

TYPING: Line = (("words of environment, model, arguments, state, path; !word leaves out", "muted"),)


class HomeScreen(DrawnScreen[None]):
    """Polls every few seconds while it is shown; opens what is chosen.

    Args:
        now: Unix seconds.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("home")
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    scopes: ClassVar[tuple[Scope, ...]] = ("home",)

    @dataclass
    class RunWanted(Message):
        """Somebody wants to see a run.

        Args:
            joined: Whether an engine that works on it was not started for this screen.
            if_refused: Gets the faults of a refused start; by default a dialog shows them.
        """

        feed: Feed
        joined: bool = False
        if_refused: Callable[[list[Fault]], object] | None = None

    def __init__(self, backend: HomeBackend, now: Callable[[], float]) -> None:
        super().__init__()
        self.backend = backend
        self.now = now
        self.runs = RunList(now, id="runs")
        self.folder = shown_path(Path.cwd())
        self.header = PlainPanel(
            lambda width: [title_line(self.runs, self.folder, width)], id="home-header"
        )
        self.tabs = PaneTabs(id="pane-tabs")
        self.environments = EnvironmentList(id="environments")
        self.endpoints = EndpointList(id="endpoints")
        self.about = PlainPanel(self._about, id="about")
        self.keys = KeyLine(id="keys")
        self.panes: list[Widget] = [self.runs, self.environments, self.endpoints]
        self.grid = Container(id="home", classes="-in-1")
        self.polling = HomePolling(self)

    def controllers(self) -> Iterable[object]:
        return self.polling, PaneFocus(self, self.panes, self._enter)

    def _enter(self, number: int) -> None:
        self.grid.set_classes([f"-in-{number}"])
        self.tabs.show(number)

    def compose(self) -> ComposeResult:
        self.add_class(*size_classes(self.app.size))
        yield self.header
        yield self.tabs
        with self.grid:
            for pane in self.panes:
                pane.add_class("pane")
                yield pane
        yield self.about
        yield self.keys

    def on_mount(self) -> None:
        """Draws the first frame, before the first poll."""
        self.set_focus(self.runs)
        self.screen_layout_refresh_signal.subscribe(self, lambda _: self._entitle())
        self.draw()
        self.set_interval(1.0, lambda: self.keys.expire(self.now()))

    @property
    def pane_scope(self) -> Scope:
        """The scope of the pane with the focus."""
        return (
            "runs" if self.focused is self.runs else "picks" if self.focused in self.panes else ""
        )

    def on_screen_resume(self) -> None:
        """Polls at once when the screen is shown again."""
        self.polling.look_soon()

    def show_seen(self, path: str) -> None:
        """Selects the run that was left."""
        self.runs.want(Path(path))
        self.run_worker(asyncio.to_thread(self.backend.note_seen, path), group="seen")
        self.runs.rearrange()

    def _entitle(self) -> None:
        """Puts a title over each pane; it is not named again below the tabs."""
        has_tabs = self.has_class("-narrow")
        self.runs.border_title = self.runs.title(named=not has_tabs)
        for pane, name in ((self.environments, "Environments"), (self.endpoints, "Endpoints")):
            title = f" {key_for(f'home.{name.lower()}')} {name} "
            pane.border_title = Content("" if has_tabs else title)

    def draw(self) -> None:
        """Draws changes."""
        self._entitle()
        known = len(self.runs.all) if self.runs.is_loaded else -1
        around = (self.environments, self.endpoints)
        near = [len(one.listed) if self.polling.looked else -1 for one in around]
        names = ("Runs", "Environments", "Endpoints")
        self.tabs.tabs = [Tab(*one) for one in zip(names, (known, *near), strict=True)]
        for view in (self.tabs, self.runs, self.environments, self.endpoints):
            view.update()
        for panel in (self.header, self.about):
            panel.lay_out()
        self.about.display = self._about(self.size.width) != (EMPTY, EMPTY)
        self._update_keys()

    def _about(self, width: int) -> tuple[Line, Line]:
        if self.focused is self.environments and self.environments.selected is not None:
            return about_environment(self.environments.selected)
        if self.focused is self.endpoints and self.endpoints.selected is not None:
            one = self.endpoints.selected
            return about_endpoint(one, self.endpoints.answers.get(one.url))
        about = does = EMPTY
        if self.focused is self.runs and self.runs.selected is not None:
            about, does = about_run(self.runs.selected, len(self.runs.marks), width)
        return about, TYPING if self.runs.typing else does

    def _update_keys(self) -> None:
        one = self.runs.selected if self.focused is self.runs else None
        resumable = one is not None and not can_resume(one)
        can_keep = one is not None and not one.saved and not one.running
        back = "clear" if self.runs.words else "unmark" if self.runs.marks else ""
        near, choice = self.endpoints.selected, "evaluate"
        if self.focused is self.endpoints:
            choice = "check" if near is not None and near.url else ""
        self.keys.words = {
            **dict.fromkeys(("mark", "sort", "copy", "export") if one is None else (), ""),
            "open": "" if one is None else "attach" if one.running else "open",
            "filter": "filter" if self.runs.all else "",
            "back": back if self.focused is self.runs else "",
            "compare": "compare" if len(self._compared) > 1 else "",
            "resume": "resume" if resumable else "",
            "keep": "keep" if self.runs.typing or can_keep else "",
            "demo": "demo" if self.runs.is_loaded and not self.runs.all else "",
            "choose": choice,
        }
        self.keys.scopes = ("typing",) if self.runs.typing else (*self.scopes, self.pane_scope)
        self.keys.tick(self.now())

    def on_descendant_focus(self) -> None:
        """Shows the pane that has the focus where there is room for one only."""
        if self.focused in self.panes:
            self._enter(self.panes.index(self.focused) + 1)
        self.draw()

    def action_back(self) -> None:
        """Back to the runs; takes the marks away there."""
        if self.polling.opens_soon:
            self.polling.opens_soon = False
            self.say("")
        if self.focused is self.runs:
            self.runs.marks.clear()
            self.draw()
        else:
            self.action_pane(1)

    def on_line_view_retitled(self) -> None:
        """Draws another selection or list."""
        self.draw()

    def action_open(self) -> None:
        """Opens the selected run, or joins its engine."""
        one = self.runs.selected
        if one is None:
            if not self.runs.is_loaded:
                self.polling.opens_soon = True
                enter = key_for("runs.open")
                self.say(f"Still looking for runs; {enter} counts once they are found.")
            return
        if one.running and not one.socket:
            self.say("Its engine cannot be joined; this is what is on disk.")
        self.post_message(self.RunWanted(self.backend.open(one), joined=True))

    def action_choose(self) -> None:
        """Evaluates an environment, or checks an endpoint."""
        if self.focused is self.endpoints:
            one = self.endpoints.selected
            if one is not None and one.url:
                self.run_worker(self.polling.check(one.url), group="check")
            elif one is not None:
                self.say("It is built in: there is nothing to check.")
        elif self.environments.selected is not None:
            self.action_new()

    def action_new(self) -> None:
        """Puts a new evaluation together, of the environment that is selected."""
        from tui_eval.config.draft import Draft

        one = self.environments.selected if self.focused is self.environments else None
        draft = Draft()
        draft.form.put("env_id", one.env_id if one is not None else "")
        self._fill_in(draft)

    def _fill_in(self, draft: Draft, refused: Sequence[Fault] = ()) -> None:
        """Shows a form and runs its request; shows it again where an engine refuses that."""
        form = self.make_form(draft, refused)

        def configured(request: dict[str, Any] | None) -> None:
            if request is not None:
                feed = self.backend.start(request)
                come_back = partial(self._fill_in, form.draft)
                self.post_message(self.RunWanted(feed, if_refused=come_back))

        self.app.push_screen(form, configured)

    def make_form(self, draft: Draft, refused: Sequence[Fault]) -> ConfigureScreen:
        """The form of an evaluation, with the faults of a refusal, if any."""
        from tui_eval.tui.form.backend import FormBackend
        from tui_eval.tui.form.screen import ConfigureScreen

        return ConfigureScreen(FormBackend(), draft, self.now, refused)

    def action_demo(self) -> None:
        self.post_message(self.RunWanted(self.backend.demo()))

    def action_resume(self) -> None:
        one = self.runs.selected
        if one is None:
            return
        if why := can_resume(one):
            self.say(why)
        else:
            self.post_message(self.RunWanted(self.backend.resume(one)))

    @property
    def _compared(self) -> list[Path]:
        """The runs to compare: the marked ones; a single one with the selected run."""
        marked, one = list(self.runs.marks), self.runs.selected
        if len(marked) == 1 and one is not None and one.run.place not in marked:
            marked.append(one.run.place)
        return marked

    def action_compare(self) -> None:
        """Compares the marked runs, in the order of their marks; one of them with the selected."""
        marked = self._compared
        if len(marked) < 2:
            self.say(
                f"Mark a run with {key_for('runs.mark')}; on another one "
                f"{key_for('home.compare')} compares the two. Or mark several."
            )
        else:
            from tui_eval.tui.compare.screen import CompareRuns

            self.app.push_screen(CompareRuns(marked, now=self.now))

    def action_keep(self) -> None:
        """Keeps the selected run for good."""
        one = self.runs.selected
        if one is None or one.saved or one.running:
            self.say("This run is kept already." if one is not None and one.saved else "Not yet.")
            return

        async def keep() -> None:
            why = await asyncio.to_thread(self.backend.save, str(one.run.place))
            self.say(why or f"{name_of(one)} is kept for good.")
            self.polling.look_soon()

        self.run_worker(keep(), group="keep")

    def action_copy(self) -> None:
        """Asks what to copy of the selected run."""
        from tui_eval.tui.copying.copyable import of_run, offer_copies

        one = self.runs.selected
        items = list(of_run(str(one.run.place))) if one is not None else []
        offer_copies(self, items, "home.copy")

    def action_export(self) -> None:
        """Asks how to export the selected run."""
        from tui_eval.runs.export.process import Part
        from tui_eval.tui.copying.export_form import offer_export

        one = self.runs.selected
        if one is None or (one.done == 0 and not one.running):
            self.say("Nothing of it has finished yet that could be exported.")
        else:
            all_of_it = [Part("all that have finished")]
            offer_export(self, str(one.run.place), name_of(one), all_of_it)

    def action_help(self) -> None:
        from tui_eval.tui.base.keys.help import Help, Topic

        scopes = (*self.scopes, "runs", "picks", "view", "app")
        others = dict.fromkeys(("app.interrupt", "app.quit"), QUIT)
        self.app.push_screen(Help(Topic(GROUPS, scopes, self.pane_scope, others=others)))
