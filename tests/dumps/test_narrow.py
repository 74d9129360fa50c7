import pickle
from typing import Any

import numpy as np
import pytest

from hangview.dumps.decoded import NONE
from hangview.dumps.narrow import narrow, put


def same(one, other):
    return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


COLUMNS: dict[str, Any] = {
    "one value": np.full(5, 7, np.int64),
    "one absent value": np.full(5, NONE, np.int64),
    "bytes": np.array([10, 264, 10, 11, 12], np.int64),
    "one more than a byte": np.array([10, 265, 10, 11, 12], np.int64),
    "absent among small ones": np.array([-3, NONE, 250, NONE, 0], np.int64),
    "absent beside the largest code": np.array([0, 254, NONE, 255, 1], np.int64),
    "times": np.array([1_700_000_000_000_000_000 + i * 10**9 for i in range(4)] + [NONE], np.int64),
    "both ends": np.array([-(2**63) + 1, 2**63 - 1, NONE, 0, 1], np.int64),
    "just too far apart": np.array([0, 2**32 - 1, 1, 2, 3], np.int64),
    "ids": np.array([0, 70_000, 3, 3, 3], np.uint32),
    "large ids": np.array([2**32 - 1, 2**32 - 2, 2**32 - 1, 2**32 - 1, 2**32 - 1], np.uint32),
    "truth": np.array([True, False, True, True, False]),
    "never": np.zeros(5, np.bool_),
    "state": np.array([0, 1, 2, 3, 2], np.uint8),
    "no duration": np.full(5, np.nan),
    "durations": np.array([np.nan, 1.5, -0.0, 1e300, 2.0]),
    "one duration": np.full(5, 2.5),
}


@pytest.mark.parametrize("columns", [COLUMNS, {name: column[:0] for name, column in COLUMNS.items()}])
def test_what_goes_in_comes_out(columns):
    count = len(columns["ids"])
    made = pickle.loads(pickle.dumps(narrow(columns, count)))
    assert list(made) == list(columns)
    for name, column in columns.items():
        assert same(made[name], column), name
        out = np.empty(count + 2, column.dtype)
        put(made, name, out[1:-1])
        assert same(out[1:-1], column), name


def test_plain_columns_are_put_too():
    out = np.empty(5, np.int64)
    put(COLUMNS, "times", out)
    assert same(out, COLUMNS["times"])


def test_it_is_narrow():
    count = 1000
    columns: dict[str, Any] = {
        "seq": np.arange(count, dtype=np.int64),
        "timeout_ms": np.full(count, 600_000, np.int64),
        "op": (np.arange(count) % 9).astype(np.uint32),
    }
    assert len(pickle.dumps(narrow(columns, count))) < 3.5 * count
