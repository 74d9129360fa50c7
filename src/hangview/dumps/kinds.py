"""What a file is likely to be: by its name first, then by its first bytes. Nothing here opens a file."""

from __future__ import annotations

import re
from enum import Enum

from hangview.schema import SourceKind

#: Files that lie beside dumps, never are one, and may be large; by the end of their name.
_ENDINGS = {
    "a checkpoint or data": (
        *("pt", "pth", "ckpt", "safetensors", "distcp", "npy", "npz", "h5", "hdf5", "onnx", "gguf", "idx", "parquet", "arrow"),
        *("metadata", "tfevents", "db", "sqlite", "csv", "tsv"),
    ),
    "source text or configuration": (
        *("py", "pyc", "pyi", "sh", "bash", "c", "cc", "cpp", "cu", "cuh", "h", "hpp", "rs", "go", "js", "ts", "css"),
        *("yaml", "yml", "toml", "ini", "cfg", "conf", "env", "sbatch", "slurm", "lock", "ipynb", "patch", "diff"),
    ),
    "a document or picture": ("md", "rst", "html", "htm", "pdf", "svg", "png", "jpg", "jpeg", "gif", "webp", "tex"),
    "a program or library": ("so", "o", "a", "whl", "egg", "exe", "dll", "jar", "rpm", "deb"),
    "a trace of another tool": ("nsys-rep", "ncu-rep", "qdrep", "pftrace", "perfetto-trace", "prof", "speedscope"),
    "a temporary name of a copy": ("tmp", "temp", "part", "partial", "filepart", "swp", "swo"),
    "a pipe that triggers a dump": ("pipe",),
}
_BY_ENDING = {ending: what for what, endings in _ENDINGS.items() for ending in endings}
_CORE = re.compile(r"core(\.[\w.-]*\d[\w.-]*)?|[\w.-]+\.core|vmcore[\w.-]*")
#: What torch.distributed.debug's periodic dumps are called (torch 2.11): tables for people.
_DEBUG_PAGE = re.compile(r"[a-z][a-z_]*_\d{8}_\d{6}\.txt")
_LOG_END = re.compile(r"\.(log|out|err|stdout|stderr)([._-]?\d+)*(\.(gz|zst))?$")
_LOG_NAME = re.compile(r"(stdout|stderr|dmesg|messages|syslog|kern|error\.json)([._-]?\d+)*")
#: PBS and SGE: ``train.o7719``, ``train.e7719-3``; and ``out.7719``, ``err.2``.
_LOG_OF_JOB = re.compile(r".+\.[oe]\d{2,}([._-]\d+)*|(out\.|err[._-]?)\d+")
#: PBS and SGE with a short number or none, and PBS Pro where the names are the jobs': a dump may be called so as well
#: (``dump.o1``), and then it is no text.
_TEXT_OF_JOB = re.compile(r".+\.(?:[oe]\d?(?:[._-]\d+)*|ou|er)")
#: Lines of JSON, which may be data or a log: one that calls itself so.
_JSON_LINES = re.compile(r"(.+)\.(?:jsonl|ndjson)")
_LOGGISH = re.compile(r"(^|[^a-z])(logs?|stdout|stderr|output|console|std(out|err)?)([^a-z]|$)")

#: Endings that people put on dumps; all of them may be there at once.
SUFFIXES = ("json", "pkl", "pickle", "bin", "dump", "txt", "gz", "zst", "zstd", "tar", "zip", "tgz")
_SUFFIX = re.compile(rf"\.(?:{'|'.join(SUFFIXES)})$", re.IGNORECASE)
#: Words that names of dumps are made of (default prefixes of torch 2.2 to 2.15, of vendors, and of public launch scripts);
#: each ends there: ``dumpe2fs`` is a program.
_DUMP_WORDS = re.compile(r"(?:traces?|dumps?|ranks?|nccl|comm_?lib|flight|recorder|(?:^|[^a-z])fr|ccl)(?![a-z])", re.IGNORECASE)
#: How JSON begins; a log may begin with a bracket too (``[NeMo W …``, ``[rank0]:``, ``{'loss': 0.1}``).
_JSON = re.compile(rb"\s*(?:\{\s*(?:[\"}]|$)|\[\s*(?:[\[{\"\]]|$))")


