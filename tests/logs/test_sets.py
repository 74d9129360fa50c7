"""The log sets with their ground truth: facts, answers, and what must not be said."""

from __future__ import annotations

import re
from typing import Any

import pytest

from hangview.logs import conclude, groups_by_log, leads_of, read_logs
from hangview.logs.evidence import NO_RANK, EndKind, GroupByLog, LogEvidence, ProcessEnd
from hangview.logs.positions import family
from hangview.terms import Kind, Role
from tests.logs.support import FIXTURES, SETS, files_under, read_set, said

#: What must not be said, as a pattern over what the findings claim; one or more per set.
FORBIDDEN = {
    "behind-2.6": [r"\brank 2\b", r"dump (file )?(of|for) rank 5 exists"],
    "crlf-wrapped-2.2": [r"default_pg", r"of group \S+\d"],
    "dataloader-2.4": [r"network", r"rank 2\D+(last enqueued|completed|seq)", r"rank 2 did not request"],
    "heartbeat-2.4": [r"timed out", r"\b19\b", r"behind"],
    "nccl2-2.15": [r"(all_reduce|all_gather|broadcast|call) \d", r"root cause", r"rank 0 (did not|raised|ended)"],
    "none-completed-2.8": [r"did not request", r"behind", r"default_pg"],
    "old-1.13": [r"\branks? [03]\b"],
    "one-log-2.10": [r"did not request", r"rank 6\b", r"(?<!rank )\brank 14 of"],
    "oom-killer-2.3": [r"SIGKILL", r"ranks? 0", r"ranks? [12]\b"],
    "ray-2.6": [r"only ranks 1", r"ranks 1,3 wait for it$"],
    "restart-2.12": [r"\brank 2 (did|raised|ended)", r"\b6201\b"],
    "sizes-differ-2.5": [r"did not request", r"behind"],
    "srun-l-2.5": [r"rank 0 is ahead", r"out of memory", r"killed by the kernel", r"did not request"],
    "started-2.13": [r"nothing (ran|started)"],
    "tee-2.9": [r"\brank 3 (raised|ended|did not)", r"ranks? 1-2,5\D+ (did not request|ended|raised)"],
    "two-groups-2.7": [r"\branks? [13] (wait|did not|raised)", r"none completed", r"no rank is missing"],
}


def test_every_set_is_covered():
    assert set(FORBIDDEN) == set(SETS)
    assert len(SETS) >= 15


@pytest.mark.parametrize("name", SETS)
def test_answer(name):
    evidence = read_set(name)
    groups = groups_by_log(evidence)
    findings = conclude(evidence, groups)
    want = SETS[name]["score_logs"]
    leads = list(leads_of(findings))
    assert leads in want.get("leads_any", [want["leads"]] if "leads" in want else [leads])
    if want.get("verdict") == "divergence":
        assert findings
    if "kinds" not in want:
        return

    def fits(finding: Any) -> bool:
        group = None if finding.group is None else groups[finding.group]
        return (
            finding.kind in want["kinds"]
            and finding.seq == want.get("seq", finding.seq)
            and ("group" not in want or (group is not None and want["group"] in (group.desc, group.name)))
            and sorted(finding.ranks) == sorted(want.get("ranks", finding.ranks))
        )

    assert any(map(fits, findings)), [(f.kind, f.group, f.seq, f.ranks) for f in findings]


@pytest.mark.parametrize("name", SETS)
def test_must_not_be_said(name):
    claims = said(conclude(read_set(name)))
    for pattern in FORBIDDEN[name]:
        assert re.search(pattern, claims, re.IGNORECASE) is None, f"{pattern!r} in {claims}"


@pytest.mark.parametrize("name", SETS)
def test_positions_and_works_are_those_of_the_truth(name):
    evidence = read_set(name)
    assert sorted(map(_position, (*evidence.groups, *evidence.unplaced)), key=str) == sorted(
        (_expected(one["rank"], group) for one in SETS[name]["ranks"] for group in one["groups"]), key=str
    )


def _position(row: GroupByLog) -> tuple[Any, ...]:
    work = (row.timed_out_seq, row.op_type, row.timed_out_op, row.numel_in, row.numel_out, row.timeout_ms, row.ran_ms)
    rank = None if row.rank == NO_RANK else row.rank
    status = None if row.status_from is None else str(row.status_from)
    place = (row.name, row.desc or None, row.group_rank)
    return (rank, *place, row.enqueued, row.started, row.completed, row.pending, status, *work)


