"""All claims, in the order of the page."""

from claims import baselines, credit, critic, keeping, lengths, multiple, objectives, sampling
from claims.ledger import Arm, Claim

CLAIMS: tuple[Claim, ...] = (
    *baselines.CLAIMS,
    *critic.CLAIMS,
    *lengths.CLAIMS,
    *objectives.CLAIMS,
    *sampling.CLAIMS,
    *credit.CLAIMS,
    *multiple.CLAIMS,
    *keeping.CLAIMS,
)


def arms(claims: tuple[Claim, ...] = CLAIMS) -> list[Arm]:
    """Each once, in the order in which claims name them. Raises ValueError for two arms of one name."""
    arms_by_name: dict[str, Arm] = {}
    for claim in claims:
        for arm in claim.arms.values():
            if arms_by_name.setdefault(arm.name, arm) is not arm:
                raise ValueError(f"two arms are called {arm.name}")
    return list(arms_by_name.values())
