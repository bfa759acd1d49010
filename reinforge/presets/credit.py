"""Presets that distribute credit by the policy's certainty."""

from reinforge.presets.base import TOKEN_MEAN, Preset, clip

CREDIT: dict[str, Preset] = {
    "gtpo": Preset(
        title="GTPO (entropy-shaped tokens)",
        summary=(
            "Gives uncertain tokens more of the credit in right completions and less of the blame in wrong ones, so "
            "that the policy keeps its options at forks. Choose it when entropy collapses early. As published, right "
            "and wrong tokens are normalised apart and what tells them apart is lost: `norm_scope: joint` keeps it."
        ),
        formula="r̃ = 1 + 0.1·H_{i,t}/Σ_k H_{k,t}·d_t for right rows, -1 - 0.1·(1/H)/Σ(1/H)·h_t for wrong ones",
        source="Tan et al. 2025 (arXiv 2508.04349), two independent implementations",
        deviations=("Weights 1 and 0.1 as in the code; the paper's conservation result needs a sum of 1.",),
        needs=("a reward that is above 0.5 for right completions only",),
        learning=(
            "Normalised apart, right and wrong tokens have the same mean advantage, and half of the wrong ones gain: "
            "on the demo's additions accuracy hardly rises. With `norm_scope: joint` it does as fast as GRPO's."
        ),
        slots={
            "advantage": {"type": "gtpo"},
            "loss": {"surrogate": clip(0.2, 0.28), "aggregation": TOKEN_MEAN},
        },
    ),
    "grpo_s": Preset(
        title="GRPO-S (entropy-shaped completions)",
        summary=(
            "GTPO's idea for whole completions: the mean entropy of a completion shapes its reward, and new and old "
            "policy are compared by the mean of the token ratios. Choose it when per-token shaping is too noisy. "
            "The same warning about `norm_scope` holds."
        ),
        formula="v_i = 1/L_i Σ_t w_{i,t}; r̃_i = 1 + 0.1·H_i/ΣH·n for right rows, -1 - 0.1·(1/H_i)/Σ(1/H)·m",
        source="Tan et al. 2025 (arXiv 2508.04349), two independent implementations",
        needs=("a reward that is above 0.5 for right completions only",),
        learning=(
            "Normalised apart, right and wrong completions have the same mean advantage, and uncertain ones gain on "
            "either side: on the demo's additions accuracy falls. With `norm_scope: joint` it rises as fast as GRPO's."
        ),
        slots={
            "advantage": {"type": "grpo_s"},
            "loss": {"ratio_level": "arithmetic", "surrogate": clip(0.2, 0.28)},
        },
    ),
    "eda": Preset(
        title="EDGE-GRPO without repair (entropy-driven advantage)",
        summary=(
            "Divides GRPO's advantage by the completion's entropy relative to its group: confident completions are "
            "praised and blamed more. Equal rewards no longer mean equal advantages inside a group. Choose it when "
            "many completions of a group look alike; `edge_grpo` adds the repair of wrong completions."
        ),
        formula="A_i = grpo_i / (P_i / mean_g P), P_i the mean token entropy",
        source="Zhang et al. 2025, EDGE-GRPO (arXiv 2507.21848), authors' repository",
        deviations=(
            "Entropy is averaged over the completion's tokens, not over padding, and carries no gradient.",
            "The relative entropy is kept within 0.1 and 10.",
        ),
        slots={"advantage": {"type": "eda"}},
    ),
    "edge_grpo": Preset(
        title="EDGE-GRPO",
        summary=(
            "Repairs wrong completions before they are compared (half are criticised, a quarter get "
            "the answer, a quarter become the dataset's solution) and weighs advantages by confidence. Choose it for "
            "hard prompts on which all completions fail. The dataset has to have answers or solutions."
        ),
        formula="guided error correction, then A_i = grpo_i / (P_i / mean_g P)",
        source="Zhang et al. 2025, EDGE-GRPO (arXiv 2507.21848), authors' repository",
        deviations=(
            "Text that the policy did not write is not trained on; the authors do (`train_injected`).",
            "Entropy is averaged over the completion's tokens, carries no gradient and is bounded.",
        ),
        needs=("a dataset with answers or solutions",),
        slots={"selection": {"type": "guided_correction"}, "advantage": {"type": "eda"}},
    ),
    "lampo": Preset(
        title="LamPO",
        summary=(
            "Compares completions in pairs and weighs a pair by whether the policy has it in the right order: pairs "
            "that it ranks wrongly count more. Choose it for graded rewards, where order matters. With uniform "
            "weights it is RLOO."
        ),
        formula="A_i = 1/(G-1) Σ_j sigmoid(-sign(R_i - R_j)(q_i - q_j)/τ)·(R_i - R_j), q a mean log-probability",
        source="Yuan et al. 2026, LamPO (arXiv 2605.21235, withdrawn by arXiv)",
        confidence="low",
        deviations=(
            "The weight and τ = 1 are our reading of the abstract: pairs weighted by differences in log-probability.",
            "The paper's further reward for likeness to a reference text is not included.",
            "β 0.001 is ours.",
        ),
        slots={"advantage": {"type": "lampo"}, "loss": {"kl": {"beta": 0.001}}},
    ),
    "top_entropy": Preset(
        title="80/20 (top-entropy tokens)",
        summary=(
            "Trains on the fifth of all tokens where the policy is least certain: the forks of a solution. Choose it "
            "for long reasoning with a model that is large enough; small models may lose by it."
        ),
        formula="tokens with H_t at or above the 0.8 quantile of the batch keep their policy term",
        source="Wang et al. 2025, Beyond the 80/20 rule (arXiv 2506.01939)",
        slots={
            "loss": {
                "surrogate": clip(0.2, 0.28),
                "aggregation": TOKEN_MEAN,
                "policy_tokens": {"type": "top_entropy"},
            },
        },
    ),
}
