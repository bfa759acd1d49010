"""Presets that train on part of the completions."""

from typing import Any

from reinforge.presets.base import Preset, clip, recipe

_LOSS: dict[str, Any] = {
    "surrogate": clip(dual_clip=3.0),
    "aggregation": {"type": "token_mean", "denominator": "all"},
    "kl": {"beta": 0.001},
    "entropy": {"type": "static", "coefficient": 0.001},
}
_DEVIATIONS = (
    "Ties are broken by order.",
    "Dual clip 3 for the authors' bound on bad completions with large ratios.",
)
_LEARNING = (
    "The shortest completions of a group are trained on. On the demo's additions those are answers given at once; the "
    "worked ones, which are right far more often, are seldom kept, so that accuracy rises slowly."
)

SELECTIONS: dict[str, Preset] = {
    "gfpo": Preset(
        title="GFPO",
        summary=(
            "Samples more completions than it trains on and keeps the shortest of each group: the model learns to "
            "answer briefly without a length reward. Choose it when answers have grown without getting better. More "
            "sampling for fewer rows trained on; keeping by `token_efficiency` needs graded rewards."
        ),
        formula="S = the k best of G by length; A_i = 1[i ∈ S]·(R_i - mean_S) / std_S; loss over all Σ L",
        source="Shrivastava et al. 2025 (arXiv 2508.09726), algorithm 1 and eq. 2",
        deviations=_DEVIATIONS,
        slots={
            "selection": {"type": "gfpo", "keep": 4},
            "advantage": {"type": "grpo", "std": "population", "eps": 0.0},
            "loss": _LOSS,
        },
        published_rate=1e-7,
        recipe={
            **recipe(group=16, prompts=64, warmup=10, tokens=31_000),
            "algorithm": {"updates_per_step": 1, "selection": {"type": "gfpo", "keep": 8}},
        },
    ),
    "gfpo_adaptive": Preset(
        title="GFPO, adaptive difficulty",
        summary=(
            "GFPO that keeps fewer completions of prompts that are easy compared with all seen so far, and more of "
            "hard ones, so that brevity is learned where it is cheap. Choose it over GFPO for data of mixed "
            "difficulty."
        ),
        formula="k = 2, 3, 4 or 4 by the quarter of the prompt's mean reward; else GFPO",
        source="Shrivastava et al. 2025 (arXiv 2508.09726), algorithm 2",
        deviations=(*_DEVIATIONS, "Half the paper's sizes, for 8 completions; warm-up of 64 groups is ours."),
        learning=_LEARNING,
        slots={
            "selection": {
                "type": "gfpo_adaptive",
                "keep_easy": 2,
                "keep_medium": 3,
                "keep_hard": 4,
                "keep_very_hard": 4,
            },
            "advantage": {"type": "grpo", "std": "population", "eps": 0.0},
            "loss": _LOSS,
        },
        published_rate=1e-7,
        recipe={
            **recipe(group=16, prompts=64, warmup=10, tokens=31_000),
            "algorithm": {
                "updates_per_step": 1,
                "selection": {
                    "type": "gfpo_adaptive",
                    "keep_easy": 4,
                    "keep_medium": 6,
                    "keep_hard": 8,
                    "keep_very_hard": 8,
                },
            },
        },
    ),
}
