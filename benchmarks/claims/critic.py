"""PPO with a critic, which the articles measure GRPO against."""

from claims.arms import GRPO, additions
from claims.baselines import REWARD
from claims.ledger import Claim, Measure, higher, times
from claims.measures import last

BYTES = last("memory/state", "GiB", steps=1)
STATE = Measure("weights, gradients and optimizer state (MiB)", lambda result: BYTES.of(result) * 1024)

PPO = additions("ppo", {"preset": "ppo"})
PPO_OWN = additions("ppo_own", {"preset": "ppo", "critic": {"type": "value_head", "base": "own"}}, steps=3)

CLAIMS = (
    Claim(
        id="ppo-memory",
        statement="PPO needs about twice GRPO's memory, for a critic as large as the policy.",
        source="GRPO articles; DeepSeekMath (2402.03300), section 4.1",
        ran=(
            "Additions; PPO whose critic has a base model of its own, as without adapters (three steps), PPO as preset "
            "(both adapters on one base model), and GRPO."
        ),
        arms={"PPO, own base": PPO_OWN, "PPO, shared base": PPO, "GRPO": GRPO},
        measures=(STATE,),
        rule=(times(STATE, "PPO, own base", "GRPO", at_least=1.8),),
    ),
    Claim(
        id="grpo-above-ppo",
        statement="At the same number of samples GRPO ends above PPO.",
        source="Comparison of PPO, GRPO and DAPO (2512.07611), in the GRPO article",
        ran="Additions, both as presets, 20 steps of 8 × 8.",
        arms={"GRPO": GRPO, "PPO": PPO},
        measures=(REWARD,),
        rule=(higher(REWARD, "GRPO", "PPO", by=0.03),),
    ),
)
