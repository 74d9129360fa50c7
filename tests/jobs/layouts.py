"""Jobs without a fault: data, tensor, pipeline and expert parallel training loops, as real ones make their calls."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tests.jobs.model import Call, Group, Job, Part, Program, collective

if TYPE_CHECKING:
    import random

KINDS = ("data", "sharded", "hybrid", "tensor", "pipeline", "pipeline-plain", "expert", "full")


class _Builder:
    """Groups and programs while they are put together. Groups of one rank are not made."""

    def __init__(self, world: int) -> None:
        self.groups: list[Group] = [Group("0", "default_pg", tuple(range(world)))]
        self.programs: list[Program] = [[] for _ in range(world)]

    def group(self, desc: str, ranks: list[int]) -> int | None:
        if len(ranks) < 2:
            return None
        self.groups.append(Group(str(len(self.groups)), desc, tuple(ranks)))
        return len(self.groups) - 1

    def split(self, desc: str, sets: list[list[int]]) -> dict[int, int]:
        """One group for each set; returns the group of each rank that has one."""
        of: dict[int, int] = {}
        for ranks in sets:
            group = self.group(desc, ranks)
            if group is not None:
                of.update(dict.fromkeys(ranks, group))
        return of

    def all(self, *calls: Call) -> None:
        for program in self.programs:
            program.extend(calls)

    def each(self, of: dict[int, int], make: Call) -> None:
        """The same call on every rank that has a group, in its own group."""
        for rank, group in of.items():
            self.programs[rank].append(replace(make, group=group))


def build(kind: str, rng: random.Random, steps: int = 6) -> Job:
    """A healthy job of one of :data:`KINDS`, 4 to 64 ranks. Every group is used in the first step."""
    job = _BUILDERS[kind](rng, steps)
    return Job(kind, tuple(job.groups), tuple(job.programs))


def _loss(site: str = "loss") -> Call:
    return collective(0, "all_reduce", (1,), (1,), site, sync=True)


def _start(job: _Builder, rng: random.Random) -> None:
    if rng.random() < 0.5:
        job.all(collective(0, "broadcast", (4096, 64), (4096, 64), "broadcast_parameters"))
    if rng.random() < 0.5:
        job.all(Call(0, (Part("all_reduce_barrier", ((1,),), ((1,),)),), "setup_barrier", sync=True))


def _data(rng: random.Random, steps: int) -> _Builder:
    """DDP: buckets reduced while the backward pass runs, then the loss."""
    job = _Builder(rng.choice((4, 4, 5, 8, 8, 16, 64)))
    _start(job, rng)
    buckets = [rng.randrange(1_000, 8_000_000) for _ in range(rng.randint(2, 6))]
    for step in range(steps):
        for number, size in enumerate(buckets):
            job.all(collective(0, "all_reduce", (size,), (size,), f"bucket#{number}", detached=True))
        if rng.random() < 0.3:
            parts = (Part("all_reduce", ((8,),), ((8,),)), Part("all_reduce", ((3, 3),), ((3, 3),)))
            job.all(Call(0, parts, "metrics", batch=True, joins=True))
        job.all(replace(_loss(), joins=True))
        if step % 3 == 2:
            job.all(Call(0, (Part("all_reduce_barrier", ((1,),), ((1,),)),), "checkpoint", sync=True))
    return job


def _sharded(rng: random.Random, steps: int) -> _Builder:
    """FSDP over all ranks: parameters gathered ahead, gradients scattered."""
    world = rng.choice((4, 8, 8, 12, 16, 32))
    job = _Builder(world)
    _start(job, rng)
    layers = [rng.randrange(100, 100_000) * 8 for _ in range(rng.randint(2, 6))]
    ahead = rng.random() < 0.5
    for _ in range(steps):
        for number, shard in enumerate(layers):
            job.all(
                collective(
                    0, "_all_gather_base", (shard,), (shard * world,), f"gather#{number}", dtype="BFloat16", detached=ahead
                )
            )
        for number, shard in reversed(list(enumerate(layers))):
            job.all(collective(0, "_all_gather_base", (shard,), (shard * world,), f"regather#{number}", dtype="BFloat16"))
            job.all(collective(0, "_reduce_scatter_base", (shard * world,), (shard,), f"scatter#{number}", detached=True))
        job.all(replace(_loss("grad_norm"), sync=False, joins=True), _loss())
    return job


def _hybrid(rng: random.Random, steps: int) -> _Builder:
    """HSDP: sharded inside a node, replicated across nodes."""
    shards, replicas = rng.choice(((2, 2), (4, 2), (4, 3), (4, 4), (8, 4), (8, 8)))
    job = _Builder(shards * replicas)
    inner = job.split("SHARD", [[r * shards + s for s in range(shards)] for r in range(replicas)])
    outer = job.split("REPLICATE", [[r * shards + s for r in range(replicas)] for s in range(shards)])
    _start(job, rng)
    sizes = [rng.randrange(1_000, 500_000) for _ in range(rng.randint(2, 5))]
    for _ in range(steps):
        for number, size in enumerate(sizes):
            job.each(inner, collective(0, "_all_gather_base", (size,), (size * shards,), f"gather#{number}"))
        for number, size in reversed(list(enumerate(sizes))):
            job.each(inner, collective(0, "_reduce_scatter_base", (size * shards,), (size,), f"scatter#{number}"))
            job.each(outer, collective(0, "all_reduce", (size,), (size,), f"replicate#{number}", detached=rng.random() < 0.5))
        job.all(replace(_loss(), joins=True))
    return job


def _tensor(rng: random.Random, steps: int) -> _Builder:
    """Tensor parallel layers, gradients averaged over the data parallel groups."""
    tp, dp = rng.choice(((2, 2), (2, 4), (4, 2), (3, 4), (4, 4), (8, 2), (8, 8)))
    job = _Builder(tp * dp)
    inner = job.split("TENSOR_MODEL_PARALLEL_GROUP", [[d * tp + t for t in range(tp)] for d in range(dp)])
    outer = job.split("DATA_PARALLEL_GROUP", [[d * tp + t for d in range(dp)] for t in range(tp)])
    _start(job, rng)
    hidden, layers = rng.choice((1024, 4096)), rng.randint(1, 4)
    for _ in range(steps):
        for layer in range(layers):
            job.each(inner, collective(0, "all_reduce", (2048, hidden), (2048, hidden), f"attention#{layer}", dtype="BFloat16"))
            job.each(inner, collective(0, "all_reduce", (2048, hidden), (2048, hidden), f"mlp#{layer}", dtype="BFloat16"))
        job.each(outer, collective(0, "all_reduce", (hidden * 12,), (hidden * 12,), "gradients", detached=True))
        job.each(inner, collective(0, "all_reduce", (1,), (1,), "grad_norm"))
        job.all(replace(_loss(), joins=True))
    return job


def _expert(rng: random.Random, steps: int) -> _Builder:
    """Mixture of experts: tokens change ranks by uneven all-to-alls in expert groups."""
    ep, dp = rng.choice(((2, 2), (4, 2), (4, 4), (8, 2), (8, 4)))
    job = _Builder(ep * dp)
    inner = job.split("EXPERT_MODEL_PARALLEL_GROUP", [[d * ep + e for e in range(ep)] for d in range(dp)])
    outer = job.split("EXPERT_DATA_PARALLEL_GROUP", [[d * ep + e for d in range(dp)] for e in range(ep)])
    _start(job, rng)
    layers, hidden = rng.randint(1, 3), 512
    for _ in range(steps):
        for layer in range(layers):
            for way in ("dispatch", "combine"):
                for group in dict.fromkeys(inner.values()):
                    _all_to_all(job, group, hidden, f"{way}#{layer}", rng)
        job.each(outer, collective(0, "all_reduce", (hidden * 64,), (hidden * 64,), "expert_gradients"))
        job.all(_loss())
    return job


def _all_to_all(job: _Builder, group: int, hidden: int, site: str, rng: random.Random) -> None:
    """Tokens that every rank sends to every other: rows are what a rank sends, columns what it receives."""
    ranks = job.groups[group].ranks
    tokens = [[rng.randint(1, 64) for _ in ranks] for _ in ranks]
    for me, rank in enumerate(ranks):
        sent, received = sum(tokens[me]), sum(row[me] for row in tokens)
        job.programs[rank].append(
            collective(group, "all_to_all_single", (sent, hidden), (received, hidden), site, dtype="BFloat16")
        )


def _pipeline(rng: random.Random, steps: int) -> _Builder:
    """Pipeline and data parallel; one forward, one backward, batched sends and receives, as Megatron-LM makes them."""
    pp, dp = rng.choice(((2, 2), (4, 1), (4, 2), (4, 4), (8, 2)))
    job = _Builder(pp * dp)
    pipes = job.split("PIPELINE_MODEL_PARALLEL_GROUP", [[p * dp + d for p in range(pp)] for d in range(dp)])
    outer = job.split("DATA_PARALLEL_GROUP", [[p * dp + d for d in range(dp)] for p in range(pp)])
    _start(job, rng)
    micro = rng.randint(2, 2 * pp)
    for _ in range(steps):
        for rank in range(pp * dp):
            job.programs[rank] += _one_forward_one_backward(pipes[rank], rank // dp, pp, micro)
        job.each(outer, collective(0, "all_reduce", (50_000,), (50_000,), "gradients"))
        job.all(_loss())
    return job


def _plain_pipeline(rng: random.Random, steps: int) -> _Builder:
    """All forward passes, then all backward passes, by plain sends and receives."""
    pp, dp = rng.choice(((2, 2), (4, 1), (4, 2), (6, 2)))
    job = _Builder(pp * dp)
    pipes = job.split("PIPELINE_MODEL_PARALLEL_GROUP", [[p * dp + d for p in range(pp)] for d in range(dp)])
    outer = job.split("DATA_PARALLEL_GROUP", [[p * dp + d for d in range(dp)] for p in range(pp)])
    _start(job, rng)
    micro = rng.randint(1, 4)
    for _ in range(steps):
        for rank in range(pp * dp):
            stage, group = rank // dp, pipes[rank]
            forth = [("recv", stage - 1, "recv_forward"), ("send", stage + 1, "send_forward")]
            back = [("recv", stage + 1, "recv_backward"), ("send", stage - 1, "send_backward")]
            for ways in [forth] * micro + [back] * micro:
                job.programs[rank] += [_exchange(group, [way], batch=False) for way in ways if 0 <= way[1] < pp]
        job.each(outer, collective(0, "all_reduce", (50_000,), (50_000,), "gradients"))
        job.all(_loss())
    return job


def _exchange(group: int, ways: list[tuple[str, int, str]], *, batch: bool = True) -> Call:
    size = (1024, 1, 512)
    parts = tuple(Part(op, (size,), (size,), "BFloat16", peer) for op, peer, _ in ways)
    return Call(group, parts, "_".join(site for _, _, site in ways), batch=batch)


def _one_forward_one_backward(group: int, stage: int, pp: int, micro: int) -> Program:
    calls: Program = []

    def batch(*ways: tuple[str, int, str]) -> None:
        real = [way for way in ways if 0 <= way[1] < pp]
        if real:
            calls.append(_exchange(group, real))

    warm = min(pp - stage - 1, micro)
    recv_forward, send_forward = ("recv", stage - 1, "recv_forward"), ("send", stage + 1, "send_forward")
    recv_backward, send_backward = ("recv", stage + 1, "recv_backward"), ("send", stage - 1, "send_backward")
    for _ in range(warm):
        batch(recv_forward)
        batch(send_forward)
    if micro > warm:
        batch(recv_forward)
    for number in range(micro - warm):
        batch(send_forward, recv_backward)
        if number < micro - warm - 1:
            batch(send_backward, recv_forward)
        else:
            batch(send_backward)
    for _ in range(warm):
        batch(recv_backward)
        batch(send_backward)
    return calls


def _full(rng: random.Random, steps: int) -> _Builder:
    """Tensor × pipeline × data parallel."""
    tp, pp, dp = rng.choice(((2, 2, 1), (2, 2, 2), (2, 2, 4), (2, 4, 2), (4, 2, 4), (4, 4, 4)))
    job = _Builder(tp * pp * dp)
    at = {(p, d, t): (p * dp + d) * tp + t for p in range(pp) for d in range(dp) for t in range(tp)}
    data = job.split("DATA_PARALLEL_GROUP", [[at[p, d, t] for d in range(dp)] for p in range(pp) for t in range(tp)])
    model = job.split("MODEL_PARALLEL_GROUP", [[at[p, d, t] for p in range(pp) for t in range(tp)] for d in range(dp)])
    inner = job.split("TENSOR_MODEL_PARALLEL_GROUP", [[at[p, d, t] for t in range(tp)] for p in range(pp) for d in range(dp)])
    pipes = job.split("PIPELINE_MODEL_PARALLEL_GROUP", [[at[p, d, t] for p in range(pp)] for d in range(dp) for t in range(tp)])
    ends = job.split("EMBEDDING_GROUP", [[at[0, d, t], at[pp - 1, d, t]] for d in range(dp) for t in range(tp)])
    _start(job, rng)
    micro, layers = rng.randint(1, pp + 1), rng.randint(1, 2)
    full, local = (2048, 1, 1024), (2048 // tp, 1, 1024)
    for _ in range(steps):
        for (stage, _d, _t), rank in at.items():
            for exchange in _one_forward_one_backward(pipes[rank], stage, pp, micro):
                job.programs[rank].append(exchange)
                for layer in range(layers if exchange.parts[0].op == "recv" else 0):
                    gather = collective(inner[rank], "_all_gather_base", local, full, f"gather#{layer}", dtype="BFloat16")
                    scatter = collective(inner[rank], "_reduce_scatter_base", full, local, f"scatter#{layer}", dtype="BFloat16")
                    job.programs[rank] += [gather, scatter]
        job.each(data, collective(0, "_reduce_scatter_base", (640 * dp,), (640,), "gradients", detached=True))
        job.each(ends, collective(0, "all_reduce", (128, 1024), (128, 1024), "embedding_gradients"))
        job.each(model, replace(collective(0, "all_reduce", (1,), (1,), "grad_norm"), joins=True))
        job.all(_loss("found_inf"))
    return job


_BUILDERS = {
    "data": _data,
    "sharded": _sharded,
    "hybrid": _hybrid,
    "tensor": _tensor,
    "pipeline": _pipeline,
    "pipeline-plain": _plain_pipeline,
    "expert": _expert,
    "full": _full,
}
