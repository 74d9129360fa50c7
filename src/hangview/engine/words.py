"""What to compare first and what must not be concluded, per kind of finding: the words of the product, in one place."""

from __future__ import annotations

from hangview.terms import Kind

COMPARE_FIRST: dict[Kind, str] = {
    Kind.NOT_REQUESTED: (
        "{ranks}'s path before communication: data loading, branches, exceptions; does an exception belong to this run, "
        "did the process end after it?"
    ),
    Kind.NO_COLLECTIVE: (
        "whether {ranks} got past start-up: process alive, groups created on the intended device, exceptions before the "
        "first collective"
    ),
    Kind.GROUP_ABSENT: "group creation on {ranks}: was the group created there, on which device, is the process still inside?",
    Kind.DIFFERENT_OP: "the branch that chose the call, the order of calls and the group's identity on {ranks}",
    Kind.DIFFERENT_SIZE: "the input, batch and tensor construction on {ranks}",
    Kind.DIFFERENT_DTYPE: "dtype conversion and mixed-precision settings on {ranks}",
    Kind.NOT_COMPLETED: "GPU execution errors, stream progress, the communication path and earlier errors on {ranks}",
    Kind.PARTLY_COMPLETED: "GPU execution errors, stream progress and earlier errors on {ranks}, where it is not over",
    Kind.NOT_OBSERVED: (
        "collection for {ranks}: path, permission, time the process ended, what the collection covered; "
        "whether the process lived"
    ),
    Kind.ORDER_CYCLE: "the order in which {ranks} {issue} collectives of these groups, also across threads and async calls",
    Kind.UNPAIRED_P2P: "the schedule of sends and receives on both ends: {do} {ranks} expect this message at all?",
    Kind.GROUP_MISMATCH: "group creation: order, arguments and members on every rank that knows this name",
    Kind.DIFFERENT_CALL_SITE: "where {ranks} {issue} the call from: a skipped or repeated call before this seq",
    Kind.STRAGGLER: "what {ranks} {do} before the call: input, load on the host, clock",
    Kind.PROCESS_ENDED: "{ranks}'s log before that line: does it belong to this run, what came first?",
    Kind.WAITING: "nothing here: look at the lead that these ranks wait for",
}

#: Before that, where it is not known whether a call that is not over stands still.
ONCE_MORE = "whether the same call is open in a second set of dumps; then "

#: The same for calls that no device makes (gloo).
_WITHOUT_DEVICE: dict[Kind, str] = {
    Kind.NOT_COMPLETED: (
        "whether the processes of {ranks} live and stand in this call (their stacks), the communication path between them, "
        "and earlier errors in their logs"
    ),
    Kind.PARTLY_COMPLETED: (
        "the logs of the ranks where it is over: an error ends a call too; then the connections and the log of {ranks}, "
        "where it is not over"
    ),
}
#: Where it is recorded that a call is over, and not how.
_UNCLEAR: dict[Kind, tuple[str, ...]] = {
    Kind.PARTLY_COMPLETED: (
        "that the ranks where it is over finished it: it may have failed there",
        "that the network is the proven reason",
    ),
}

_MAJORITY = "that the majority is right, only that they differ"
_OF_A_TIE = "that one side is right, only that they differ"
_OF_SUMS = "that any one of these ranks is wrong, only that the sums differ"
NOT_CONCLUDED: dict[Kind, tuple[str, ...]] = {
    Kind.NOT_REQUESTED: (
        "that a rank which timed out or printed first is at fault",
        "that the network is sound",
    ),
    Kind.NO_COLLECTIVE: ("that it is known why it stopped", "that it is slow"),
    Kind.GROUP_ABSENT: ("that the rank skipped the call: it may be inside the creation of the group",),
    Kind.DIFFERENT_OP: (
        "that the network equipment is at fault",
        _MAJORITY,
    ),
    Kind.DIFFERENT_SIZE: ("that there is a lack of memory", _MAJORITY),
    Kind.DIFFERENT_DTYPE: ("that an equal element count makes it safe", _MAJORITY),
    Kind.NOT_COMPLETED: ("that the network is the proven reason", "that any one of these ranks is at fault"),
    Kind.PARTLY_COMPLETED: ("that the network is the proven reason", "that the ranks which finished are sound"),
    Kind.NOT_OBSERVED: ("that {ranks} skipped the call", "that {ranks} {are} at fault"),
    Kind.ORDER_CYCLE: (
        "that one of these ranks is at fault: each waits for another",
        "that the network is at fault",
    ),
    Kind.UNPAIRED_P2P: ("that the sender is right and the receiver wrong, or the other way round", "that the network is sound"),
    Kind.GROUP_MISMATCH: ("that one rank's view is the right one, only that they differ",),
    Kind.DIFFERENT_CALL_SITE: ("that the first visible difference in op or size is where it began",),
    Kind.STRAGGLER: ("that this is a hang", "that a difference below the clock uncertainty is one"),
    Kind.PROCESS_ENDED: ("that the end of the process and the hang have one reason", "that the network is sound"),
    Kind.WAITING: ("that these ranks are at fault: they wait",),
}


def compare_first(kind: Kind, who: str, *, on_device: bool = True) -> str:
    """What to look at first for ``who`` ("rank 3", "ranks 0-2"); ``on_device``: the call is made by a device."""
    return _said_of(who, COMPARE_FIRST[kind] if on_device else _WITHOUT_DEVICE.get(kind, COMPARE_FIRST[kind]))


def not_concluded(kind: Kind, who: str, *, unclear: bool = False, tie: bool = False, sums: bool = False) -> tuple[str, ...]:
    """What must not be concluded; ``unclear``: of some ranks it is only recorded that the call is over; ``tie``: no side of a
    call is the majority; ``sums``: it is known of all together only that they differ."""
    told = (unclear and _UNCLEAR.get(kind)) or NOT_CONCLUDED[kind]
    instead = _OF_SUMS if sums else _OF_A_TIE if tie else _MAJORITY
    return tuple(_said_of(who, instead if text == _MAJORITY else text) for text in told)


def request(op: str, text: str) -> str:
    """A request in a sentence: ``"all_reduce of 1,024 × Float"``, ``"all_gather (in 8 → out 32 × Float)"``, ``"barrier"``."""
    if not text:
        return op
    return f"{op} ({text})" if text.startswith("in ") else f"{op} of {text}"


def agrees(who: str, one: str, many: str) -> str:
    """The verb that goes with ``who`` ("rank 3", "ranks 0-2")."""
    return many if who.startswith("ranks ") else one


def _said_of(who: str, text: str) -> str:
    verbs = {"are": ("is", "are"), "do": ("does", "do"), "issue": ("issues", "issue")}
    return text.format(ranks=who, **{name: agrees(who, *forms) for name, forms in verbs.items()})
