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
    """From the base, with its 95% interval over rows; not in live events."""
    best: bool
    """The highest held-out reward of those kept, the latest of equal ones; no checkpoint where none is above the
    base."""
    final: bool
    adapter: str | None
    created_at: Timestamp
