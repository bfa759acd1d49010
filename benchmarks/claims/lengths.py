"""How tokens are averaged, and what that does to long and to short completions."""

from common.learned import ACCURACY

from claims.arms import AT_ONCE_GRPO, GRPO, additions, at_once
from claims.evidence import LONG_FIRST, PUNISHED, SHORT_RIGHT, WORKED_FIRST, WRONG_SPREAD, beyond
from claims.fixtures import job, reward, sums
from claims.learned import GRPO as LEARNED_GRPO
from claims.learned import RECIPE, learned
from claims.ledger import (
    Arm,
    Claim,
    Numbers,
    Test,
    at_least,
    at_most,
    higher,
    median,
    needs_at_least,
    not_below,
    times,
)
from claims.measures import held_out, last, over, taken

TRAINED_LENGTH = over("completions/length_mean", "mean length (tokens), steps 6 to 20", begin=6)
WRONG_FIRST = taken("wrong_length_first", "wrong answers (tokens), first 5 steps")
WRONG_LAST = taken("wrong_length_last", "wrong answers (tokens), last 5 steps")
LAMBDA = over("loss/lambda", "λ after 20 steps", begin=20)
ACCURACY_END = held_out("held-out accuracy at the end", ACCURACY)
LENGTH = last("completions/length_mean", "length (tokens), last 5 steps")
CUT = over("completions/truncated_share", "share cut off, steps 11 to 20", begin=11)
RIGHT = last("reward/right/mean", "right, last 10 steps", steps=10)

TOKEN_MEAN, GFPO, LAMBDA_LONG = learned("trl_default"), learned("gfpo"), learned("lambda_grpo")
LAMBDA_SHORT = at_once("lambda", {"preset": "lambda_grpo"})
DR_GRPO = additions("dr_grpo", {"preset": "dr_grpo"})
AT_ONCE_DR = at_once("dr_grpo", {"preset": "dr_grpo"})


ROOM, RAMP = 48, 4


def short_of_room(name: str, shaping: dict[str, object]) -> Arm:
    """A limit of 48 tokens: workings with a carry need 49 to 51, the others fit."""
    algorithm = {"preset": "grpo", "shaping": {"type": "weighted_sum", **shaping}}
    rows, held_out = sums(512, held_out=False), sums(64, held_out=True)
    spec = job(rows, held_out, [reward("right")], algorithm, tokens=ROOM)
    return Arm(f"short_of_room/{name}", spec, beyond(ROOM - RAMP))


PLAIN = short_of_room("plain", {})
SOFT = short_of_room("soft_overlong", {"soft_overlong": {"weight": 1.0, "cache": RAMP}})


def _growth(numbers: Numbers, arm: str) -> list[float]:
    pairs = zip(numbers[arm][WRONG_LAST.name], numbers[arm][WRONG_FIRST.name], strict=True)
    return [late - early for late, early in pairs]


