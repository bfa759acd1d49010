"""Which prompts and how many completions a step spends its sampling on."""

from typing import Any

from common.runs import StopRule

from claims.arms import GRPO
from claims.baselines import GAIN, REWARD
from claims.evidence import FRONTIER as AT_THE_FRONTIER
from claims.evidence import UNIFORM_FIRST, at_the_frontier
from claims.fixtures import job, out_of_reach, reward, sums
from claims.ledger import Arm, Claim, at_least, close, higher, needs_at_least, needs_at_most, times
from claims.measures import held_out_first, over, reached

LEVEL = 0.75
STEPS = reached(f"steps to held-out {LEVEL}", LEVEL)
UNIFORM = over("groups/zero_variance_share", "groups without signal", end=40)
ROUNDS = over("select/rounds", "rounds of sampling per step", end=40, otherwise=1.0)
BASE = held_out_first("held-out reward of the base model")


def mostly_hopeless(name: str, algorithm: dict[str, Any], stop: StopRule | None = None, **more: Any) -> Arm:
    """36 of 48 rows are sums of three digits, which never come out right; 4 prompts a step."""
    rows = sums(12, held_out=False) + out_of_reach(36)
    spec = job(
        rows,
        sums(64, held_out=True),
        [reward("right")],
        algorithm,
        prompts=4,
        steps=40,
        every=5,
        samples=2,
        **more,
    )
    return Arm(f"mostly_hopeless/{name}", spec, at_the_frontier, stop=stop)


PLAIN = mostly_hopeless("plain", {"preset": "grpo"})
DYNAMIC = mostly_hopeless(
    "dynamic", {"preset": "grpo", "selection": {"type": "dynamic_sampling"}}, StopRule(0.8, 1)
)
FRONTIER = mostly_hopeless("frontier", {"preset": "grpo"}, sampling="frontier")


def grouped(group: int) -> Arm:
    spec = job(
        sums(512, held_out=False),
        sums(64, held_out=True),
        [reward("right")],
        {"preset": "grpo"},
        prompts=64 // group,
        group=group,
    )
    return Arm(f"additions/groups_of_{group}", spec)


TWO, MANY = grouped(2), grouped(32)

UNFAMILIAR = Arm(
    "unfamiliar/grpo",
    job(
        sums(512, held_out=False, ask="{a}:{b}"),
        sums(64, held_out=True, ask="{a}:{b}"),
        [reward("right")],
        {"preset": "grpo"},
        steps=60,
        samples=4,
    ),
)

CLAIMS = (
    Claim(
        id="dynamic-sampling-saves-updates",
        statement="Replacing groups without signal by others reaches the same reward in fewer updates.",
        source="DAPO (2503.14476), section 3.2: dynamic sampling; 50 % of the steps",
        ran=(
            "Additions of which 36 in 48 rows are far too hard; GRPO with 4 × 8 a step, plain and with dynamic "
            "sampling; 40 steps, or until 0.8. Fewer updates, not less sampling."
        ),
        arms={"dynamic sampling": DYNAMIC, "plain": PLAIN},
        measures=(STEPS, UNIFORM, ROUNDS),
        bounds=(needs_at_least(UNIFORM, "plain", 0.3, "before the runs"),),
        rule=(times(STEPS, "dynamic sampling", "plain", at_most=0.75),),
    ),
    Claim(
        id="frontier-sampling-saves-steps",
        statement="Drawing prompts at the edge of what the model can do reaches the same reward in fewer steps.",
        source="GRPO article, on groups without signal: a curriculum at the frontier of capability",
        ran="The rows of `dynamic-sampling-saves-updates`; `data.sampling: frontier` and `shuffle`, 40 steps.",
        arms={"frontier": FRONTIER, "shuffle": PLAIN},
        measures=(STEPS, UNIFORM),
        bounds=(
            needs_at_least(UNIFORM, "shuffle", 0.3, "before the runs"),
            needs_at_least(AT_THE_FRONTIER, "shuffle", 0.1),
        ),
        rule=(times(STEPS, "frontier", "shuffle", at_most=0.85),),
    ),
    Claim(
        id="two-as-good-as-many",
        statement="At the same number of samples, two completions per prompt do as well as 8 or 32.",
        source="It Takes Two (2510.00977)",
        ran="Additions, GRPO, 64 completions a step as 32 × 2, 8 × 8 and 2 × 32; 20 steps.",
        arms={"32 × 2": TWO, "8 × 8": GRPO, "2 × 32": MANY},
        measures=(REWARD,),
        bounds=(
            needs_at_least(UNIFORM_FIRST, "32 × 2", 0.3, "after the measure"),
            needs_at_least(GAIN, "8 × 8", 0.2, "after the measure"),
        ),
        rule=(close(REWARD, "32 × 2", "8 × 8", within=0.05), close(REWARD, "32 × 2", "2 × 32", within=0.05)),
    ),
    Claim(
        id="small-groups-degrade",
        statement="GRPO needs large groups: with small ones its baseline is too noisy.",
        source="GRPO article, comparison with PPO: stability at small groups degrades",
        ran="The runs of `two-as-good-as-many`.",
        arms={"8 × 8": GRPO, "32 × 2": TWO},
        measures=(REWARD,),
        bounds=(
            needs_at_least(UNIFORM_FIRST, "32 × 2", 0.3, "after the measure"),
            needs_at_least(GAIN, "8 × 8", 0.2, "after the measure"),
        ),
        rule=(higher(REWARD, "8 × 8", "32 × 2", by=0.05),),
    ),
    Claim(
        id="sparse-reward",
        statement="GRPO learns from a reward that is nearly always 0.",
        source="GRPO articles: the group's baseline suits sparse, all-or-nothing rewards",
        ran="Additions asked for as `a:b`, which the model has never seen, right once in twenty; GRPO, 60 steps.",
        arms={"GRPO": UNFAMILIAR},
        measures=(BASE, REWARD),
        bounds=(needs_at_most(BASE, "GRPO", 0.1, "before the runs"),),
        rule=(at_least(REWARD, "GRPO", 0.5),),
    ),
)
