"""Every private name of Textual and Rich that the app touches; nothing else touches any.

Private names may change with any release. Each is checked here before it is used: where it is
missing, or of another kind than in the version it was seen in, the app does without it, as public
Textual does, and says so once in Textual's log (`TEXTUAL_LOG=FILE`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from inspect import getattr_static, isfunction
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias, TypeVar

from textual import log
from textual.app import App
from textual.css.stylesheet import Stylesheet
from textual.driver import Driver
from textual.geometry import Region
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.timer import Timer

if TYPE_CHECKING:
    from rich.console import RenderableType
    from textual._compositor import ChopsUpdate as ChopsUpdate
    from textual._compositor import Compositor as Compositor
    from textual._compositor import LayoutUpdate as LayoutUpdate
    from textual._xterm_parser import XTermParser
    from textual.css.model import RuleSet

Result = TypeVar("Result")
SEEN = {"Textual": "8.2.8", "Rich": "15.0.0"}
"""The newest versions in which all of the names were seen."""


class PrivateName(NamedTuple):
    """The reason for using a private name, and the loss without it."""

    why: str
    without: str


_FRAMES = "each frame is written as a whole, and waits behind those that the terminal has not taken"
_ROWS = "all rows of every widget are drawn for each frame"
_CLOCK = "what one key changes may be drawn in several frames"
_CLOSED = "what waits for a frame of a screen that closes is not done"
_STYLES = "style sheets are read again for each change of the theme"
_DRIVER = "Textual's own driver draws on the terminal"
_PACKETS = "what is printed comes between the packets for the browser"
_MARKS = "spacing marks of Indic scripts fill no cell"
NAMES = {
    "App._display": PrivateName("the one place where frames are written", _FRAMES),
    "App._batch_count": PrivateName("in a batch no frame is drawn", _FRAMES),
    "textual._compositor.LayoutUpdate": PrivateName("the cells of a whole frame", _FRAMES),
    "textual._compositor.ChopsUpdate": PrivateName("the cells that changed", _FRAMES),
    "textual._compositor.Compositor": PrivateName("requests the rows of widgets", _ROWS),
    "Compositor._dirty_regions": PrivateName("the rows that changed", _ROWS),
    "Screen._compositor": PrivateName("where a screen has its compositor", _ROWS),
    "Screen._on_timer_update": PrivateName("the one place where frames are due", _CLOCK),
    "Screen._update_timer": PrivateName("the clock of frames stops until one is due", _CLOCK),
    "Screen._layout_required": PrivateName("a new layout is drawn at once", _CLOCK),
    "Screen._scroll_required": PrivateName("what scrolls is drawn at once", _CLOCK),
    "Screen._callbacks": PrivateName("what waits for the next frame of a screen", _CLOSED),
    "Stylesheet._parse_rules": PrivateName("reads one text of a style sheet", _STYLES),
    "LinuxDriver._file": PrivateName("what the thread that writes writes to", _DRIVER),
    "textual._xterm_parser.XTermParser": PrivateName("makes keys of what terminals send", _DRIVER),
    "WebDriver._write": PrivateName("writes the packets for `tui-eval serve`", _PACKETS),
    "rich._unicode_data.load": PrivateName("the cells that each sign fills", _MARKS),
}
"""All of them, by their full names."""
_missed: set[str] = set()


def _has(name: str, found: object) -> bool:
    """Whether a private name is as expected; says so once in the log where it is not."""
    if not found and name not in _missed:
        from importlib.metadata import version

        _missed.add(name)
        package = "Rich" if name.startswith("rich") else "Textual"
        now, without = f"{package} {version(package)}", NAMES[name].without
        log.warning(f"{now} has no {name} as {package} {SEEN[package]} had it: {without}.")
    return bool(found)


def _is_method(owner: type, name: str, *parameters: str) -> bool:
    found = getattr_static(owner, name, None)
    if not isfunction(found):
        return False
    code = found.__code__
    return code.co_varnames[: code.co_argcount] == ("self", *parameters)


def _sets(owner: type, *names: str) -> bool:
    """Whether objects of a class have these attributes from the beginning."""
    made = [vars(one)["__init__"] for one in owner.__mro__ if "__init__" in vars(one)]
    known = {name for one in made if isfunction(one) for name in one.__code__.co_names}
    return known.issuperset(names)


def _class(module: str, name: str) -> Any:
    """A class of a private module; an empty one where there is none of that name."""
    found = None
    with suppress(ModuleNotFoundError):
        found = getattr(import_module(module), name, None)
    return found if isinstance(found, type) else type(name, (), {})


if not TYPE_CHECKING:
    Compositor = _class("textual._compositor", "Compositor")
    LayoutUpdate = _class("textual._compositor", "LayoutUpdate")
    ChopsUpdate = _class("textual._compositor", "ChopsUpdate")

Update: TypeAlias = "LayoutUpdate | ChopsUpdate"
"""The contents of a frame: all cells of a region, or those that changed."""
_SEES_FRAMES = all(
    (
        _has("App._display", _is_method(App, "_display", "screen", "renderable")),
        _has("App._batch_count", _sets(App, "_batch_count")),
        _has("textual._compositor.LayoutUpdate", _sets(LayoutUpdate, "strips", "region")),
        _has("textual._compositor.ChopsUpdate", _sets(ChopsUpdate, "chops", "spans", "chop_ends")),
    )
)


class FrameSource(App[Result]):
    """An app that may write its frames itself."""

    takes_frames = False
    """Whether frames go to `take_frame`, and Textual writes none."""

    def take_frame(self, update: Update) -> None:
        """Takes in a frame."""
        raise NotImplementedError

    if _SEES_FRAMES:

        def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
            if not isinstance(renderable, LayoutUpdate | ChopsUpdate) or not self.takes_frames:
                super()._display(screen, renderable)
                return
            try:
                if not self._batch_count and self.is_running:
                    self.take_frame(renderable)
            finally:
                self.post_display_hook()


_DRAWS_PARTS = all(
    (
        _has(
            "textual._compositor.Compositor",
            _is_method(Compositor, "render_partial_update")
            and isinstance(getattr_static(Compositor, "visible_widgets", None), property)
            and isinstance(getattr_static(Compositor, "cuts", None), property),
        ),
        _has("Compositor._dirty_regions", _sets(Compositor, "_dirty_regions")),
        _has("Screen._compositor", _sets(Screen, "_compositor")),
    )
)


def changed_regions(compositor: Compositor) -> set[Region]:
    """The regions that changed since the last frame."""
    changed = compositor._dirty_regions
    if _has("Compositor._dirty_regions", isinstance(changed, set)):
        return changed.copy()
    return {compositor.size.region}


_DRAWS_LATER = all(
    (
        _has("Screen._on_timer_update", _is_method(Screen, "_on_timer_update")),
        _has("Screen._update_timer", hasattr(Screen, "_update_timer")),
        _has("Screen._layout_required", _sets(Screen, "_layout_required")),
        _has("Screen._scroll_required", _sets(Screen, "_scroll_required")),
    )
)


GATHERS_S = 0.008
"""Seconds that a frame waits for further panes after the first one requested it."""


def use_compositor(screen: Screen[Any], make: Callable[[], Compositor]) -> None:
    """Has a screen drawn by this compositor from now on."""
    if _DRAWS_PARTS:
        screen._compositor = make()


class FrameClock:
    """Draws all changes by one key in one frame.

    After a rest Textual's clock of frames fires at once: only the first pane would be
    drawn, and the others up to two periods later.
    """

    def __init__(self, screen: Screen[Any]) -> None:
        self._screen = screen
        self._gathering: Timer | None = None
        self._is_gathering = False
        if _DRAWS_LATER:
            self._draw = screen._on_timer_update
            vars(screen)["_on_timer_update"] = self._due

    def _due(self) -> None:
        screen = self._screen
        if screen._layout_required or screen._scroll_required:
            self._draw()
            return
        screen._update_timer.pause()
        if self._gathering is None:
            self._gathering = screen.set_interval(GATHERS_S, self._gathered, name="gathering")
        elif not self._is_gathering:
            self._gathering.reset()
        self._is_gathering = True

    def _gathered(self) -> None:
        assert self._gathering is not None, "it calls this"
        self._gathering.pause()
        self._is_gathering = False
        self._draw()


def take_callbacks(screen: Screen[Any]) -> list[tuple[Callable[[], Any], MessagePump]]:
    """Removes and returns the callbacks for the next frame of a screen, with their senders."""
    waiting = getattr(screen, "_callbacks", None)
    if not _has("Screen._callbacks", isinstance(waiting, list)):
        return []
    screen._callbacks = []
    return waiting or []


_READS_TEXTS = _has(
    "Stylesheet._parse_rules",
    _is_method(
        Stylesheet, "_parse_rules", "css", "read_from", "is_default_rules", "tie_breaker", "scope"
    ),
)


class KeptStylesheet(Stylesheet):
    """A style sheet with a cache of its parsed texts by colours, for all apps of the process.

    Textual reads them all again for each change of the theme, which an app makes twice before its
    first frame, and for each screen with styles of its own that opens.
    """

    _kept: ClassVar[dict[tuple[Any, ...], list[RuleSet]]] = {}

    def __init__(self, variables: dict[str, str]) -> None:
        super().__init__()
        self.set_variables(variables)

    def set_variables(self, variables: dict[str, str]) -> None:
        super().set_variables(variables)
        self._colours = frozenset(variables.items())

    if _READS_TEXTS:

        def _parse_rules(self, *source: Any, **options: Any) -> list[RuleSet]:
            key = (self._colours, source, frozenset(options.items()))
            if key not in self._kept:
                self._kept[key] = super()._parse_rules(*source, **options)
            return self._kept[key]

        def reparse(self) -> None:
            self.parse()


def key_parser() -> XTermParser | None:
    """A new parser, which makes keys and other events of what a terminal sends; None without it."""
    parser = _class("textual._xterm_parser", "XTermParser")
    has_both = callable(getattr(parser, "feed", None)) and callable(getattr(parser, "tick", None))
    made: XTermParser | None = parser() if has_both else None
    _has("textual._xterm_parser.XTermParser", made is not None)
    return made


def can_drive_terminals(driver: type[Driver]) -> bool:
    """Whether this Textual driver takes another output, and another reader of keys."""
    writes = _has("LinuxDriver._file", _sets(driver, "_file"))
    return key_parser() is not None and writes


def write_to(driver: Any, file: Any) -> None:
    """Has a terminal driver's thread write to a file."""
    driver._file = file


def write_packets_by(driver: Any, make: Callable[[], Callable[[bytes], int]]) -> None:
    """Has the driver of browsers write its packets by the function that `make` returns."""
    if _has("WebDriver._write", callable(getattr(driver, "_write", None))):
        driver._write = make()


def cell_widths() -> list[tuple[int, int, int]]:
    """The first and last codes of signs and the cells that they fill: Rich's own list.

    Empty where there is none; what is changed in it counts for the whole process.
    """
    found = None
    with suppress(ModuleNotFoundError):
        found = getattr(import_module("rich._unicode_data"), "load", None)
    widths = getattr(found("auto"), "widths", None) if callable(found) else None
    is_list = isinstance(widths, list) and all(len(one) == 3 for one in widths)
    return widths if _has("rich._unicode_data.load", is_list) and widths else []
