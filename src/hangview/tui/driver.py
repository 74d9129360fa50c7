"""How the terminal is read and written: textual's driver, with an end that is told when reading ends by a fault.

textual's own thread that reads keys shows a traceback then and lets the program end with 0, which promises that no hang was
found. Here a fault ends the program as any other fault of ours does, and a terminal that is gone ends it as SIGHUP would.
"""

from __future__ import annotations

import codecs
import signal
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.drivers import linux_driver
from textual.drivers.linux_driver import LinuxDriver

from hangview.tui.escape import EscapeParser

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import App


class SteadyDriver(LinuxDriver):
    """textual's for Linux, macOS and BSD; draws on stderr."""

    def _run_input_thread(self) -> None:
        try:
            self.run_input_thread()
        except OSError:  # nothing can be read any more: the terminal is gone
            self._app.call_later(self._ends(), 128 + signal.SIGHUP)
        except Exception as error:  # a fault of ours or of textual's: said once, by who started the app
            self._app.call_later(self._app._handle_exception, error)

    def _ends(self) -> Callable[[int], object]:
        end: Callable[[int], object] = getattr(self._app, "end", self._app.exit)
        return end


class OnStdout(SteadyDriver):
    """Draws on stdout where stderr goes elsewhere (``2>file``)."""

    def __init__(self, app: App[object], **options: Any) -> None:
        super().__init__(app, **options)
        self._file = sys.__stdout__


def lenient_decoder(encoding: str) -> Callable[[], codecs.IncrementalDecoder]:
    """A decoder that passes over bytes that are no text in ``encoding``: a key of a terminal with another encoding, or noise
    of a bad line. They come out as nothing, for what would stand for them could be typed into a field by nobody's hand."""
    return partial(codecs.getincrementaldecoder(encoding), errors="ignore")


def install() -> None:
    """Let textual's driver read keys so from now on; it names both in a module and offers no other way."""
    setattr(linux_driver, "XTermParser", EscapeParser)  # noqa: B010 - mypy: it is not the module's to export
    setattr(linux_driver, "getincrementaldecoder", lenient_decoder)  # noqa: B010
