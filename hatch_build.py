"""The README as the package page shows it, where no file lies beside it.

Pictures and links lead to the repository that `[project.urls]` names. While it names none there is
nothing for them to lead to: links are their text then, and pictures their description.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_ELSEWHERE = r"(?![a-z][a-z+.-]*:|#|/)"
_PICTURE = re.compile(rf"!\[([^\]]*)\]\({_ELSEWHERE}([^)\s]+)\)")
_LINK = re.compile(rf"(?<!!)\[([^\]]*)\]\({_ELSEWHERE}([^)\s]+)\)")


class PackagePage(MetadataHookInterface):
    """Makes the long description of README.md."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Adds `readme` to what stands in the `[project]` table."""
        text = (Path(self.root) / "README.md").read_text("utf-8")
        repository = (metadata.get("urls") or {}).get("Repository", "")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": package_page(text, repository),
        }


def package_page(text: str, repository: str) -> str:
    """A README whose pictures and links lead to a repository.

    Args:
        repository: Its URL; empty where there is none.
    """
    if not repository:
        return _LINK.sub(r"\1", _PICTURE.sub(r"\1", text))
    base = repository.rstrip("/")
    text = _PICTURE.sub(rf"![\1]({base}/raw/HEAD/\2)", text)
    return _LINK.sub(rf"[\1]({base}/blob/HEAD/\2)", text)