class Form(Enum):
    """What the first bytes are."""

    PICKLE = "pickle"
    JSON = "JSON"
    GZIP = "gzip"
    ZSTD = "zstd"
    TAR = "tar"
    ZIP = "zip"
    PARQUET = "parquet"
    TEXT = "text"
    OTHER = "other"


#: Forms that hold other files.
PACKED = frozenset({Form.GZIP, Form.ZSTD, Form.TAR, Form.ZIP})

#: How the name of a pack ends: dumps in one parquet file, written by ``hangview pack``.
PACK = ".hvpack"

#: So many first bytes are enough for :func:`form_of` (the mark of a tar file is at 257).
HEAD = 512


def kind_of(name: str) -> tuple[SourceKind, str | None]:
    """What a file of this name may be: DUMP (to be read), LOG, or OTHER with the reason why it is left alone."""
    lower = name.lower()
    if name.startswith("."):
        return SourceKind.OTHER, "hidden file"
    if _CORE.fullmatch(lower):
        return SourceKind.OTHER, "a core file by its name"
    if _DEBUG_PAGE.fullmatch(lower):
        return SourceKind.OTHER, "a page of the debug server, for people; not a dump"
    if _LOG_END.search(lower) or _LOG_NAME.fullmatch(lower) or _LOG_OF_JOB.fullmatch(lower):
        return SourceKind.LOG, None
    if (lines := _JSON_LINES.fullmatch(lower)) is not None and (_LOG_NAME.fullmatch(lines[1]) or _LOGGISH.search(lines[1])):
        return SourceKind.LOG, None
    ending = lower.rpartition(".")[2] if "." in lower else ""
    if ending in _BY_ENDING:
        return SourceKind.OTHER, f"{_BY_ENDING[ending]} by its name"
    if lower.endswith("~") or ".tfevents." in lower:
        return SourceKind.OTHER, "a backup copy by its name" if lower.endswith("~") else "a checkpoint or data by its name"
    return SourceKind.DUMP, None


def says_log(name: str) -> bool:
    """Whether a text file without a known ending calls itself a log."""
    lower = strip_suffixes(name).lower()
    return _LOGGISH.search(lower) is not None or _TEXT_OF_JOB.fullmatch(lower) is not None


def says_dump(name: str) -> bool:
    """Whether a name has a word that names of dumps are made of; such a file is missed when it cannot be read."""
    return _DUMP_WORDS.search(name) is not None


def strip_suffixes(name: str) -> str:
    """The name without the endings that people put on dumps: ``"rank_3.json.gz"`` → ``"rank_3"``."""
    while (found := _SUFFIX.search(name)) and found.start() > 0:
        name = name[: found.start()]
    return name


def form_of(head: bytes) -> Form:
    """What the first :data:`HEAD` bytes of a file are.

    >>> form_of(bytes([0x80, 2]) + b"}(X").value
    'pickle'
    """
    if head[:1] == b"\x80":
        return Form.PICKLE
    if head[:2] == b"\x1f\x8b":
        return Form.GZIP
    if head[:4] == b"\x28\xb5\x2f\xfd":
        return Form.ZSTD
    if head[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return Form.ZIP
    if head[:4] == b"PAR1":
        return Form.PARQUET
    if head[257:262] == b"ustar":
        return Form.TAR
    if _JSON.match(head.removeprefix(b"\xef\xbb\xbf")):
        return Form.JSON
    if head and not any(byte < 9 or 13 < byte < 27 or 27 < byte < 32 for byte in head):
        return Form.TEXT
    return Form.OTHER
