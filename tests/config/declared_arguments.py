"""An environment as it describes its arguments."""

from __future__ import annotations

from typing import Any


def parameter(name: str, kind: str, default: Any, **more: Any) -> dict[str, Any]:
    return {
        "name": name, "kind": kind, "choices": [], "nullable": False, "required": False,
        "default": default, "annotation": kind, "shape": "any", "help": "", **more,
    }  # fmt: skip


def described(*parameters: dict[str, Any]) -> dict[str, Any]:
    return {"parameters": list(parameters), "takes_others": False, "defaults": {}}
