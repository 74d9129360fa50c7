"""What a line of a log must hold to be looked at: the words of all that is read off lines."""

from __future__ import annotations

import re

#: What a line must hold to be worth matching; one expression, so that ordinary output costs little.
_MARKS = (
    r"Watchdog|atchdog (?:thread|got)|at (?:NCCL )?work|\[TC\]|dump signal|monitor timed out|async exception|blocking wait"
    r"|signal dumping|to dump debug|dumping trace|Stack trace of|Flight [Rr]ecorder d|debug info|nccl trace"
    r"|\[rank\d+\]: |Traceback|most recent call|terminate called|what\(\)|Fatal Python"
    r"|exitcode|closing signal|ChildFailed|Failures:|observed failure|srun: |slurmstepd|CANCELLED|emory: Kill|oom-kill:"
    r"|signal \d|SIGNAL: \d|RUNNING AT |return code|with code|Init COMPLETE|NCCL version|DriverVersion|by environ"
    r"|river [Vv]ersion|(?:access fault|Exception) by GPU|CUDA (?:used|runtime|error)|orch(?: version|\.__version__)?\s*[:=]"
    r"|NVRM: Xid|\] Signal: |[Ww]orld[_ ]|WORLD_SIZE|, MEMBER: \d|RANK\W{1,4}\d|distributed init|_[A-Z]+=|across cluster"
    r"|restart worker|Process \d|Thread |for thread|NCCL error|ECC |GPU Hang|launch failure|memory access"
    r"|before program exit|Timeout \(\d|NOT been destroyed|used by this process"
    r"|Exception ignored|Exception in thread|Process \S+:\s*$|(?:future|task|handle|protocol|transport): <|Error in atexit"
    r"|Logging error|NCCL WARN|To our best knowledge|collective #\d"
    r"|Segmentation fault|Bus error|Illegal instr|Floating point exc|double free|(?:free|alloc|chunk)\w*\(\): |corrupted "
    r"|stack smashing|Caught signal|\*\*\* SIG|\bSIG(?:TERM|INT|HUP|USR)|[Pp]reempt"
    r"|Unable to shutdown| died from |  (?:rank|exitcode|time) +:|/site-packages/torch/"
)
WORTH = re.compile(_MARKS)
WORTH_BYTES = re.compile(_MARKS.encode())