def _expected(rank: int | None, group: dict[str, Any]) -> tuple[Any, ...]:
    work = group["timed_out"] or {}
    op = work.get("op")
    desc = None if group["desc"] in (None, "", group["guid"]) else group["desc"]
    counters = (group["last_enqueued"], group["last_started"], group["last_completed"], group.get("pending_works"))
    parts = (work.get("seq"), op, None if op is None else family(op))
    sizes = tuple(work.get(key) for key in ("numel_in", "numel_out", "timeout_ms", "ran_ms"))
    return (rank, group["guid"], desc, group["group_rank"], *counters, group["status_from"], *parts, *sizes)


@pytest.mark.parametrize("name", SETS)
def test_ranks_and_attempts(name):
    evidence = read_set(name)
    expect = SETS[name]
    assert list(evidence.attempts) == expect["attempts"]
    assert evidence.attempt == expect["attempts"][-1]
    last = [one for one in expect["ranks"] if one.get("attempt", evidence.attempt) == evidence.attempt]
    assert {one["rank"] for one in last if one["rank"] is not None} <= set(evidence.ranks)
    if "candidates" in expect:
        assert set(expect["candidates"]["ranks"]) <= set(evidence.silent)
    hidden = re.search(r"repeated (\d+)x", str(expect.get("hidden")))
    assert evidence.hidden == (int(hidden[1]) if hidden else 0)


@pytest.mark.parametrize(("name", "rank"), [(n, r["rank"]) for n, e in SETS.items() for r in e["ranks"] if "exception" in r])
def test_exceptions(name, rank):
    want = next(one for one in SETS[name]["ranks"] if one["rank"] == rank and "exception" in one)
    evidence = read_set(name)
    end = _first_end(evidence, rank, want.get("attempt", evidence.attempt))
    exception = want["exception"]
    assert end.type == exception["type"]
    assert exception.get("message", "") in (end.message or "")
    assert end.before_communication is not exception["in_collective"]
    assert not end.follower
    assert exception.get("where", "") in (end.where or "")
    assert exception.get("at", "") in (end.where or "")


@pytest.mark.parametrize(("name", "rank"), [(n, r["rank"]) for n, e in SETS.items() for r in e["ranks"] if "exit" in r])
def test_exits(name, rank):
    want = next(one for one in SETS[name]["ranks"] if one["rank"] == rank and "exit" in one)
    evidence = read_set(name)
    wanted = want["exit"]
    if rank is None:
        assert any(end.pid == wanted["pid"] and end.follower and wanted["signal"] in end.what for end in evidence.unplaced_ends)
        return
    end = _first_end(evidence, rank, want.get("attempt", evidence.attempt))
    assert (end.code, end.pid, end.local_rank) == (wanted["code"], wanted["pid"], wanted["local_rank"])
    assert wanted.get("host", end.host) == end.host
    assert end.follower is (wanted["signal"] == "SIGTERM")


def _first_end(evidence: LogEvidence, rank: int, attempt: int | None) -> ProcessEnd:
    ends = [end for end in (*evidence.ends, *evidence.earlier_ends) if end.rank == rank and end.attempt == attempt]
    return min(ends, key=lambda end: end.follower)


@pytest.mark.parametrize(("name", "rank"), [(n, r["rank"]) for n, e in SETS.items() for r in e["ranks"] if "dump" in r])
def test_what_is_said_about_dumps(name, rank):
    want = next(one for one in SETS[name]["ranks"] if one["rank"] == rank)["dump"]
    found = [dump for dump in read_set(name).dumps if dump.rank == rank]
    assert any(dump.began for dump in found) is want["began"]
    assert next((dump.signal_from for dump in found), None) == want["signal_from"]
    assert all(dump.path is None and not dump.finished for dump in found)


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("behind-2.6", r"2\.6"), ("crlf-wrapped-2.2", r"2\.2"), ("dataloader-2.4", r"^2\.4$"), ("nccl2-2.15", "nccl2"),
        ("old-1.13", r"^1\.12 to 2\.0.*1\.13"), ("sizes-differ-2.5", r"^2\.5$"), ("started-2.13", r"^2\.13 to"),
        ("two-groups-2.7", r"^2\.7 to"), ("one-log-2.10", r"^2\.7 to 2\.12"), ("restart-2.12", r"^2\.7 to 2\.12"),
    ],
)  # fmt: skip
def test_torch_version_by_wording(name, pattern):
    [fact] = [fact for fact in read_set(name).facts if fact.name == "torch"]
    assert re.search(pattern, fact.value)
    assert "wording" in fact.origin


