"""Arms that several claims share: the demo's additions, by method."""

from typing import Any

from claims.fixtures import job, reward, sums
from claims.ledger import Arm
from claims.measures import by_outcome


def additions(name: str, algorithm: dict[str, Any], **changes: Any) -> Arm:
    """Right sums are paid for; working them out is what makes them right."""
    spec = job(sums(512, held_out=False), sums(64, held_out=True), [reward("right")], algorithm, **changes)
    return Arm(f"additions/{name}", spec, by_outcome)


def at_once(name: str, algorithm: dict[str, Any], **changes: Any) -> Arm:
    """Right sums are paid for when they are given at once; a working, twice as long, is always wrong."""
    rows, held_out = sums(512, held_out=False), sums(64, held_out=True)
    spec = job(rows, held_out, [reward("right_at_once")], algorithm, **changes)
    return Arm(f"at_once/{name}", spec, by_outcome)


GRPO = additions("grpo", {"preset": "grpo"})
AT_ONCE_GRPO = at_once("grpo", {"preset": "grpo"})
