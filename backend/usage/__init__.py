"""Usage and budgets of projects; other packages use only the names in `__all__`."""

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