def test_hosts_and_places():
    assert {(p.rank, p.host, p.pid) for p in read_set("ray-2.6").places} == {
        (1, "10.44.0.7", 4410), (3, "10.44.0.9", 4413), (6, "10.44.0.9", 4417),
    }  # fmt: skip
    for name, host in (("dataloader-2.4", "quarry12"), ("nccl2-2.15", "flint.local"), ("restart-2.12", "mica-2")):
        assert host in {fact.value for fact in read_set(name).facts if fact.name == "host"}


def test_stack_of_the_failed_collective():
    rows = {row.rank: row for row in read_set("restart-2.12").groups}
    assert [rows[rank].stack[0].name for rank in (1, 2, 3)] == ["all_gather_object"] * 3
    assert rows[1].stack[1].filename == "/srv/job/ckpt.py"
    assert rows[0].stack == ()


def test_an_earlier_attempt_is_a_note():
    findings = conclude(read_set("restart-2.12"))
    [note] = [finding for finding in findings if finding.role is Role.NOTE]
    assert note.kind is Kind.PROCESS_ENDED
    assert note.ranks == (1,)
    assert "attempt 0" in note.summary
    assert note.compare_first.startswith("whether the current attempt met the same: this one ended attempt 0")


def test_the_kernel_line_is_joined_by_pid():
    [end] = read_set("oom-killer-2.3").ends
    assert end.kind is EndKind.OOM_KILLER
    assert end.pid == 41877
    assert {line.source for line in (end.line, *end.lines)} == {0, 1}


@pytest.mark.parametrize("name", SETS)
def test_the_order_of_files_changes_nothing(name):
    files = files_under(FIXTURES / "logs" / name)
    first, second = read_logs(files), read_logs(files[::-1])
    assert first == second
    assert conclude(first) == conclude(second)


@pytest.mark.parametrize("name", SETS)
def test_evidence_names_file_and_line(name):
    evidence = read_set(name)
    shown = [log.shown for log in evidence.logs]
    for finding in conclude(evidence):
        assert finding.evidence
        for line in finding.evidence:
            assert line.source is not None
            assert re.search(rf"\({re.escape(shown[line.source])}, line [\d,]+", line.text)


#: Cases with logs beside their dumps: the rank whose log tells, by its truth; none where the logs say nothing of use.
CASES = {
    "crash-early": [2], "hsdp-32": [19], "same-name": [5], "seed-a": [3], "seed-a-async": [3], "seed-a-exit": [3],
    "seed-a-missing-dump": [3], "seed-f-empty": [3], "stale-mixed": [2], "timeout": [3], "two-groups": [7],
    "healthy": [], "straggler": [], "rooted-legal": [], "seed-b": [], "seed-c": [], "seed-d": [], "silent-dtype": [],
    "p2p-missing-recv": [], "order-swap": [], "broadcast-root": [],
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_logs_beside_dumps(name):
    findings = conclude(read_logs(files_under(FIXTURES / name / "logs")))
    assert list(leads_of(findings)) == CASES[name]
    if name in ("healthy", "straggler", "rooted-legal"):
        assert findings == ()


def test_a_connection_that_a_peer_closed_is_a_follower():
    evidence = read_logs(files_under(FIXTURES / "seed-a-exit" / "logs"))
    follows = {end.rank: end.follower for end in evidence.ends}
    assert follows == {0: True, 2: True, 3: False}


def test_an_abort_inside_the_call_follows_from_it():
    evidence = read_logs(files_under(FIXTURES / "seed-c" / "logs"))
    [abort] = [end for end in evidence.ends if end.kind is EndKind.ABORT]
    assert abort.rank == 3
    assert abort.follower
    [finding] = conclude(evidence)
    assert finding.kind is Kind.DIFFERENT_SIZE
    assert finding.ranks == ()
