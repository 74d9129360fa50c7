"""The job behind ``benchmarks.large``: who is in which group, the calls of a step, how far all come in the last one."""

from __future__ import annotations

from dataclasses import dataclass, field

FAULTS = ("none", "stuck", "op", "size", "dtype")
WORLD, DATA, MODEL, TENSOR, PIPE = range(5)
DESCS = (
    "default_pg",
    "DATA_PARALLEL_GROUP",
    "MODEL_PARALLEL_GROUP",
    "TENSOR_MODEL_PARALLEL_GROUP",
    "PIPELINE_MODEL_PARALLEL_GROUP",
)
HIDDEN, TOKENS = 4096, 8192


@dataclass(frozen=True, slots=True)
class Group:
    name: str
    desc: str
    ranks: tuple[int, ...]


class Layout:
    """Groups of a tp × dp × pp job; ``of_rank[rank]`` maps WORLD … PIPE to an index into ``groups``."""

    def __init__(self, ranks: int, tp: int, pp: int) -> None:
        if ranks % (tp * pp):
            raise SystemExit(f"{ranks} ranks cannot be split into tp {tp} × pp {pp}")
        self.ranks, self.tp, self.pp, self.dp = ranks, tp, pp, ranks // (tp * pp)
        self.groups: list[Group] = []
        self.of_rank: list[dict[int, int]] = [{} for _ in range(ranks)]
        stages, replicas, shards = range(pp), range(self.dp), range(tp)

        def at(p: int, d: int, t: int) -> int:
            return (p * self.dp + d) * tp + t

        self._add(WORLD, range(ranks))
        for p in stages:
            for t in shards:
                self._add(DATA, [at(p, d, t) for d in replicas])
        for d in replicas:
            self._add(MODEL, [at(p, d, t) for p in stages for t in shards])
        for p in stages:
            for d in replicas:
                self._add(TENSOR, [at(p, d, t) for t in shards])
        if pp > 1:
            for d in replicas:
                for t in shards:
                    self._add(PIPE, [at(p, d, t) for p in stages])

    def _add(self, kind: int, members: range | list[int]) -> None:
        for rank in members:
            self.of_rank[rank][kind] = len(self.groups)
        self.groups.append(Group(str(len(self.groups)), DESCS[kind], tuple(members)))

    def stage(self, rank: int) -> int:
        return rank // (self.tp * self.dp)


