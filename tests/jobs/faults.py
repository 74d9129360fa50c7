"""One rank does something else than the others: stops, skips, repeats, swaps, or calls with other arguments."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tests.jobs.simulate import members, run

if TYPE_CHECKING:
    import random

    from tests.jobs.model import Call, Job, Part, Program

FAULTS = ("none", "stop", "first", "op", "size", "dtype", "swap", "skip", "repeat", "stall", "two", "stop+size")

#: Not drawn at random, only when asked for: see ``plan.draw``.
MORE_FAULTS = ("init", "inside")

#: The sizes of an all-to-all may differ; a barrier has neither size nor dtype of the caller's.
_NO_CHANGE = {"size": ("all_to_all_single", "all_reduce_barrier"), "dtype": ("all_reduce_barrier",)}
_OTHER_DTYPE = {"Float": "Half", "BFloat16": "Float"}


def inject(fault: str, job: Job, rng: random.Random) -> Job:
    """The job with one fault (or two), somewhere after its first step; ``first``: before a rank's first call."""
    if fault == "none":
        return job
    if fault == "init":
        return _init(job, rng)
    if fault == "inside":
        return _inside(job, rng)
    if fault == "two":
        return _two(job, rng)
    if fault == "stop+size":
        return replace(_args("size", _stop(job, rng), rng), fault=fault)
    if fault in ("op", "size", "dtype"):
        return _args(fault, job, rng)
    return {"stop": _stop, "first": _first, "swap": _swap, "skip": _skip, "repeat": _repeat, "stall": _stall}[fault](job, rng)


def _pick(job: Job, rng: random.Random) -> int:
    """A rank that has no fault yet."""
    return rng.choice([rank for rank in range(job.world) if rank not in job.injected])


