"""Style sheets that are read once, not each time that something is styled anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from tui_eval.tui.base.textual_private import TextsStylesheet

if TYPE_CHECKING:
    from textual.css.model import RuleSet


class KeptStylesheet(TextsStylesheet):
    """Keeps what its texts say in the colours they were read with, for all apps of the process.

    Textual reads them all again for each change of the theme, which an app makes twice before its
    first frame, and for each screen with styles of its own that opens.
    """

    _kept: ClassVar[dict[tuple[Any, ...], list[RuleSet]]] = {}

    def __init__(self, *, variables: dict[str, str]) -> None:
        super().__init__(variables=variables)
        self._colours = frozenset(variables.items())

    def set_variables(self, variables: dict[str, str]) -> None:
        """Takes the colours of now."""
        super().set_variables(variables)
        self._colours = frozenset(variables.items())

    def read_text(self, *source: Any, **options: Any) -> list[RuleSet]:
        """Reads one text, unless it was read in these colours."""
        key = (self._colours, source, frozenset(options.items()))
        if key not in self._kept:
            self._kept[key] = super().read_text(*source, **options)
        return self._kept[key]

    def reparse(self) -> None:
        """Takes the texts as they read in the colours of now."""
        self.parse()
