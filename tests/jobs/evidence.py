"""How a job was recorded and what of it was collected, and what a rank's dump can therefore tell."""

from __future__ import annotations

from dataclasses import dataclass, field

#: Recorders. ``hook`` is torch 2.15's on a backend that reports no completion: it only says that a call was made.
PRODUCERS = ("nccl", "nccl2", "hook", "gloo")


@dataclass(frozen=True, slots=True)
class Recording:
    """Options of the recorder, and what became of the dumps on their way.

    ``early`` maps a rank to the time (seconds since the start of the job) at which its dump was written; all others were
    written when nothing moved any more. ``offsets`` are clock errors per host in seconds; rank r is on host r // per_host.
    ``inside``: ranks that stopped inside the batch that they were about to launch: its members are recorded, its end is not.
    ``aborted``: ranks on which an abort made unfinished calls look completed, after their time-out.
    """

    producer: str = "nccl"
    version: str = "2.10"
    as_json: bool = False
    ring: int | None = None
    only_active: bool = False
    timing: bool = True
    frames: bool = True
    configured: bool = True  #: pg_config names all groups from the start; else only those with a call (nccl without device_id)
    old_batches: bool = False  #: about torch 2.5 a batch of sends and receives took a collective_seq_id
    per_host: int = 8
    offsets: tuple[float, ...] = (0.0,)
    missing: frozenset[int] = frozenset()
    cut: dict[int, float] = field(default_factory=dict)  #: rank -> share of the file's bytes that is left
    early: dict[int, float] = field(default_factory=dict)
    inside: frozenset[int] = frozenset()
    aborted: frozenset[int] = frozenset()
    prefix: str = "nccl_trace_rank_"

    def whole(self, rank: int) -> bool:
        """Whether a rank's dump is there, to its end, and of the end of the job."""
        return rank not in self.missing and rank not in self.cut and rank not in self.early

    def offset_ns(self, rank: int) -> int:
        return int(self.offsets[rank // self.per_host % len(self.offsets)] * 1e9)
