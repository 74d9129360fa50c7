"""Logs for tests: from fixtures, from text, and the words that findings say."""

# ruff: noqa: E501 - log lines are quoted whole

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hangview.logs import LogFile, read_logs

if TYPE_CHECKING:
    from hangview.logs.evidence import LogEvidence
    from hangview.terms import Finding

FIXTURES = Path(__file__).parents[2] / "fixtures"
SETS = {path.parent.name: json.loads(path.read_text()) for path in sorted((FIXTURES / "logs").glob("*/EXPECT.json"))}


def files_under(root: Path) -> list[LogFile]:
    """Every log in a folder; what is a log is told by the name here, as these folders hold nothing else."""
    found = sorted(path for path in root.rglob("*") if path.is_file() and path.suffix in (".log", ".err", ".out", ".txt"))
    return [LogFile(number, path, str(path.relative_to(root))) for number, path in enumerate(found)]


def read_set(name: str) -> LogEvidence:
    return read_logs(files_under(FIXTURES / "logs" / name))


def read_text(folder: Path, **texts: str | bytes) -> LogEvidence:
    """Reads logs given as text; ``rank_0_log="…"`` becomes ``rank_0.log``, two underscores become a folder."""
    files = []
    for number, (name, text) in enumerate(texts.items()):
        stem, _, suffix = name.replace("__", "/").rpartition("_")
        path = folder / f"{stem}.{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        files.append(LogFile(number, path, f"{stem}.{suffix}"))
    return read_logs(files)


def said(findings: tuple[Finding, ...]) -> str:
    """Everything that findings claim: not what they say must not be concluded, and not the quoted lines."""
    return "\n".join(part for finding in findings for part in (finding.summary, finding.compare_first, *finding.steps))


def caught(rank: int, seq: int, op: str = "ALLREDUCE", *, group: str = "PG ID 0 PG GUID 0(default_pg)", **more: Any) -> str:
    """The two lines of torch 2.6 … 2.12 about a work. ``more``: enqueued, completed, member, numel_in, numel_out."""
    member = more.get("member", rank)
    head = f"[rank{rank}]:[E626 05:14:36.393067540 ProcessGroupNCCL.cpp:"
    work = (
        f"WorkNCCL(SeqNum={seq}, OpType={op}, NumelIn={more.get('numel_in', 1024)}, NumelOut={more.get('numel_out', 1024)}, "
        "Timeout(ms)=600000)"
    )
    return (
        f"{head}632] [Rank {member}] Watchdog caught collective operation timeout: {work} ran for 600{rank:03} milliseconds "
        f"before timing out.\n{head}2268] [{group} Rank {member}]  failure detected by watchdog at work sequence id: {seq} "
        f"PG status: last enqueued work: {more.get('enqueued', seq)}, last completed work: {more.get('completed', seq - 1)}\n"
    )


def signalled(rank: int, enqueued: int, completed: int, sender: int = 2) -> str:
    """The line of torch 2.5 … 2.15 of a rank that was told to dump: the default group's counters."""
    return (
        f"[rank{rank}]:[E626 05:14:37.393067540 ProcessGroupNCCL.cpp:1743] [PG ID 0 PG GUID 0(default_pg) Rank {rank}] Received a "
        f"dump signal due to a collective timeout from  rank {sender} and we will try our best to dump the debug info. "
        f"Last enqueued NCCL work: {enqueued}, last completed NCCL work: {completed}.This is most likely\n"
    )
