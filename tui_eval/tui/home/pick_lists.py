"""The lists of environments and of endpoints on the home screen."""

from __future__ import annotations

from typing import ClassVar, Generic, TypeVar
from urllib.parse import urlsplit

from textual.binding import BindingType

from tui_eval.config.secret_values import masked_url
from tui_eval.printable import one_line
from tui_eval.tui.base.keys.keymap import bindings
from tui_eval.tui.base.lines.line_list import LineList
from tui_eval.tui.base.look.ink import EMPTY, Line, Span, left
from tui_eval.tui.home.backend import EndpointInfo, EndpointInfos, EnvironmentInfo

NAME_MOST = 40
LOOKING: Line = (("  looking…", "faint"),)
NONE_OF_YOUR_OWN: list[Line] = [
    EMPTY,
    (("  None of your own under ./environments yet.", "muted"),),
    (("  tui-eval new-env NAME", "muted"), ("  writes one to begin with", "faint")),
]
CHECKING = "checking…"
ORIGIN = 9

Info = TypeVar("Info", EnvironmentInfo, EndpointInfo)


class PickList(LineList, Generic[Info]):
    """A list of named things, one of them selected, and lines of notes below."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("picks")

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.listed: list[Info] = []
        self.words: list[Line] = [LOOKING]

    @property
    def selected(self) -> Info | None:
        """The selected thing."""
        return self.listed[self.cursor] if self.listed else None

    def thing(self, one: Info) -> Line:
        """The line of a thing."""
        raise NotImplementedError

    def count(self) -> int:
        return len(self.listed) + len(self.words)

    def line(self, index: int) -> Line:
        there = len(self.listed)
        return self.thing(self.listed[index]) if index < there else self.words[index - there]

    def marked(self, index: int) -> bool:
        return index == self.cursor < len(self.listed)

    def lit(self, index: int) -> bool:
        return self.has_focus and self.marked(index)

    def select(self, index: int) -> None:
        self.cursor = min(max(index, 0), max(len(self.listed) - 1, 0))
        self.show_line(self.cursor)
        self.update()
        self.post_message(self.Retitled())

    def action_choose(self) -> None:
        """Acts on the selected thing."""
        if self.listed:
            self.call_later(self.screen.run_action, "choose")

    def clicked(self, index: int) -> None:
        if index == self.cursor:
            self.action_choose()
        elif index < len(self.listed):
            self.select(index)


class EnvironmentList(PickList[EnvironmentInfo]):
    """Environments: the user's own first, then the bundled ones."""

    def show(self, listed: list[EnvironmentInfo]) -> None:
        self.listed = sorted(listed, key=lambda one: (one.origin != "local", one.env_id))
        is_own = any(one.origin != "bundled" for one in listed)
        self.words = [] if is_own else NONE_OF_YOUR_OWN
        self.select(self.cursor)

    def thing(self, one: EnvironmentInfo) -> Line:
        names = (len(one_line(one.env_id, NAME_MOST)) for one in self.listed)
        width = min(max(names), max(self.line_width - 15, 8))
        is_own = one.origin != "bundled"
        return (
            ("  ", ""),
            (left(one_line(one.env_id, NAME_MOST), width), "" if is_own else "muted"),
            (f"  {left(one.origin, ORIGIN)}", "muted" if is_own else "faint"),
            (f"  {one_line(one.summary, 200)}", "faint"),
        )


class EndpointList(PickList[EndpointInfo]):
    """Endpoints with their status, which is known once one was checked."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.answers: dict[str, str] = {}
        """For each URL the reason why nothing answers, `CHECKING`, or empty for an answer."""

    def show(self, found: EndpointInfos) -> None:
        self.listed = found.listed
        self.answers |= {one.url: "" for one in found.listed if one.answers}
        self.words = [(("  ✗ ", "bad"), (one_line(fault, 300), "fault")) for fault in found.faults]
        if not self.listed and not found.faults:
            self.words = [(("  The registry names none: configs/endpoints.toml", "muted"),)]
        self.select(self.cursor)

    def set_answer(self, url: str, why: str) -> None:
        """Sets the result of a check."""
        self.answers[url] = why
        self.update()
        self.post_message(self.Retitled())

    def thing(self, one: EndpointInfo) -> Line:
        names = (len(one_line(one.alias, NAME_MOST)) for one in self.listed)
        width = min(max(names), max(self.line_width - 40, 8))
        key, answer = key_span(one), self.answer_span(one)
        name: Span = (left(one_line(one.alias, NAME_MOST), width), "" if one.has_key else "muted")
        return (("  ", ""), name, ("  ", ""), (left(key[0], 17), key[1]), answer)

    def answer_span(self, one: EndpointInfo) -> Span:
        """Whether it answers, in few words."""
        if not one.url:
            return ("✓ built in", "good")
        why = self.answers.get(one.url)
        if why is None:
            return ("· not checked", "faint")
        if why == CHECKING:
            return (f"… {CHECKING}", "muted")
        return ("✗ not reachable", "bad") if why else ("✓ reachable", "good")


def key_span(one: EndpointInfo) -> Span:
    """Whether its key is there; never the key."""
    if not one.key_var:
        return ("· no key needed", "faint")
    return ("✓ key is set", "good") if one.has_key else ("✗ key not set", "warn")


def host_of(url: str) -> str:
    """The host and port of a URL; never a password in it."""
    shown = masked_url(url)
    return one_line(urlsplit(shown).netloc or shown, 60)