@dataclass(frozen=True, slots=True)
class Call:
    """``way`` is 0 for collectives, -1 and 1 for messages from and to the stage below and above; a message has two entries."""

    kind: int
    op: str
    site: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    dtype: str
    way: int = 0
    sync: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One training step of a stage. ``number[i]`` is how many calls of the same group (and direction) come before call i."""

    calls: tuple[Call, ...]
    number: tuple[int, ...]
    per_group: dict[int, int] = field(default_factory=dict)  #: calls of each group in a step


def step_of(layout: Layout, stage: int, layers: int, micro: int) -> Step:
    tp, dp, pp = layout.tp, layout.dp, layout.pp
    full, local = (TOKENS, 1, HIDDEN), (TOKENS // tp, 1, HIDDEN)
    weights = 12 * HIDDEN * HIDDEN // tp
    shard = (weights // dp,)
    calls: list[Call] = []

    def exchange(op: str, site: str, way: int) -> None:
        if 0 <= stage + way < pp:
            calls.append(Call(PIPE, op, site, local, local, "BFloat16", way))

    for m in range(micro):
        exchange("recv", "recv_forward", -1)
        for layer in range(layers):
            if m == 0:
                calls.append(Call(DATA, "_all_gather_base", f"gather_parameters#{layer}", shard, (weights,), "BFloat16"))
            for part in ("attention", "mlp"):
                calls.append(Call(TENSOR, "_all_gather_base", f"{part}_gather#{layer}", local, full, "BFloat16"))
                calls.append(Call(TENSOR, "_reduce_scatter_base", f"{part}_scatter#{layer}", full, local, "BFloat16"))
        exchange("send", "send_forward", 1)
    for m in range(micro):
        exchange("recv", "recv_backward", 1)
        for layer in range(layers):
            for part in ("mlp", "attention"):
                calls.append(Call(TENSOR, "_all_gather_base", f"backward_{part}_gather#{layer}", local, full, "BFloat16"))
                calls.append(Call(TENSOR, "_reduce_scatter_base", f"backward_{part}_scatter#{layer}", full, local, "BFloat16"))
            if m == micro - 1:
                calls.append(Call(DATA, "_reduce_scatter_base", f"scatter_gradients#{layer}", (weights,), shard, "Float"))
        exchange("send", "send_backward", -1)
    calls.append(Call(MODEL, "all_reduce", "grad_norm", (1,), (1,), "Float"))
    calls.append(Call(WORLD, "all_reduce", "found_inf", (1,), (1,), "Float"))
    calls.append(Call(DATA, "all_reduce", "loss", (1,), (1,), "Float", sync=True))
    seen: dict[tuple[int, int, str], int] = {}
    number = []
    per_group: dict[int, int] = {}
    for call in calls:
        lane = (call.kind, call.way, call.op if call.way else "")
        number.append(seen.get(lane, 0))
        seen[lane] = number[-1] + 1
        per_group[call.kind] = per_group.get(call.kind, 0) + 1
    return Step(tuple(calls), tuple(number), per_group)


@dataclass(frozen=True, slots=True)
class Progress:
    """The last step: how many of its calls each rank has made and how many of those are over; where the fault is."""

    made: list[int]
    over: list[int]
    at: int  #: index of the call, in the odd rank's step
    kind: int  #: its group


def progress(layout: Layout, steps: tuple[Step, ...], fault: str, odd: int, ahead: int = 24) -> Progress:
    """``stuck``: the odd rank never makes call ``at``; the others: it makes another one, and nobody gets past it."""
    step = steps[layout.stage(odd)]
    lengths = [len(steps[layout.stage(rank)].calls) for rank in range(layout.ranks)]
    if fault == "none":
        return Progress(lengths, lengths, 0, WORLD)
    wanted = DATA if fault != "stuck" else TENSOR
    at = next(i for i in range(len(step.calls) // 2, len(step.calls)) if step.calls[i].kind == wanted)
    limit = list(lengths)
    poison = None
    if fault == "stuck":
        limit[odd] = at
    else:
        poison = (layout.of_rank[odd][wanted], 0, "", step.number[at])
    over = _meet(layout, steps, limit, poison)
    made = []
    for rank, done in enumerate(over):
        calls = steps[layout.stage(rank)].calls
        count = min(done + 1, limit[rank])
        while count < min(limit[rank], done + ahead) and not calls[count - 1].sync:
            count += 1
        made.append(count)
    return Progress(made, over, at, wanted)


def _meet(layout: Layout, steps: tuple[Step, ...], limit: list[int], poison: object) -> list[int]:
    """Calls over by rank. A call is over when all its members are at it; each rank's calls run one after the other."""
    over = [0] * layout.ranks
    there: dict[object, list[int]] = {}
    todo = list(range(layout.ranks))
    while todo:
        rank = todo.pop()
        stage = layout.stage(rank)
        step, mine = steps[stage], layout.of_rank[rank]
        while over[rank] < limit[rank]:
            index = over[rank]
            call, group = step.calls[index], mine[step.calls[index].kind]
            if call.way:
                forth = call.way == (1 if call.op == "send" else -1)  # it goes to the next stage, not back
                lower = stage if call.way == 1 else stage - 1
                key: tuple[object, ...] = (group, lower, forth, step.number[index])
                need = 2
            else:
                key, need = (group, 0, "", step.number[index]), len(layout.groups[group].ranks)
            came = there.setdefault(key, [])
            came.append(rank)
            if len(came) < need or key == poison:
                break
            for member in came:
                over[member] += 1
            todo += [member for member in came if member != rank]
    return over
