"""Frames of a Python stack: which are PyTorch's or Python's own, and which is the first of the user's code.

Stacks are stored innermost first.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hangview.schema import StackFrame

_TORCH = ("/torch/", "\\torch\\", "/torch_npu/")


def is_torch(frame: StackFrame) -> bool:
    """A frame of PyTorch itself: it says how the call was made, not where in the training it was."""
    return any(part in frame.filename for part in _TORCH) or frame.filename.startswith(("torch/", "<frozen"))


def is_python(frame: StackFrame) -> bool:
    """A frame of the standard library; py-spy leaves its folder out."""
    folder, _, name = frame.filename.rpartition("/")
    return name.removesuffix(".py") in sys.stdlib_module_names and (not folder or "/lib/python3" in folder)


def first_own(stack: Sequence[StackFrame]) -> StackFrame | None:
    """The innermost frame that is not PyTorch's; None where there is none."""
    return next((frame for frame in stack if not is_torch(frame)), None)


def file_name(frame: StackFrame) -> str:
    """The file without its folder: ``"train.py"``."""
    return frame.filename.replace("\\", "/").rsplit("/", 1)[-1]
