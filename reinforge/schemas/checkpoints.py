"""A job's checkpoint, as the API returns it."""

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
    """Change of the held-out reward from the base, with its interval; not in live events."""
    best: bool
    """Whether it has the job's highest held-out reward, above the base; of equal ones the latest."""
    final: bool
    adapter: str | None
    created_at: Timestamp
