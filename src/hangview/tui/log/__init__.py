"""The log of a rank on a screen of its own, at the line that matters.

``target`` says which file and which line, ``data`` reads bytes of plain and compressed logs by offset, ``paging`` makes rows of
them, ``finding`` searches, ``reader`` does all of it on a disk that may be slow, ``view`` and ``screen`` show it.
"""
