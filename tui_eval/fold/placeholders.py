"""What stands for a picture or a sound where only text can be shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_LONGEST = 200


def placeholder(part: Mapping[str, Any]) -> str:
    """A content part that is no text in a few words: its kind, media type, and size or address."""
    kind = str(part.get("type") or "part")
    word = {"image_url": "image", "input_image": "image", "input_audio": "audio"}.get(kind, kind)
    media, data, address = _found(part)
    reported = [word]
    if media:
        reported.append(media)
    if data:
        reported.append(_size(len(data) * 3 // 4))
    if address:
        reported.append(address[:_LONGEST])
    return f"[{' · '.join(reported)}]"


def _found(part: Mapping[str, Any]) -> tuple[str, str, str]:
    """Media type, base64 text and address of a part, from the shapes that protocols use."""
    for name in ("image_url", "input_audio", "source", "file", "audio"):
        inner = part.get(name)
        if isinstance(inner, str):
            return _of_url(inner)
        if isinstance(inner, Mapping):
            url = inner.get("url") or inner.get("file_data")
            if isinstance(url, str):
                return _of_url(url)
            media = inner.get("media_type") or inner.get("format") or ""
            data = inner.get("data")
            name_of = inner.get("filename") or inner.get("file_id") or ""
            return str(media), data if isinstance(data, str) else "", str(name_of)
    return "", "", ""


def _of_url(url: str) -> tuple[str, str, str]:
    if not url.startswith("data:"):
        return "", "", url
    head, _, data = url.partition(",")
    return head[5:].partition(";")[0][:_LONGEST], data, ""


def _size(count: int) -> str:
    if count < 1000:
        return f"{count} B"
    return f"{count / 1000:.0f} kB" if count < 1e6 else f"{count / 1e6:.1f} MB"
