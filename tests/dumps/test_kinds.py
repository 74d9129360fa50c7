import pytest

from hangview.dumps.kinds import Form, form_of, kind_of, says_dump, says_log, strip_suffixes
from hangview.schema import SourceKind


@pytest.mark.parametrize(
    "name",
    [
        *("nccl_trace_rank_0", "comm_lib_trace_rank_12", "_dump_3", "nccl_trace3", "node07_0", "0.json", "host0.pci3_rank_1"),
        *(
            "nccl_trace_rank0.pkl",
            "trace_3.json.gz",
            "run.tar.zst",
            "dumps.zip",
            "nccl_dump_%h_%p.json0",
            "rank_3.txt",
            "corelib_3",
            "out_3",
            "data.jsonl",
            "dump.o1",
        ),
    ],
)
def test_names_that_may_be_dumps_are_read(name):
    assert kind_of(name) == (SourceKind.DUMP, None)


@pytest.mark.parametrize(
    "name",
    [
        "train.log",
        "slurm-991.out",
        "job.err",
        "stdout.log",
        "stdout",
        "stderr",
        "rank_3.log.1",
        "x.log.gz",
        "train.o7719",
        "train.e7719-3",
        "out.7719",
        "err.2",
        "messages.jsonl",
        "pod_logs.ndjson",
        "dmesg",
        "error.json",
    ],
)
def test_logs_are_told_by_their_names(name):
    assert kind_of(name)[0] is SourceKind.LOG


@pytest.mark.parametrize(
    ("name", "word"),
    [
        (".hidden", "hidden"),
        ("trace_0.pipe", "pipe"),
        ("core", "core file"),
        ("core.12345", "core file"),
        ("core.python.0.abc.77", "core file"),
        ("python.core", "core file"),
        ("train.py", "source"),
        ("config.yaml", "configuration"),
        ("model.safetensors", "checkpoint"),
        ("events.out.tfevents.1795.host.3.0", "checkpoint"),
        ("fr_trace_20261129_140200.txt", "debug server"),
        ("nccl_trace_rank_0~", "backup"),
        ("nccl_trace_rank_0.part", "temporary"),
        ("README.md", "document"),
    ],
)
def test_what_lies_beside_dumps_is_left_alone_and_says_why(name, word):
    kind, reason = kind_of(name)
    assert kind is SourceKind.OTHER
    assert word in (reason or "")


@pytest.mark.parametrize(
    ("head", "form"),
    [
        (b"\x80\x02}q\x00", Form.PICKLE),
        (b'{"version": "2.10"}', Form.JSON),
        (b'\xef\xbb\xbf \n[{"pg_id": 0}]', Form.JSON),
        (b"\x1f\x8b\x08\x00", Form.GZIP),
        (b"\x28\xb5\x2f\xfd\x04", Form.ZSTD),
        (b"PK\x03\x04rest", Form.ZIP),
        (b"name".ljust(257, b"\0") + b"ustar\x0000", Form.TAR),
        (b"[rank0]: hello\n", Form.TEXT),  # no list begins so
        (b"[NeMo W 2026-11-28 12:00:00 nemo_logging:405] hello\n", Form.TEXT),
        (b"[2026-11-28 12:00:00,000] [INFO] hello\n", Form.TEXT),
        (b"{'loss': 0.1}\n", Form.TEXT),
        (b"{", Form.JSON),  # cut
        (b"[ ]", Form.JSON),
        (b"hello\n\x1b[31mred\n", Form.TEXT),
        (b"\x7fELF\x02\x01", Form.OTHER),
        (b"", Form.OTHER),
    ],
)
def test_forms_are_told_by_the_first_bytes(head, form):
    assert form_of(head) is form


def test_endings_of_dumps_come_off_and_no_others():
    assert strip_suffixes("nccl_trace_rank_3.json.gz") == "nccl_trace_rank_3"
    assert strip_suffixes("host0.pci3_rank_1") == "host0.pci3_rank_1"
    assert strip_suffixes("3.PKL") == "3"
    assert strip_suffixes(".json") == ".json"


def test_words_of_dumps_and_logs():
    assert says_dump("nccl_trace_rank_3")
    assert says_dump("my-rank5")
    assert not says_dump("dumpe2fs")  # a program
    assert not says_dump("dumpsexp.1")  # a manual page
    assert not says_dump("node07_0")
    assert says_log("train_log_3")
    assert says_log("worker-stdout")
    assert not says_log("catalogue_3")


@pytest.mark.parametrize(
    "name", ["job.o1", "job.e", "train.e3-12", "4711.pbs01.OU", "4711.pbs01.ER", "4711[3].pbs01.OU", "job.o1.gz"]
)
def test_a_text_with_a_scheduler_s_name_of_a_log_is_one(name):
    assert says_log(name)
    assert not any(map(says_log, ("dump_o1", "rank_3", "nccl_trace_3", "notes.doc", "power", "you")))