def _place(program: Program, rng: random.Random) -> int:
    return rng.randrange(len(program) // 4, len(program) * 3 // 4)


def _describe(job: Job, rank: int, index: int) -> str:
    call = job.programs[rank][index]
    return f"{call.parts[0].op} of {job.groups[call.group].desc} (call {index} of rank {rank})"


def _stop(job: Job, rng: random.Random) -> Job:
    rank = _pick(job, rng)
    index = _place(job.programs[rank], rng)
    what = f"rank {rank} stops before {_describe(job, rank, index)}"
    return replace(job, stops={**job.stops, rank: index}, injected=job.injected | {rank}, fault="stop", what=what)


def _first(job: Job, rng: random.Random) -> Job:
    rank = _pick(job, rng)
    return replace(
        job, stops={rank: 0}, injected=frozenset({rank}), fault="first", what=f"rank {rank} stops before its first call"
    )


def _init(job: Job, rng: random.Random) -> Job:
    """A rank never comes to its first call of a group; the others wait for it while they make the communicator."""
    rank = _pick(job, rng)
    program = job.programs[rank]
    firsts = [index for index, call in enumerate(program) if call.group not in {c.group for c in program[:index]}]
    index = rng.choice(firsts)
    what = f"rank {rank} stops before its first call of {job.groups[program[index].group].desc}"
    return replace(job, lazy=True, stops={rank: index}, injected=frozenset({rank}), fault="init", what=what)


def _inside(job: Job, rng: random.Random) -> Job:
    """A rank stops inside a batch of sends and receives; where a layout has none, before a call."""
    with_batches = [rank for rank in range(job.world) if any(call.batch and call.is_p2p for call in job.programs[rank])]
    if not with_batches:
        return _stop(job, rng)
    rank = rng.choice(with_batches)
    program = job.programs[rank]
    index = rng.choice([i for i, call in enumerate(program) if call.batch and call.is_p2p and i > len(program) // 4])
    what = f"rank {rank} stops inside {_describe(job, rank, index)}"
    return replace(job, stops={rank: index}, injected=frozenset({rank}), fault="inside", what=what)


def _two(job: Job, rng: random.Random) -> Job:
    """Two ranks stop. Half of the time in the same step, so that neither keeps the other from coming to its stop."""
    one = _stop(job, rng)
    other = _stop(one, rng)
    if rng.random() < 0.5:
        (first, index), second = next(iter(one.stops.items())), next(iter(other.injected - one.injected))
        near = round(index / len(job.programs[first]) * len(job.programs[second]))
        other = replace(other, stops={first: index, second: min(near, len(job.programs[second]) - 1)})
    return replace(other, fault="two", what=f"{one.what}; {other.what}")


def _args(fault: str, job: Job, rng: random.Random) -> Job:
    """A rank makes a collective with another operation, size or dtype."""
    change = {"op": _other_op, "size": _other_size, "dtype": _other_dtype}[fault]
    while True:
        rank = _pick(job, rng)
        program = job.programs[rank]
        index = _place(program, rng)
        call = program[index]
        if not _changeable(fault, call):
            if rng.random() < 0.02 and call.is_p2p and fault == "size":
                break  # now and then a send that is longer than its receive
            if not any(_changeable(fault, c) for c in program[len(program) // 4 : len(program) * 3 // 4]):
                return _stop(job, rng)
            continue
        break
    what = f"rank {rank}: other {fault} at {_describe(job, rank, index)}"
    changed = replace(call, parts=(change(call.parts[0]), *call.parts[1:]))
    job = job.with_program(rank, [*program[:index], changed, *program[index + 1 :]])
    return replace(job, injected=job.injected | {rank}, fault=fault, what=f"{job.what}; {what}" if job.what else what)


def _changeable(fault: str, call: Call) -> bool:
    return not (call.batch or call.is_p2p or call.parts[0].op in _NO_CHANGE.get(fault, ()))


def _other_op(part: Part) -> Part:
    if part.op in ("all_reduce", "all_reduce_barrier"):
        return replace(part, op="broadcast")
    if part.op == "_reduce_scatter_base":  # not an all_reduce: gloo runs and records a reduce_scatter as one
        return replace(part, op="broadcast", outputs=part.inputs)
    return replace(part, op="all_reduce", outputs=part.inputs)


def _other_size(part: Part) -> Part:
    def grow(shapes: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
        return tuple((shape[0] + 8, *shape[1:]) for shape in shapes)

    return replace(part, inputs=grow(part.inputs), outputs=grow(part.outputs))


def _other_dtype(part: Part) -> Part:
    return replace(part, dtype=_OTHER_DTYPE[part.dtype])


def _swap(job: Job, rng: random.Random) -> Job:
    """A rank makes two neighbouring calls the other way round."""
    rank = _pick(job, rng)
    program = list(job.programs[rank])
    different = [i for i in range(len(program) // 4, len(program) * 3 // 4) if program[i] != program[i + 1]]
    other_group = [i for i in different if program[i].group != program[i + 1].group]
    index = rng.choice(other_group if other_group and rng.random() < 0.8 else different)
    what = f"rank {rank} makes {_describe(job, rank, index + 1)} before {_describe(job, rank, index)}"
    program[index], program[index + 1] = program[index + 1], program[index]
    return replace(job.with_program(rank, program), injected=frozenset({rank}), fault="swap", what=what)


def _skip(job: Job, rng: random.Random) -> Job:
    rank = _pick(job, rng)
    program = job.programs[rank]
    index = _place(program, rng)
    what = f"rank {rank} skips {_describe(job, rank, index)}"
    job = job.with_program(rank, [*program[:index], *program[index + 1 :]])
    return replace(job, injected=frozenset({rank}), fault="skip", what=what)


def _repeat(job: Job, rng: random.Random) -> Job:
    rank = _pick(job, rng)
    program = job.programs[rank]
    index = _place(program, rng)
    what = f"rank {rank} repeats {_describe(job, rank, index)}"
    again = program[index]
    job = job.with_program(rank, [*program[:index], again, *program[index:]])
    return replace(job, injected=frozenset({rank}), fault="repeat", what=what)


def _stall(job: Job, rng: random.Random) -> Job:
    """A call that everybody makes and that never ends: a device, a driver, a cable. No rank is injected."""
    made = run(job).ranks[_pick(job, rng)]
    key = rng.choice(made[rng.randrange(len(made) // 4, len(made) * 3 // 4)].keys)
    who = members(job, key)
    return replace(job, stalled=frozenset({key}), fault="stall", what=f"{key} of ranks {who} never completes")
