"""Making packs: what is read, what is taken over, and what the pack then says."""

from __future__ import annotations

import gzip
import hashlib
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hangview.dumps import pack, packing, pool, processes
from hangview.dumps.packing import Packed, make
from hangview.dumps.read import read_file
from hangview.loading import load
from hangview.report.ledger import to_ledger
from hangview.report.lines import plain as plain_text
from hangview.report.text import report_lines
from hangview.schema import Limits, ReadOptions, SourceKind, SourceStatus
from hangview.session import Session
from tests.dumps.job import HOUR, START, calls, config, dump, plain, status, write
from tests.dumps.test_bundles import tar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hangview.dumps.find import Found
    from hangview.dumps.packing import Told
    from hangview.incident import Incident
    from hangview.schema import Source

OPTIONS = ReadOptions(cache=False)
FIXTURES = Path(__file__).parents[2] / "fixtures"
START_PROCESSES = pool._Pool.start


@pytest.fixture(autouse=True)
def no_processes(monkeypatch):
    """Most tests read packs in this process, as where no other can be started; the last ones do not."""
    monkeypatch.setattr(pool._Pool, "start", lambda self, number: False)


def packed(target: Path, *paths: Path | str, options: ReadOptions = OPTIONS) -> Packed:
    """Make a pack and write it."""
    made = make([str(path) for path in paths], options, str(target))
    target.write_bytes(made.data)
    return made


def look(*paths: Path, options: ReadOptions = OPTIONS) -> Incident:
    return load(*map(str, paths), options=options)


def without_logs(incident: Incident) -> list[Source]:
    """All sources but those that are logs, or that a pack says are logs."""
    return [s for s in incident.records.sources if s.kind is not SourceKind.LOG and not (s.reason or "").startswith("a log")]


def findings(incident: Incident) -> list[Any]:
    """What was found, without the numbers of the sources: logs come before the dumps, and a pack has none."""
    bare = [replace(f, evidence=tuple(replace(e, source=None) for e in f.evidence)) for f in incident.findings]
    return [incident.verdict, incident.leads, bare, incident.coverage, incident.lanes, incident.waits]


