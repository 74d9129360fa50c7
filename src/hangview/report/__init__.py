"""An incident on paper: text, markdown, JSON, the ledger of sources and the chain of reasoning.

Every format reads an :class:`~hangview.incident.Incident` and nothing else: no file, no clock, no terminal. What is said, and
in which order, is decided once in :mod:`hangview.report.page`; the formats only set it.
"""
