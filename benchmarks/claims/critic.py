"""PPO with a critic, which the articles measure GRPO against."""

from claims.arms import GRPO, additions
from claims.ledger import Bound, Claim, Measure, times
from claims.measures import last

BYTES = last("memory/state", "GiB", steps=1)
STATE = Measure("weights, gradients and optimizer state (MiB)", lambda result: BYTES.of(result) * 1024)

PPO = additions("ppo", {"preset": "ppo"}, steps=3)
PPO_OWN = additions("ppo_own", {"preset": "ppo", "critic": {"type": "value_head", "base": "own"}}, steps=3)

CLAIMS = (
    Claim(
        id="ppo-memory",
        statement="PPO needs about twice GRPO's memory, for a critic as large as the policy.",
        source="GRPO articles; DeepSeekMath (2402.03300), section 4.1",
        ran=(
            "Additions; PPO whose critic has a base model of its own, as without adapters, and PPO as preset, both "
            "adapters on one base model (three steps each); GRPO."
        ),
        arms={"PPO, own base": PPO_OWN, "PPO, shared base": PPO, "GRPO": GRPO},
        measures=(STATE,),
        bounds=(
            Bound(
                times(STATE, "PPO, shared base", "GRPO", at_least=1.1),
                (("PPO, shared base", STATE), ("GRPO", STATE)),
                "after the measure",
            ),
        ),
        rule=(times(STATE, "PPO, own base", "GRPO", at_least=1.8),),
    ),
)
