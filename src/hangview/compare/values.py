"""What a comparison of two incidents says: immutable values, ranks are world ranks, A is the first set and B the second."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hangview.terms import Group, Verdict


class Outcome(StrEnum):
    """Values are part of the JSON contract."""

    SAME = "no_difference"  #: every call that both sets hold agrees
    DIFFERENT = "difference"
    NOTHING = "nothing_comparable"  #: no call is held by both


class DifferenceKind(StrEnum):
    """In what one rank's call differs between the sets; the most telling first. Values are part of the JSON contract."""

    OP = "op"
    SIZE = "size"
    DTYPE = "dtype"
    NOT_REQUESTED = "not_requested"  #: requested in one set, observed not to be requested in the other
    GROUP_ABSENT = "group_absent"  #: the rank's dump of the other set does not know the group
    CALL_SITE = "call_site"
    STATE = "state"  #: over in one set, not in the other
    ONLY_IN_ONE = "only_in_one"  #: the whole group has calls in one set only


class Loss(StrEnum):
    """Why a set's files lack what the other holds; the most telling first. Values are part of the JSON contract."""

    CUT = "cut"  #: the file ends early or is damaged
    NO_DUMP = "no_dump"
    ONLY_ACTIVE = "only_active"  #: the dump was asked for unfinished calls only
    OVERWRITTEN = "overwritten"  #: the ring buffer went round


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What was not compared because of one set's files. ``side`` lacks it ("A", "B"; "" for both of them); ``calls`` are those
    of the other set, each rank's own counted."""

    loss: Loss
    side: str
    ranks: tuple[int, ...]
    calls: int


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two sets. ``answer`` is what its report says first; ``calls`` counts the records read, ``lanes`` what its main
    screen lists."""

    paths: tuple[str, ...]
    verdict: Verdict
    leads: tuple[int, ...]
    answer: str
    expected: tuple[int, ...]
    read: tuple[int, ...]
    groups: int
    calls: int
    lanes: int = 0


@dataclass(frozen=True, slots=True)
class Value:
    """A value and the ranks it was recorded for; no ranks where it was recorded for the run as a whole."""

    text: str
    ranks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Condition:
    """Something recorded about a run, where the two sets do not say the same.

    ``changed`` is False where only one of them records it, or where what they say may still be the same (a range of versions
    taken from the wording of a log): then nothing is known to have changed. ``follows``: it comes with another condition
    (the format of the dumps with the version of PyTorch) and is not counted by itself.
    """

    name: str
    a: tuple[Value, ...]
    b: tuple[Value, ...]
    changed: bool
    follows: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """Ranks of one call that differ between the sets in the same way; what they show in A and in B."""

    kind: DifferenceKind
    ranks: tuple[int, ...]
    a: str
    b: str


@dataclass(frozen=True, slots=True)
class Difference:
    """The first call of a lane on which the sets differ. ``parts`` are ordered, the most telling first.

    ``pair`` is an index into Comparison.groups. ``follows``: each of its ranks differs in an earlier call of its own already,
    in another lane. ``later``: kinds that differ in later calls of the lane only, with the seq of the first of each. ``moved``:
    how many calls B has more here (negative: fewer) before it goes on as A does; None where it does not.
    """

    kind: DifferenceKind
    pair: int
    lane: str
    seq: int | None
    op: str | None
    parts: tuple[Part, ...]
    follows: bool = False
    later: tuple[tuple[DifferenceKind, int], ...] = ()
    moved: int | None = None

    @property
    def ranks(self) -> tuple[int, ...]:
        return tuple(sorted({rank for part in self.parts for rank in part.ranks}))


@dataclass(frozen=True, slots=True)
class Pair:
    """One group in both sets, or in one of them. ``ranks`` are the members whose dumps both sets have.

    ``compared`` counts the calls of its collective lane that both sets hold, ``first`` … ``last``; ``messages`` its sends and
    receives. ``held_a`` and ``held_b``: oldest and newest call of which a set still has a record. ``unobserved``: what could
    not be compared, in clauses with the reason. ``called``: a set has a call of it at all, of whatever rank.
    ``left_out``: ranks of which one set holds calls of it that the other's files lost (see LeftOut).
    """

    a: Group | None
    b: Group | None
    label: str
    ranks: tuple[int, ...] = ()
    matched_by: str = ""
    compared: int = 0
    first: int | None = None
    last: int | None = None
    messages: int = 0
    held_a: tuple[int, int] | None = None
    held_b: tuple[int, int] | None = None
    unobserved: tuple[str, ...] = ()
    called: bool = True
    left_out: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Duration:
    """Medians of one op of one group over the records that hold a duration, in milliseconds."""

    pair: int
    op: str
    a_ms: float
    b_ms: float
    a_count: int
    b_count: int

    @property
    def ratio(self) -> float | None:
        """B over A; None where A's median is 0."""
        return self.b_ms / self.a_ms if self.a_ms else None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that two sets show side by side. ``differences`` are ordered, the most telling first; there is none where no
    call is held by both. ``left_out``: what was not compared because of the files."""

    a: Side
    b: Side
    conditions: tuple[Condition, ...]
    groups: tuple[Pair, ...]
    differences: tuple[Difference, ...]
    durations: tuple[Duration, ...]
    notes: tuple[str, ...] = ()
    same_files: bool = False  #: both sets were read from the same paths, so that nothing about a change can be seen
    left_out: tuple[LeftOut, ...] = ()

    @property
    def outcome(self) -> Outcome:
        if self.differences:
            return Outcome.DIFFERENT
        return Outcome.SAME if any(pair.compared or pair.messages for pair in self.groups) else Outcome.NOTHING

    @property
    def changed(self) -> tuple[Condition, ...]:
        """The conditions that are recorded in both sets, are not the same, and count by themselves."""
        return tuple(condition for condition in self.conditions if condition.changed and not condition.follows)

    @property
    def disputed(self) -> bool:
        """Whether the reports of the two sets say different things although every call that both hold agrees."""
        return self.outcome is Outcome.SAME and (self.a.verdict, self.a.leads) != (self.b.verdict, self.b.leads)
