"""The keys of a dump and the columns they become.

Versions: 1.0-1.4 have ``seq_id``; 2.0 (torch 2.4) split it into ``collective_seq_id`` and ``p2p_seq_id``; torch 2.2 wrote a
bare list with ``time_created_us``; 2.9 (torch 2.8) added the thread.
"""

from __future__ import annotations

from hangview.dumps.decoded import NONE

#: Entry keys of integers -> (column, factor to the column's unit). Of two keys for one column the first one present counts.
INTS = {
    "record_id": ("record_id", 1),
    "pg_id": ("pg_id", 1),
    "collective_seq_id": ("seq", 1),
    "seq_id": ("seq", 1),
    "p2p_seq_id": ("p2p_seq", 1),
    "op_id": ("op_id", 1),
    "time_created_ns": ("created_ns", 1),
    "time_created_us": ("created_ns", 1000),
    "time_discovered_started_ns": ("started_ns", 1),
    "time_discovered_completed_ns": ("completed_ns", 1),
    "timeout_ms": ("timeout_ms", 1),
}
#: Columns in which 0 means unknown: JSON writes 0 where pickle writes None.
TIMES = frozenset({"created_ns", "started_ns", "completed_ns"})
BOOLS = ("retired", "is_p2p")
STRINGS = ("thread_id", "thread_name", "profiling_name", "state")
LISTS = ("input_sizes", "input_dtypes", "output_sizes", "output_dtypes")
DURATION = "duration_ms"
GROUP = "process_group"
FRAMES = "frames"

ENTRY_KEYS = frozenset({*INTS, *BOOLS, *STRINGS, *LISTS, DURATION, GROUP, FRAMES})
#: Keys of which an entry has at least one; the other ones are too common to tell an entry from something else.
TELLING = frozenset({"record_id", "pg_id", "seq_id", "collective_seq_id", "profiling_name", "time_created_ns", "input_sizes"})

ENTRIES = "entries"
CONFIG = "pg_config"
STATUS = "pg_status"
LIBRARIES = ("comm_lib_version", "nccl_version")
#: Top-level keys that only a dump has. NCCL builds that report their communicators add a ``<lib>_comm_state``.
DUMP_KEYS = frozenset({CONFIG, STATUS, *LIBRARIES, "nccl_comm_state", "hccl_comm_state"})
TOP_KEYS = frozenset({*DUMP_KEYS, ENTRIES, "version"})

STATES = {"scheduled": 0, "started": 1, "completed": 2}
OTHER_STATE = 3

INT_MIN, INT_MAX = NONE + 1, 2**63 - 1
