"""Several rewards, criteria or candidates in one number."""

from typing import Any

from common.folder import Folder

from claims import evidence
from claims.evidence import CANDIDATES, MOVED, SCALES
from claims.fixtures import job, reward, riddles, sums
from claims.ledger import Arm, Claim, at_least, higher, needs_at_least, times
from claims.measures import growth, held_out_gain, reached, taken

BIG = held_out_gain("gain in the held-out sum, nearly all of it the large reward, 0 to 100")
SMALL = growth("reward/last_digit/mean", "gain in the small reward, 0 to 1", start=1)
RIGHT_STEPS = reached("steps to 0.75 right", 0.75, "reward/rubric/part/right", "train", smooth=5)
BEST = taken("best_of_8", "best of 8 by any weighting, 0 to 1")
ONE = taken("best_of_1", "best of 1 by any weighting, 0 to 1")
WEIGHTS = 101
"""Weightings of two respects, evenly spread: what a uniform Dirichlet is in two dimensions."""


def two_scales(name: str, algorithm: dict[str, Any]) -> Arm:
    rewards = [reward("first_digit", granularity="group"), reward("last_digit")]
    return Arm(
        f"two_scales/{name}",
        job(riddles(), riddles(), rewards, algorithm, tokens=24, steps=40, every=40),
        evidence.two_scales,
    )


def rubric(name: str, algorithm: dict[str, Any]) -> Arm:
    rows, held_out = sums(32, held_out=False), sums(64, held_out=True)
    spec = job(rows, held_out, [reward("rubric")], algorithm, steps=40, every=40, samples=1)
    return Arm(f"rubric/{name}", spec, evidence.moved_advantages)


def best_by_any_weighting(folder: Folder) -> dict[str, Any]:
    """The best candidate for a weighting among 8 completions, or in one; averaged over weightings and prompts."""
    step = folder.series("held_out").steps[-1]
    by_prompt: dict[str, list[list[list[float]]]] = {}
    for row in folder.completions("held_out", step):
        by_prompt.setdefault(row["prompt"], []).append(row["rewards"][0]["candidates"])
    sets = list(by_prompt.values())  # of each prompt's 8 completions, their candidates
    return evidence.several_candidates(folder) | {
        "best_of_8": _mean([search_score([score for one in tries for score in one]) for tries in sets]),
        "best_of_1": _mean([search_score(one) for tries in sets for one in tries]),
    }


def search_score(candidates: list[list[float]]) -> float:
    """Mean over weightings w of the best candidate's w·x + (1 - w)·y."""
    weights = [number / (WEIGHTS - 1) for number in range(WEIGHTS)]
    return _mean([max(w * x + (1 - w) * y for x, y in candidates) for w in weights])


def sets_of_digits(name: str, algorithm: dict[str, Any]) -> Arm:
    spec = job(
        riddles(),
        riddles(),
        [reward("digits")],
        algorithm,
        tokens=24,
        steps=50,
        every=50,
        samples=8,
    )
    return Arm(f"digits/{name}", spec, best_by_any_weighting)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


SUM, MO = two_scales("sum", {"preset": "grpo"}), two_scales("mo_grpo", {"preset": "mo_grpo"})
STATIC, POW3R = rubric("static", {"preset": "grpo"}), rubric("pow3r", {"preset": "pow3r"})
SCALAR, VPO = sets_of_digits("grpo", {"preset": "grpo"}), sets_of_digits("vpo", {"preset": "vpo"})

CLAIMS = (
    Claim(
        id="mo-grpo-raises-both",
        statement="Where the sum of two rewards raises the larger one alone, MO-GRPO raises both.",
        source="MO-GRPO (2509.22047)",
        ran=(
            "Prompts that mean nothing, answered with a number: 0 to 100 for its first digit, 9 is best, and up to 50 "
            "more or less by chance; 0 to 1 for its last digit, 5 is best. MO-GRPO and GRPO on the sum, 40 steps."
        ),
        arms={"MO-GRPO": MO, "sum": SUM},
        measures=(BIG, SMALL),
        bounds=(needs_at_least(SCALES, "sum", 10),),
        rule=(
            at_least(BIG, "MO-GRPO", 10.0),
            at_least(SMALL, "MO-GRPO", 0.1),
            higher(SMALL, "MO-GRPO", "sum", by=0.1),
        ),
    ),
    Claim(
        id="pow3r-fewer-steps",
        statement="On a rubric with saturated criteria, weights that move reach the same level in fewer steps.",
        source="POW3R (2605.20164): 2.5 to 4 × fewer steps",
        ran=(
            "Additions of 32 rows with twelve criteria: one for the right sum, five always or never met, six that a "
            "completion misses by chance once in twenty. GRPO on the mean and POW3R as preset, 40 steps."
        ),
        arms={"POW3R": POW3R, "static": STATIC},
        measures=(RIGHT_STEPS,),
        bounds=(needs_at_least(MOVED, "static", 0.1),),
        rule=(times(RIGHT_STEPS, "POW3R", "static", at_most=0.8),),
    ),
    Claim(
        id="vpo-best-of-8",
        statement="Trained for sets of candidates, a model's best of 8 beats GRPO's, however one weighs what is good.",
        source="VPO (2605.22817): best@k above scalar training's, more so with a larger search",
        ran=(
            "Prompts that mean nothing, answered with a number whose digits are the candidates: 0 and 1 are each best "
            "in one respect, 5 is the best compromise. VPO, and GRPO on the best candidate's mean; 50 steps."
        ),
        arms={"VPO": VPO, "GRPO": SCALAR},
        measures=(BEST, ONE),
        bounds=(needs_at_least(CANDIDATES, "VPO", 0.2),),
        rule=(higher(BEST, "VPO", "GRPO", by=0.03),),
    ),
)
