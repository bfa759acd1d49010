"""Presets that combine several rewards differently."""

from reinforge.presets.base import Preset, recipe

REWARDS: dict[str, Preset] = {
    "mo_grpo": Preset(
        title="MO-GRPO",
        summary=(
            "Standardises each reward in its group by itself and adds up the results, so that every reward counts by "
            "its weight and none by its scale. Choose it with several rewards of unlike size, where the sum would "
            "follow the largest. A reward that hardly varies is scaled up like the others: mind noise."
        ),
        formula="A_i = Σ_k ω_k (r_{i,k} - mean_g r_k) / (std_g r_k + ε)",
        source="Ichihara et al. 2025 (arXiv 2509.22047), eq. 5",
        deviations=("Weights ω; the paper has them equal.", "ε = 1e-4."),
        slots={"shaping": {"type": "mo_grpo"}, "advantage": {"type": "identity"}},
    ),
    "gdpo": Preset(
        title="GDPO",
        summary=(
            "MO-GRPO whose sums are brought to mean 0 and spread 1 over the batch, which keeps the size of updates "
            "the same however many rewards there are. Choose it over MO-GRPO when the number of rewards or of "
            "groups with signal changes during training."
        ),
        formula="A = (S - mean_batch S) / (std_batch S + ε), S MO-GRPO's sum",
        source='Liu et al. 2026, GDPO (arXiv 2601.05242); TRL `multi_objective_aggregation="normalize_then_sum"`',
        slots={"shaping": {"type": "gdpo"}, "advantage": {"type": "identity"}},
    ),
    "pow3r": Preset(
        title="POW3R (rubrics that move)",
        summary=(
            "For rewards made of criteria: weight moves, prompt by prompt, from criteria that every completion meets "
            "or misses to those that still tell completions apart. Choose it for rubrics of many lines, some of them "
            "saturated. Metrics keep showing the reward with the weights you gave."
        ),
        formula="R_i = mean over categories of Σ_j w_j α_j s_ij / Σ_j w_j α_j; α_j follows the spread of s_j",
        source="Tyagi et al. 2026, Not Every Rubric Teaches Equally (arXiv 2605.20164)",
        confidence="low",
        deviations=(
            "The order of operations is the paper's; constants, normaliser and negative criteria are ours.",
        ),
        needs=("a reward that returns `criteria`",),
        slots={"shaping": {"type": "pow3r"}},
    ),
    "vpo": Preset(
        title="VPO (sets of candidates)",
        summary=(
            "A completion holds several candidate answers, each scored in several dimensions, and is rewarded for "
            "the best of them averaged over random weights of the dimensions: a set of specialists beats copies of "
            "one compromise. Choose it when users differ in what they want, or when several tries are shown."
        ),
        formula="R(S) = E_{w~Dirichlet(1)} max_{y∈S} w·r(y)",
        source="Bahlous-Boldi et al. 2026, Vector Policy Optimization (arXiv 2605.22817), eq. 1",
        confidence="medium",
        deviations=("64 draws per prompt and step, and the division by the standard deviation, are ours.",),
        needs=("a reward that returns `candidates`", "prompts that ask for several candidates"),
        slots={"shaping": {"type": "vpo"}},
        recipe=recipe(group=8),
    ),
}
