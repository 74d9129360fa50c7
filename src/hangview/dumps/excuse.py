"""What stands in a rank's file instead of a dump: the reason why there is none.

Who collects dumps from outside writes it there, so that a gap is not silent (Ray Train's hang detector, ray PR 66203): a line
of text, or JSON with the reason under a name of its own.
"""

from __future__ import annotations

import json

from hangview.dumps.kinds import HEAD, Form, form_of
from hangview.text import escape, shorten

#: Bytes above which a file is no line that somebody left.
MOST = 4096
#: Characters of it that are shown.
_WIDTH = 160
#: What the reason is called in JSON.
_NAMES = ("reason", "error", "message", "detail")


def excuse(data: bytes) -> str:
    """The reason that a file without a dump gives, on one line; "" where it gives none."""
    form = form_of(data[:HEAD])
    if len(data) > MOST or form not in (Form.TEXT, Form.JSON):
        return ""
    try:
        text = data.decode("utf-8-sig")
        told = _told(json.loads(text)) if form is Form.JSON or text.lstrip().startswith('"') else text
    except (ValueError, RecursionError):
        return ""
    return shorten(escape(" ".join(told.split())), _WIDTH)


def _told(value: object) -> str:
    if isinstance(value, dict):
        value = next((value[name] for name in _NAMES if isinstance(value.get(name), str)), "")
    return value if isinstance(value, str) else ""
