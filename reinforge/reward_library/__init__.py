"""Ready rewards: Python files that run as they are or are edited, each with examples and the cases it is held to.

for reward in library():
    print(reward.id, reward.title)

Every reward is a folder of `rewards/`: `reward.py` (runs in a jail, imports nothing of ours), `card.yaml` (what it is
for), `golden.yaml` (what it has to give) and `adversarial.yaml` (what it must not fall for).
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
