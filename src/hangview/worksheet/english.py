"""The worksheet in English."""

from __future__ import annotations

from hangview.worksheet.layout import Language

ENGLISH = Language(
    code="en",
    title="Incident worksheet",
    intro="What ends in *(from …)* was filled in from the evidence. `____` is still blank.",
    origin="from {}",
    sections={
        "versions": "Run identifier / PyTorch, backend, communication library, driver versions",
        "conditions": "Model, input, batch policy / conditions changed against the comparison run",
        "groups": "Group identifiers / expected ranks / rank → device map",
        "standing": "Per rank: last completed / next request: kind, count, dtype",
        "records": "Records that tell requested, started and completed apart / records that are missing",
        "context": "Exceptions before the communication / uncertainty of clocks and of collection delay",
        "hypothesis": "Current hypothesis / evidence against it / the next single comparison test",
        "way_back": "Environment to return to / checkpoint kept / restore check result",
    },
    labels={
        "run": "Run identifier",
        "date": "Date of the run",
        "evidence": "Evidence read",
        "attempt": "Attempt",
        "torch": "PyTorch",
        "backend": "Backend",
        "library": "Communication library",
        "schema": "Dump schema",
        "driver": "Driver",
        "settings": "Settings seen",
        "model": "Model",
        "input": "Input",
        "batch": "Batch policy",
        "compared": "Comparison run",
        "changed_count": "How many conditions changed",
        "changed": "Conditions changed",
        "expected": "Ranks expected",
        "groups": "Groups",
        "hosts": "Rank → host",
        "devices": "Rank → device",
        "standing": "Last completed / next request",
        "states": "Requested, started, completed",
        "missing": "Missing records",
        "exceptions": "Exceptions before the communication",
        "clocks": "Clock differences",
        "delay": "Collection delay",
        "hypothesis": "Hypothesis",
        "not_concluded": "Must not be concluded",
        "against": "Evidence against it",
        "doubt": "Where the doubt that is left lies",
        "next_test": "Next single comparison test",
        "environment": "Environment to return to",
        "checkpoint": "Checkpoint kept",
        "restore": "Restore check",
        "transition": "Way back from the new backend of PyTorch 2.15",
        "trials": "Three trials around the change",
    },
    options={
        "changed_count": ("none", "exactly one", "more than one: compare again with one"),
        "doubt": ("between processes", "device or stream", "network", "collection of the records", "not known yet"),
        "restore": ("restored and verified", "restored, not verified", "failed", "not done"),
    },
    items={
        # Facts of PyTorch 2.15: the backend registry of distributed_c10d.py, the release notes on nccl2 and on checkpoints.
        "transition": (
            (
                "set TORCH_DIST_USE_NCCL2=0 on all ranks before any group is created, or ask for the backend nccl-legacy: "
                "either gives the old backend, in 2.15 only"
            ),
            "a success there does not prove a bug in the new backend: timing can hide a race",
            "going back to 2.14 is a larger step: distributed checkpoints of 2.15 do not load in 2.14 and older",
            "keep a checkpoint whose restore was verified on the old version, and write trial output elsewhere",
        ),
        "trials": (
            (
                "groups were made on the intended devices: rank · group · device map, initialisation finished; "
                "if not: launch layout and group creation settings"
            ),
            (
                "every participant's progress can be compared: records recovered against ranks expected, "
                "a reason for each gap; if not: collection path, process end records"
            ),
            (
                "the same training finishes and restarts: tolerances, checkpoint, restore result; "
                "if not: fixed inputs, training settings, storage format"
            ),
        ),
    },
)
