"""Running what was written for other libraries: their import names lead to ours."""

from __future__ import annotations

from tui_eval.compat.osmosis_alias import (
    install_osmosis_alias,
    osmosis_alias,
    uninstall_osmosis_alias,
)
from tui_eval.compat.verifiers_alias import (
    install_verifiers_alias,
    uninstall_verifiers_alias,
    verifiers_alias,
)

__all__ = [
    "install_osmosis_alias",
    "install_verifiers_alias",
    "osmosis_alias",
    "uninstall_osmosis_alias",
    "uninstall_verifiers_alias",
    "verifiers_alias",
]
