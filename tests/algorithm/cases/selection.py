"""Slot 2: worked cases by variant. A variant with several unlike forms is told apart by inputs and params."""

from tests.algorithm.cases.base import Adapter

CASES: dict[str, Adapter] = {}

LATER: frozenset[str] = frozenset(
    {
        "select.dynamic_sampling",
        "select.gfpo",
        "select.gfpo_token_efficiency_graded",
        "select.gfpo_adaptive_k",
        "select.axpo",
    }
)
"""Ids whose functions are still to come."""
