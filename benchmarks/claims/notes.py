"""Why a claim came out as it did, as far as the numbers tell: written after the runs, by claim."""

NOTES: dict[str, str] = {
    "rloo-comparable": "It clips nothing; what a clip would have cut off is less than one token in a hundred.",
    "token-mean-long-answers": (
        "The direction is the published one in every seed, by 0.8 tokens of 42: here completions have two lengths, "
        "22 and 46 tokens, and most are long after ten steps. Where they differ by thousands there is more to weigh."
    ),
    "gfpo-shorter": (
        "It is not shorter because nothing short is right: GFPO keeps the shortest half of a group, in which workings "
        "are rare, so that learning takes two to five times as long, and then ends at the same workings."
    ),
    "lambda-drifts": "λ goes up where long answers pay and down where short ones do.",
    "gspo-clips-more": (
        "Its clip range is 3e-4 to 4e-4 on the ratio of a whole completion; within four updates at this rate two "
        "tokens in five belong to completions outside it. Three orders of magnitude more here, two in the paper."
    ),
    "eda-entropy": (
        "Entropy falls a little faster than under GRPO. Without repair, surer answers are blamed more when wrong and "
        "praised more when right; here most are right by step 10."
    ),
    "edge-entropy": (
        "Of the two parts it is repair that keeps entropy: `eda`, the same without it, does not."
    ),
    "gtpo-entropy": (
        "It keeps all of its entropy, because it hardly learns at this rate: see its card and the curves in "
        "[algorithms](algorithms.md#learning)."
    ),
    "kl-keeps-a-skill": (
        "The penalty costs a third of what there is to gain in sevens. β 0.1, the first choice, did not hold so "
        "small a model and was replaced before the mark."
    ),
    "sparse-reward": (
        "From one right answer in twenty, within sixty steps. Later starter weights "
        "were taught this way of asking."
    ),
    "entropy-collapse": "To about a third within twenty steps, while the reward still rises.",
    "chance-teaches-nothing": (
        "Right answers get fewer, not only no more: a random reward moves the model all the same, only not anywhere "
        "good. The starter model is no base of the kind that improves on one."
    ),
    "ppo-memory": (
        "A critic with a base of its own is a second model with an adapter, gradients and moments. Where critic and "
        "policy share the frozen base, which is what preset `ppo` does, it is 1.4 times GRPO's."
    ),
    "dr-grpo-wrong-answers": (
        "Wrong answers get longer under both. Here workings are what pays, so the model takes to them, and a working "
        "that slips is a long wrong answer whatever the loss divides by. Where length does not pay, see "
        "`dr-grpo-long-wrong`."
    ),
    "soft-overlong": (
        "It does what it is for: a sixth as many completions are cut off. In a room that only just holds a working, "
        "though, its band before the limit is where right workings end, and the model turns to hasty answers instead."
    ),
    "clip-higher-entropy": (
        "The upper clip is reached by one or two tokens in a thousand, and a wider one is reached less, as it should "
        "be. How fast entropy falls is decided elsewhere at this scale: seeds differ far more than arms. "
        "The first design, on additions, was dropped before it was marked: no token reached the clip."
    ),
    "dynamic-sampling-saves-updates": (
        "Updates are saved, sampling is not: seven rounds of it a step, because three rows in four teach nothing."
    ),
    "frontier-sampling-saves-steps": (
        "There is no frontier in this fixture: rows are either within reach or never right, and with 48 of them each "
        "comes up every twelfth step, so that what was learned about a row is old when it is used."
    ),
    "two-as-good-as-many": (
        "With two, six groups in ten teach nothing at first, with eight hardly any; but there are four times as many."
    ),
    "small-groups-degrade": "The opposite of `two-as-good-as-many`, on the same runs: the two cannot both hold.",
    "pow3r-fewer-steps": (
        "Weights move away from the criteria that are always or never met, as published; but those have no spread in a "
        "group, and an advantage that is divided by the group's spread had made the same of them already."
    ),
    "vpo-best-of-8": (
        "VPO's sets are more dependable (0.69 to 0.72; GRPO's from 0.61 to 0.73) and its single answers are sets "
        "already, so that its best of one is nearly its best of eight. The step from there that the rule asks for in "
        "every seed is not there. A first design, with 0 and 9 as extremes, was changed before it was marked."
    ),
    "longer-answers": ("The long answers are workings; nothing but their being right is paid for."),
    "uniform-groups": "A third of the sampling teaches nothing by the time that nine in ten answers are right.",
    "dr-grpo-long-wrong": (
        "The direction is the published one in every seed, the size is not: workings, a fifth of the completions at "
        "first, all but die out under both within 20 steps, and what is left of the difference is 2 %. Halving the "
        "blame of a completion that is twice as long cannot save it when everything else is against it."
    ),
    "process-blames-the-step": (
        "Outcome supervision gives the right step behind a wrong one the blame of the whole answer. One wrong step in "
        "twenty is not blamed: where most steps of a group are wrong, a right one behind it weighs more."
    ),
    "mo-grpo-raises-both": (
        "MO-GRPO trades a part of the large reward for the whole of the small one: it settles on answers that are the "
        "best compromise of equal shares. The gains are counted from the base model; the first wording counted from "
        "the first five steps, in which the large reward makes most of its way. Earlier designs, changed before "
        "they were marked, had rewards only ten times apart, which GRPO on the sum could earn both."
    ),
}
