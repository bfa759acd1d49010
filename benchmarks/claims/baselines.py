"""What the articles say about GRPO itself, and about baselines other than the group's mean and spread."""

from common.learned import ACCURACY

from claims import learned
from claims.arms import GRPO
from claims.evidence import ACCURACY_GAIN, GROUP_MEANS, GROUP_SPREADS, UNIFORM_FIRST, WORKED_FIRST
from claims.fixtures import job, reward, sums
from claims.learned import RECIPE
from claims.ledger import (
    Arm,
    Claim,
    Measure,
    at_least,
    at_most,
    close,
    higher,
    needs_at_least,
    needs_at_most,
)
from claims.measures import first, growth, held_out, held_out_at, held_out_gain, last, ratio

REWARD = held_out("held-out reward", evaluations=1)
GAIN = held_out_gain("gain in held-out reward")
LENGTH = growth("completions/length_mean", "growth of length (tokens)")
ENTROPY = ratio("entropy/mean", "entropy, last ÷ first 5 steps")
UNIFORM_LAST = last("groups/zero_variance_share", "groups without signal, last 5 steps")
ENTROPY_FIRST = first("entropy/mean", "entropy (nat), first 5 steps")
LONGER_RIGHT = Measure(
    "right answers longer than wrong ones by (tokens), first 5 steps",
    lambda result: float(result.extra["right_length_first"]) - float(result.extra["wrong_length_first"]),
)
RIGHT_GAIN = growth("reward/right/mean", "gain in right answers, last less first 5 steps")

RLOO, REINFORCE_PP = learned.learned("rloo"), learned.learned("reinforce_pp")
ACCURACY_20 = held_out_at(20, "held-out accuracy after 20 steps", ACCURACY)
CHANCE = Arm(
    "additions/chance",
    job(
        sums(512, held_out=False),
        sums(64, held_out=True),
        [reward("chance"), reward("right", weight=0.0)],
        {"preset": "grpo"},
    ),
)

CLAIMS = (
    Claim(
        id="longer-answers",
        statement="Paid for right answers alone, a model finds out by itself that longer reasoning pays.",
        source="DeepSeek-R1-Zero (2501.12948): average length grew steadily with the reward",
        ran="Additions, GRPO, 20 steps. Nothing is paid for length or for a working.",
        arms={"GRPO": GRPO},
        measures=(GAIN, LENGTH),
        bounds=(needs_at_least(WORKED_FIRST, "GRPO", 0.02), needs_at_least(LONGER_RIGHT, "GRPO", 5)),
        rule=(at_least(GAIN, "GRPO", 0.2), at_least(LENGTH, "GRPO", 10)),
    ),
    Claim(
        id="entropy-collapse",
        statement="Under GRPO the policy's entropy falls early and far.",
        source="DAPO (2503.14476), EDGE-GRPO (2507.21848): entropy collapse",
        ran="Additions, GRPO, 20 steps.",
        arms={"GRPO": GRPO},
        measures=(ENTROPY,),
        bounds=(needs_at_least(ENTROPY_FIRST, "GRPO", 0.02),),
        rule=(at_most(ENTROPY, "GRPO", 0.5),),
    ),
    Claim(
        id="uniform-groups",
        statement="As the model gets better, more groups are all right and give no gradient.",
        source="DAPO (2503.14476), section 3.2: zero-variance groups",
        ran="Additions, GRPO, 20 steps.",
        arms={"GRPO": GRPO},
        measures=(UNIFORM_FIRST, UNIFORM_LAST),
        bounds=(needs_at_least(GAIN, "GRPO", 0.2, "after the measure"),),
        rule=(at_most(UNIFORM_FIRST, "GRPO", 0.1), at_least(UNIFORM_LAST, "GRPO", 0.2)),
    ),
    Claim(
        id="rloo-comparable",
        statement="A leave-one-out baseline without the division by the spread does as well as GRPO's.",
        source="Ahmadian et al. 2024 (2402.14740)",
        ran=f"{RECIPE}Presets RLOO, with its KL in the reward, and GRPO.",
        arms={"RLOO": RLOO, "GRPO": learned.GRPO},
        measures=(ACCURACY_20,),
        bounds=(
            needs_at_least(ACCURACY_GAIN, "GRPO", 0.2, "after the measure"),
            needs_at_least(GROUP_SPREADS, "GRPO", 0.1),
        ),
        rule=(close(ACCURACY_20, "RLOO", "GRPO", within=0.05),),
    ),
    Claim(
        id="reinforce-pp-comparable",
        statement="The whole batch is as good a baseline as the group.",
        source="REINFORCE++ (2501.03262)",
        ran=f"{RECIPE}Presets REINFORCE++ and GRPO.",
        arms={"REINFORCE++": REINFORCE_PP, "GRPO": learned.GRPO},
        measures=(ACCURACY_20,),
        bounds=(
            needs_at_least(ACCURACY_GAIN, "GRPO", 0.2, "after the measure"),
            needs_at_least(GROUP_MEANS, "GRPO", 0.1),
        ),
        rule=(close(ACCURACY_20, "REINFORCE++", "GRPO", within=0.05),),
    ),
    Claim(
        id="chance-teaches-nothing",
        statement="A reward by chance teaches nothing: what a job gains comes from its reward.",
        source="The control that every result needs; DeepSeek-R1 (2501.12948) rests on verifiable rewards",
        ran="Additions, GRPO, 20 steps; one arm is paid 0 or 1 by a hash of what it wrote.",
        arms={"by chance": CHANCE, "right answers": GRPO},
        measures=(RIGHT_GAIN,),
        bounds=(needs_at_most(UNIFORM_FIRST, "by chance", 0.5),),
        rule=(at_most(RIGHT_GAIN, "by chance", 0.12), higher(RIGHT_GAIN, "right answers", "by chance", by=0.15)),
    ),
)  # fmt: skip