@pytest.fixture
def job(tmp_path):
    """Dumps of every sort beside a log and a document; rank 1 did not request call 5."""
    folder = tmp_path / "job"
    for rank in range(3):
        write(folder / f"rank_{rank}", plain(6, count=4 if rank == 1 else 5, open_last=rank != 1))
    data = write(folder / "rank_3", plain(6, count=40)).read_bytes()
    (folder / "rank_3").write_bytes(data[: len(data) // 2])
    (folder / "rank_4").write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    (folder / "all.tar").write_bytes(tar({"rank_5": data, "x.log": b"hello"}))
    (folder / "train.log").write_text("step 1\n")
    (folder / "console").write_text("a log by what is in it\n")
    (folder / "notes.md").write_text("# notes\n")
    (folder / "deep").mkdir()
    (folder / "deep" / "stdout").write_text("hello\n")
    return folder


class Counting:
    """A reader that remembers what it was asked for."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __call__(self, files: Sequence[Found], options: ReadOptions, told: Told) -> None:
        self.names += [found.shown for found in files]
        packing.read_here(files, options, told)


def again(target: Path, *paths: Path, options: ReadOptions = OPTIONS) -> tuple[Packed, list[str]]:
    """Another run with the same target: what it made, and what it read."""
    reader = Counting()
    made = make([str(path) for path in paths], options, str(target), reader)
    target.write_bytes(made.data)
    return made, reader.names


# --- the same as the folder

#: Bad files, bundles, starts of the job, names that hide the rank, local numbers, other recorders.
SETS = [
    *("crafted-pickle", "damaged-zero", "bytes-in-pickle", "attempt-folders", "names-folders", "names-host-prefix", "hsdp-32"),
    *("nccl-stuck-no-dump", "gloo2.15-hang-json", "empty-entries-no-status", "group-not-in-config"),
]


@pytest.mark.parametrize("name", SETS)
def test_a_pack_says_what_its_folder_says(tmp_path, name):
    options = ReadOptions(cache=False, logs=False)
    folder, target = FIXTURES / name, tmp_path / "x.hvpack"
    packed(target, folder)
    one, other = look(folder, options=options), look(target, options=options)
    assert without_logs(one) == without_logs(other)
    assert one.entries.drop("source").equals(other.entries.drop("source"))
    assert findings(one) == findings(other)
    if len(without_logs(one)) == len(one.records.sources):
        assert plain_text(report_lines(one, everything=True)) == plain_text(report_lines(other, everything=True))
        assert to_ledger(one) == to_ledger(other)
        assert one.findings == other.findings


def test_bad_files_and_those_left_alone_are_in_the_ledger(job, tmp_path):
    made = packed(tmp_path / "x.hvpack", job)
    one, other = look(job), look(tmp_path / "x.hvpack")
    assert without_logs(one) == without_logs(other)
    assert {source.path: source.status.value for source in made.failed} == {"rank_3": "cut", "rank_4": "refused"}
    assert made.dumps == 5


def test_logs_are_named_and_not_packed(job, tmp_path):
    made = packed(tmp_path / "x.hvpack", job)
    assert b"step 1" not in made.data
    logs = {s.path: (s.kind, s.status, s.reason) for s in look(tmp_path / "x.hvpack").records.sources}
    left = (SourceKind.OTHER, SourceStatus.IGNORED, "a log: packs hold no logs, name it beside the pack")
    assert [logs[name] for name in ("train.log", "deep/stdout", "console")] == [left] * 3
    assert logs["all.tar:x.log"][1] is SourceStatus.IGNORED


def test_a_log_beside_a_pack_is_read(job, tmp_path):
    packed(tmp_path / "x.hvpack", job)
    (tmp_path / "train.log").write_text("[rank1]: ValueError: no more data\n")
    found = look(tmp_path / "x.hvpack", tmp_path / "train.log")
    assert found.logs is not None
    assert [s.path for s in found.records.sources if s.kind is SourceKind.LOG and s.status is SourceStatus.READ] == [
        str(tmp_path / "train.log")
    ]


# --- several packs


def hosts(tmp_path: Path) -> list[Path]:
    """Two hosts with two ranks of one job each, and a pack of either."""
    packs = []
    for host in range(2):
        for rank in (2 * host, 2 * host + 1):
            write(tmp_path / f"host{host}" / f"rank_{rank}", plain(4, count=4 if rank == 3 else 5, open_last=rank != 3))
        packs.append(tmp_path / "packs" / f"host{host}.hvpack")
        packs[0].parent.mkdir(exist_ok=True)
        packed(packs[-1], tmp_path / f"host{host}")
    return packs


def test_packs_of_the_hosts_are_one_job(tmp_path):
    packs = hosts(tmp_path)
    for found in (look(*packs), look(packs[0].parent)):
        assert [source.path for source in found.records.sources] == ["rank_0", "rank_1", "rank_2", "rank_3"]
        assert found.leads == (3,)


def test_a_pack_of_packs(tmp_path):
    packs = hosts(tmp_path)
    packed(tmp_path / "job.hvpack", packs[0].parent)
    one, other = look(packs[0].parent), look(tmp_path / "job.hvpack")
    assert one.records.sources == other.records.sources
    assert one.findings == other.findings
    sums = {row.file.found.shown: row.sha256 for row in rows(tmp_path / "job.hvpack")}
    assert sums["rank_0"] == hashlib.sha256((tmp_path / "host0" / "rank_0").read_bytes()).hexdigest()


def test_a_pack_beside_dumps(tmp_path):
    packs = hosts(tmp_path)
    packs[1].rename(tmp_path / "host0" / "host1.hvpack")
    found = look(tmp_path / "host0")
    assert [source.path for source in found.records.sources] == ["rank_0", "rank_1", "rank_2", "rank_3"]
    assert found.leads == (3,)


def test_sources_that_are_called_alike_are_told_apart(tmp_path):
    """Each host numbers its ranks from 0: the numbers are no ranks, and nothing is said of the wrong one."""
    packs = []
    for host in range(2):
        for local in range(2):
            own = 2 * host + local
            entries = calls(5, at=START + own * 1000, open_last=True)
            write(tmp_path / f"h{host}" / f"rank_{local}", dump(entries, config(default_pg=range(4)), {"0": status(5, -1, 4)}))
        packs.append(tmp_path / f"h{host}.hvpack")
        packed(packs[-1], tmp_path / f"h{host}")
    found = look(*packs)
    names = [f"{path}:rank_{local}" for path in packs for local in range(2)]
    assert [source.path for source in found.records.sources] == names
    assert all("its number is no rank" in (source.reason or "") for source in found.records.sources)
    packed(tmp_path / "both.hvpack", *packs)
    assert [source.path for source in look(tmp_path / "both.hvpack").records.sources] == names


def test_a_pack_of_the_dumps_that_it_lies_beside_is_superseded(tmp_path):
    for rank in range(2):
        write(tmp_path / "job" / f"rank_{rank}", plain(2))
    packed(tmp_path / "job" / "x.hvpack", tmp_path / "job")
    states = {source.path: source.status.value for source in look(tmp_path / "job").records.sources}
    assert sorted(states.values()) == ["read", "read", "superseded", "superseded"]
    assert {path.rpartition(":")[2] for path in states} == {"rank_0", "rank_1"}


def test_two_starts_in_two_packs(tmp_path):
    for start in range(2):
        for rank in range(2):
            write(tmp_path / f"s{start}" / f"rank_{rank}", plain(2, at=START + start * HOUR))
        packed(tmp_path / f"s{start}.hvpack", tmp_path / f"s{start}")
    found = look(tmp_path / "s0.hvpack", tmp_path / "s1.hvpack")
    states = {source.path.rpartition("/")[2]: source.status.value for source in found.records.sources}
    older, newer = (
        dict.fromkeys(["s0.hvpack:rank_0", "s0.hvpack:rank_1"], "other_attempt"),
        dict.fromkeys(["s1.hvpack:rank_0", "s1.hvpack:rank_1"], "read"),
    )
    assert states == older | newer


def test_a_damaged_pack_is_one_line_and_the_rest_is_read(tmp_path):
    packs = hosts(tmp_path)
    packs[1].write_bytes(packs[1].read_bytes()[:-100])
    found = look(packs[0].parent)
    assert [(s.path, s.status.value, s.reason) for s in found.records.sources] == [
        ("host1.hvpack", "unreadable", "a damaged pack: it ends early"),
        ("rank_0", "read", None),
        ("rank_1", "read", None),
    ]
    assert found.leads == ()


# --- a second run


def rows(path: Path) -> tuple[pack.Row, ...]:
    return pack.read(path.read_bytes(), Limits()).rows


def test_what_has_not_changed_is_not_read_again(job, tmp_path):
    target = tmp_path / "x.hvpack"
    first = packed(target, job)
    made, read = again(target, job)
    assert read == []
    assert made.data == first.data
    assert made.taken_over == 7


def test_only_what_is_new_or_changed_is_read(job, tmp_path):
    target = tmp_path / "x.hvpack"
    packed(target, job)
    write(job / "rank_1", plain(6, count=5, open_last=True))
    write(job / "rank_6", plain(7))
    made, read = again(target, job)
    assert sorted(read) == ["rank_1", "rank_6"]
    assert made.data == make([str(job)], OPTIONS, str(tmp_path / "other.hvpack")).data


def test_a_source_that_is_gone_is_left_out(job, tmp_path):
    target = tmp_path / "x.hvpack"
    packed(target, job)
    (job / "rank_0").unlink()
    made, _ = again(target, job)
    assert made.left_out == 1
    assert "rank_0" not in {source.path for source in look(target).records.sources}


def test_names_are_those_of_this_run(job, tmp_path):
    target = tmp_path / "x.hvpack"
    packed(target, job)
    made, read = again(target, job / "rank_0", job / "all.tar")
    assert read == []
    assert [source.path for source in made.sources] == [f"{job}/all.tar:rank_5", f"{job}/rank_0"]


def test_the_pack_itself_is_no_source(job):
    target = job / "x.hvpack"
    first = packed(target, job)
    made, read = again(target, job)
    assert (read, made.data) == ([], first.data)


def test_a_source_that_could_not_be_opened_is_tried_again(tmp_path, monkeypatch):
    write(tmp_path / "job" / "rank_0", plain(2))
    bad = write(tmp_path / "job" / "rank_1", plain(2))
    target = tmp_path / "x.hvpack"

    def refuse(path, *args):
        if path == str(bad):
            raise PermissionError(13, "Permission denied")
        return real(path, *args)

    real = os.open
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        made = packed(target, tmp_path / "job")
    assert [(source.path, source.reason) for source in made.failed] == [("rank_1", "Permission denied")]
    _, read = again(target, tmp_path / "job")
    assert read == ["rank_1"]


def test_a_source_that_changes_while_it_is_read_is_read_again(tmp_path):
    path = write(tmp_path / "job" / "rank_0", plain(2))

    def reader(files, options, told):
        with path.open("ab") as file:
            file.write(b"more")
        packing.read_here(files, options, told)

    target = tmp_path / "x.hvpack"
    target.write_bytes(make([str(tmp_path / "job")], OPTIONS, str(target), reader).data)
    assert [row.sha256 for row in rows(target)] == [None]
    assert again(target, tmp_path / "job")[1] == ["rank_0"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-20]), "a damaged pack: it ends early"),
        (lambda path: path.write_bytes(path.read_bytes().replace(b"hangview blake2b ", b"hangview blake3b ")), "no pack"),
        (lambda path: path.write_bytes(b""), "a damaged pack: it ends early"),
    ],
)
def test_an_earlier_pack_that_is_damaged_is_made_anew(job, tmp_path, change, words):
    target = tmp_path / "x.hvpack"
    first = packed(target, job)
    change(target)
    made, read = again(target, job)
    assert (made.unusable, made.data, len(read)) == (words, first.data, 7)


def test_other_limits_and_other_versions_are_read_anew(job, tmp_path, monkeypatch):
    target = tmp_path / "x.hvpack"
    packed(target, job)
    made, _ = again(target, job, options=ReadOptions(cache=False, limits=Limits(entries=4)))
    assert made.unusable == "written with other limits"
    assert len(made.failed) == 5
    with monkeypatch.context() as patch:
        patch.setattr(pack, "__version__", "0.0.0")
        packed(target, job)
    made, read = again(target, job)
    assert (made.unusable or "").startswith("written by hangview 0.0.0, this is ")
    assert len(read) == 7


def test_checksums_are_those_of_the_files(job, tmp_path):
    (job / "rank_6.gz").write_bytes(gzip.compress((job / "rank_0").read_bytes()))
    packed(tmp_path / "x.hvpack", job)
    for row in rows(tmp_path / "x.hvpack"):
        name = row.file.found.shown.partition(":")[0]
        expected = hashlib.sha256((job / name).read_bytes()).hexdigest()
        assert row.sha256 == (expected if name.startswith(("rank", "all", "console")) else None), name


# --- the screen


def test_a_pack_that_was_just_written_is_not_being_written(job, tmp_path):
    packed(tmp_path / "x.hvpack", job)
    session = Session([str(tmp_path / "x.hvpack")], OPTIONS)
    for _ in range(2):
        found = session.look(settled=lambda path: 0.0)
        states = {source.path: source.status.value for source in found.records.sources if source.kind is SourceKind.DUMP}
        assert states == {
            **dict.fromkeys(["rank_0", "rank_1", "rank_2", "all.tar:rank_5"], "read"),
            "rank_3": "cut",
            "rank_4": "refused",
        }


def test_a_pack_on_its_way_is_read_when_it_is_there(job, tmp_path):
    target = tmp_path / "x.hvpack"
    whole = packed(target, job).data
    target.write_bytes(whole[:2000])
    session = Session([str(target)], OPTIONS)
    (source,) = session.look(settled=lambda path: 0.0).records.sources
    assert source.status is SourceStatus.GROWING
    target.write_bytes(whole)
    assert session.look(settled=lambda path: 0.0).leads == look(job).leads


def test_packs_are_read_in_another_process(job, tmp_path, monkeypatch):
    """Few or many, and with --workers 1 too: a panic of polars is no business of the screen."""
    monkeypatch.setattr(pool._Pool, "start", START_PROCESSES)
    packed(tmp_path / "x.hvpack", job)
    write(tmp_path / "rank_5", plain(6))

    def here(path, *rest):
        assert not path.path.endswith(".hvpack")
        return real(path, *rest)

    real = read_file
    monkeypatch.setattr("hangview.dumps.worker.read_file", here)
    options = ReadOptions(cache=False, workers=1)
    assert look(tmp_path / "x.hvpack", tmp_path / "rank_5", options=options).leads == look(job, options=options).leads


def test_a_pack_that_ends_the_process_that_reads_it_is_one_line(job, tmp_path, monkeypatch):
    packed(tmp_path / "x.hvpack", job)
    monkeypatch.setattr(pool._Pool, "start", START_PROCESSES)
    monkeypatch.setattr(processes, "can_fork", lambda: False)
    ending = "import os; import hangview.dumps.pack as pack; pack.read = lambda *_: os.abort()"
    monkeypatch.setattr(pool, "_BOOT", pool._BOOT.replace("\n", f"\n{ending}\n", 1))
    found = look(tmp_path / "x.hvpack", job)
    broken = [source for source in found.records.sources if source.path.endswith("x.hvpack")]
    assert [source.status.value for source in broken] == ["unreadable"]
    assert "the process that read it ended (SIGABRT)" in (broken[0].reason or "")
    assert found.leads == look(job).leads


def test_a_pack_that_may_not_be_read_is_missed(job, tmp_path, monkeypatch):
    """Whatever it is called: its ranks are not there."""
    packed(tmp_path / "dump_rank_1.hvpack", job)
    (tmp_path / "empty.hvpack").write_bytes(b"")

    def refuse(path, *args):
        if str(path).endswith("1.hvpack"):
            raise PermissionError(13, "Permission denied")
        return real(path, *args)

    real = os.open
    monkeypatch.setattr(os, "open", refuse)
    found = look(tmp_path / "dump_rank_1.hvpack", tmp_path / "empty.hvpack")
    assert [(s.path.rpartition("/")[2], s.kind.value, s.status.value, s.reason) for s in found.records.sources] == [
        ("dump_rank_1.hvpack", "other", "unreadable", "Permission denied"),
        ("empty.hvpack", "other", "empty", "empty file (0 bytes)"),
    ]
