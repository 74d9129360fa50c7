"""What the decoder makes of one file's bytes: plain columns and small tables, nothing resolved across files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import numpy.typing as npt

    from hangview.schema import Signature, StackFrame, Thread

#: How a note begins that says where a dump was damaged, as opposed to cut.
DAMAGED = "damaged at "
#: How one ends that says that the last bytes were never written.
ZEROS = " bytes are zeros"
#: Stands for "absent" in int64 columns (None, 0 for times in JSON, or the key was missing).
NONE = -(2**63)

INT_COLUMNS = (
    "record_id",
    "pg_id",
    "seq",
    "p2p_seq",
    "op_id",
    "created_ns",
    "started_ns",
    "completed_ns",
    "timeout_ms",
)
BOOL_COLUMNS = ("retired", "is_p2p")
#: uint32 ids into the table of the same name
ID_COLUMNS = ("op", "label", "signature", "stack", "thread")
#: ``state`` is uint8: 0 scheduled, 1 started, 2 completed, 3 other; ``duration_ms`` is float64 with NaN for absent.


class NotADump(ValueError):  # noqa: N818 - says what is the matter
    """The bytes are no flight-recorder dump. The message is one clear line without the file's name."""


class Refused(ValueError):  # noqa: N818 - says what is the matter
    """The bytes ask for code, or go past a limit; the message names what, and for a limit how to raise it."""


@dataclass(frozen=True, slots=True)
class RawConfig:
    """One value of ``pg_config`` as written, ranks parsed; ``ranks`` is empty when none were given."""

    key: str
    name: str
    desc: str
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RawStatus:
    """One value of ``pg_status`` as written; -1 is "none yet", None is absent."""

    pg_id: int
    enqueued: int | None
    started: int | None
    completed: int | None


@dataclass(frozen=True, slots=True)
class Decoded:
    """One dump, decoded. Columns all have one value per entry, in file order.

    ``tables``: ``op`` -> profiling names (str), ``label`` -> (name, desc) pairs, ``signature`` -> Signature,
    ``stack`` -> tuples of StackFrame, innermost first (id 0 is the empty stack), ``thread`` -> Thread.
    """

    complete: bool  #: False when the file ends early; what is here are its whole entries
    encoding: str  #: "pickle 2", "json", "pickle 4 of bytes", ...
    version: str | None
    library: str | None
    configs: tuple[RawConfig, ...]
    statuses: tuple[RawStatus, ...]
    count: int
    columns: Mapping[str, npt.NDArray[np.generic]]
    ops: tuple[str, ...]
    labels: tuple[tuple[str, str], ...]
    signatures: tuple[Signature, ...]
    stacks: tuple[tuple[StackFrame, ...], ...]
    threads: tuple[Thread, ...]
    has_entries_key: bool = True  #: False: dumped without collectives, or JSON that leaves an empty list out
    unknown_keys: tuple[str, ...] = ()  #: entry keys that no version we know has
    notes: tuple[str, ...] = field(default=())
