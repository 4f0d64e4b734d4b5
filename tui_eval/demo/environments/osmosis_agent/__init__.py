"""Agent loops of the Osmosis SDK as an environment; `tui-eval agent` runs it."""

from __future__ import annotations

from tui_eval.compat.osmosis.loader import load_environment

__all__ = ["load_environment"]
