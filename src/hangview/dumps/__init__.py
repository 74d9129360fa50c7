"""Bytes to records: finding files, their ranks, decoding, and one schema for all producers and versions.

The way through::

    listing = find.find(paths, options)          # names and stats
    pool.read_all(listing.dumps, options, done)  # bytes -> Decoded, in other processes when there is much; or read.read_file
    records = assemble.assemble(files, others, options)  # ranks, starts of the job, groups, counters, one frame of entries

Nothing here looks at a call or a lane; that is ``hangview.engine``. Importing the package imports nothing else: the processes
that decode need numpy and not polars.
"""
