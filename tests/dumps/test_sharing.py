import numpy as np

from hangview.dumps.assemble import assemble
from hangview.dumps.find import find
from hangview.dumps.read import read_file
from hangview.dumps.sharing import rebase
from hangview.schema import ReadOptions
from tests.dumps.job import START, config, dump, entry, plain, write

OPTIONS = ReadOptions()


def test_files_keep_their_content_and_take_the_frames_memory(tmp_path):
    for rank in range(3):
        write(tmp_path / f"rank_{rank}", plain(4, count=20 + rank))
    write(tmp_path / "rank_0.json", plain(4, count=20))  # superseded: not in the frame
    write(tmp_path / "attempt_0/rank_1", plain(4, at=START - 10**12))
    write(
        tmp_path / "rank_3",
        dump([entry(1, profiling_name="nccl:broadcast"), entry(2, op_id=None)], config(default_pg=range(4))),
    )
    (tmp_path / "rank_9").write_bytes(b"")
    files = [one for found in find([str(tmp_path)], OPTIONS).dumps for one in read_file(found, OPTIONS.limits)]
    records = assemble(files, [], OPTIONS)
    kept = rebase(files, records)

    assert [(one.found, one.status, one.facts) for one in kept] == [(one.found, one.status, one.facts) for one in files]
    shared = {
        one.found.shown
        for one in kept
        if one.decoded is not None
        and np.shares_memory(one.decoded.columns["created_ns"], records.entries["created_ns"].to_numpy())
    }
    assert shared == {source.path for source in records.sources if source.usable}

    again = assemble(kept, [], OPTIONS)
    assert again.entries.equals(records.entries)
    for part in ("sources", "configs", "statuses", "labels", "ops", "signatures", "stacks", "threads", "attempts"):
        assert getattr(again, part) == getattr(records, part), part


def test_nothing_to_share():
    records = assemble([], [], OPTIONS)
    assert rebase([], records) == []
