"""Rows of one call: the same as a pass over all rows finds."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from hangview.engine.places import Places

SEQS = st.one_of(st.none(), st.integers(-2, 4), st.sampled_from([-(2**63), 2**40, 2**63 - 1]))
ROWS = st.lists(st.tuples(st.one_of(st.none(), st.integers(0, 3)), SEQS, st.booleans()), max_size=30)
SCHEMA = {"group": pl.Int32, "seq": pl.Int64, "taken": pl.Boolean}


@given(ROWS, st.integers(0, 4), st.sampled_from([-(2**63), -3, -2, 0, 3, 4, 2**40, 2**63 - 1]))
def test_finds_what_a_pass_over_all_rows_finds(rows, group, seq):
    frame = pl.DataFrame(rows, schema=SCHEMA, orient="row").with_row_index()
    there = (pl.col("group") == group) & (pl.col("seq") == seq)
    assert Places(frame).at(group, seq).equals(frame.filter(there))
    assert Places(frame, pl.col("taken")).at(group, seq).equals(frame.filter(there & pl.col("taken")))


def test_no_rows_have_no_call():
    assert Places(pl.DataFrame(schema=SCHEMA)).at(0, 0).is_empty()
