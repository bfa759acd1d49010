"""Ready-made rewards to use or edit, with examples and tests.

A folder of `rewards/` holds `reward.py` (self-contained, runs in a jail) or `reward.yaml` (a grader),
`card.yaml` (description), `golden.yaml` (expected rewards) and `adversarial.yaml` (attacks that must fail).
"""

from reinforge.reward_library.cards import GROUPS, library, ready_reward
from reinforge.reward_library.cases import (
    AdversarialCase,
    LibraryCase,
    adversarial_cases,
    golden_cases,
    portable,
)
from reinforge.reward_library.parameters import fill, parameters

__all__ = [
    "GROUPS",
    "AdversarialCase",
    "LibraryCase",
    "adversarial_cases",
    "fill",
    "golden_cases",
    "library",
    "parameters",
    "portable",
    "ready_reward",
]
