"""Aligns ranks, finds where they part, and follows who waits for whom. Reads Records, knows no files and no terminal.

The way in is :func:`hangview.engine.analyse.analyse`. It is not imported here: a screen uses small modules of this room, and is
drawn before polars is there.
"""
