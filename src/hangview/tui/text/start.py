"""Before the first collective: which groups were made on which ranks, on which device, and which ranks have none yet."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from hangview.schema import SourceKind, SourceStatus
from hangview.text import count, name_ranks
from hangview.tui.live import USUAL, LiveKeys
from hangview.tui.prose import BLANK, Line, Prose, Tone, item, line
from hangview.tui.text.source import ledger_lines

if TYPE_CHECKING:
    from hangview.incident import Incident


def start_lines(incident: Incident, live: LiveKeys = USUAL, *, unfolded: bool = False) -> Prose:
    """What can be said where there is no call to draw; ``unfolded``: with a line for every file."""
    if not incident.records.sources and not incident.groups:
        return (
            line((f"nothing was found under {', '.join(incident.paths)}", Tone.UNKNOWN)),
            BLANK,
            *_WHERE,
            BLANK,
            line(f"Dumps that appear are read while the first line says watching; {live('look_again')} looks again now."),
            line("hangview demo shows what it looks like with dumps."),
        )
    unread = sum(source.status is SourceStatus.GROWING for source in incident.records.sources)
    more = f" yet; {count(unread, 'file')} still to be read" if unread else ", so there is nothing to draw"
    lines: list[Line] = [line((f"no collective call was recorded{more}", Tone.UNKNOWN)), BLANK]
    lines += [*_next(incident, live), *_groups(incident), BLANK, *_devices(incident), BLANK]
    lines += ledger_lines(incident, live, unfolded=unfolded)
    return tuple(lines)


def _next(incident: Incident, live: LiveKeys) -> list[Line]:
    """What to do about it, where that can be said."""
    sources = incident.records.sources
    dumps = [source for source in sources if source.kind is SourceKind.DUMP]
    broken = [source for source in dumps if not source.usable]
    cut = [source for source in dumps if source.partial]
    lines: list[Line] = []
    if broken or cut:
        others = " and the other files named below" if len(broken) + len(cut) > 1 else ""
        again = f"copy {(broken or cut)[0].path}{others} again from where it was written, once its process has ended"
        lines.append(item(f"{again}; {live('look_again')} looks again"))
    if sources and not dumps:
        lines += [item("no file here is a dump: add the folder that the dumps were written to"), *_WHERE]
    elif dumps and not broken and not cut:
        lines.append(item("if the job did call collectives, see that the recorder was on (docs/recording.md)"))
    return [line(("what to do next", Tone.HEAD)), *lines, BLANK] if lines else []


_WHERE = (
    line("A dump is one file a rank, written when a collective times out. Where to:"),
    item("TORCH_FR_DUMP_TEMP_FILE, or in older versions TORCH_NCCL_DEBUG_INFO_TEMP_FILE (a prefix; the rank is added)"),
    item("else ~/.cache/torch/comm_lib_trace_rank_, in older versions /tmp/nccl_trace_rank_, on each node"),
)


def _groups(incident: Incident) -> list[Line]:
    if not incident.groups:
        return [line(("no group in any dump: the job may have ended before it made one", Tone.UNKNOWN))]
    lines = [line(("groups that were made (making a group is no collective)", Tone.HEAD))]
    read = set(incident.coverage.read)
    made = _made_on(incident)
    for group in incident.groups[:40]:
        have = set(group.ranks) & read
        inferred = " (members inferred)" if group.inferred else ""
        told = f"{group.called}: {name_ranks(group.ranks, 10)}{inferred}; dumps of {count(len(have), 'member')}"
        lacking = sorted(have - made[group.id]) if made[group.id] else []
        lines.append(item(f"{told}; not in the dumps of {name_ranks(lacking, 10)}" if lacking else told))
    if len(incident.groups) > 40:
        lines.append(item(f"and {count(len(incident.groups) - 40, 'more group')}", Tone.DIM))
    members = set().union(*made.values()) or {rank for group in incident.groups for rank in group.ranks}
    without = read - members
    if without:
        lines.append(item(f"{name_ranks(without, 10)}: in no group yet", Tone.UNKNOWN))
    return lines


def _made_on(incident: Incident) -> dict[int, set[int]]:
    """By group, the ranks whose dumps list it: a rank that others list as a member may not have made it yet."""
    sources = incident.records.sources
    listed: defaultdict[tuple[str, frozenset[int]], set[int]] = defaultdict(set)
    for config in incident.records.configs:
        rank = sources[config.source].rank
        if rank is not None and sources[config.source].usable:
            listed[config.name, frozenset(config.ranks)].add(rank)
    return {group.id: listed[group.name, frozenset(group.ranks)] for group in incident.groups}


def _devices(incident: Incident) -> list[Line]:
    by_device: defaultdict[str, list[int]] = defaultdict(list)
    for fact in incident.facts:
        if fact.name == "device":
            by_device[fact.value].extend(fact.ranks)
    if not by_device:
        return [line(("on which device: not recorded", Tone.UNKNOWN))]
    lines = [line(("devices", Tone.HEAD))]
    lines += [item(f"{device}: {name_ranks(ranks, 10)}") for device, ranks in sorted(by_device.items())]
    unknown = set(incident.coverage.expected) - {rank for ranks in by_device.values() for rank in ranks}
    if unknown:
        lines.append(item(f"{name_ranks(unknown, 10)}: device not recorded", Tone.UNKNOWN))
    return lines
