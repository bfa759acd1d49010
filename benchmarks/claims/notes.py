"""Why a claim came out as it did, as far as the numbers tell: written after the runs, by claim."""

NOTES: dict[str, str] = {
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
        "the first five steps, in which the large reward makes most of its way."
    ),
}
