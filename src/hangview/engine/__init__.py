"""Aligns ranks, finds where they part, and follows who waits for whom. Reads Records, knows no files and no terminal."""

from hangview.engine.analyse import analyse

__all__ = ["analyse"]
