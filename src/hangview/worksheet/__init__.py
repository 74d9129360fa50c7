"""The incident worksheet: what was observed, what was missing, the hypothesis, what speaks against it, the way back.

``prefill(incident) -> Sheet`` fills in what the evidence says, ``to_markdown`` and ``from_markdown`` write and read it without
loss, :class:`~hangview.worksheet.store.SheetStore` keeps drafts and saves. Nothing here knows a terminal.
"""

from hangview.worksheet.markdown import from_markdown, to_markdown
from hangview.worksheet.model import Change, Field, Mark, Sheet
from hangview.worksheet.prefill import prefill

__all__ = ["Change", "Field", "Mark", "Sheet", "from_markdown", "prefill", "to_markdown"]
