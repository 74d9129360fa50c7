"""What the words on the screens mean, for the help. States, kinds, sides, roles and statuses are keyed by what they are in the
program, so that none can be added without a word about it; ``tests/tui/text/test_glossary.py`` looks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.schema import NOT_READ_YET, CellState, SourceStatus
from hangview.terms import Kind, Side

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Of cells; a cell without a record always says why there is none.
STATES: Mapping[CellState, str] = {
    CellState.COMPLETED: "the device ended it",
    CellState.ENDED: "it is over; this recorder does not say whether it completed",
    CellState.STARTED: "the device began it; that it ended is not recorded",
    CellState.REQUESTED: "the host asked for it; that the device began it is not recorded",
    CellState.FAILED: "given up without completion, or completed only after its own time-out",
    CellState.NOT_REQUESTED: "the dump covers this seq and the rank stops below it: the only evidence of absence",
    CellState.OVERWRITTEN: "older than what the ring buffer kept; whether the rank called is not known",
    CellState.OMITTED: "a dump of unfinished entries alone leaves completed ones out",
    CellState.CUT: "the file ends early, or is damaged from there on",
    CellState.NO_DUMP: "a member without a usable file; it may well have called",
    CellState.GROUP_ABSENT: "the rank's dump does not know this group: never made there, or still being made",
    CellState.BEFORE_DUMP: "the rank's file was written before the others asked, so it cannot know",
    CellState.NOT_RECORDED: "neither a record nor a counter of the rank reaches here",
}

#: What stands first in the answer, before findings and files.
HEADS: Mapping[str, str] = {
    "LOOK FIRST": "where to look first: others wait for this rank and it waits for nobody; not who is at fault",
    "AND": "another place to look, independent of the one above",
    "ITS LOG, THEIR LOGS": "what the log of the ranks that were named already adds",
    "NO RANK NAMED": "ranks stand still here, and the evidence does not tell on whom it hangs",
    "WAITING": "explained by what stands first",
    "NOTE": "worth knowing, explains no hang",
    "DIVERGENCE": "ranks do not agree on a call, and none is to be looked at first",
    "NO HANG SEEN": "all that can be compared agrees and is over: a result, for these files",
    "NOT ENOUGH EVIDENCE": "these files neither show a hang nor that there is none: too little was recorded, or read",
    "READING, SO FAR": "files are still being read: nobody is named before all are",
    "NOT READ": "the last look ended without an answer, for the reason beside it",
}

#: Of findings.
KINDS: Mapping[Kind, str] = {
    Kind.NOT_REQUESTED: "these ranks' records stop before a call that others wait in",
    Kind.DIFFERENT_OP: "members of one call asked for different operations",
    Kind.DIFFERENT_SIZE: "they asked for different element counts",
    Kind.DIFFERENT_DTYPE: "they asked for different data types",
    Kind.NOT_COMPLETED: "all members asked for it and none completed it: held on the device side",
    Kind.PARTLY_COMPLETED: "all members asked for it and only some completed it",
    Kind.NOT_OBSERVED: "ranks wait for members of which there is no usable record",
    Kind.ORDER_CYCLE: "ranks wait for each other in a ring: they asked in different orders",
    Kind.UNPAIRED_P2P: "a send without its receive, or the other way round",
    Kind.GROUP_ABSENT: "a member's dump lacks the group that others wait in",
    Kind.NO_COLLECTIVE: "ranks ended before their first collective",
    Kind.PROCESS_ENDED: "a log shows that the rank's process ended, or raised an error",
    Kind.GROUP_MISMATCH: "ranks do not agree on a group's name, description or members",
    Kind.DIFFERENT_CALL_SITE: "the same call from another place in the code: a call ahead or behind",
    Kind.STRAGGLER: "late, but everything completed",
    Kind.WAITING: "these ranks only wait, in another call than the one that stands first",
}

#: Where it hangs. Of a side that is not known nothing is said.
SIDES: Mapping[Side, str] = {
    Side.HOST: "the processes: a request was never made, or made otherwise",
    Side.DEVICE: "the devices, streams or network: all was requested, and is held",
}

#: What became of a file, in the words of the list of files.
FILES: Mapping[SourceStatus, str] = {
    SourceStatus.READ: "whole",
    SourceStatus.CUT: "ends early or is damaged; the whole entries before that are used",
    SourceStatus.EMPTY: "has no byte",
    SourceStatus.REFUSED: "asks for code to be run, or goes past a limit: not read",
    SourceStatus.UNREADABLE: "no permission, an error of the disk, or no dump under a dump's name",
    SourceStatus.IGNORED: "neither a dump nor a log",
    SourceStatus.SUPERSEDED: "another file of the same rank and attempt is newer or fuller",
    SourceStatus.OTHER_ATTEMPT: "of an earlier start of the job, or of another run",
    SourceStatus.GROWING: "still being written, while watching",
    SourceStatus.UNFINISHED: "not whole, and perhaps still being written; its whole entries are used",
}

#: What a file's status is called where that is another word than its value.
FILE_WORDS = {SourceStatus.GROWING: "being written", SourceStatus.UNFINISHED: "being written or cut"}


def file_word(status: SourceStatus) -> str:
    """Its status in words."""
    return FILE_WORDS.get(status) or status.value.replace("_", " ")


#: Everything else, as near to the order in which one meets it as can be.
WORDS: Mapping[str, str] = {
    "rank": "the world rank, everywhere; the number in a group is called group rank",
    "group": "a process group: its name with its members; dp[0-3] where several are called dp",
    "members inferred": "not in any configuration: whoever recorded the group is taken for a member",
    "lane": "a group's collectives, or its sends from one rank to another (p2p 0->1)",
    "seq": "the position inside one group's lane; not a training step",
    "call": "what all members do at one seq of one lane",
    "entry, record": "what one rank's recorder wrote about one call",
    "coalesced batch": "several sends and receives that were asked for as one call",
    "divergence": "the first call on which members do not agree, or that not all complete",
    "finding": "a divergence with its evidence, what to compare first, and what must not be concluded",
    "lead": "a rank to look at first: others wait for it and it waits for nobody; not who is at fault",
    "waiting": "a rank that only waits for others",
    "cycle": "ranks that wait for each other in a ring; none of them is named",
    "majority, minority": "what most members of a call asked for, and what the others did",
    "side A, side B": "of a call without a majority: nobody is named, both sides wait for each other",
    "not judged": "a lane in which no comparison was possible, for the reason given",
    "by its log": "known from the rank's log, not from its dump",
    "as recorded, as read": "the state that the recorder wrote, and what it means for this recorder",
    "retired, not retired": "whether the recorder has done with the entry: it is over, or still open",
    "time-out": "how long the call may take before the watchdog gives up; not when it did",
    "newest, done, open, oldest": "of a rank in a lane: last requested, last over, first unfinished, first still held",
    "newest from": "what the newest seq is known by: an entry, the rank's own counter, or its log",
    "window": "the seqs that a rank's dump still holds; older ones were overwritten",
    "compare first": "where a look tells most",
    "must not be concluded": "what the evidence does not show, however near it lies",
    "clocks: ±0.2 s": "how far the clocks of these ranks' hosts may be apart, measured on common calls",
    "by one call alone": "one common call tells how far clocks are apart and not how sure that is",
    "attempt": "one start of the job; a restart leaves files of several in one folder, and one is used",
    "in part": "dumps that are cut, damaged or still being written",
    "schema": "the version of the dumps' format",
    NOT_READ_YET: "a file that this look has not come to",
    "watching (poll 2 s)": "new and changed files are read by themselves",
}
