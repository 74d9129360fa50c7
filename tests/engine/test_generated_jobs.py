"""Invented jobs of all layouts, recorders and faults: nobody healthy is named, and who can be known is.

More seeds by hand: ``python -m tests.jobs.sweep --seeds 1000``.
"""

from __future__ import annotations

import pytest

from tests.jobs import faults, layouts
from tests.jobs.check import ask, wrong
from tests.jobs.plan import draw


@pytest.mark.parametrize("seed", range(120))
def test_a_job_of_any_kind(seed, tmp_path):
    plan = draw(seed)
    plan.write(tmp_path)
    assert wrong(plan, ask(tmp_path)) == [], f"{plan.label}: {plan.truth.why}"


@pytest.mark.parametrize("fault", [*faults.FAULTS, *faults.MORE_FAULTS])
@pytest.mark.parametrize("kind", layouts.KINDS)
def test_every_fault_in_every_layout(kind, fault, tmp_path):
    plan = draw(7_000, fault, kind)
    plan.write(tmp_path)
    assert wrong(plan, ask(tmp_path)) == [], f"{plan.label}: {plan.truth.why}"
