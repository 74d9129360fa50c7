"""Lines that say where and with what a job ran: NCCL's INFO lines, versions, environment variables, the world size."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from hangview.logs.events import Began, CommInit, Event, Said

if TYPE_CHECKING:
    from hangview.logs.evidence import LogLine
    from hangview.logs.lines import Piece

#: ``host:pid:tid [cudaDev] NCCL INFO …``; newer ones have the wall clock in brackets in front.
_NCCL = re.compile(
    r"(?:\[[\d:T. -]+\] )?(?P<host>[\w.-]+):(?P<pid>\d+):\d+ \[-?\d+\] (?:\S+ )?NCCL (?:INFO|WARN|TRACE) (?P<rest>.*)"
)
_INIT = re.compile(
    r"comm 0x[0-9a-f]+ rank (?P<rank>\d+) n[Rr]anks (?P<nranks>\d+) cudaDev (?P<device>\d+)(?: nvmlDev \d+)?"
    r"(?: busId (?P<bus>[0-9a-f]+))?(?: commId (?P<comm>0x[0-9a-f]+))?.*Init COMPLETE"
)
#: ``file.cc:line NCCL WARN …``: NCCL prints these at its default level when something is wrong, mostly with the network.
_WARNING = re.compile(r"NCCL WARN (?P<text>.*\S)")
#: PyTorch's own guess (TORCH_NCCL_DESYNC_DEBUG): it needs the store, counts from 1 and goes by the latest call that started.
_DESYNC = re.compile(
    r"^\s*-? *(?P<text>To our best knowledge, .*\S|\[[\d, ]*\] (?:joined but didn't finish|finished) collective .*\S)"
)
_VERSION = re.compile(r"NCCL version (?P<nccl>\d+\.\d+(?:\.\d+)?)(?:\+cuda(?P<cuda>[\d.]+))?")
#: NCCL's own line is nothing else; an error text ends with the same words.
_OWN_VERSION = re.compile(r"(?:.* NCCL INFO )?NCCL version \d[\d.]*\+cuda[\d.]+\s*")
#: Slurm ends a job or a step; what follows may be of the next start, where the file is appended to.
_CANCELLED = re.compile(r"\*\*\* (?:STEP|JOB) \S+ ON \S+ CANCELLED|srun: (?:Terminating|Job step aborted|forcing job term)")
_DRIVER_API = re.compile(r"cudaDriverVersion (?P<number>\d{5})")
_ENVIRONMENT = re.compile(r"(?P<name>NCCL_\w+) set by environment to (?P<value>.*?)\.?$")
_VARIABLE = re.compile(
    r"(?:^|[\s(])(?:export )?(?P<name>(?:TORCH|NCCL|CUDA|GLOO|OMP|PYTORCH|TORCHELASTIC)_[A-Z0-9_]+)=(?P<value>[^\s;,)]+)"
)
_TORCH = re.compile(r"(?:PyTorch|torch|pytorch)(?: version|\.__version__)?\s*[:=]{1,2}\s*v?(?P<torch>\d+\.\d+\.\d+[\w.+-]*)")
_DRIVER = re.compile(r"(?:Nvidia driver version|Driver Version):\s*(?P<driver>\d+\.[\d.]+)")
_CUDA = re.compile(r"CUDA (?:used to build PyTorch|runtime version): (?P<cuda>\d+\.[\d.]+)")
#: The second one is Lightning's: "GLOBAL_RANK: 0, MEMBER: 1/8".
_WORLD = (
    re.compile(r"\bworld[_ ]size\s*[:= ]\s*(?P<size>\d{1,7})\b", re.IGNORECASE),
    re.compile(r"\bGLOBAL_RANK: \d+, MEMBER: \d+/(?P<size>\d{1,7})\b"),
)
_PYTHON = re.compile(r"/python(?P<python>3\.\d+)/site-packages/torch/")

#: Values that may hold what is nobody's business.
_SECRET = re.compile(r"TOKEN|SECRET|PASSWORD|KEY|CREDENTIAL")


def match(piece: Piece, line: LogLine) -> list[Event]:
    """What a line says for the worksheet; empty for any other line."""
    text, who, at = piece.text, piece.who, piece.at
    events: list[Event] = []
    nccl = _NCCL.match(text)
    if nccl is not None:
        who = replace(who, host=nccl["host"], pid=int(nccl["pid"]))
        init = _INIT.search(nccl["rest"])
        if init is not None:
            return [
                CommInit(who, line, at, int(init["rank"]), int(init["nranks"]), int(init["device"]), init["bus"], init["comm"])
            ]
    if (found := _VERSION.search(text)) is not None:
        events.append(Said(who, line, at, "nccl", found["nccl"]))
        if found["cuda"]:
            events.append(Said(who, line, at, "cuda", found["cuda"]))
        return [*events, Began(who, line, at, "nccl")] if _OWN_VERSION.fullmatch(text) is not None else events
    if _CANCELLED.search(text) is not None:
        return [Said(who, line, at, "cancelled", text.strip())]
    if (found := _DRIVER_API.search(text)) is not None:
        number = int(found["number"])
        return [Said(who, line, at, "cuda_driver_api", f"{number // 1000}.{number % 1000 // 10}")]
    if (found := _ENVIRONMENT.search(text)) is not None:
        return [Said(who, line, at, f"env {found['name']}", found["value"])]
    if (found := _WARNING.search(text)) is not None:
        return [Said(who, line, at, "nccl_warning", found["text"])]
    if nccl is not None:
        return []
    if (found := _DESYNC.match(text)) is not None:
        return [Said(who, line, at, "desync_report", found["text"])]
    for pattern in (_TORCH, _DRIVER, _CUDA):
        if (found := pattern.search(text)) is not None:
            [(name, value)] = found.groupdict().items()
            events.append(Said(who, line, at, name, value))
    sizes = [found["size"] for pattern in _WORLD if (found := pattern.search(text)) is not None]
    events += [Said(who, line, at, "world_size", size) for size in sizes]
    if "=" in text:
        events += [
            Said(who, line, at, f"env {found['name']}", found["value"].strip("'\""))
            for found in _VARIABLE.finditer(text)
            if not _SECRET.search(found["name"])
        ]
    if not events and (found := _PYTHON.search(text)) is not None and text.startswith("frame #"):
        events.append(Said(who, line, at, "python", found["python"]))
    return events
