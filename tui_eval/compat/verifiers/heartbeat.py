"""`verifiers.utils.heartbeat`: tells a URL that a program is alive."""

from __future__ import annotations

import logging

import aiohttp

logger = logging.getLogger(__name__)
_TIMEOUT = aiohttp.ClientTimeout(total=5)


class Heartbeat:
    """Sends a GET to a URL at each beat; made inside a running loop.

    Args:
        url: Gets the requests, one at a time; a beat during one is left out.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._is_beating = False
        self._session = aiohttp.ClientSession()

    async def beat(self) -> None:
        """Sends one request; what goes wrong is logged and no more."""
        if self._is_beating:
            return
        self._is_beating = True
        try:
            async with self._session.get(self.url, timeout=_TIMEOUT):
                pass
        except Exception as error:
            logger.warning("Heartbeat failed: %s", error)
        finally:
            self._is_beating = False

    async def close(self) -> None:
        """Closes its connections."""
        await self._session.close()
