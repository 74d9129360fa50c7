"""Whether there can be a screen, and which characters it may use."""

from __future__ import annotations

import subprocess
import sys

import pytest

from hangview.tui.start import wants_ascii


@pytest.mark.parametrize(
    ("environ", "ascii_only"),
    [
        ({"LANG": "en_US.UTF-8"}, False),
        ({"LANG": "de_DE.utf8"}, False),
        ({"LANG": "C"}, True),
        ({}, True),
        ({"LANG": "en_US.UTF-8", "LC_ALL": "C"}, True),
        ({"LANG": "C", "LC_CTYPE": "en_US.UTF-8"}, False),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, True),  # set by Python itself (PEP 538)
        ({"LANG": "ja_JP.EUC-JP"}, True),
        ({"LC_ALL": "", "LANG": "C.UTF-8"}, False),
    ],
)
def test_ascii_by_locale(environ, ascii_only):
    assert wants_ascii(environ) is ascii_only


def test_saying_what_the_screen_can_do_imports_no_textual():
    code = "import sys, hangview.tui, hangview.tui.actions; sys.exit('textual' in sys.modules or 'polars' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
