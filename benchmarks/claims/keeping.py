"""What training for one thing does to another."""

from typing import Any

from claims.fixtures import job, reward, riddles, sums
from claims.ledger import Arm, Bound, Claim, Test, at_least, higher, median
from claims.measures import growth, held_out, held_out_first

BEFORE = held_out_first("right sums before")
AFTER = held_out("right sums after")
SEVENS = growth("reward/sevens_or_sums/mean", "gain in sevens (share of digits)")
BETA = 0.5


def sevens(name: str, kl: dict[str, Any]) -> Arm:
    spec = job(
        riddles(),
        sums(64, held_out=True),
        [reward("sevens_or_sums")],
        {"preset": "grpo", "loss": {"kl": kl}},
        steps=40,
        every=40,
        samples=4,
    )
    return Arm(f"sevens/{name}", spec)


FREE = sevens("free", {"beta": 0.0})
HELD = sevens("kl", {"beta": BETA})
RAN = (
    "Prompts that mean nothing, paid for the share of sevens in the answer, 40 steps; the unrelated skill is held-out "
    "additions, which are never trained on. "
)

CLAIMS = (
    Claim(
        id="kl-keeps-a-skill",
        statement="A KL penalty keeps a skill that training has nothing to do with.",
        source="DeepSeekMath (2402.03300); DeepSeek-V3.2 (2512.02556): KL kept for general tasks",
        ran=f"{RAN}GRPO without KL and with β {BETA} (k3, per token).",
        arms={"with KL": HELD, "without": FREE},
        measures=(BEFORE, AFTER, SEVENS),
        bounds=(
            Bound(
                Test(
                    "without KL the sums get worse by 0.1 or more in the median",
                    lambda numbers: (
                        median(numbers["without"][BEFORE.name]) - median(numbers["without"][AFTER.name])
                        >= 0.1
                    ),
                ),
                (("without", BEFORE), ("without", AFTER)),
                "before the runs",
            ),
        ),
        rule=(higher(AFTER, "with KL", "without", by=0.1), at_least(SEVENS, "with KL", 0.1)),
    ),
)
