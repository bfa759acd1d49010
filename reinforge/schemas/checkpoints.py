"""Checkpoints of jobs."""

from typing import Literal

from reinforge.diagnosis.verdict import Change
from reinforge.schemas.common import Response, Timestamp


class Checkpoint(Response):
    object: Literal["checkpoint"] = "checkpoint"
    id: str
    job: str
    step: int
    bytes: int
    held_out_reward: float | None
    held_out_change: Change | None = None
    """Change from the base, with interval; not in live events."""
    best: bool
    """Highest held-out reward above the base, the latest of equal ones."""
    final: bool
    adapter: str | None
    created_at: Timestamp
