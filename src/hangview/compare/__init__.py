"""Two dump sets side by side: the run before a change and the run after it, and where they stop agreeing.

``compare(a, b) -> Comparison`` takes two incidents and gives one immutable value; :mod:`hangview.compare.page` and
:mod:`hangview.compare.as_json` write it down. Nothing here knows a terminal, and nothing opens a file.
"""

from hangview.compare.build import compare
from hangview.compare.values import Comparison, Outcome

__all__ = ["Comparison", "Outcome", "compare"]
