"""Text from a dump that can be written again."""

from __future__ import annotations

from hangview.dumps.decoded import Refused


def clean_text(text: str, key: str, longest: int) -> str:
    """Text that can be encoded: JSON may spell halves of characters. Raises Refused if it is too long."""
    if len(text) > longest:
        raise Refused(f"holds a {key} of {len(text):,} characters, more than the limit of {longest:,}")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
