from pathlib import Path

import pytest

import hangview
from hangview.dumps import pool
from hangview.loading import load_incident
from hangview.schema import ReadOptions, SourceKind
from tests.dumps.job import SECOND, four, plain, statuses, write

FIXTURES = Path(__file__).parents[1] / "fixtures"


@pytest.fixture
def job(tmp_path):
    return four(tmp_path)


def test_the_librarys_door(job):
    incident = hangview.load(str(job))
    assert incident.leads == (3,)
    assert incident.paths == (str(job),)
    assert incident.coverage.read == (0, 1, 2, 3)


def test_progress_counts_every_file_once(job):
    (job / "train.log").write_text("hello\n")
    seen = []
    load_incident([str(job)], on_progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 5), (2, 5), (3, 5), (4, 5), (5, 5)]


def test_missing_paths_and_options_that_do_not_fit_are_errors_of_one_line(job):
    with pytest.raises(FileNotFoundError) as caught:
        load_incident([str(job / "nowhere")])
    assert caught.value.filename == str(job / "nowhere")
    with pytest.raises(ValueError, match="--attempt 9"):
        load_incident([str(job)], ReadOptions(attempt=9))


def test_the_library_takes_paths_of_both_kinds_and_reads_logs_or_not(job):
    """CONTRACT: ``hangview.load(*paths, logs=True)``."""
    (job / "train.log").write_text("hello\n")
    rank_0, rest = job / "rank_0", [str(job / f"rank_{rank}") for rank in (1, 2, 3)]
    assert hangview.load(rank_0, *rest).leads == (3,)
    assert hangview.load(job, rank_0).leads == (3,)
    assert hangview.load(job).logs is not None
    assert hangview.load(job, logs=False).logs is None
    assert {source.path for source in hangview.load(job).sources} >= {"rank_0", "train.log"}


def test_logs_can_be_left_out(job):
    (job / "a.log").write_text("hello\n")
    incident = load_incident([str(job)], ReadOptions(logs=False))
    assert incident.logs is None
    assert statuses(incident)["a.log"] == "read"


def test_processes_give_the_same_incident(job, monkeypatch):
    here = load_incident([str(job)])
    monkeypatch.setattr(pool, "SMALL", 0)
    monkeypatch.setattr(pool, "TASK_BYTES", 1 << 12)
    there = load_incident([str(job)], ReadOptions(workers=2))
    assert there.records.entries.equals(here.records.entries)
    assert there.records.sources == here.records.sources
    assert there.findings == here.findings


def test_logs_of_another_attempt_have_no_say(tmp_path):
    for attempt in range(2):
        write(tmp_path / f"attempt_{attempt}/rank_0", plain(1, at=attempt * 100 * SECOND + 10**18))
        log = tmp_path / f"attempt_{attempt}/0/stdout.log"
        log.parent.mkdir(parents=True)
        log.write_text("hello\n")
    now = load_incident([str(tmp_path)])
    assert statuses(now)["attempt_0/0/stdout.log"] == "other_attempt"
    assert statuses(now)["attempt_1/0/stdout.log"] == "read"
    before = load_incident([str(tmp_path)], ReadOptions(attempt=0))
    assert statuses(before)["attempt_0/0/stdout.log"] == "read"
    assert statuses(before)["attempt_1/0/stdout.log"] == "other_attempt"


def test_logs_get_the_rank_that_they_are_of():
    incident = load_incident([str(FIXTURES / "seed-a")])
    assert {s.path: s.rank for s in incident.records.sources if s.kind is SourceKind.LOG} == {
        f"logs/rank_{rank}.log": rank for rank in range(4)
    }
