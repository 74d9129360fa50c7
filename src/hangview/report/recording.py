"""What makes dumps appear: the variables by PyTorch version, for the reader of a folder that has none, and the README.

The recorder's default size is 0 up to 2.10 and 2000 from 2.11 (headers of these). PyTorch's pull request 143446, younger
than the branch of 2.6, moved the file from /tmp to ~/.cache/torch and made a time-out write it unasked: so from 2.7 (the
recorder's source before and after it, and a vendor's copy of 2.7's). ``TORCH_FR_*`` names come with 2.8 (file), 2.9 (size) and
2.15 (dump on time-out, pull request 189363); the ``TORCH_NCCL_*`` names stay valid beside them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Recording:
    """How one range of PyTorch releases records. ``settings`` is what to set before the job starts, "" when nothing is."""

    releases: str
    settings: str
    file: str  #: default prefix, the rank follows
    file_variable: str  #: the variable that moves it


RECORDING = (
    Recording(
        "2.2-2.6",
        "TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1",
        "/tmp/nccl_trace_rank_",
        "TORCH_NCCL_DEBUG_INFO_TEMP_FILE",
    ),
    Recording(
        "2.7",
        "TORCH_NCCL_TRACE_BUFFER_SIZE=2000",
        "~/.cache/torch/nccl_trace_rank_",
        "TORCH_NCCL_DEBUG_INFO_TEMP_FILE",
    ),
    Recording("2.8", "TORCH_NCCL_TRACE_BUFFER_SIZE=2000", "~/.cache/torch/nccl_trace_rank_", "TORCH_FR_DUMP_TEMP_FILE"),
    Recording("2.9-2.10", "TORCH_FR_BUFFER_SIZE=2000", "~/.cache/torch/comm_lib_trace_rank_", "TORCH_FR_DUMP_TEMP_FILE"),
    Recording("2.11-2.14", "", "~/.cache/torch/comm_lib_trace_rank_", "TORCH_FR_DUMP_TEMP_FILE"),
    Recording("2.15", "", "~/.cache/torch/comm_lib_trace_rank_", "TORCH_FR_DUMP_TEMP_FILE"),
)

#: What no variable in the table changes.
REMARKS = (
    "2.15's nccl (nccl2): only a rank that times out itself writes a dump; a rank that never came leaves none",
    "gloo records from 2.8, but never writes a dump by itself",
    "off by hand: TORCH_FR_BUFFER_SIZE=0, TORCH_NCCL_DUMP_ON_TIMEOUT=0, and from 2.15 TORCH_FR_DUMP_ON_TIMEOUT=0",
)


def recording_lines() -> list[str]:
    """What to set, one line for each range of releases, then the remarks."""
    lines = []
    for entry in RECORDING:
        settings = f"set {entry.settings}" if entry.settings else "on by default"
        lines.append(f"torch {entry.releases + ':':<11}{settings}; writes {entry.file}<rank>, moved by {entry.file_variable}")
    return [*lines, *REMARKS]
