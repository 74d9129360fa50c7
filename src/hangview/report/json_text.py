"""How every JSON of this program is written, so that its outputs can be read, diffed and grepped alike."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

#: A list of numbers as json.dumps folds it. Strings hold no line feed, so that nothing inside one can match.
_NUMBERS = re.compile(r"\[\n\s+(\d+(?:,\n\s+\d+)*)\n\s+\]")


def json_text(values: Mapping[str, Any]) -> str:
    """One JSON object, ASCII only, two blanks of indent, lists of ranks on one line, a line feed at the end."""
    text = json.dumps(values, indent=2, ensure_ascii=True, allow_nan=False)
    return _NUMBERS.sub(lambda found: f"[{' '.join(found[1].split())}]", text) + "\n"
