"""What a job is: groups, and for each rank a program, the list of calls that it makes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Group:
    name: str
    desc: str
    ranks: tuple[int, ...]  #: world ranks; position = group rank


@dataclass(frozen=True, slots=True)
class Part:
    """One operation. ``peer`` is a group rank, for sends and receives only."""

    op: str  #: as NCCL's recorder writes it: all_reduce, _all_gather_base, send, ...
    inputs: tuple[Shape, ...] = ()
    outputs: tuple[Shape, ...] = ()
    dtype: str = "Float"
    peer: int | None = None

    @property
    def wire(self) -> tuple[object, ...]:
        """What all members of a collective must agree on. An all-to-all may be uneven: only its kind and dtype count here."""
        if self.op.startswith("all_to_all"):
            return (self.op, self.dtype)
        return (self.op, self.dtype, sum(map(prod, self.inputs)), sum(map(prod, self.outputs)))


@dataclass(frozen=True, slots=True)
class Call:
    """One launch: a collective, a send or receive, or a coalesced batch of either.

    ``sync``: the host waits until it is over. ``detached``: made with async_op=True, so that later work of other groups does
    not wait for it on the device. ``joins``: waits on the device for all earlier detached ones.
    """

    group: int
    parts: tuple[Part, ...]
    site: str
    sync: bool = False
    detached: bool = False
    joins: bool = False
    batch: bool = False

    @property
    def is_p2p(self) -> bool:
        return self.parts[0].peer is not None

    @property
    def wire(self) -> tuple[object, ...]:
        return tuple(part.wire for part in self.parts)

    def ends(self, me: int) -> tuple[tuple[int, int], ...]:
        """The (source, target) group ranks of its sends and receives; ``me`` is the caller's group rank."""
        return tuple((me, p.peer) if p.op == "send" else (p.peer, me) for p in self.parts if p.peer is not None)


Program = list[Call]


@dataclass(frozen=True, slots=True)
class Job:
    """``stops`` maps a rank to the index in its program before which its host stops for good. ``stalled`` are keys of
    rendezvous (see ``simulate``) that never complete although everybody came. ``lazy``: the communicator of a group is made at
    the first call, where each host waits, before anything is recorded, until all members are there (NCCL without device_id)."""

    kind: str
    groups: tuple[Group, ...]
    programs: tuple[Program, ...]  #: by rank
    stops: dict[int, int] = field(default_factory=dict)
    stalled: frozenset[tuple[int, ...]] = frozenset()
    lazy: bool = False
    injected: frozenset[int] = frozenset()
    fault: str = "none"
    what: str = ""  #: the fault in words

    @property
    def world(self) -> int:
        return len(self.programs)

    def with_program(self, rank: int, program: Program) -> Job:
        programs = (*self.programs[:rank], program, *self.programs[rank + 1 :])
        return replace(self, programs=programs)


def collective(
    group: int,
    op: str,
    inputs: Shape,
    outputs: Shape,
    site: str,
    *,
    dtype: str = "Float",
    sync: bool = False,
    detached: bool = False,
) -> Call:
    return Call(group, (Part(op, (inputs,), (outputs,), dtype),), site, sync=sync, detached=detached)
