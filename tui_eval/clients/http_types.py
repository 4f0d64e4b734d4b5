"""The http library of the current SDKs, `httpx2`, or stand-ins where an interpreter lacks it.

What travels goes over aiohttp; httpx2 names what went wrong, and is what an SDK's client sends
with. An environment's own interpreter may have an SDK of another time, or none: then the few names
that are used without an SDK are ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx2
else:
    try:
        import httpx2
    except ImportError:
        from tui_eval.clients import stand_in_http as httpx2

__all__ = ["httpx2"]
