"""Usage and budgets of projects; other packages use what `__all__` names."""

from backend.usage.service import (
    JUDGING,
    SAMPLING,
    SERVING,
    TRAINING,
    add,
    check_storage,
    require_budget,
    require_storage,
)

__all__ = [
    "JUDGING",
    "SAMPLING",
    "SERVING",
    "TRAINING",
    "add",
    "check_storage",
    "require_budget",
    "require_storage",
]
