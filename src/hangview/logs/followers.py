"""Which errors only follow: the texts, types and frames by which an error says that another process brought it about.

A follower is shown and never makes a lead. An error that reports what another rank did or did not do follows from that rank.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hangview.schema import StackFrame

OUTSIDE = "it was ended from outside"
_LOST = "the connection to another process was lost"
_TIMED_OUT = "it waited until its own time-out"
#: Texts of ends that follow from another process, with what they follow from.
_TEXTS: tuple[tuple[re.Pattern[str], str], ...] = (
    # Reports first: they quote the error of the connection, too.
    (
        re.compile(r"failed to pass monitoredBarrier|successfully reached monitoredBarrier"),
        "it reports a monitored_barrier to which not all ranks came",
    ),
    (
        re.compile(r"Detected mismatch between collectives on ranks"),
        "it reports that ranks of its group ask for different things",
    ),
    (re.compile(r"CheckpointException ranks:"), "it reports what a rank's part of a checkpoint raised"),
    (
        re.compile(
            r"Connection (?:was )?(?:closed|reset|likely closed|refused)|Broken pipe|got 0 bytes|remote process exited"
            r"|ncclRemoteError|remote error detected|Socket Timeout|recvValue failed|sendBytes failed"
            r"|Gloo connectFullMesh failed|\(this error originated at tensorpipe/|MPI_ERR_PROC_FAILED|: OFI function error"
        ),
        _LOST,
    ),
    (
        re.compile(
            r"Timed out waiting \d+ms|Watchdog caught collective|NCCL operation timed out|timed out in blocking wait"
            r"|wait timeout after|Wait timeout|Operation timed out after|timeout watchdog detected operation timeout"
            r"|client socket has timed out|Timed out initializing process group in store based barrier"
            r"|RPC ran for more than set timeout"
        ),
        _TIMED_OUT,
    ),
    (
        # gloo tells it to every other operation of a context in which one timed out (transport/tcp/unbound_buffer.cc).
        re.compile(r"Application timeout \w+ pair closure"),
        "it waited while another operation of its own met its time-out",
    ),
    (
        re.compile(r"communicator was aborted|NCCLABORTEDCOMM|due to error - timeout watchdog"),
        "its communicator was aborted before",
    ),
    (
        re.compile(r"EnforceNotMet|op\.preamble\.length"),
        "it aborts inside a call in which another rank asks for something else",
    ),
    (re.compile(r"SignalException|KeyboardInterrupt|got signal: "), OUTSIDE),
    (
        re.compile(r"DataLoader worker \(pid(?:\(s\))? [\d, ]+\) is killed by signal: Terminated"),
        "SIGTERM is how a launcher or a scheduler ends healthy processes, their workers with them",
    ),
)
#: Exceptions by the last part of their type, with what they follow from.
_TYPES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?:^|\.)(?:SIGTERMException|SignalException|KeyboardInterrupt)$"), OUTSIDE),
    (
        re.compile(r"(?:^|\.)(?:RankShouldRestart|RestartAbort|HostsUpdatedInterrupt|HorovodInternalError)$"),
        "it is how a process is told to start again because of another one",
    ),
    (re.compile(r"(?:^|\.)(?:CancelledError|GeneratorExit)$"), "it is how what is no longer wanted is cancelled"),
    (re.compile(r"(?:^|\.)GetTimeoutError$"), "it waited for another process of Ray until its own time-out"),
    (
        re.compile(r"(?:^|\.)(?:DistStoreError|DistNetworkError|Rendezvous\w*|ChildFailedError|(?:Ray)?Actor(?:Died)?Error)$"),
        "another process had left or was not there",
    ),
)
#: Of one's own thread or task that did not come back: it may have read a file, and may have waited for another rank.
_FUTURE = "it waited for another thread or task until its own time-out, and the log does not say what that one waited for"
_DISTRIBUTED = re.compile(r"torch/(?:distributed|futures)/|/(?:ray|deep_ep|mpi4py|horovod|ucp|zmq)/")
OF_THE_LIBRARY = "an error of the communication library says what the connection did, not who began"
_OF_A_CALL = frozenset({OF_THE_LIBRARY, _TYPES[-1][1], *(why for _, why in _TEXTS if why not in (OUTSIDE, _TEXTS[-1][1]))})
#: Types of errors of the communication library, whatever the frames: the C++ part of torch has none.
_OF_COMMUNICATION = re.compile(r"(?:^|\.)DistBackendError$")
_COMMUNICATION = re.compile(r"\bNCCL error\b|\bncclSystemError\b|\bncclInternalError\b|\bncclUnhandledCudaError\b")
#: Types of errors that come out of C++, which leaves no frame. Others are raised by Python code, which waits for nobody there.
_OF_CPP = re.compile(
    r"(?:^|\.)(?:RuntimeError|SystemError|Exception|\w*Timeout\w*|AcceleratorError|Dist\w*Error|N[Cc][Cc][Ll]Error)$"
    r"|^torch\.(?!(?:cuda\.)?OutOfMemoryError$)"
)
#: Files of which every part that calls C++ is of one rank's own.
_OF_ONE_RANK = re.compile(
    r"torch/(?:nn/(?:modules/|functional\.py|init\.py)|utils/data/|serialization\.py|functional\.py)"
    r"|/(?:PIL|numpy|pandas|pyarrow|cv2|soundfile|tokenizers|transformers/tokenization\w*)/"
)
_KERNELS_THAT_TRAP = re.compile(r"/deep_ep/")
#: Of these types, and of a file system's numbers, an error of many ranks is many errors: nobody raises them for having waited.
_OWN_ON_ALL = re.compile(
    r"(?:^|\.)(?:OutOfMemoryError|MemoryError|ValueError|TypeError|KeyError|IndexError|AttributeError|ZeroDivisionError"
    r"|Unicode\w*Error|NameError|ImportError|ModuleNotFoundError|BadZipFile|AssertionError|JSONDecodeError|FileNotFoundError"
    r"|FileExistsError|PermissionError|IsADirectoryError|NotADirectoryError|ChildProcessError)$|^zlib\.error$"
)
#: EIO, ENOMEM, ENFILE, EMFILE, ENOSPC, EROFS, ESTALE, EREMOTEIO, EDQUOT; and what torch says of a host's memory and files.
_OWN_FAILURE = re.compile(
    r"CUDA out of memory|\[Errno (?:5|12|23|24|28|30|116|121|122)\]|Too many open files|DefaultCPUAllocator"
    r"|out of shared memory|DataLoader worker \(pid(?:\(s\))? [\d, ]+\) is killed by signal: (?!Terminated)"
)
#: Words of an error that may tell of another process, in its type or its text, whoever raised it.
_OF_OTHERS = re.compile(
    r"(?i:time[ds]?[ _-]?out|did not (?:respond|finish within|arrive)|never arrived|no (?:response|progress)|deadlock"
    r"|unreachable|disconnect|(?:un|not |in)healthy|peer|remote|abort|heartbeat|watchdog|barrier|rendezvous|collective"
    r"|connection|socket|\bnccl\b|\bgloo\b)|Dead|Died|Lost|[Dd]eadline|\bDEADLINE_EXCEEDED\b"
    r"|\b(?:is|are|has|have|was|were) (?:dead|died|lost|gone|hung|stuck)\b"
)
#: Types of errors of who waited for something that did not come: of zmq, of queues, of all that time out.
_OF_A_WAIT = re.compile(r"(?:^|\.)(?:Again|Empty)$|Time[Oo]ut\w*$")
#: Words of a report on what was gathered from all ranks, which each of them raises: DDP's, FSDP's, accelerate's.
_GATHERED = re.compile(r"\bacross (?:all )?(?:ranks|devices|processes)\b|\b[Ee]xpects all ranks\b|\bProcess 1: ")
#: Files of those who read from a service, which is no rank.
_OF_A_SERVICE = re.compile(
    r"/(?:requests|urllib3?|http|httpx|httpcore|botocore|boto3|s3fs|gcsfs|fsspec|aiohttp|aiobotocore|redis|huggingface_hub"
    r"|google|azure)/|transformers/utils/hub\.py$"
)
#: Those of what reports to a service: where it cannot, no rank is late for that, and all fail when their job ends.
_OF_REPORTS = re.compile(r"/(?:wandb|mlflow|neptune|comet_ml|clearml|sentry_sdk)/")
#: A fault that a kernel may bring about on purpose, to end a wait. What other errors of the device say has another reason.
_MAY_BE_A_TRAP = re.compile(r"launch failure|launch timed out")
#: Files in which a thread or a task waits for another one, of this process or of another.
_WAITING = re.compile(r"(?:concurrent/futures/(?:_base|thread|process)|asyncio/\w+|/threading|torch/futures/__init__)\.py$")
NETWORK = re.compile(r"NCCL error: (?:remote|unhandled system|internal)|ncclSystemError|ncclInternalError|ncclRemoteError")
DEVICE = re.compile(
    r"CUDA error|uncorrectable ECC|unhandled cuda error|ncclUnhandledCudaError|GPU Hang|illegal memory access|launch failure"
)
#: Numbers of ranks in a message: "rank 5", "ranks [3, 4]", "rank 1 and rank 0"; "ranks" may stand some words before its
#: brackets ("not all ranks are ready: [5]"). A number in the name of a file is none.
_SAYS_RANK = re.compile(
    r"(?<![\w./-])(?:(?P<of>[\w-]+)[ -])?ranks?(?: ?[:=#] ?| |-)?\[?(?P<ranks>\d{1,6}(?:(?:, ?| and (?:rank )?| & )\d{1,6})*)"
    r"(?!\w|\.\w| (?:tensor|array|matri|approx))|\branks\b[^\[\]\d]{0,40}\[(?P<listed>\d{1,6}(?:, ?\d{1,6})*)\]",
    re.IGNORECASE,
)
#: A number within a smaller group, on one host, or of a matrix is none of the world's.
_OF_A_PART = re.compile(
    r"(?:local|node|group|mesh|tensor|pipeline|expert|context|sequence|stage|shard|replica|parallel|lora|matrix"
    r"|(?:fs|hs|[ve])?[tdpec]p|sp)$",
    re.IGNORECASE,
)
_OF_A_TENSOR = re.compile(
    r"\b(?:an? (?:\w+ )?(?:tensor|array|matrix) (?:of|with|that has)"
    r"|(?:tensors?|arrays?|matri(?:x|ces)|inputs?) (?:must|should|to) (?:be of|have)) $",
    re.IGNORECASE,
)
#: Messages in which every rank is a number of dimensions ("Tensor rank 4 does not match expected rank 3").
_OF_DIMENSIONS = re.compile(
    r"\b(?:tensor|array|input|index|operand)(?:'s)? rank "
    r"(?:must|should|mismatch|of \d|\d+ (?:do(?:es)? not match|must|but|is|vs|!=))"
    r"|\brank of (?:the )?(?:input )?(?:tensor|array|input|index|operand)\b|\brank-\d+ (?:tensor|array)",
    re.IGNORECASE,
)
#: Functions that handle a signal, by their names, which must say so: "handler" alone may be anything.
_HANDLER = re.compile(
    r"(?:^|_)sig(?:term|int|hup|usr[12])(?:_|$)|^_?(?:on|handle|handles|got|receive)_signals?$|signal_?handler", re.IGNORECASE
)
_INNERMOST = 2
_SIGNAL = re.compile(r"\bSIG(?:TERM|INT|HUP|USR[12])\b|\bsignal (?:2|15)\b|\bpreempt", re.IGNORECASE)
#: 128 and the number of SIGHUP, SIGINT or SIGTERM, as shells have it.
_EXIT_BY_SIGNAL = re.compile(r"(?:^|: )1(?:29|30|43)\s*$")
_WORKER_GONE = re.compile(r"DataLoader worker \(pid(?:\(s\))? [\d, ]+\) exited unexpectedly")
_PIPES = re.compile(r"/multiprocessing/(?:connection|managers|queues|synchronize)\.py$")
#: Characters in front of a number in which it is said what it is of: of a message of many numbers not all that is in front.
_NEAR = 120
_CLOSED = re.compile(r"^\[Errno 9\]|: \[Errno 9\]")


def follows(type_: str, text: str, frames: Sequence[StackFrame] = ()) -> str | None:
    """What an error follows from, or None when it stands for itself. ``frames`` are innermost first."""
    if "launch failure" in text and any(_KERNELS_THAT_TRAP.search(frame.filename) for frame in frames):
        return "the kernels of that library end themselves by such an error when they have waited for other ranks for long"
    if DEVICE.search(text):
        return None
    for pattern, why in _TEXTS:
        if pattern.search(text) and not (why == _LOST and _of_a_service(frames)):
            return why
    for pattern, why in _TYPES:
        if pattern.search(type_):
            return why
    if _last(type_) == "TimeoutError" and frames and _WAITING.search(frames[0].filename):
        return _FUTURE
    if any(_HANDLER.search(frame.name) for frame in frames[:_INNERMOST]):
        return f"{OUTSIDE}: the handler of a signal raised it"
    return OUTSIDE if _is_exit(type_) and (_SIGNAL.search(text) or _EXIT_BY_SIGNAL.search(text)) else None


def waited_until_its_end(line: str) -> bool:
    """Whether a line in front of an error says that its process had waited for others until its time-out."""
    return follows("", line) == _TIMED_OUT


def _of_a_service(frames: Sequence[StackFrame]) -> bool:
    """Whether an error is of a connection to a service from which the program reads: no rank is at its other end."""
    files = [frame.filename for frame in frames]
    if any(_DISTRIBUTED.search(file) or _OF_REPORTS.search(file) for file in files):
        return False
    return any(_OF_A_SERVICE.search(file) for file in files)


def alone_may_wait(why: str, frames: Sequence[StackFrame]) -> bool:
    """Whether an error follows for this alone that some thread or task of its process did not come back in time, in frames
    that hold nothing of what waits for other ranks."""
    return why == _FUTURE and not any(_DISTRIBUTED.search(frame.filename) for frame in frames)


def ranks_in(text: str) -> frozenset[int]:
    """The ranks of which the message of an error tells. Whatever befell those, another one that raised it reports it."""
    named: set[int] = set()
    if _OF_DIMENSIONS.search(text) is not None:
        return frozenset()
    for found in _SAYS_RANK.finditer(text):
        of = found["of"]
        part = of is not None and _OF_A_PART.match(of) is not None
        end = found.start() if of is None else found.end("of") + 1
        if not part and _OF_A_TENSOR.search(text, max(0, end - _NEAR), end) is None:
            named.update(int(number) for number in re.findall(r"\d+", found["ranks"] or found["listed"]))
    return frozenset(named)


def may_have_waited(type_: str, message: str, frames: Sequence[StackFrame]) -> bool:
    """Whether an error is how a pipe ends whose other process is gone: Python says no more of it, and of a file it does."""
    return _last(type_) == "EOFError" and not message and bool(frames) and _PIPES.search(frames[0].filename) is not None


def of_a_call(why: str) -> bool:
    """Whether what an error follows from, in these words, is a call of the communication library or a lost connection."""
    return why in _OF_A_CALL


def left_behind(type_: str, text: str, frames: Sequence[StackFrame]) -> str:
    """The same of an error of a process of which nobody says that it failed by itself, while its job's processes are ended:
    what SIGTERM leaves behind, where a script handles it or the whole group of processes gets it. "" for any other."""
    closed = type_ == "EOFError" or (type_ == "OSError" and _CLOSED.search(text) is not None)
    gone = _WORKER_GONE.search(text) or (closed and frames and _PIPES.search(frames[0].filename))
    return "processes of the job were being ended, and this is what that leaves behind" if gone or _is_exit(type_) else ""


def in_communication(type_: str, text: str) -> bool:
    """Whether an error is of the communication library, whatever the frames say: C++ leaves none."""
    return _OF_COMMUNICATION.search(type_) is not None or _COMMUNICATION.search(text) is not None


def outside_shown(type_: str, frames: Sequence[StackFrame], *, by_raise: bool) -> bool:
    """Whether a traceback proves that an error was raised outside any call that waits for others: by its type, by the frame
    that raised it, or because Python code did (``by_raise``). ``work.wait()`` and DDP's backward() leave no frame of theirs."""
    if _OF_CPP.search(type_) is None or by_raise:
        return True
    return bool(frames) and _OF_ONE_RANK.search(frames[0].filename) is not None


