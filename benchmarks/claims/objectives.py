"""Clips and shaped credit: what they do to entropy, and how many tokens they cut off."""

from typing import Any

from common.runs import Result

from claims.arms import GRPO_4, additions
from claims.baselines import REWARD
from claims.ledger import Arm, Claim, Measure, at_least, not_below, times
from claims.measures import over

ENTROPY = over("entropy/mean", "entropy (nat), steps 6 to 20", begin=0.25)
HIGH = over("policy/clip_high_share", "clipped high")


def _clipped(result: Result) -> float:
    low, high = (result.train.known(f"policy/clip_{side}_share") for side in ("low", "high"))
    return sum(a + b for (_, a), (_, b) in zip(low, high, strict=True)) / len(low)


CLIPPED = Measure("share of tokens clipped", _clipped)


def four_updates(name: str, algorithm: dict[str, Any]) -> Arm:
    return additions(name, {**algorithm, "updates_per_step": 4})


CLIP_HIGHER = four_updates(
    "clip_higher",
    {"preset": "grpo", "loss": {"surrogate": {"type": "ppo_clip", "eps_low": 0.2, "eps_high": 0.28}}},
)
GSPO = four_updates("gspo", {"preset": "gspo"})
EDA = four_updates("eda", {"preset": "eda"})
GTPO = four_updates("gtpo", {"preset": "gtpo"})

CLAIMS = (
    Claim(
        id="clip-higher-entropy",
        statement="A higher upper clip keeps more entropy.",
        source="DAPO (2503.14476), section 3.1: clip-higher",
        ran="Additions, GRPO with clips 0.2 / 0.28 and 0.2 / 0.2, four updates per step, 20 steps.",
        arms={"0.2 / 0.28": CLIP_HIGHER, "0.2 / 0.2": GRPO_4},
        measures=(ENTROPY, HIGH),
        acted=(at_least(HIGH, "0.2 / 0.2", 0.0005),),
        rule=(times(ENTROPY, "0.2 / 0.28", "0.2 / 0.2", at_least=1.05),),
    ),
    Claim(
        id="gspo-clips-more",
        statement="GSPO clips far more tokens than GRPO, and learns all the same.",
        source="GSPO (2507.18071): two orders of magnitude more",
        ran="Additions, both as presets, four updates per step, 20 steps.",
        arms={"GSPO": GSPO, "GRPO": GRPO_4},
        measures=(CLIPPED, REWARD),
        rule=(
            times(CLIPPED, "GSPO", "GRPO", at_least=10),
            not_below(REWARD, "GSPO", "GRPO", within=0.05),
        ),
    ),
    Claim(
        id="eda-entropy",
        statement="Advantages weighed by a completion's entropy keep the policy from losing its entropy.",
        source="EDGE-GRPO (2507.21848): entropy-driven advantage",
        ran="Additions, `eda` (EDGE-GRPO without repair) and GRPO, four updates per step, 20 steps.",
        arms={"EDA": EDA, "GRPO": GRPO_4},
        measures=(ENTROPY, REWARD),
        rule=(times(ENTROPY, "EDA", "GRPO", at_least=1.1),),
    ),
    Claim(
        id="gtpo-entropy",
        statement="Token rewards shaped by entropy keep the policy from losing its entropy, and it learns.",
        source="GTPO (2508.04349): entropy rebounds",
        ran="Additions, GTPO as preset and GRPO, four updates per step, 20 steps.",
        arms={"GTPO": GTPO, "GRPO": GRPO_4},
        measures=(ENTROPY, REWARD),
        rule=(
            times(ENTROPY, "GTPO", "GRPO", at_least=1.1),
            not_below(REWARD, "GTPO", "GRPO", within=0.1),
        ),
    ),
)
