"""Bytes of one file -> :class:`hangview.dumps.decoded.Decoded`, for every producer, version and container: see ``dump``.

No pickle module is involved: see ``machine`` for what is read and what is refused, ``rows`` for the fast way through torch's
own layout, ``columns`` for how values become columns, ``text`` for JSON. ``begin`` reads a header alone, and needs no numpy.
"""
