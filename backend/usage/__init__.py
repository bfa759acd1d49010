"""Usage and budgets; other rooms call `add` and `require_budget`."""

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
