"""Clips and shaped credit: what they do to entropy, and how many tokens they cut off."""

from common.learned import ACCURACY
from common.runs import Result

from claims.evidence import BOTH_SIDES, ENTROPY_LEFT, ENTROPY_SPREAD, TOKEN_SPREAD, WRONG_SHARE
from claims.fixtures import job, reward, riddles
from claims.learned import GRPO, RECIPE, learned
from claims.ledger import Arm, Claim, Measure, needs_at_least, needs_at_most, not_below, times
from claims.measures import held_out, over

ENTROPY = over("entropy/mean", "entropy (nat), steps 6 to 20", begin=6)
HIGH = over("policy/clip_high_share", "clipped high")


def _clipped(result: Result) -> float:
    low, high = (result.train.points(f"policy/clip_{side}_share") for side in ("low", "high"))
    clipped = [a + b for (step, a), (_, b) in zip(low, high, strict=True) if step <= 20]
    return sum(clipped) / len(clipped)


CLIPPED = Measure("share of tokens clipped", _clipped)


def rare_sevens(name: str, high: float) -> Arm:
    """Sevens, which the starter model hardly ever writes here, are paid for: tokens that have far to go up."""
    clip = {"type": "ppo_clip", "eps_low": 0.2, "eps_high": high}
    algorithm = {"preset": "grpo", "updates_per_step": 8, "loss": {"surrogate": clip}}
    return Arm(
        f"rare_sevens/{name}", job(riddles(), riddles(), [reward("sevens_or_sums")], algorithm, tokens=24)
    )


PLAIN, CLIP_HIGHER = rare_sevens("clip_0.2", 0.2), rare_sevens("clip_0.28", 0.28)
GSPO, EDA, EDGE, GTPO = learned("gspo"), learned("eda"), learned("edge_grpo"), learned("gtpo")
ACCURACY_END = held_out("held-out accuracy at the end", ACCURACY)

CLAIMS = (
    Claim(
        id="clip-higher-entropy",
        statement="A higher upper clip keeps more entropy.",
        source="DAPO (2503.14476), section 3.1: clip-higher",
        ran=(
            "Prompts that mean nothing, paid for the share of sevens in the answer; GRPO with clips 0.2 / 0.28 and "
            "0.2 / 0.2, eight updates per step. (On additions nearly no token reaches the upper clip.)"
        ),
        arms={"0.2 / 0.28": CLIP_HIGHER, "0.2 / 0.2": PLAIN},
        measures=(ENTROPY, HIGH),
        bounds=(needs_at_least(HIGH, "0.2 / 0.2", 0.0005, "before the runs"),),
        rule=(times(ENTROPY, "0.2 / 0.28", "0.2 / 0.2", at_least=1.05),),
    ),
    Claim(
        id="gspo-clips-more",
        statement="GSPO clips far more tokens than GRPO, and learns all the same.",
        source="GSPO (2507.18071): two orders of magnitude more",
        ran=f"{RECIPE}Presets GSPO and GRPO; tokens clipped in the first 20 steps.",
        arms={"GSPO": GSPO, "GRPO": GRPO},
        measures=(CLIPPED, ACCURACY_END),
        bounds=(needs_at_least(CLIPPED, "GSPO", 0.01, "after the measure"),),
        rule=(
            times(CLIPPED, "GSPO", "GRPO", at_least=10),
            not_below(ACCURACY_END, "GSPO", "GRPO", within=0.05),
        ),
    ),
    Claim(
        id="eda-entropy",
        statement="Advantages weighed by a completion's entropy keep the policy from losing its entropy.",
        source="EDGE-GRPO (2507.21848): entropy-driven advantage",
        ran=f"{RECIPE}Presets `eda`, which is EDGE-GRPO without repair, and GRPO.",
        arms={"EDA": EDA, "GRPO": GRPO},
        measures=(ENTROPY, ACCURACY_END),
        bounds=(
            needs_at_most(ENTROPY_LEFT, "GRPO", 0.5, "after the measure"),
            needs_at_least(ENTROPY_SPREAD, "GRPO", 0.1),
        ),
        rule=(times(ENTROPY, "EDA", "GRPO", at_least=1.1),),
    ),
    Claim(
        id="edge-entropy",
        statement="EDGE-GRPO, repair included, keeps more entropy than GRPO and learns.",
        source="EDGE-GRPO (2507.21848); GRPO article: entropy-aware variants",
        ran=f"{RECIPE}Presets EDGE-GRPO and GRPO.",
        arms={"EDGE-GRPO": EDGE, "GRPO": GRPO},
        measures=(ENTROPY, ACCURACY_END),
        bounds=(
            needs_at_most(ENTROPY_LEFT, "GRPO", 0.5, "after the measure"),
            needs_at_least(WRONG_SHARE, "GRPO", 0.1),
        ),
        rule=(
            times(ENTROPY, "EDGE-GRPO", "GRPO", at_least=1.1),
            not_below(ACCURACY_END, "EDGE-GRPO", "GRPO", within=0.05),
        ),
    ),
    Claim(
        id="gtpo-entropy",
        statement="Token rewards shaped by entropy keep the policy from losing its entropy, and it learns.",
        source="GTPO (2508.04349): entropy rebounds",
        ran=f"{RECIPE}Presets GTPO and GRPO.",
        arms={"GTPO": GTPO, "GRPO": GRPO},
        measures=(ENTROPY, ACCURACY_END),
        bounds=(
            needs_at_most(ENTROPY_LEFT, "GRPO", 0.5, "after the measure"),
            needs_at_least(TOKEN_SPREAD, "GRPO", 0.5),
            needs_at_least(BOTH_SIDES, "GRPO", 0.5),
        ),
        rule=(
            times(ENTROPY, "GTPO", "GRPO", at_least=1.1),
            not_below(ACCURACY_END, "GTPO", "GRPO", within=0.1),
        ),
    ),
)
