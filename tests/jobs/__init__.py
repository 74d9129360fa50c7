"""Invented jobs with known truth: programs per rank, run by a small discrete simulation, written as dumps.

``model`` (what a job is) → ``layouts`` (data, tensor, pipeline, expert parallel) → ``faults`` (one rank does something else) →
``simulate`` (how far everybody comes) → ``truth`` (what the evidence then allows to say) → ``record`` (the dumps).
``plan`` draws all of it from a seed; ``python -m tests.jobs.sweep`` runs hangview over many seeds and prints a table.
"""
