"""Ready-made incidents for tests of everything right of the engine, and for looking at the screen without files.

Each is small enough to reason about; nothing here reads a file or calls the engine. For your own, see
:class:`tests.support.builder.Builder`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.schema import CellState
from hangview.terms import Clock, Fact, Kind, Role, Side, Verdict
from hangview.text import fold_ranks
from tests.support.builder import OTHER_STACK, Builder

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hangview.incident import Incident

PATH_FIRST = "path before communication: data loading, branches, exceptions, whether the process ended"


def four_ranks() -> Incident:
    """Ranks 0-2 requested all_reduce 42 of default_pg; rank 3 completed 41 and requested nothing more."""
    builder = Builder(4)
    group = builder.group("default_pg", range(4), name="0")
    builder.lane(group, 0, 42, size=1024)
    builder.put(group, 42, (0, 1, 2), CellState.STARTED)
    builder.put(group, 42, (3,), CellState.NOT_REQUESTED, reason="dump is whole, newest entry of default_pg is 41")
    builder.wait((0, 1, 2), (3,), group, 42)
    builder.finding(
        Kind.NOT_REQUESTED, Role.LEAD, (3,), (0, 1, 2), group, 42,
        "rank 3 did not request all_reduce 42 of default_pg; ranks 0-2 wait for it",
        evidence=(
            "rank 3: dump is whole, newest entry of default_pg is 41 (nccl_trace_rank_3, record 41)",
            "ranks 0-2: all_reduce 42 requested and started, not completed",
        ),
        compare_first=f"rank 3's {PATH_FIRST}",
        not_concluded=("that rank 0, which timed out, is at fault", "that the network is sound"),
        steps=(
            "all members completed 0-41 of default_pg",
            "ranks 0-2 requested 42",
            "rank 3's dump covers 42 and its records stop at 41",
        ),
    )  # fmt: skip
    builder.clocks.append(Clock((0, 1, 2, 3), 0, 200_000_000, 40))
    return builder.build()


def eight_in_five_groups() -> Incident:
    """A 2 × 4 mesh: rank 7 stops before TP1 6; ranks 4-6 wait for it there, and 0-3 wait for 4-7 in their DP groups."""
    builder = Builder(8)
    world = builder.group("default_pg", range(8), name="0")
    tp0 = builder.group("TP0", range(4), name="1")
    tp1 = builder.group("TP1", range(4, 8), name="2")
    pairs = [builder.group(f"DP{index}", (index, index + 4), name=str(3 + index)) for index in range(4)]
    builder.lane(world, 0, 0, op="barrier", size=1)
    builder.lane(tp0, 0, 6, size=4096)
    builder.lane(tp1, 0, 6, size=4096)
    builder.put(tp1, 6, (4, 5, 6), CellState.STARTED)
    builder.put(tp1, 6, (7,), CellState.NOT_REQUESTED, reason="dump is whole, newest entry of TP1 is 5")
    builder.wait((4, 5, 6), (7,), tp1, 6)
    builder.finding(
        Kind.NOT_REQUESTED, Role.LEAD, (7,), (4, 5, 6), tp1, 6,
        "rank 7 did not request all_reduce 6 of TP1; ranks 4-6 wait for it",
        evidence=("rank 7: dump is whole, newest entry of TP1 is 5 (nccl_trace_rank_7, record 5)",),
        compare_first=f"rank 7's {PATH_FIRST}",
        not_concluded=("that rank 4, which timed out, is at fault", "that the network is sound"),
        steps=("ranks 0-3 wait in DP0-DP3 for ranks 4-7", "ranks 4-6 wait in TP1 for rank 7", "rank 7 waits for nobody"),
    )  # fmt: skip
    for index, pair in enumerate(pairs):
        builder.lane(pair, 0, 6, op="reduce_scatter", size=2048)
        builder.put(pair, 6, (index,), CellState.STARTED)
        builder.put(pair, 6, (index + 4,), CellState.NOT_REQUESTED, reason=f"dump is whole, newest entry of DP{index} is 5")
        builder.wait((index,), (index + 4,), pair, 6)
        builder.finding(
            Kind.WAITING, Role.WAITING, (index,), (index + 4,), pair, 6,
            f"rank {index} waits in reduce_scatter 6 of DP{index} for rank {index + 4}", op="reduce_scatter",
            evidence=(f"rank {index + 4} is itself held by TP1 6",),
        )  # fmt: skip
    return builder.build()


def large(ranks: int = 1024, seqs: int = 2000, behind: Iterable[int] = (37, 511, 900)) -> Incident:
    """All ``ranks`` in one group; all but ``behind`` stand in the last call, ``behind`` completed the one before it."""
    builder = Builder(ranks)
    group = builder.group("default_pg", range(ranks), name="0")
    late = tuple(behind)
    last = seqs - 1
    waiting = [rank for rank in range(ranks) if rank not in late]
    builder.lane(group, 0, last, size=8_650_752)
    builder.put(group, last, waiting, CellState.STARTED)
    builder.put(group, last, late, CellState.NOT_REQUESTED, reason=f"dump is whole, newest entry of default_pg is {last - 1}")
    builder.wait(waiting, late, group, last)
    names = fold_ranks(late)
    builder.finding(
        Kind.NOT_REQUESTED, Role.LEAD, late, waiting, group, last,
        f"ranks {names} did not request all_reduce {last} of default_pg; {len(waiting):,} ranks wait for them",
        evidence=(f"ranks {names}: dumps are whole, newest entry of default_pg is {last - 1}",),
        compare_first=f"the {PATH_FIRST} of ranks {names}",
        not_concluded=("that the network is sound",),
    )  # fmt: skip
    return builder.build()


def healthy() -> Incident:
    """Everything that was requested completed."""
    builder = Builder(4)
    group = builder.group("default_pg", range(4), name="0")
    builder.lane(group, 0, 20)
    return builder.build(Verdict.NO_HANG)


def missing_dump() -> Incident:
    """Ranks 0, 1 and 3 wait in all_reduce 42; of rank 2 there is no file, so nobody is named."""
    builder = Builder(4, missing={2: "no file of rank 2 among 3 dumps"})
    group = builder.group("default_pg", range(4), name="0")
    builder.lane(group, 0, 42)
    builder.put(group, 42, (0, 1, 3), CellState.STARTED)
    builder.wait((0, 1, 3), (2,), group, 42, observed=False)
    builder.finding(
        Kind.NOT_OBSERVED, Role.LEAD, (2,), (0, 1, 3), group, 42,
        "no record of rank 2: whether it requested all_reduce 42 of default_pg is not known; ranks 0-1,3 wait",
        side=Side.UNKNOWN,
        evidence=("rank 2: no file of rank 2 among 3 dumps",),
        compare_first="collection: path, permission, time the process ended, what the collection covered",
        not_concluded=("that rank 2 skipped the collective",),
    )  # fmt: skip
    return builder.build()


def tie() -> Incident:
    """Two ranks ask for 1,024 elements and two for 512: both sides are shown and nobody is named."""
    builder = Builder(4)
    group = builder.group("default_pg", range(4), name="0")
    builder.lane(group, 0, 42)
    builder.put(group, 42, (0, 1), CellState.STARTED, differs=True)
    builder.put(group, 42, (2, 3), CellState.STARTED, differs=True, size=512)
    builder.wait((0, 1), (2, 3), group, 42).wait((2, 3), (0, 1), group, 42)
    builder.finding(
        Kind.DIFFERENT_SIZE, Role.WAITING, (0, 1), (2, 3), group, 42,
        "ranks 0-1 ask for 1,024 × Float and ranks 2-3 for 512 × Float in all_reduce 42 of default_pg: a tie, nobody is named",
        evidence=("ranks 0-1: 1,024 × Float", "ranks 2-3: 512 × Float"),
        compare_first="that rank's input, batch, tensor construction",
        not_concluded=("that there is a lack of memory",),
    )  # fmt: skip
    return builder.build()


def different_dtype() -> Incident:
    """Rank 2 asks for Half where the others ask for Float."""
    builder = Builder(4)
    group = builder.group("dp_0", range(4), name="5")
    builder.lane(group, 0, 17)
    builder.put(group, 17, (0, 1, 3), CellState.STARTED)
    builder.put(group, 17, (2,), CellState.STARTED, differs=True, dtype="Half", stack=OTHER_STACK)
    builder.finding(
        Kind.DIFFERENT_DTYPE, Role.LEAD, (2,), (0, 1, 3), group, 17,
        "rank 2 asks for Half in all_reduce 17 of dp_0; ranks 0-1,3 ask for Float",
        evidence=("rank 2: 1,024 × Half", "ranks 0-1,3: 1,024 × Float"),
        compare_first="dtype conversion, mixed-precision settings",
        not_concluded=("that an equal element count makes it safe",),
    )  # fmt: skip
    return builder.build()


def cycle() -> Incident:
    """Rank 0 stands in group A and waits for 1, rank 1 stands in group B and waits for 0."""
    builder = Builder(2)
    one = builder.group("A", (0, 1), name="1")
    two = builder.group("B", (0, 1), name="2")
    for group, inside, outside in ((one, 0, 1), (two, 1, 0)):
        builder.lane(group, 0, 9)
        builder.put(group, 9, (inside,), CellState.STARTED)
        builder.put(group, 9, (outside,), CellState.NOT_REQUESTED)
        builder.wait((inside,), (outside,), group, 9)
    builder.finding(
        Kind.ORDER_CYCLE, Role.LEAD, (0, 1), (), one, 9,
        "ranks 0-1 wait for each other: rank 0 stands in A 9, rank 1 in B 9",
        evidence=("rank 0 requests A 9 before B 9", "rank 1 requests B 9 before A 9"),
        compare_first="the order of calls across groups, threads and async calls",
        not_concluded=("that one of these ranks alone is wrong",),
    )  # fmt: skip
    return builder.build()


def nothing_called() -> Incident:
    """Groups exist, no collective was recorded: the job ended before its first one."""
    builder = Builder(4, missing={3: "no file of rank 3 among 3 dumps"})
    builder.group("default_pg", range(4), name="0")
    builder.facts.extend(Fact("device", f"cuda:{rank}", (rank,), f"nccl_trace_rank_{rank}") for rank in range(3))
    builder.finding(
        Kind.NO_COLLECTIVE, Role.NOTE, (0, 1, 2), (), None, None,
        "ranks 0-2 hold no collective: the job ended before its first one, or the recorder was off", op=None,
        compare_first="which processes started, which groups exist on which ranks, on which device",
    )  # fmt: skip
    return builder.build(Verdict.NOT_ENOUGH_EVIDENCE)


def no_files() -> Incident:
    """A folder in which nothing was found."""
    return Builder(0, path="empty-folder").build(Verdict.NOT_ENOUGH_EVIDENCE)


def every_state() -> Incident:
    """One rank for each cell state at seq 5, for legends and glyphs."""
    states = list(CellState)
    builder = Builder(len(states))
    group = builder.group("default_pg", range(len(states)), name="0")
    builder.lane(group, 0, 5)
    for rank, state in enumerate(states):
        builder.put(group, 5, (rank,), state)
    return builder.build()
