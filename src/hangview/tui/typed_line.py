"""A line to type in whose ``^C`` is one level back, as everywhere else on the screen."""

from __future__ import annotations

from textual.actions import SkipAction
from textual.widgets import Input


class TypedLine(Input):
    """Textual's line copies with ``^C`` what is selected, and does nothing where nothing is: whoever wants out is held."""

    def action_copy(self) -> None:
        raise SkipAction  # so that the key goes on to the dialog that the line stands in