def shared(type_: str, text: str, *, proven: bool = False) -> bool:
    """Whether an error that many ranks raise may be how they all met the end of one wait. Of what is ``proven`` to be raised
    outside any call that waits, by Python code or by its type, only what tells of others may."""
    if _OWN_ON_ALL.search(type_) is not None or _OWN_FAILURE.search(text) is not None:
        return False
    if DEVICE.search(text) is not None and not in_communication(type_, text):
        return _MAY_BE_A_TRAP.search(text) is not None
    return not proven or _OF_OTHERS.search(f"{type_} {text}") is not None


def tells_of_others(type_: str, text: str, frames: Sequence[StackFrame] = ()) -> bool:
    """Whether the words of an error, in the whole of its message, tell of a wait or of other processes, and neither its type,
    a number of the system nor the file that raised it shows that it is of the rank itself."""
    if gathered(text):
        return True
    if _OWN_ON_ALL.search(type_) is not None or _OWN_FAILURE.search(text) is not None or in_communication(type_, text):
        return False
    if DEVICE.search(text) is not None or _of_a_service(frames):
        return False
    if frames and _OF_ONE_RANK.search(frames[0].filename) is not None:
        return False
    return _OF_OTHERS.search(f"{type_} {text}") is not None or _OF_A_WAIT.search(type_) is not None


def gathered(text: str) -> bool:
    """Whether an error reports what was gathered from all ranks: which of them differs, each of them says alike."""
    return _GATHERED.search(text) is not None


def _is_exit(type_: str) -> bool:
    return type_ == "SystemExit"


def _last(type_: str) -> str:
    return type_.rsplit(".", 1)[-1]
