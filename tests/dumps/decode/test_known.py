"""Dumps of one job that are read one after the other give what each gives alone."""

from __future__ import annotations

from typing import Any

import pytest

from hangview.dumps.decode import known
from hangview.dumps.decode.dump import decode
from hangview.dumps.decode.known import Known
from hangview.dumps.decode.machine import Machine
from hangview.schema import Limits
from tests.dumps.decode.sample import LIMITS, check, dump
from tests.support.torch_pickle import dump_bytes


def stack_rows(top: dict[str, Any], frames: list[dict[str, Any]], more: list[dict[str, Any]]) -> dict[str, Any]:
    """A dump in which row 40 introduces a stack of frames that earlier rows have and new ones."""
    entries = top["entries"]
    for e in entries:
        e["frames"] = frames
    for e in entries[40:]:
        e["frames"] = [*more, *frames]
    return top


def frame(name: str, line: Any = 7) -> dict[str, Any]:
    return {"name": name, "filename": "train.py", "line": line}


@pytest.mark.parametrize("stacks", [True, False])
def test_many_dumps_of_one_job(stacks):
    together = Known(LIMITS)
    for seed in range(8):
        top = dump(300, seed % 3, stacks=stacks, many_frames=40)
        data = dump_bytes(top)
        check(decode(data, LIMITS, together), top["entries"])


def test_rows_with_equal_bytes_that_refer_to_other_values():
    """The rows that introduce the stack are the same, byte for byte; what their memo ids mean is not."""
    tops = [stack_rows(dump(80, 1), [frame(name)], [frame("same")]) for name in ("one", "two", "one")]
    datas = [dump_bytes(top) for top in tops]
    assert len({len(data) for data in datas}) == 1
    together = Known(LIMITS)
    for top, data in zip(tops, datas, strict=True):
        check(decode(data, LIMITS, together), top["entries"])


@pytest.mark.parametrize("odd", [0, 1, 2])
def test_of_rows_behind_one_another_one_may_refer_to_another_value(odd):
    """Three rows in a row introduce a stack each, of frames that row 0, 1 or 2 has; one of these has another name."""
    together = Known(LIMITS)
    for other in ("same", "else", "same", "else"):
        top = dump(80, 1)
        old = [frame(other if i == odd else "same", i) for i in range(3)]
        new = [frame("new", 100 + i) for i in range(3)]
        for i, e in enumerate(top["entries"]):
            e["frames"] = [old[i % 3]] if i < 40 else [new[min(i - 40, 2)], old[i % 3]]
        check(decode(dump_bytes(top), LIMITS, together), top["entries"])


def test_rows_behind_one_another_are_looked_up_together(monkeypatch):
    """Only the first dump's are fed one by one."""
    fed: list[bytes] = []
    feed = Known.feed

    def watched(self: Known, machine: Machine, data: bytes) -> known.Piece | None:
        fed.append(data)
        return feed(self, machine, data)

    monkeypatch.setattr(Known, "feed", watched)
    together = Known(LIMITS)
    for again in (False, True):
        top = dump(80, 1)
        old, new = frame("f"), [frame("g", i) for i in range(3)]
        for i, e in enumerate(top["entries"]):
            e["frames"] = [old] if i < 40 else [new[min(i - 40, 2)], old]
            e["time_created_ns"] += again
        check(decode(dump_bytes(top), LIMITS, together), top["entries"])
        assert len(fed) == (0 if again else 3)
        fed.clear()


def test_values_that_are_equal_and_not_the_same():
    """1 == True in Python, and a line that is True is damage."""
    together = Known(LIMITS)
    for line in (1, 2, 1):
        top = stack_rows(dump(80, 1), [frame("f", line)], [frame("same")])
        check(decode(dump_bytes(top), LIMITS, together), top["entries"])
    odd = dump_bytes(stack_rows(dump(80, 1), [frame("f", True)], [frame("same")]))
    with pytest.raises(ValueError, match="line"):
        decode(odd, LIMITS, together)
    with pytest.raises(ValueError, match="line"):
        decode(odd, LIMITS)


def test_a_cut_dump_after_a_whole_one():
    together = Known(LIMITS)
    top = dump(300, 2)
    data = dump_bytes(top)
    decode(data, LIMITS, together)
    part = decode(data[: len(data) * 2 // 3], LIMITS, together)
    alone = decode(data[: len(data) * 2 // 3], LIMITS)
    assert not part.complete
    assert part.count == alone.count
    check(part, top["entries"][: part.count])


def test_other_limits_are_not_mixed_up():
    together = Known(LIMITS)
    top = dump(300, 2)
    decode(dump_bytes(top), LIMITS, together)
    few = Limits(entries=100)
    with pytest.raises(ValueError, match="more than the limit of 100"):
        decode(dump_bytes(top), few, together)


def test_it_starts_over_when_it_grows_too_large(monkeypatch):
    monkeypatch.setattr(known, "MAX_BYTES", 0)
    together = Known(LIMITS)
    for seed in range(3):
        top = dump(200, seed)
        check(decode(dump_bytes(top), LIMITS, together), top["entries"])


def test_a_row_is_interpreted_once(monkeypatch):
    fed: list[bytes] = []
    feed = Machine.feed

    def watched(self: Machine, data: bytes, pos: int = 0) -> None:
        fed.append(data)
        feed(self, data, pos)

    monkeypatch.setattr(Machine, "feed", watched)
    together = Known(LIMITS)
    data = dump_bytes(stack_rows(dump(80, 1), [frame("f")], [frame("same")]))
    decode(data, LIMITS, together)
    first, fed[:] = list(fed), []
    decode(data, LIMITS, together)
    assert any(b"same" in piece for piece in first[1:-1])
    assert not any(b"same" in piece for piece in fed)
