"""The comparison as JSON: an interface for other programs (docs/json.md), changed only together with ``SCHEMA``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hangview._version import __version__
from hangview.report.json_text import json_text
from hangview.text import escape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hangview.compare.values import Comparison, Difference, Pair, Side, Value
    from hangview.terms import Group

#: Raised when a key changes its meaning or goes away; a new key does not raise it. The report has a number of its own.
SCHEMA = 1


def to_json(comparison: Comparison) -> str:
    """The comparison as one JSON object, written as :func:`json_text` does."""
    return json_text(comparison_object(comparison))


def comparison_object(comparison: Comparison) -> Mapping[str, Any]:
    """The comparison as plain values. Nothing is left out or shortened."""
    return {
        "schema": SCHEMA,
        "hangview": __version__,
        "outcome": comparison.outcome.value,
        "changed": len(comparison.changed),
        "same_files": comparison.same_files,
        "a": _side(comparison.a),
        "b": _side(comparison.b),
        "conditions": [
            {
                "name": condition.name,
                "a": _values(condition.a),
                "b": _values(condition.b),
                "changed": condition.changed,
                "follows": condition.follows,
            }
            for condition in comparison.conditions
        ],
        "differences": [_difference(each) for each in comparison.differences],
        "groups": [_pair(pair) for pair in comparison.groups],
        "durations": [
            {
                "group": each.pair,
                "op": each.op,
                "a_ms": each.a_ms,
                "b_ms": each.b_ms,
                "a_count": each.a_count,
                "b_count": each.b_count,
                "ratio": each.ratio,
            }
            for each in comparison.durations
        ],
        "left_out": [
            {"reason": each.loss.value, "lacks": each.side or None, "ranks": list(each.ranks), "calls": each.calls}
            for each in comparison.left_out
        ],
        "notes": list(comparison.notes),
    }


def _side(side: Side) -> Mapping[str, Any]:
    return {
        "paths": list(side.paths),
        "verdict": side.verdict.value,
        "leads": list(side.leads),
        "answer": side.answer,
        "expected": list(side.expected),
        "read": list(side.read),
        "groups": side.groups,
        "records": side.calls,
        "lanes": side.lanes,
    }


def _values(values: Sequence[Value]) -> list[Mapping[str, Any]]:
    return [{"value": value.text, "ranks": list(value.ranks)} for value in values]


def _difference(difference: Difference) -> Mapping[str, Any]:
    return {
        "kind": difference.kind.value,
        "group": difference.pair,
        "lane": difference.lane,
        "seq": difference.seq,
        "op": difference.op,
        "ranks": list(difference.ranks),
        "follows": difference.follows,
        "parts": [{"kind": part.kind.value, "ranks": list(part.ranks), "a": part.a, "b": part.b} for part in difference.parts],
        "later": [{"kind": kind.value, "seq": seq} for kind, seq in difference.later],
        "moved": difference.moved,
    }


def _pair(pair: Pair) -> Mapping[str, Any]:
    return {
        "label": pair.label,
        "a": _group(pair.a),
        "b": _group(pair.b),
        "matched_by": pair.matched_by or None,
        "ranks": list(pair.ranks),
        "compared": pair.compared,
        "first": pair.first,
        "last": pair.last,
        "messages": pair.messages,
        "held_a": list(pair.held_a) if pair.held_a else None,
        "held_b": list(pair.held_b) if pair.held_b else None,
        "unobserved": list(pair.unobserved),
        "called": pair.called,
        "left_out": list(pair.left_out),
    }


def _group(group: Group | None) -> Mapping[str, Any] | None:
    if group is None:
        return None
    return {"id": group.id, "name": escape(group.name), "desc": escape(group.desc), "ranks": list(group.ranks)}