CLAIMS = (
    Claim(
        id="token-mean-long-answers",
        statement="Averaged over tokens instead of completions, long answers get their full weight and win sooner.",
        source="DAPO (2503.14476), section 3.3: token-level policy gradient loss",
        ran=(
            f"{RECIPE}`trl_default`, which is GRPO with `token_mean` (its correction for the sampler finds nothing to "
            "correct), and GRPO with `seq_mean`; long answers are the right ones."
        ),
        arms={"token_mean": TOKEN_MEAN, "seq_mean": LEARNED_GRPO},
        measures=(TRAINED_LENGTH,),
        bounds=(needs_at_least(LONG_FIRST, "seq_mean", 1.2),),
        rule=(higher(TRAINED_LENGTH, "token_mean", "seq_mean", by=1.0),),
    ),
    Claim(
        id="dr-grpo-wrong-answers",
        statement="Under GRPO wrong answers grow, because length dilutes their blame; under Dr. GRPO they do not.",
        source="Dr. GRPO (2503.20783), section 3.1",
        ran=(
            "Additions, GRPO and Dr. GRPO as presets, 20 steps. Only the mean length of wrong answers is looked at."
        ),
        arms={"Dr. GRPO": DR_GRPO, "GRPO": GRPO},
        measures=(WRONG_FIRST, WRONG_LAST),
        bounds=(needs_at_least(WRONG_SPREAD, "GRPO", 0.2),),
        rule=(
            Test(
                "wrong answers of GRPO grow in every seed",
                lambda numbers: min(_growth(numbers, "GRPO")) > 0,
            ),
            Test(
                "those of Dr. GRPO grow less in every seed, in the median by half or less",
                lambda numbers: (
                    all(
                        dr < plain
                        for dr, plain in zip(
                            _growth(numbers, "Dr. GRPO"), _growth(numbers, "GRPO"), strict=True
                        )
                    )
                    and median(_growth(numbers, "Dr. GRPO")) <= median(_growth(numbers, "GRPO")) / 2
                ),
            ),
        ),
    ),
    Claim(
        id="dr-grpo-long-wrong",
        statement="Dividing by a completion's own length punishes long wrong answers too little; a constant does not.",
        source="Dr. GRPO (2503.20783), section 3.1: response-level length bias",
        ran=(
            "Additions paid only when answered at once, so that a working, twice as long, is always wrong; GRPO and "
            "Dr. GRPO as presets, 20 steps."
        ),
        arms={"Dr. GRPO": AT_ONCE_DR, "GRPO": AT_ONCE_GRPO},
        measures=(WRONG_LAST,),
        bounds=(
            needs_at_least(WORKED_FIRST, "GRPO", 0.05, "after the measure"),
            needs_at_least(WRONG_SPREAD, "GRPO", 0.2),
        ),
        rule=(times(WRONG_LAST, "Dr. GRPO", "GRPO", at_most=0.95),),
    ),
    Claim(
        id="gfpo-shorter",
        statement=(
            "Trained on the shortest completions of each group, answers stay at 0.7 × GRPO's length or less, and as "
            "right."
        ),
        source="GFPO (2508.09726): 46 to 71 % less excess length, accuracy preserved",
        ran=f"{RECIPE}Presets GFPO (the shortest 4 of 8) and GRPO.",
        arms={"GFPO": GFPO, "GRPO": LEARNED_GRPO},
        measures=(LENGTH, ACCURACY_END),
        bounds=(needs_at_least(SHORT_RIGHT, "GRPO", 0.5),),
        rule=(
            times(LENGTH, "GFPO", "GRPO", at_most=0.7),
            not_below(ACCURACY_END, "GFPO", "GRPO", within=0.05),
        ),
    ),
    Claim(
        id="lambda-drifts",
        statement="λ-GRPO's exponent drifts to the lengths that earn more: up where long pays, down where short does.",
        source="λ-GRPO (2510.06870): learnable token preference",
        ran=(
            "λ-GRPO as preset after 20 steps: as in the benchmark of learning, where workings pay (16 × 8, four "
            "updates per step, 2e-4), and on additions paid only when answered at once."
        ),
        arms={"long pays": LAMBDA_LONG, "short pays": LAMBDA_SHORT},
        measures=(LAMBDA,),
        bounds=(needs_at_least(LONG_FIRST, "long pays", 1.2), needs_at_least(LONG_FIRST, "short pays", 1.2)),
        rule=(at_least(LAMBDA, "long pays", 0.02), at_most(LAMBDA, "short pays", -0.02)),
    ),
    Claim(
        id="soft-overlong",
        statement=(
            "A punishment that rises towards the limit leaves fewer completions cut off, at no cost in right answers."
        ),
        source="DAPO (2503.14476), section 3.4: overlong reward shaping",
        ran=(
            "Additions with 48 tokens, into which a working with a carry does not fit: GRPO, plain and with a ramp "
            "over the last 4 tokens; 20 steps."
        ),
        arms={"soft overlong": SOFT, "plain": PLAIN},
        measures=(CUT, RIGHT),
        bounds=(
            needs_at_least(CUT, "plain", 0.005, "before the runs"),
            needs_at_least(PUNISHED, "soft overlong", 0.05),
        ),
        rule=(
            times(CUT, "soft overlong", "plain", at_most=0.8),
            not_below(RIGHT, "soft overlong", "plain", within=0.03),
        ),
    ),
)
