"""Style sheets that are read once, not each time that something is styled anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual.css.stylesheet import Stylesheet

if TYPE_CHECKING:
    from textual.css.model import RuleSet


class KeptStylesheet(Stylesheet):
    """Keeps what its texts say in the colours they were read with, for all apps of the process.

    Textual reads them all again for each change of the theme, which an app makes twice before its
    first frame, and for each screen with styles of its own that opens.
    """

    _kept: ClassVar[dict[tuple[Any, ...], list[RuleSet]]] = {}

    def _parse_rules(self, *source: Any, **options: Any) -> list[RuleSet]:
        colours = frozenset(self._variables.items())
        key = (colours, source, frozenset(options.items()))
        if key not in self._kept:
            self._kept[key] = super()._parse_rules(*source, **options)
        return self._kept[key]

    def reparse(self) -> None:
        """Takes the texts as they read in the colours of now."""
        self.parse()
